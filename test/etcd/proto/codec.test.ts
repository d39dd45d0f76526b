/** Our codec against protobufjs with etcd3's .proto files: what one writes, the other reads. */

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import fc from 'fast-check'
import protobuf from 'protobufjs'
import t from 'tap'
import { CacheError } from '../../../lib/base/errors.ts'
import { keyFromBytes } from '../../../lib/base/keys.ts'
import { knownMax, revision } from '../../../lib/base/revision.ts'
import { leaseGrantCodec, statusResponseCodec } from '../../../lib/etcd/proto/admin-messages.ts'
import {
  leaseTimeToLiveResponseCodec,
  memberListResponseCodec,
} from '../../../lib/etcd-server/engine/admin-messages.ts'
import type { Codec } from '../../../lib/etcd/proto/codec.ts'
import {
  deleteRangeResponseCodec,
  putCodec,
  rangeCodec,
  rangeResponseCodec,
  txnCodec,
  txnResponseCodec,
} from '../../../lib/etcd/proto/kv-messages.ts'
import { watchRequestCodec, watchResponseCodec } from '../../../lib/etcd/proto/watch-messages.ts'
import { KeyValue } from '../../../lib/store/event.ts'

const root = protobuf.loadSync(
  createRequire(import.meta.url)
    .resolve('etcd3/package.json')
    .replace('package.json', 'proto/rpc.proto'),
)

/** Checks that protobufjs reads in our bytes, and we in its bytes, the message that we began
 *  with. */
function roundTrip<T>(name: string, codec: Codec<T>, message: T): void {
  const type = root.lookupType(`etcdserverpb.${name}`)
  const ours = codec.encode(message)
  const theirs = Buffer.from(type.encode(type.decode(ours)).finish())
  assert.deepEqual(plain(codec.decode(ours)), plain(message))
  assert.deepEqual(plain(codec.decode(theirs)), plain(message))
  assert.deepEqual(
    type.toObject(type.decode(ours), { longs: String, bytes: String }),
    type.toObject(type.decode(theirs), { longs: String, bytes: String }),
  )
}

/** The message with every kind of bytes as base64, and entries by their fields. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof KeyValue) {
    const { key, createRevision, modRevision, version, lease } = value
    return [key, plain(value.value), createRevision, modRevision, version, String(lease)]
  }
  if (typeof value === 'bigint') return `${value}n`
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plain(field)]))
}

const key = fc.uint8Array({ maxLength: 6 }).map(keyFromBytes)
const bytes = fc.uint8Array({ maxLength: 300 })
const flag = fc.boolean()
const whole = fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: knownMax }))
const signed = fc.oneof(whole, fc.constantFrom(-1, -5, -(2 ** 40)))
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
const text = fc.string({ unit: 'grapheme', maxLength: 8 })
const option = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined })

const header = fc.record({
  clusterId: uint64,
  memberId: uint64,
  revision: signed,
  raftTerm: uint64,
})
const entry = fc
  .record({ key, bytes, create: whole, mod: whole, version: whole, lease: int64 })
  .map(
    fields =>
      new KeyValue(
        fields.key,
        { bytes: fields.bytes, start: 0, end: fields.bytes.length },
        {
          createRevision: revision(fields.create),
          modRevision: revision(fields.mod),
          version: fields.version,
          lease: fields.lease,
        },
      ),
  )
const range = fc.record({
  key,
  rangeEnd: key,
  limit: signed,
  revision: signed,
  sortOrder: fc.integer({ min: 0, max: 2 }),
  sortTarget: fc.integer({ min: 0, max: 4 }),
  serializable: flag,
  keysOnly: flag,
  countOnly: flag,
  minModRevision: signed,
  maxModRevision: signed,
  minCreateRevision: signed,
  maxCreateRevision: signed,
})
const put = fc.record({
  key,
  value: bytes,
  lease: int64,
  previous: flag,
  ignoreValue: flag,
  ignoreLease: flag,
})
const rangeResponse = fc.record({
  header: option(header),
  entries: fc.array(entry, { maxLength: 4 }),
  more: flag,
  count: whole,
})

t.test('ranges, puts and their answers', async t => {
  fc.assert(fc.property(range, message => roundTrip('RangeRequest', rangeCodec, message)))
  fc.assert(fc.property(put, message => roundTrip('PutRequest', putCodec, message)))
  fc.assert(
    fc.property(rangeResponse, message => roundTrip('RangeResponse', rangeResponseCodec, message)),
  )
  const deleted = fc.record({
    header: option(header),
    deleted: whole,
    previous: fc.array(entry, { maxLength: 3 }),
  })
  fc.assert(
    fc.property(deleted, message =>
      roundTrip('DeleteRangeResponse', deleteRangeResponseCodec, message),
    ),
  )
  t.pass()
})

t.test('transactions inside transactions', async t => {
  const compare = fc.record({
    result: fc.integer({ min: 0, max: 3 }),
    target: fc.integer({ min: 0, max: 4 }),
    key,
    version: fc.constant(0),
    createRevision: fc.constant(0),
    modRevision: fc.constant(0),
    value: fc.constant(new Uint8Array(0)),
    lease: int64,
    rangeEnd: key,
  })
  const { txn } = fc.letrec<{ txn: Txn }>(tie => {
    const operation = fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      fc.record({ operation: fc.record({ type: fc.constant('put' as const), value: put }) }),
      fc.record({ operation: fc.record({ type: fc.constant('range' as const), value: range }) }),
      fc.record({ operation: fc.constant(undefined) }),
      fc.record({ operation: fc.record({ type: fc.constant('txn' as const), value: tie('txn') }) }),
    )
    return {
      txn: fc.record({
        compare: fc.array(compare, { maxLength: 2 }),
        success: fc.array(operation, { maxLength: 2 }),
        failure: fc.array(operation, { maxLength: 2 }),
      }),
    }
  })
  fc.assert(fc.property(txn, message => roundTrip('TxnRequest', txnCodec, message)))
  const result = fc.record({
    result: option(fc.record({ type: fc.constant('range' as const), value: rangeResponse })),
  })
  const response = fc.record({
    header: option(header),
    succeeded: flag,
    results: fc.array(result, { maxLength: 3 }),
  })
  fc.assert(fc.property(response, message => roundTrip('TxnResponse', txnResponseCodec, message)))
  t.pass()
})

type Txn = ReturnType<typeof txnCodec.decode>

t.test('transactions that nest too deep are refused as malformed', async t => {
  const nested = (depth: number): Buffer => {
    let bytes = Buffer.alloc(0)
    for (let i = 0; i < depth; i++) {
      for (const tag of [0x22, 0x12]) {
        const length = bytes.length
        const head = [tag, (length & 127) | 128, (length >> 7) | 128, length >> 14]
        bytes = Buffer.concat([Buffer.from(head), bytes])
      }
    }
    return bytes
  }
  t.equal(txnCodec.decode(nested(30)).success.length, 1)
  t.throws(() => txnCodec.decode(nested(2_000)), { code: 'invalid_request' })
  t.equal(txnCodec.decode(nested(30)).success.length, 1, 'and nothing is left of it')
})

t.test('watch requests and responses', async t => {
  const create = fc.record({
    key,
    rangeEnd: key,
    startRevision: signed,
    progressNotify: flag,
    filters: fc.array(fc.constantFrom(0, 1), { maxLength: 3 }),
    previous: flag,
    watchId: int64,
    fragment: flag,
  })
  const request = fc.oneof(
    create.map(value => ({ type: 'create' as const, value })),
    int64.map(watchId => ({ type: 'cancel' as const, value: { watchId } })),
    fc.constant({ type: 'progress' as const, value: {} }),
  )
  fc.assert(
    fc.property(option(request), chosen =>
      roundTrip('WatchRequest', watchRequestCodec, { request: chosen }),
    ),
  )
  const event = fc.oneof(
    fc.record({ after: entry, previous: option(entry) }).map(({ after, previous }) => {
      return { key: after.key, revision: after.modRevision, after, previous }
    }),
    fc.record({
      key,
      revision: whole.map(revision),
      after: fc.constant(undefined),
      previous: option(entry),
    }),
  )
  const response = fc.record({
    header: option(header),
    watchId: int64,
    created: flag,
    canceled: flag,
    compactRevision: signed,
    cancelReason: text,
    fragment: flag,
    events: fc.array(event, { maxLength: 4 }),
  })
  fc.assert(
    fc.property(response, message => roundTrip('WatchResponse', watchResponseCodec, message)),
  )
  t.pass()
})

t.test('leases, members and status', async t => {
  fc.assert(
    fc.property(fc.record({ ttl: signed, id: int64 }), message =>
      roundTrip('LeaseGrantRequest', leaseGrantCodec, message),
    ),
  )
  const timeToLive = fc.record({
    header: option(header),
    id: int64,
    ttl: signed,
    grantedTtl: signed,
    keys: fc.array(key, { maxLength: 3 }),
  })
  fc.assert(
    fc.property(timeToLive, message =>
      roundTrip('LeaseTimeToLiveResponse', leaseTimeToLiveResponseCodec, message),
    ),
  )
  const member = fc.record({
    id: uint64,
    name: text,
    peerUrls: fc.array(text, { maxLength: 2 }),
    clientUrls: fc.array(text, { maxLength: 2 }),
    isLearner: flag,
  })
  const members = fc.record({ header: option(header), members: fc.array(member, { maxLength: 2 }) })
  fc.assert(
    fc.property(members, message =>
      roundTrip('MemberListResponse', memberListResponseCodec, message),
    ),
  )
  const status = fc.record({
    header: option(header),
    version: text,
    databaseBytes: whole,
    leader: uint64,
    raftIndex: uint64,
    raftTerm: uint64,
    raftAppliedIndex: uint64,
    errors: fc.array(text, { maxLength: 2 }),
    databaseBytesInUse: whole,
    isLearner: flag,
  })
  fc.assert(
    fc.property(status, message => roundTrip('StatusResponse', statusResponseCodec, message)),
  )
  t.pass()
})

t.test('any bytes are read, or refused as malformed', async t => {
  const codecs = [rangeCodec, txnCodec, rangeResponseCodec, watchResponseCodec, watchRequestCodec]
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.constantFrom(...codecs), (junk, codec) => {
      try {
        codec.decode(junk)
      } catch (error) {
        assert.ok(error instanceof CacheError, String(error))
        assert.equal(error.code, 'invalid_request')
      }
    }),
    { numRuns: 3000 },
  )
  t.pass()
})

t.test('fields that are not known are passed over, and the last of a oneof counts', async t => {
  const known = rangeCodec.encode({ ...rangeCodec.decode(Buffer.alloc(0)), limit: 7 })
  const unknown = Buffer.from([
    0xf8, 0x07, 0x01, 0xfd, 0x07, 1, 2, 3, 4, 0xf9, 0x07, 1, 2, 3, 4, 5, 6, 7, 8, 0xfa, 0x07, 2, 9,
    9,
  ])
  t.equal(rangeCodec.decode(Buffer.concat([unknown, known])).limit, 7)
  const twice = Buffer.concat([
    watchRequestCodec.encode({ request: { type: 'progress', value: {} } }),
    watchRequestCodec.encode({ request: { type: 'cancel', value: { watchId: 3n } } }),
  ])
  t.strictSame(watchRequestCodec.decode(twice).request, { type: 'cancel', value: { watchId: 3n } })
})
