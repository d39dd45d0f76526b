/** The speed at which the embedded engine answers over gRPC, compared with a real etcd. Each server
 *  is a separate process; one client sends the same requests to both in turn, slice by slice, so
 *  the client's cost is in both figures. */

import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { type Key, keyFromText, prefixEnd } from '../../lib/base/keys.ts'
import { createRandom, randomInt } from '../../lib/base/random.ts'
import { channelOptions } from './grpc-options.ts'
import type { Codec } from '../../lib/etcd/proto/codec.ts'
import {
  putCodec,
  putResponseCodec,
  rangeCodec,
  rangeResponseCodec,
} from '../../lib/etcd/proto/kv-messages.ts'
import { watchRequestCodec, watchResponseCodec } from '../../lib/etcd/proto/watch-messages.ts'
import { messageFromRange, messageFromWatch } from '../../lib/etcd/wire.ts'
import { revision } from '../../lib/base/revision.ts'
import { startEtcd } from '../../test/support/etcd/etcd-cluster.ts'
import { findEtcd } from '../../test/support/etcd/real-etcd.ts'
import type { BenchOptions, BenchTable } from '../bench.ts'

const prefix = keyFromText('/bench/')
const range = { start: prefix, end: prefixEnd(prefix) }
const keys = 10_000
const valueBytes = 256
/** Calls under way at once. */
const concurrency = 64
const pageEntries = 100

/** One server, and what was measured of it. */
class Subject {
  readonly name: string
  readonly costs: Record<string, { count: number; ms: number }> = {}
  readonly #client: Client

  constructor(name: string, address: string) {
    this.name = name
    this.#client = new Client(address, credentials.createInsecure(), channelOptions)
  }

  call<I, O>(path: string, request: I, codecs: { request: Codec<I>; response: Codec<O> }) {
    return new Promise<O>((resolve, reject) => {
      this.#client.makeUnaryRequest(
        path,
        codecs.request.encode,
        codecs.response.decode,
        request,
        (error, response) => {
          if (response === undefined) reject(error ?? new Error('no response'))
          else resolve(response)
        },
      )
    })
  }

  /** Replays the history from `from` on, until so many events have come. */
  watch(from: number, events: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const stream = this.#client.makeBidiStreamRequest(
        '/etcdserverpb.Watch/Watch',
        watchRequestCodec.encode,
        watchResponseCodec.decode,
        new Metadata(),
      )
      let seen = 0
      stream.on('data', (response: { events: readonly unknown[] }) => {
        seen += response.events.length
        if (seen >= events) stream.cancel()
      })
      stream.on('error', error => (seen >= events ? resolve() : reject(error)))
      stream.write(messageFromWatch({ range, startRevision: revision(from) }))
    })
  }

  async measure(what: string, count: number, run: () => Promise<void>): Promise<void> {
    const startMs = performance.now()
    await run()
    const cost = (this.costs[what] ??= { count: 0, ms: 0 })
    cost.count += count
    cost.ms += performance.now() - startMs
  }

  close(): void {
    this.#client.close()
  }
}

export interface ServingResult {
  readonly table: BenchTable
  readonly hash: string
}

export async function measureServing(options: BenchOptions): Promise<ServingResult> {
  const etcd = await findEtcd('3.5')
  if (etcd.skip !== false) throw new Error(etcd.skip)
  const tasks: (() => Promise<void> | void)[] = []
  try {
    const cluster = await startEtcd({ teardown: task => tasks.push(task) }, etcd)
    const embedded = await startEmbedded()
    tasks.push(() => embedded.stop())
    const subjects = [
      new Subject(`etcd ${etcd.version}`, new URL(String(cluster.endpoints[0])).host),
      new Subject('embedded engine', embedded.address),
    ]
    tasks.push(...subjects.map(subject => () => subject.close()))
    const size = options.size === 'full' ? { calls: 4000, rounds: 6 } : { calls: 200, rounds: 2 }
    for (let round = 0; round < size.rounds; round++) {
      options.progress(`serving: round ${round + 1} of ${size.rounds}`)
      for (const subject of subjects) await runRound(subject, size.calls, round)
    }
    const hashes = await Promise.all(subjects.map(digest))
    if (hashes[0] !== hashes[1]) throw new Error('the two servers came to different contents')
    return { table: tableOf(subjects), hash: hashes[0] ?? '' }
  } finally {
    for (const task of tasks.toReversed()) await task()
  }
}

/** The same calls for every server: which keys they name follows from the round. */
async function runRound(subject: Subject, calls: number, round: number): Promise<void> {
  const random = createRandom(round)
  const value = Buffer.alloc(valueBytes, round)
  const keyOf = (): Key => keyFromText(`/bench/${randomInt(random, 0, keys - 1)}`)
  const options = { lease: 0n, previous: false, ignoreValue: false, ignoreLease: false }
  await subject.measure('puts', calls, () =>
    inParallel(calls, () =>
      subject.call(
        '/etcdserverpb.KV/Put',
        { key: keyOf(), value, ...options },
        { request: putCodec, response: putResponseCodec },
      ),
    ),
  )
  const read = (key: Key, rangeEnd: Key, limit: number): Promise<unknown> =>
    subject.call(
      '/etcdserverpb.KV/Range',
      { ...messageFromRange({ range, limit }), key, rangeEnd },
      { request: rangeCodec, response: rangeResponseCodec },
    )
  await subject.measure('gets of one key', calls, () =>
    inParallel(calls, () => read(keyOf(), '' as Key, 0)),
  )
  const pages = Math.ceil(calls / 10)
  await subject.measure(`ranges of ${pageEntries} entries`, pages, () =>
    inParallel(pages, () => read(keyOf(), range.end ?? ('\0' as Key), pageEntries)),
  )
  // The whole history so far: each round has made so many revisions, after the first.
  const events = calls * (round + 1)
  await subject.measure('watch events, replayed', events, () => subject.watch(2, events))
}

async function inParallel(count: number, call: () => Promise<unknown>): Promise<void> {
  let left = count
  const worker = async (): Promise<void> => {
    while (left-- > 0) await call()
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}

function tableOf(subjects: readonly Subject[]): BenchTable {
  const [real, ours] = subjects as [Subject, Subject]
  const rate = ({ count, ms }: { count: number; ms: number }): number =>
    Math.round((count * 1000) / ms)
  return {
    title: `Served over gRPC to one client with ${concurrency} calls under way, values of ${valueBytes} bytes`,
    columns: ['per second', real.name, ours.name, 'of etcd'],
    rows: Object.keys(real.costs).map(what => {
      const [wanted, found] = [rate(real.costs[what]!), rate(ours.costs[what]!)]
      return [what, wanted, found, found / wanted]
    }),
  }
}

/** The digest of all keys and values. Which put was first among those under way at once is chance,
 *  so revisions are left out; a round's values are all the same. */
async function digest(subject: Subject): Promise<string> {
  const { entries } = await subject.call('/etcdserverpb.KV/Range', messageFromRange({ range }), {
    request: rangeCodec,
    response: rangeResponseCodec,
  })
  const hash = createHash('sha256')
  for (const entry of entries) hash.update(entry.key).update(entry.value)
  return hash.digest('hex').slice(0, 16)
}

/** `watchglass serve` on a free port. */
async function startEmbedded(): Promise<{ address: string; stop: () => Promise<void> }> {
  const program = fileURLToPath(new URL('../../program/cli.js', import.meta.url))
  const args = [program, 'serve', '--listen', 'none', '--etcd-listen', '127.0.0.1:0']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = once(child, 'exit')
  const stop = async (): Promise<void> => {
    child.kill()
    await exited
  }
  return { address: await addressOf(child), stop }
}

/** The program logs where it listens. */
async function addressOf(child: ChildProcess): Promise<string> {
  if (child.stderr === null) throw new Error('no log')
  for await (const line of createInterface({ input: child.stderr })) {
    const { etcd } = JSON.parse(line) as { etcd?: string }
    if (etcd !== undefined) return etcd
  }
  throw new Error('the embedded etcd did not start')
}
