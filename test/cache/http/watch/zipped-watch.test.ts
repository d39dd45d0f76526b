/** Streaming lists that are compressed, as kube-apiserver 1.37 does it (WatchListCompression): a
 *  gzip member for each time that something is written. */

import { gunzipSync, inflateRawSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { schemaOf } from '../../../../lib/codec/schema/schema.ts'
import { type Served, startServed } from '../../../support/http/served.ts'
import type { WatchResponse } from '../../../support/watch/watch-client.ts'
import {
  all,
  large,
  put,
  putBytes,
  remove,
  streaming,
  told,
  untilWatches,
  watch,
} from '../../../support/watch/watch-served.ts'

const gzip = { 'accept-encoding': 'gzip' }
const list = `${all}&${streaming}`

function started(t: Test, minor = '1.37'): Promise<Served> {
  return startServed(t, { schema: schemaOf(minor), hasShards: true, hasDrop: true, hasCbor: true })
}

/** The plain contents of each member; the last one may not be whole yet. */
function membersOf({ pieces }: WatchResponse): string[] {
  const members: string[] = []
  for (let bytes = Buffer.concat(pieces); bytes.length > 10;) {
    const { buffer, engine } = inflateRawSync(bytes.subarray(10), {
      info: true,
    } as never) as never as {
      buffer: Buffer
      engine: { bytesWritten: number }
    }
    const end = 10 + engine.bytesWritten + 8
    t.equal(gunzipSync(bytes.subarray(0, end)).length, buffer.length)
    members.push(buffer.toString())
    bytes = bytes.subarray(end)
  }
  return members
}

const asked: readonly (readonly [
  isZipped: boolean,
  path: string,
  accepted?: string | undefined,
])[] = [
  [true, list],
  [true, list, 'deflate, gzip'],
  [true, `${all}&allowWatchBookmarks=true`],
  [true, `${all}&allowWatchBookmarks=true&resourceVersion=0`],
  [true, `${list}&resourceVersion=1`],
  [true, `${list}&labelSelector=x=y`],
  [false, list, undefined],
  [false, list, 'identity'],
  [false, list, 'gzip;q=1'],
  [false, all],
  [false, `${all}&${streaming.replace('sendInitialEvents=true', 'sendInitialEvents=false')}`],
  [false, `${all}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`],
  [false, `${all}&allowWatchBookmarks=true&resourceVersion=1`],
]

t.test('streaming lists are compressed for those who accept it, and no other watches', async t => {
  const served = await started(t)
  await put(served, 'a')
  for (const [isZipped, path, ...rest] of asked) {
    const accepted = rest.length === 0 ? 'gzip' : rest[0]
    const headers = accepted === undefined ? {} : { 'accept-encoding': accepted }
    const stream = await watch(t, served, path, { headers })
    t.equal(stream.status, 200)
    t.equal(stream.encoding, isZipped ? 'gzip' : '', `${path} ${accepted ?? 'no header'}`)
    stream.close()
  }
})

t.test('servers before 1.37 do not compress them', async t => {
  const served = await started(t, '1.36')
  await put(served, 'a')
  const stream = await watch(t, served, list, { headers: gzip })
  t.equal(stream.encoding, '')
})

t.test('nor does a server whose clients cannot read it', async t => {
  const served = await startServed(t, { schema: schemaOf('1.37'), compressesWatches: false })
  await put(served, 'a')
  const stream = await watch(t, served, list, { headers: gzip })
  t.equal(stream.encoding, '')
  t.equal((await told(stream, 2)).length, 2)
})

for (const version of ['1.1', '2'] as const) {
  t.test(`over HTTP/${version}, what is written at once is one member`, async t => {
    const served = await started(t)
    const a = await put(served, 'a')
    const b = await put(served, 'b', { long: 'x'.repeat(60) })
    const stream = await watch(t, served, list, { version, headers: gzip })
    t.strictSame(await told(stream, 3), [`ADDED a@${a}`, `ADDED b@${b}`, `BOOKMARK @${b}`])
    const events = [await put(served, 'a', { x: 'y' }), await remove(served, 'b')]
    t.strictSame(await told(stream, 2), [`MODIFIED a@${events[0]}`, `DELETED b@${events[1]}`])
    const value = large(2_000)
    const c = await putBytes(served, '/registry/configmaps/a/large', value)
    t.strictSame(await told(stream, 1), [`ADDED large@${c}`])
    const [first, ...others] = membersOf(stream)
    t.equal(first?.split('\n').length, 4)
    t.equal(others.join('').split('\n').length, 4)
    t.ok(Buffer.concat(stream.pieces).length < 3_000)
  })
}

const forms = [
  ['application/json', ''],
  ['application/vnd.kubernetes.protobuf', ''],
  ['application/cbor', ''],
  ['application/json;as=Table;v=v1;g=meta.k8s.io', ''],
  ['application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io', ''],
  ['application/json;drop=metadata.managedFields', ''],
  ['application/json', '&labelSelector=even=1'],
  ['application/json', '&fieldSelector=metadata.namespace=b'],
  ['application/json', `&shardSelector=${encodeURIComponent(shard())}`],
] as const

function shard(): string {
  return `shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')`
}

t.test('it has the bytes of the same watch that is not compressed', async t => {
  const served = await started(t)
  served.clock.stoppedAtMs = Date.parse('2026-11-24T00:00:00Z')
  // More than one leaf, and more than one run of those that are selected.
  for (let i = 0; i < 200; i++) {
    await put(served, `${i % 3 === 0 ? 'b' : 'c'}/m${i}`, { even: String(i % 2) })
  }
  for (const [accept, query] of forms) {
    const read = async (headers: Record<string, string>): Promise<string> => {
      const stream = await watch(t, served, list + query, { headers: { accept, ...headers } })
      t.equal(stream.encoding, headers['accept-encoding'] ?? '')
      const frames: Buffer[] = []
      for (let last = ''; !last.includes('initial-events-end');) {
        const frame = await stream.next()
        if (frame === undefined) break
        last = frame.toString('latin1')
        frames.push(frame)
      }
      stream.close()
      await untilWatches(served, 0)
      return Buffer.concat(frames).toString('latin1')
    }
    const plain = await read({})
    t.ok(plain.length > 3_000)
    // Twice, as some of it is kept.
    for (let i = 0; i < 3; i++) t.equal(await read(gzip), plain, `${accept} ${query}`)
  }
})

t.test('informers that start together are sent the same compressed bytes', async t => {
  const served = await started(t)
  for (let i = 0; i < 60; i++) await put(served, `m${i}`)
  const streams = await Promise.all(
    Array.from({ length: 4 }, () => watch(t, served, list, { headers: gzip })),
  )
  for (const stream of streams) await told(stream, 61)
  await put(served, 'm0', { x: 'y'.repeat(60) })
  for (const stream of streams) await told(stream, 1)
  const [first, ...others] = streams.map(({ pieces }) => Buffer.concat(pieces).toString('latin1'))
  for (const other of others) t.equal(other, first)
})

t.test('objects of all sizes arrive', async t => {
  const served = await started(t)
  const stream = await watch(t, served, list, { headers: gzip })
  await told(stream, 1)
  for (const bytes of [10, 100_000, 600_000, 1_400_000]) {
    const at = await putBytes(served, '/registry/configmaps/a/large', large(bytes))
    const [event] = await told(stream, 1)
    t.match(event, new RegExp(`large@${at}$`))
  }
})

t.test('what is told in the stream before any event is compressed, too', async t => {
  const served = await started(t)
  await put(served, 'a')
  const path = `${list}&resourceVersion=99999999`
  const stream = await watch(t, served, path, { headers: gzip })
  t.strictSame([stream.status, stream.encoding], [200, 'gzip'])
  const frame = await stream.next()
  t.match(frame?.toString(), /Too large resource version/)
})

t.test('a watch that ends has sent what was waiting, and ends a member', async t => {
  const served = await started(t)
  const stream = await watch(t, served, list, { headers: gzip })
  await told(stream, 1)
  const at = await put(served, 'a')
  await served.service.stop()
  t.strictSame(await told(stream, 2), [`ADDED a@${at}`, 'end'])
})
