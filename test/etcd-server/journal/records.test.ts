import fc from 'fast-check'
import t from 'tap'
import { keyFromBytes } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { KeyValue } from '../../../lib/store/event.ts'
import { EntryMaker } from '../../../lib/etcd-server/engine/entry-maker.ts'
import { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import {
  appendRecord,
  decodePayload,
  encodePayload,
  type JournalRecord,
} from '../../../lib/etcd-server/journal/records.ts'
import {
  decodeFrame,
  decodeHeader,
  encodeFrame,
  encodeHeader,
  frameHeadBytes,
  headerBytes,
  payloadLength,
} from '../../../lib/etcd-server/journal/frames.ts'

const number = fc.maxSafeNat()
const id = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const unsigned = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
const bytes = fc.uint8Array({ maxLength: 300 })
const key = fc.uint8Array({ minLength: 1, maxLength: 40 }).map(keyFromBytes)

const entryAt = (at: fc.Arbitrary<number>): fc.Arbitrary<KeyValue> =>
  fc.tuple(key, bytes, number, at, number, id).map(([name, value, create, mod, version, lease]) => {
    const meta = { createRevision: revision(create), modRevision: revision(mod), version, lease }
    return new KeyValue(name, { bytes: value, start: 0, end: value.length }, meta)
  })

const batch = number.chain(at =>
  fc.record({
    type: fc.constant('batch' as const),
    revision: fc.constant(revision(at)),
    endedLease: id,
    changes: fc.array(
      fc.oneof(
        key.map(name => ({ type: 'delete' as const, key: name })),
        entryAt(fc.constant(at)).map(entry => ({ type: 'put' as const, entry })),
      ),
      { maxLength: 5 },
    ),
  }),
)

const record: fc.Arbitrary<JournalRecord> = fc.oneof(
  batch,
  number.map(at => ({ type: 'compaction' as const, revision: at })),
  fc.record({
    type: fc.constant('lease' as const),
    id,
    ttlSeconds: number,
    remainingMs: number,
  }),
  id.map(lease => ({ type: 'lease-end' as const, id: lease })),
  fc.record({
    type: fc.constant('start' as const),
    clusterId: unsigned,
    memberId: unsigned,
    raftTerm: unsigned,
    revision: number,
  }),
  fc.record({
    type: fc.constant('base' as const),
    revision: number.map(revision),
    compactRevision: fc.integer({ min: -1, max: 1000 }),
    oldestBatch: number,
  }),
  entryAt(number).map(entry => ({ type: 'entry' as const, entry })),
  fc.constant({ type: 'end' as const }),
)

/** Records without the place of their values. */
function plain(value: unknown): unknown {
  if (value instanceof KeyValue) {
    const { createRevision, modRevision, version, lease } = value
    const text = Buffer.from(value.value).toString('hex')
    return { key: value.key, createRevision, modRevision, version, lease, text }
  }
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
}

t.test('records are read as they were written', async t => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 6 }), number, number, (records, sequence, ms) => {
      const out = new ByteWriter(8)
      for (const each of records) appendRecord(out, each)
      const payload = Buffer.from(encodePayload(sequence, ms, out.copy()))
      const read = decodePayload(payload, new EntryMaker())
      t.strictSame(plain(read), plain({ sequence, runningMs: ms, records }))
    }),
  )
})

t.test('bytes that are no records are refused, never a crash', async t => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), random => {
      try {
        decodePayload(Buffer.from(random), new EntryMaker())
      } catch (error) {
        t.match(error, { code: 'invalid_request' })
      }
    }),
    { numRuns: 2000 },
  )
})

t.test('a frame with any bit changed, or any byte missing, is none', async t => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 8, maxLength: 8 }),
      bytes,
      fc.nat(),
      (mark, payload, place) => {
        const own = Buffer.from(mark)
        const frame = encodeFrame(own, payload)
        t.equal(payloadLength(own, frame), payload.length)
        t.same(decodeFrame(frame), Buffer.from(payload))
        const bit = place % (frame.length * 8)
        frame[bit >> 3]! ^= 1 << (bit & 7)
        const length = payloadLength(own, frame)
        const isWhole = length === frame.length - frameHeadBytes
        t.notOk(isWhole && decodeFrame(frame) !== undefined)
      },
    ),
  )
})

t.test('a header with any bit changed is refused', async t => {
  const header = { kind: 'log', number: 2 ** 40 + 7, mark: Buffer.from('12345678') } as const
  const whole = encodeHeader(header)
  t.equal(whole.length, headerBytes)
  t.strictSame(decodeHeader(whole), header)
  for (let bit = 0; bit < headerBytes * 8; bit++) {
    const changed = Buffer.from(whole)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    t.throws(() => decodeHeader(changed), { code: 'invalid_request' })
  }
})
