/** Informers that start at once with a compressed streaming list each (WatchListCompression of
 *  Kubernetes 1.37), as after a restart of a server: against a compression for each of them, which
 *  is what kube-apiserver does beside all else. */

import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type BenchTable,
  type Floor,
  median,
} from '../bench.ts'
import { Program } from '../list/processes.ts'
import { Connection } from './requests.ts'

export const streamsBench: Bench = {
  name: 'streams',
  summary: 'informers that start at once with compressed streaming lists, against compressing each',
  run,
}

interface Size {
  readonly pods: number
  readonly informers: number
  readonly rounds: number
  readonly compressions: number
}

const sizes: Readonly<Record<BenchOptions['size'], Size>> = {
  small: { pods: 50, informers: 3, rounds: 1, compressions: 1 },
  full: { pods: 20_000, informers: 100, rounds: 1, compressions: 5 },
}

const forms = [
  ['JSON', 'application/json'],
  ['protobuf', 'application/vnd.kubernetes.protobuf'],
] as const

const query =
  'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const scale = sizes[size]
  const { pods, informers } = scale
  const rows: BenchTable['rows'][number][] = []
  const floors: Floor[] = []
  const hash = createHash('sha256')
  for (const [name, accept] of size === 'small' ? forms.slice(0, 1) : forms) {
    progress(name)
    const { plainBytes, compressMs, cpuMs } = await measure(accept, scale)
    for (const state of states) {
      const ratio = cpuMs[state] / (informers * compressMs)
      rows.push([`${name}, ${state}`, cpuMs[state], informers * compressMs, ratio, plainBytes])
      // Of what nobody has asked for yet, most is to encode the objects.
      if (state === 'nothing is encoded') continue
      floors.push({
        name: `${name}, ${state}: ${informers} informers against ${informers} compressions`,
        value: ratio,
        bound: 'at most',
        limit: 0.15,
        unit: 'x',
      })
    }
    hash.update(String(plainBytes > pods))
  }
  return {
    tables: [
      {
        title: `${informers} informers that start at once, of ${pods} pods: milliseconds of the processor`,
        columns: ['', 'all of them', 'a compression for each', 'ratio', 'bytes of one, plain'],
        rows,
      },
    ],
    floors,
    resultHash: hash.digest('hex').slice(0, 16),
  }
}

/** Contents at the moment when the informers start. */
const states = ['nothing is encoded', 'nothing is compressed', 'all is compressed'] as const

interface Measured {
  readonly cpuMs: Readonly<Record<(typeof states)[number], number>>
  readonly plainBytes: number
  readonly compressMs: number
}

async function measure(accept: string, scale: Size): Promise<Measured> {
  const { informers, rounds, compressions } = scale
  const [fresh, encoded, compressed]: number[][] = [[], [], []]
  let plain: Buffer = Buffer.alloc(0)
  for (let round = 0; round < rounds; round++) {
    await withProgram(scale, async program => {
      fresh!.push(await startAll(program, accept, informers))
    })
    await withProgram(scale, async program => {
      const connection = new Connection(program.port)
      await connection.bytesOf(`/api/v1/pods?${query}&timeoutSeconds=1`, accept)
      connection.close()
      encoded!.push(await startAll(program, accept, informers))
      compressed!.push(await startAll(program, accept, informers))
      plain = await plainOf(program, accept)
    })
  }
  const times = Array.from({ length: compressions }, () => compressionMs(plain))
  return {
    cpuMs: {
      'nothing is encoded': median(fresh!),
      'nothing is compressed': median(encoded!),
      'all is compressed': median(compressed!),
    },
    plainBytes: plain.length,
    compressMs: median(times),
  }
}

async function withProgram(
  { pods }: Size,
  use: (program: Program) => Promise<void>,
): Promise<void> {
  const args = ['--etcd=embedded', '--auth=none', '--kubernetes-version=1.37']
  const program = await Program.start([...args, `--generate=pods=${pods}`])
  try {
    await use(program)
  } finally {
    await program.stop()
  }
}

/** Time of the processor that informers take which start at once, until each has everything. */
async function startAll(program: Program, accept: string, informers: number): Promise<number> {
  const connections = Array.from({ length: informers }, () => new Connection(program.port))
  try {
    await Promise.all(connections.map(connection => connection.connected))
    const before = await program.cpuSeconds()
    await Promise.all(connections.map(connection => initialEvents(connection, accept)))
    return ((await program.cpuSeconds()) - before) * 1000
  } finally {
    for (const connection of connections) connection.close()
  }
}

async function plainOf(program: Program, accept: string): Promise<Buffer> {
  const connection = new Connection(program.port)
  try {
    return gunzipSync(Buffer.concat(await initialEvents(connection, accept)))
  } finally {
    connection.close()
  }
}

/** The compressed bytes up to the end of the initial events: nothing changes, so that is all. */
function initialEvents(connection: Connection, accept: string): Promise<Buffer[]> {
  return connection.piecesUntilQuiet(`/api/v1/pods?${query}`, { accept, 'accept-encoding': 'gzip' })
}

/** Time of the processor of one compression, at the level of kube-apiserver. */
function compressionMs(plain: Buffer): number {
  const before = process.cpuUsage()
  gzipSync(plain, { level: 1 })
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
