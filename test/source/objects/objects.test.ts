import t from 'tap'
import type { CacheError } from '../../../lib/base/errors.ts'
import { keyFromText, textFromKey } from '../../../lib/base/keys.ts'
import { atOnce } from '../../../lib/base/slice.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { jsonFromStored, protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import { failureFromAnswer, RefusedResource } from '../../../lib/source/api/answers.ts'
import type { FollowedResource } from '../../../lib/source/api/followed-resource.ts'
import { readSourcePage } from '../../../lib/source/objects/source-page.ts'
import { type FollowedEvent, FrameReader } from '../../../lib/source/objects/watch-frames.ts'

const schema = schemaOf()

function resourceOf(encoding: 'protobuf' | 'json'): FollowedResource {
  return {
    keyspace: keyFromText('/registry/configmaps/'),
    name: 'configmaps',
    root: '/api/v1',
    resource: 'configmaps',
    namespace: '',
    isNamespaced: true,
    apiVersion: 'v1',
    kind: 'ConfigMap',
    encoding,
  }
}

function configMap(name: string, resourceVersion: string): Record<string, unknown> {
  const metadata = { name, namespace: 'default', uid: 'u', resourceVersion, labels: { a: 'b' } }
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { key: 'resourceVersion' } }
}

function encoded(object: unknown, encoding: 'protobuf' | 'json'): Buffer {
  const json = Buffer.from(JSON.stringify(object))
  if (encoding === 'json') return json
  const message = protobufFromJson(json, 0, json.length, schema)
  if (!(message instanceof Uint8Array)) throw new Error(message.reason)
  return Buffer.from(message)
}

for (const encoding of ['protobuf', 'json'] as const) {
  const resource = resourceOf(encoding)

  t.test(`a page of ${encoding} has the entries that etcd would have`, async t => {
    const metadata = { resourceVersion: '12', continue: 'next', remainingItemCount: 7 }
    const items = [configMap('a', '5'), configMap('b', '9007199254')]
    const list = { kind: 'ConfigMapList', apiVersion: 'v1', metadata, items }
    const page = atOnce(readSourcePage(resource, encoded(list, encoding)))
    t.equal(page.revision, 12)
    t.equal(page.continuation, 'next')
    t.equal(page.remaining, 7)
    t.strictSame(
      page.entries.map(({ key, modRevision }) => [textFromKey(key), modRevision]),
      [
        ['/registry/configmaps/default/a', 5],
        ['/registry/configmaps/default/b', 9_007_199_254],
      ],
    )
    const { metadata: held, ...rest } = configMap('a', '5')
    const { resourceVersion: _, ...without } = held as Record<string, unknown>
    t.strictSame(storedJson(page.entries[0]!.value), { ...rest, metadata: without })
  })

  t.test(`a list of nothing in ${encoding}`, async t => {
    const metadata = { resourceVersion: '3' }
    const list = { kind: 'ConfigMapList', apiVersion: 'v1', metadata, items: null }
    const page = atOnce(readSourcePage(resource, encoded(list, encoding)))
    t.strictSame({ ...page }, { revision: 3, entries: [], continuation: '', remaining: 0 })
  })

  t.test(`frames of ${encoding} are found wherever pieces end`, async t => {
    const bookmark = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion: '8' } }
    const frames = Buffer.concat([
      frameOf('ADDED', configMap('a', '5'), encoding),
      frameOf('MODIFIED', configMap('a', '6'), encoding),
      frameOf('DELETED', configMap('a', '7'), encoding),
      frameOf('BOOKMARK', bookmark, encoding),
    ])
    for (const size of [1, 2, 3, 5, 100, frames.length]) {
      const reader = new FrameReader(resource)
      const events: FollowedEvent[] = []
      for (let at = 0; at < frames.length; at += size) {
        events.push(...reader.take(frames.subarray(at, at + size)))
      }
      t.strictSame(
        events.map(event => [event.type, event.type === 'error' ? 0 : event.revision]),
        [
          ['change', 5],
          ['change', 6],
          ['change', 7],
          ['bookmark', 8],
        ],
        `pieces of ${size} bytes`,
      )
      const [, , deleted] = events
      t.match(deleted, { change: { type: 'delete', key: '/registry/configmaps/default/a' } })
    }
  })

  t.test(`an error event in ${encoding} is its failure`, async t => {
    const gone = { kind: 'Status', apiVersion: 'v1', metadata: {}, code: 410, message: 'too old' }
    const [event] = new FrameReader(resource).take(frameOf('ERROR', gone, encoding))
    t.match(event, { type: 'error', failure: { code: 'expired' } })
  })

  t.test(`what is no object is refused in ${encoding}`, async t => {
    const odd = [
      configMap('', '5'),
      configMap('a', ''),
      configMap('a', 'x'),
      configMap('a', '-1'),
      configMap('a', '99999999999999999999'),
      { kind: 'ConfigMap', apiVersion: 'v1' },
    ]
    for (const object of odd) {
      t.throws(() => [...new FrameReader(resource).take(frameOf('ADDED', object, encoding))], {
        code: /source_failed|invalid_request/,
      })
    }
    const hostile = Buffer.from(`ffffffff${'00'.repeat(20)}`, 'hex')
    if (encoding === 'protobuf') {
      t.throws(() => [...new FrameReader(resource).take(hostile)], { code: 'source_failed' })
    }
  })
}

t.test('items of a built-in list get the kind that they leave out', async t => {
  const { kind: _, apiVersion: __, ...item } = configMap('a', '5')
  const list = { kind: 'ConfigMapList', metadata: { resourceVersion: '5' }, items: [item] }
  const page = atOnce(readSourcePage(resourceOf('json'), encoded(list, 'json')))
  const stored = Buffer.from(page.entries[0]!.value).toString()
  t.match(stored, /^\{"kind":"ConfigMap","apiVersion":"v1","metadata":\{"name":"a",/)
})

t.test('refusals of the API, and what they mean', async t => {
  const failure = (code: number, status: object, headers = {}): CacheError =>
    failureFromAnswer({ code, headers, body: Buffer.from(JSON.stringify(status)) })
  t.equal(failure(410, {}).code, 'expired')
  t.match(failure(429, {}, { 'retry-after': '7' }), { code: 'overloaded' })
  t.equal(failure(429, {}, { 'retry-after': '7' }).details.retryAfterMs, 7000)
  t.equal(failure(429, {}, { 'retry-after': '86400' }).details.retryAfterMs, 30_000)
  t.ok(failure(403, {}) instanceof RefusedResource)
  t.equal(failure(500, { message: 'no' }).message, 'the upstream answers 500: no')
  const causes = [{ reason: 'ResourceVersionTooLarge' }]
  t.equal(failure(504, { details: { causes } }).code, 'future_revision')
  t.equal(failure(504, {}).code, 'source_failed')
})

function frameOf(type: string, object: object, encoding: 'protobuf' | 'json'): Buffer {
  if (encoding === 'json') return Buffer.from(`${JSON.stringify({ type, object })}\n`)
  const raw = encoded(object, encoding)
  const extension = Buffer.concat([Buffer.from([0x0a]), varint(raw.length), raw])
  const message = Buffer.concat([
    Buffer.from([0x0a, type.length]),
    Buffer.from(type),
    Buffer.from([0x12]),
    varint(extension.length),
    extension,
  ])
  const head = Buffer.alloc(4)
  head.writeUInt32BE(message.length)
  return Buffer.concat([head, message])
}

function varint(value: number): Buffer {
  return value < 0x80 ? Buffer.from([value]) : Buffer.from([(value & 0x7f) | 0x80, value >> 7])
}

function storedJson(value: Uint8Array): unknown {
  const json = jsonFromStored(value)
  if (!(json instanceof Uint8Array)) throw new Error(json.reason)
  return JSON.parse(Buffer.from(json).toString())
}
