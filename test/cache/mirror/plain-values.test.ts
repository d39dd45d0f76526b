import assert from 'node:assert/strict'
import { deflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import { atOnceMaxBytes, PlainValues } from '../../../lib/cache/mirror/plain-values.ts'
import { KeyValue, noLease } from '../../../lib/store/event.ts'
import { ask, caughtUp, startServed } from '../../support/http/served.ts'
import { all, large, putBytes, streaming, told, watch } from '../../support/watch/watch-served.ts'

const head = [0, 0x6b, 0x38, 0x73]
const maxBytes = 1_536 * 1024

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]
}

/** The frame of a value, which says that it has so many bytes. */
function framed(value: Uint8Array, says = value.length): Buffer {
  return Buffer.concat([Buffer.of(...head, 1, ...varint(says)), deflateRawSync(value)])
}

function entryOf(value: Uint8Array): KeyValue {
  // In the midst of a slab.
  const bytes = Buffer.concat([Buffer.from('before'), value, Buffer.from('after')])
  const meta = {
    createRevision: revision(3),
    modRevision: revision(7),
    version: 2,
    lease: noLease,
  }
  const window = { bytes, start: 6, end: 6 + value.length }
  return new KeyValue(keyFromText('/registry/a'), window, meta)
}

function plainOf(value: Uint8Array, room = { bytes: atOnceMaxBytes }): string {
  const entry = entryOf(value)
  const plain = new PlainValues().of(entry, room)
  if (plain === entry) return 'as it was'
  t.strictSame(
    [plain.key, plain.createRevision, plain.modRevision, plain.version],
    [entry.key, 3, 7, 2],
  )
  return Buffer.from(plain.value).toString('latin1')
}

t.test('a frame becomes the value in it', t => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 5_000 }), value => {
      const text = Buffer.from(value).toString('latin1')
      assert.equal(plainOf(framed(value)), text)
      assert.equal(plainOf(Buffer.of(...head, 0, ...value)), text)
    }),
    { numRuns: 50 },
  )
  const largest = Buffer.alloc(maxBytes, 'x')
  t.equal(plainOf(framed(largest)).length, maxBytes)
  // Bytes behind the stream are not looked at, as API servers do not look at them.
  t.equal(plainOf(Buffer.concat([framed(Buffer.from('abc')), Buffer.from('rest')])), 'abc')
  t.end()
})

const kept: Readonly<Record<string, Uint8Array>> = {
  'an empty value': Buffer.alloc(0),
  'a zero byte': Buffer.of(0),
  protobuf: Buffer.from('k8s\0abc'),
  'another beginning': Buffer.of(0, 0x6b, 0x38, 0x74, 1, 1, 0),
  'nothing behind the head': Buffer.of(...head),
  'another algorithm': Buffer.of(...head, 2, 1, 2, 3),
  'no length': Buffer.of(...head, 1),
  'a length that does not end': Buffer.of(...head, 1, 0xff, 0xff, 0xff, 0xff, 1),
  'a length of nothing': framed(Buffer.alloc(0)),
  'no stream': Buffer.of(...head, 1, 5),
  'a damaged stream': Buffer.of(...head, 1, 5, 0xff, 0xff, 0xff, 0xff),
  'a stream that is cut off': framed(Buffer.from('abcdefgh'.repeat(50))).subarray(0, 15),
  'a shorter stream than it says': framed(Buffer.from('abc'), 4),
  'a longer stream than it says': framed(Buffer.from('abcd'), 3),
  'a bomb that says how large it is': framed(Buffer.alloc(maxBytes + 1)),
  'a bomb that lies': framed(Buffer.alloc(50 * 1024 * 1024), 1000),
  'stored whole, and too long': Buffer.concat([Buffer.of(...head, 0), Buffer.alloc(maxBytes + 1)]),
}
for (const [what, value] of Object.entries(kept)) {
  t.test(`${what} stays as it was`, t => {
    t.equal(plainOf(value), 'as it was')
    t.end()
  })
}

t.test('no more is made plain at once than there is room for', t => {
  const room = { bytes: 250 }
  const value = framed(Buffer.alloc(100, 'x'))
  const outcomes = [1, 2, 3].map(() => plainOf(value, room) === 'as it was')
  t.strictSame(outcomes, [false, false, true])
  t.end()
})

t.test('any bytes are taken, and none are written to', t => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), rest => {
      const value = Buffer.of(...head, 1, ...rest)
      const before = Buffer.from(value)
      assert.ok(plainOf(value).length <= maxBytes)
      assert.deepEqual(value, before)
    }),
  )
  t.end()
})

t.test('compressed objects are answered as they would be without', async t => {
  const objects = [1, 2, 3].map(i => {
    const metadata = { name: `m${i}`, namespace: 'a', uid: `u${i}` }
    const data = { text: 'some text '.repeat(100 * i) }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
    const value = protobufFromJson(Buffer.from(JSON.stringify(object)))
    if (value instanceof NotExact) throw new Error(value.reason)
    return value
  })
  const answers: string[] = []
  for (const isCompressed of [false, true]) {
    const served = await startServed(t, { hasShards: true })
    let last = 0
    for (const [i, value] of objects.entries()) {
      const key = `/registry/configmaps/a/m${i + 1}`
      last = await putBytes(served, key, isCompressed ? framed(value) : value)
    }
    const path = '/api/v1/namespaces/a/configmaps'
    for (const query of [
      '',
      '/m2',
      '?limit=2',
      `?resourceVersion=${last - 1}&resourceVersionMatch=Exact`,
      '?fieldSelector=metadata.name=m3',
    ]) {
      const answer = await ask(served.service.port, { path: `${path}${query}` })
      t.equal(answer.status, 200, query)
      answers.push(answer.body.toString().replace(/"continue":"[^"]*"/, ''))
    }
    const stream = await watch(t, served, `${all}&${streaming}`)
    answers.push(...(await told(stream, 4)))
  }
  t.strictSame(answers.slice(answers.length / 2), answers.slice(0, answers.length / 2))
})

t.test('so are those that were there before, and those read from etcd itself', async t => {
  const first = await startServed(t)
  const value = large(5_000)
  await putBytes(first, '/registry/configmaps/a/large', framed(value))
  const old = await putBytes(first, '/registry/configmaps/a/other', value)
  const again = await startServed(t, { client: first.client })
  await caughtUp(again, old)
  const path = '/api/v1/namespaces/a/configmaps'
  const plain = await ask(again.service.port, { path })
  t.match(plain.body.toString(), /x{5000}.*x{5000}/)
  // From before its history.
  const exact = `${path}?resourceVersion=${old - 1}&resourceVersionMatch=Exact`
  const direct = await ask(again.service.port, { path: exact })
  t.equal(direct.status, 200)
  t.match(direct.body.toString(), /x{5000}/)
})

t.test('a bomb is not shown, and says why', async t => {
  const served = await startServed(t)
  await putBytes(served, '/registry/configmaps/a/bomb', framed(Buffer.alloc(maxBytes + 1)))
  const answer = await ask(served.service.port, { path: '/api/v1/namespaces/a/configmaps/bomb' })
  t.equal(answer.status, 500)
  t.match(answer.body.toString(), /value is compressed/)
})
