/** The start of an edge behind a root: from the root alone, and from a checkpoint that is fresh, or
 *  since which one of twenty pods has changed. What it costs the edge, the root, and the wire
 *  between them: with a thousand edges the last two are what breaks. `OBJECTS=10000` takes fewer
 *  pods. */

import { createHash } from 'node:crypto'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { keyFromText, prefixRange, singleKey } from '../../lib/base/keys.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { freePort } from '../../test/support/program/ports.ts'
import type { Bench, BenchOptions, BenchResult } from '../bench.ts'
import { Program } from '../list/processes.ts'
import { memoryOf } from '../million/subject.ts'

export const checkpointBench: Bench = {
  name: 'checkpoint',
  summary: 'the start of an edge behind a root with 100,000 pods, without and with a checkpoint',
  run,
}

const sizes = { full: 100_000, small: 200 } as const
/** One of so many pods changes after the checkpoint was written. */
const changedOneOf = 20
const writesAtOnce = 32

/** The share of what an edge reads from the root without a checkpoint. */
const floors = { fresh: 0.1, old: 0.2 }

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  // For a look at fewer.
  const pods = Number(process.env['OBJECTS'] ?? sizes[size])
  const folder = mkdtempSync(join(tmpdir(), 'checkpoint-'))
  const stops: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  try {
    const [etcdPort, rootPort] = [await freePort(), await freePort()]
    progress('an etcd is filled')
    await start(stops, [`--generate=pods=${pods}`, `--etcd-listen=127.0.0.1:${etcdPort}`])
    const root = await start(stops, [
      `--etcd=http://127.0.0.1:${etcdPort}`,
      `--etcd-listen=127.0.0.1:${rootPort}`,
    ])
    const wire = await countedPort(rootPort)
    stops.push(wire.close)
    const file = join(folder, 'checkpoint.jsonl.gz')
    await save(file, rootPort)
    const edge = async (name: string, args: readonly string[]): Promise<EdgeStart> => {
      progress(name)
      return startEdge(
        { name, args: [`--etcd=http://127.0.0.1:${wire.port}`, ...args] },
        root,
        wire,
      )
    }
    const fromRoot = await edge('from the root', [])
    const fresh = await edge('from a fresh checkpoint', [`--checkpoint=${file}`])
    progress('pods change')
    await changePods(etcdPort)
    const old = await edge('from an old checkpoint', [`--checkpoint=${file}`])
    return report({ fromRoot, fresh, old, fileBytes: statSync(file).size })
  } finally {
    for (const stop of stops.toReversed()) await stop()
  }
}

async function start(stops: (() => unknown)[], args: readonly string[]): Promise<Program> {
  const program = await Program.start(args)
  stops.push(() => program.stop())
  return program
}

interface CountedPort {
  readonly port: number
  /** Bytes that came from the other side so far. */
  readonly bytes: () => number
  readonly close: () => void
}

/** A port that leads to another one, and counts what comes from there. */
async function countedPort(target: number): Promise<CountedPort> {
  let bytes = 0
  const server = createServer(inbound => {
    const outbound = connect(target, '127.0.0.1')
    outbound.on('data', (chunk: Buffer) => void (bytes += chunk.length))
    for (const socket of [inbound, outbound]) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        inbound.destroy()
        outbound.destroy()
      })
    }
    inbound.pipe(outbound).pipe(inbound)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, bytes: () => bytes, close: () => server.close() }
}

async function save(file: string, port: number): Promise<void> {
  const program = fileURLToPath(new URL('../../program/cli.js', import.meta.url))
  const args = [program, 'save', file, `--etcd=http://127.0.0.1:${port}`, '--log-level=error']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = (await once(child, 'exit')) as [number]
  if (code !== 0) throw new Error(`save has ended with ${code}`)
}

interface EdgeStart {
  readonly name: string
  readonly seconds: number
  readonly cpuSeconds: number
  readonly rootCpuSeconds: number
  readonly wireBytes: number
  readonly heldBytes: number
}

async function startEdge(
  { name, args }: { readonly name: string; readonly args: readonly string[] },
  root: Program,
  wire: CountedPort,
): Promise<EdgeStart> {
  const [rootBefore, bytesBefore] = [await root.cpuSeconds(), wire.bytes()]
  const startMs = performance.now()
  const program = await Program.start(args)
  const seconds = (performance.now() - startMs) / 1000
  const cpuSeconds = await program.cpuSeconds()
  const rootCpuSeconds = (await root.cpuSeconds()) - rootBefore
  const wireBytes = wire.bytes() - bytesBefore
  const heldBytes = memoryOf(program.process.pid).now
  await program.stop()
  return { name, seconds, cpuSeconds, rootCpuSeconds, wireBytes, heldBytes }
}

/** Writes some pods again as they are: their revisions are others then. */
async function changePods(port: number): Promise<void> {
  const client = new GrpcClient({ endpoints: [`http://127.0.0.1:${port}`] })
  const range = prefixRange(keyFromText('/registry/pods/'))
  const { entries } = await client.range({ range, keysOnly: true })
  const chosen = entries.filter((_, i) => i % changedOneOf === 0).values()
  const writeOn = async (): Promise<void> => {
    for (const { key } of chosen) {
      const { entries: found } = await client.range({ range: singleKey(key) })
      const puts = found.map(({ value }) => ({ type: 'put', key, value }) as const)
      await client.txn({ compares: [], success: puts, failure: [] })
    }
  }
  await Promise.all(Array.from({ length: writesAtOnce }, writeOn))
  await client.close()
}

interface CheckpointFigures {
  readonly fromRoot: EdgeStart
  readonly fresh: EdgeStart
  readonly old: EdgeStart
  readonly fileBytes: number
}

function report({ fromRoot, fresh, old, fileBytes }: CheckpointFigures): BenchResult {
  const starts = [fromRoot, fresh, old]
  const share = ({ wireBytes }: EdgeStart): number => wireBytes / fromRoot.wireBytes
  return {
    tables: [
      {
        title: `The start of an edge (the checkpoint has ${(fileBytes / 1e6).toFixed(1)} MB)`,
        columns: [
          'start',
          'ready after s',
          's of the edge’s processor',
          's of the root’s processor',
          'MB from the root',
          'memory MB',
        ],
        rows: starts.map(one => [
          one.name,
          one.seconds,
          one.cpuSeconds,
          one.rootCpuSeconds,
          one.wireBytes / 1e6,
          one.heldBytes / 1e6,
        ]),
      },
    ],
    floors: [
      {
        name: 'read from the root with a fresh checkpoint',
        value: share(fresh),
        bound: 'at most',
        limit: floors.fresh,
        unit: 'of all',
      },
      {
        name: 'read from the root with an old checkpoint',
        value: share(old),
        bound: 'at most',
        limit: floors.old,
        unit: 'of all',
      },
    ],
    resultHash: createHash('sha256')
      .update(starts.map(({ name }) => name).join())
      .digest('hex')
      .slice(0, 16),
  }
}
