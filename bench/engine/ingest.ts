/** The speed at which our client reads entries from a real etcd, in pages, compared with bare
 *  grpc-js, which the client is built on, and with the stubs of etcd3, which it could have been
 *  built on.
 *
 *  All read the same pages in turn, slice by slice, so that other load of the machine affects all
 *  alike. None keeps what it has read, because the cost of new memory (1.5 us for each entry, as
 *  much as our client) would count only for those that have something to keep. The mirror's bench
 *  measures what is kept. */

import { createHash } from 'node:crypto'
import { Client, credentials } from '@grpc/grpc-js'
import { Etcd3 } from 'etcd3'
import {
  type Key,
  bytesFromKey,
  keyAfter,
  keyFromBytes,
  keyFromText,
  prefixRange,
} from '../../lib/base/keys.ts'
import { revision } from '../../lib/base/revision.ts'
import { createRandom } from '../../lib/base/random.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { channelOptions } from './grpc-options.ts'
import { rangeCodec, rangeResponseCodec } from '../../lib/etcd/proto/kv-messages.ts'
import { messageFromRange } from '../../lib/etcd/wire.ts'
import { KeyValue } from '../../lib/store/event.ts'
import { SlabWriter } from '../../lib/store/slab.ts'
import { type EtcdCluster, startEtcd } from '../../test/support/etcd/etcd-cluster.ts'
import { findEtcd } from '../../test/support/etcd/real-etcd.ts'
import type { BenchOptions, BenchResult } from '../bench.ts'

/** A typical pod, as etcd stores it. */
const valueBytes = 2500
const pageEntries = 1000
const slicePages = 5

const prefix = '/registry/pods/'
const { end } = prefixRange(keyFromText(prefix))

/** One way to read. Answers how many bytes of values it saw. */
interface Reader {
  readonly name: string
  /** Reads so many pages, from the entry of that number on. */
  readSlice(first: number, pages: number): Promise<number>
  close(): Promise<void>
}

export async function measureIngest(options: BenchOptions): Promise<BenchResult> {
  const etcd = await findEtcd('3.5')
  if (etcd.skip !== false) throw new Error(etcd.skip)
  const entries = options.size === 'full' ? 100_000 : 5000
  const tasks: (() => Promise<void>)[] = []
  try {
    const cluster = await startEtcd({ teardown: task => tasks.push(task) }, etcd, {
      flags: ['--quota-backend-bytes=8589934592'],
    })
    options.progress('ingest: filling etcd')
    await fill(cluster, entries)
    const [endpoint = ''] = cluster.endpoints
    const readers = [
      createBareReader(endpoint, false),
      createBareReader(endpoint, true),
      createOurReader(endpoint),
      createEtcd3Reader(endpoint),
    ]
    tasks.push(...readers.map(reader => () => reader.close()))
    const rounds = options.size === 'full' ? 3 : 1
    const costs = await readInTurn(readers, { entries, rounds, progress: options.progress })
    return resultOf(readers, costs, { entries: entries * rounds, hash: await digest(endpoint) })
  } finally {
    for (const task of tasks.toReversed()) await task()
  }
}

interface Plan {
  readonly entries: number
  readonly rounds: number
  readonly progress: (message: string) => void
}

/** The cost of all rounds to a reader: time, and the part of it that this process was at work. */
interface Cost {
  wallMs: number
  cpuMs: number
}

/** The first round is to warm up, and not counted. */
async function readInTurn(readers: readonly Reader[], plan: Plan): Promise<Cost[]> {
  const costs = readers.map(() => ({ wallMs: 0, cpuMs: 0 }))
  const sliceEntries = slicePages * pageEntries
  for (let round = 0; round <= plan.rounds; round++) {
    plan.progress(`ingest: round ${round} of ${plan.rounds}`)
    globalThis.gc?.()
    for (let first = 0, turn = 0; first < plan.entries; first += sliceEntries, turn++) {
      for (let i = 0; i < readers.length; i++) {
        const which = (i + turn) % readers.length
        const startMs = performance.now()
        const startCpu = process.cpuUsage()
        const bytes = await readers[which]!.readSlice(first, slicePages)
        const { user, system } = process.cpuUsage(startCpu)
        if (round > 0) {
          costs[which]!.wallMs += performance.now() - startMs
          costs[which]!.cpuMs += (user + system) / 1000
        }
        if (bytes < sliceEntries * valueBytes) throw new Error(`read ${bytes} bytes only`)
      }
    }
  }
  return costs
}

function resultOf(
  readers: readonly Reader[],
  costs: readonly Cost[],
  { entries, hash }: { entries: number; hash: string },
): BenchResult {
  const bareMs = costs[0]!.wallMs
  const megabytes = (entries * valueBytes) / 1e6
  return {
    tables: [
      {
        title: `Ingest of ${valueBytes} byte values from a real etcd, in pages of ${pageEntries}`,
        columns: ['reader', 'entries/s', 'MB/s', 'of bare', 'CPU us/entry'],
        rows: readers.map(({ name }, i) => {
          const { wallMs, cpuMs } = costs[i]!
          const seconds = wallMs / 1000
          const ratio = bareMs / wallMs
          return [
            name,
            Math.round(entries / seconds),
            megabytes / seconds,
            ratio,
            (cpuMs * 1000) / entries,
          ]
        }),
      },
    ],
    floors: [
      {
        name: 'ingest of the client, of bare grpc-js',
        value: bareMs / costs[2]!.wallMs,
        bound: 'at least',
        limit: 0.8,
        unit: 'times',
      },
    ],
    resultHash: hash,
  }
}

function keyOf(entry: number): Key {
  return keyFromText(prefix + String(entry).padStart(8, '0'))
}

async function fill({ endpoints }: EtcdCluster, entries: number): Promise<void> {
  const client = new GrpcClient({ endpoints })
  const random = createRandom(1)
  const value = Buffer.from(Array.from({ length: valueBytes }, () => random.next() * 256))
  for (let first = 0; first < entries; first += 100) {
    const success = Array.from({ length: 100 }, (_, i) => {
      return { type: 'put', key: keyOf(first + i), value } as const
    })
    await client.txn({ compares: [], success, failure: [] })
  }
  await client.close()
}

/** grpc-js with our channel's options, and messages as bytes. It knows the keys, so it need not
 *  look into a page to find the next. With `decodes`, every page is decoded too, and its values are
 *  left in it: not what can be kept, but the least a reader of the entries can do. */
function createBareReader(endpoint: string, decodes: boolean): Reader {
  const client = new Client(new URL(endpoint).host, credentials.createInsecure(), channelOptions)
  const asIs = (bytes: Buffer): Buffer => bytes
  const range = (request: Buffer): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest('/etcdserverpb.KV/Range', asIs, asIs, request, (error, response) => {
        if (response === undefined) reject(error ?? new Error('no response'))
        else resolve(response)
      })
    })
  return {
    name: decodes ? 'bare grpc-js, decoded' : 'bare grpc-js, bytes',
    async readSlice(first, pages) {
      let bytes = 0
      for (let page = 0; page < pages; page++) {
        const start = keyOf(first + page * pageEntries)
        const message = messageFromRange({ range: { start, end }, limit: pageEntries })
        const response = await range(rangeCodec.encode(message))
        if (!decodes) bytes += response.length
        else {
          for (const entry of rangeResponseCodec.decode(response).entries) {
            bytes += entry.valueLength
          }
        }
      }
      return bytes
    },
    close: async () => client.close(),
  }
}

/** Our client, as the mirror uses it: it learns the next key from each page. */
function createOurReader(endpoint: string): Reader {
  const client = new GrpcClient({ endpoints: [endpoint] })
  return {
    name: 'our client',
    async readSlice(first, pages) {
      let bytes = 0
      let start = keyOf(first)
      for (let page = 0; page < pages; page++) {
        const { entries } = await client.range({ range: { start, end }, limit: pageEntries })
        for (const entry of entries) bytes += entry.valueLength
        start = keyAfter(entries.at(-1)!.key)
      }
      return bytes
    },
    close: () => client.close(),
  }
}

/** A client made on etcd3's stubs, which give integers as text and bytes as views of the message:
 *  it makes the same entries of them, with values in slabs. */
function createEtcd3Reader(endpoint: string): Reader {
  const client = new Etcd3({ hosts: endpoint, grpcOptions: channelOptions })
  const slabs = new SlabWriter()
  return {
    name: 'a client on etcd3',
    async readSlice(first, pages) {
      let bytes = 0
      for (let page = 0; page < pages; page++) {
        const { kvs } = await client.kv.range({
          key: bytesFromKey(keyOf(first + page * pageEntries)),
          range_end: bytesFromKey(end!),
          limit: pageEntries,
        })
        const entries = kvs.map(
          kv =>
            new KeyValue(keyFromBytes(kv.key), slabs.copy(kv.value), {
              createRevision: revision(Number(kv.create_revision)),
              modRevision: revision(Number(kv.mod_revision)),
              version: Number(kv.version),
              lease: BigInt(kv.lease),
            }),
        )
        for (const { valueLength } of entries) bytes += valueLength
      }
      return bytes
    },
    close: async () => client.close(),
  }
}

/** A digest of all entries, as the client reads them. */
async function digest(endpoint: string): Promise<string> {
  const client = new GrpcClient({ endpoints: [endpoint] })
  const hash = createHash('sha256')
  for (let start = keyFromText(prefix); ;) {
    const page = await client.range({ range: { start, end }, limit: pageEntries })
    for (const { key, modRevision, value } of page.entries) {
      hash.update(`${key} ${modRevision}`).update(value)
    }
    if (!page.more) break
    start = keyAfter(page.entries.at(-1)!.key)
  }
  await client.close()
  return hash.digest('hex').slice(0, 16)
}
