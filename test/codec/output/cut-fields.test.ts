import t from 'tap'
import {
  copyWithoutManagedFields,
  cutJson,
  cutListItem,
  cutMessage,
} from '../../../lib/codec/output/cut-fields.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import type { StoredValue } from '../../../lib/codec/stored-value.ts'
import { itemsOfRun, type Segment } from '../../../lib/codec/output/segments.ts'
import { SegmentCache } from '../../../lib/store/segments.ts'
import { appendVarint, ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import { builtIn, shownAs } from '../../support/kube/outputs.ts'
import { ObjectEncoder } from '../../../lib/codec/output/object-encoder.ts'
import { itemEncoder } from '../../../lib/codec/output/list-body.ts'
import {
  appendEnvelope,
  type Envelope,
  readEnvelope,
} from '../../../lib/codec/transcode/envelope.ts'
import { entriesOf } from '../../golden/load.ts'

function writerOf(...parts: (string | Uint8Array)[]): ByteWriter {
  const out = new ByteWriter()
  for (const part of parts) out.append(Buffer.from(part as string))
  return out
}

function written(out: ByteWriter): string {
  return Buffer.from(out.copy()).toString()
}

t.test('the member goes with one comma, wherever it is', async t => {
  const cases: readonly (readonly ['object' | 'row', string, string])[] = [
    [
      'object',
      '{"metadata":{"name":"a","managedFields":[{"a":"]"}]}}',
      '{"metadata":{"name":"a"}}',
    ],
    ['object', '{"metadata":{"managedFields":[1],"name":"a"}}', '{"metadata":{"name":"a"}}'],
    ['object', '{"metadata":{"managedFields":[]}}', '{"metadata":{}}'],
    ['object', '{"spec":{"managedFields":[1]},"metadata":{"a":{"managedFields":[1]}}}', ''],
    ['object', '{"kind":"a"}', ''],
    ['object', '{}', ''],
    ['row', '{"cells":["{"],"object":null}', ''],
    [
      'row',
      '{"cells":[],"object":{"metadata":{"b":1,"managedFields":[2],"c":3}}}',
      '{"cells":[],"object":{"metadata":{"b":1,"c":3}}}',
    ],
  ]
  for (const [what, before, after] of cases) {
    const out = writerOf('before,', before)
    t.equal(cutJson(out, 7, what), undefined)
    t.equal(written(out), `before,${after || before}`)
  }
})

/** A message with a name of that length, managed fields, and something behind them. */
function message(nameLength: number, fields: number): Buffer {
  const metadata = new ByteWriter()
  metadata.append(Buffer.of(0x0a))
  appendVarint(metadata, nameLength)
  metadata.append(Buffer.alloc(nameLength, 0x61))
  for (let i = 0; i < fields; i++) {
    metadata.append(Buffer.of(0x8a, 0x01))
    appendVarint(metadata, 200)
    metadata.append(Buffer.alloc(200, 0x8a))
  }
  const out = new ByteWriter()
  out.append(Buffer.of(0x0a))
  appendVarint(out, metadata.length)
  out.append(metadata.copy())
  out.append(Buffer.from('\u0012\u0003end'))
  return Buffer.from(out.copy())
}

function item(bytes: Uint8Array): Buffer {
  const out = new ByteWriter()
  out.append(Buffer.of(0x12))
  appendVarint(out, bytes.length)
  out.append(bytes)
  return Buffer.from(out.copy())
}

t.test('lengths of messages are written again, also where they become shorter', async t => {
  for (const nameLength of [0, 1, 100, 125, 126, 127, 128, 16_000, 16_380, 16_384]) {
    for (const fields of [0, 1, 3, 90]) {
      const out = writerOf('before', message(nameLength, fields))
      t.equal(cutMessage(out, 6), undefined)
      t.equal(written(out), `before${message(nameLength, 0).toString()}`)
      const inList = writerOf('before', item(message(nameLength, fields)))
      t.equal(cutListItem(inList, 6), undefined)
      t.strictSame(
        inList.copy(),
        Buffer.concat([Buffer.from('before'), item(message(nameLength, 0))]),
      )
    }
  }
})

t.test('what is cut off or apart is said not to be exact', async t => {
  const whole = message(10, 2)
  for (const length of [2, 5, 30]) {
    t.type(cutMessage(writerOf(whole.subarray(0, length)), 0), NotExact)
  }
  t.type(cutJson(writerOf('{"metadata":{"managedFields":[1'), 0, 'object'), NotExact)
})

const kind = builtIn({ kind: 'ConfigMap' })
const encoder = new ObjectEncoder(kind, undefined)
const entries = entriesOf('/registry/configmaps/shop/app-config').slice(0, 1)

t.test('items that are kept whole are not encoded again', async t => {
  for (const encoding of ['json', 'protobuf'] as const) {
    const cache = new SegmentCache<Segment>(1e6)
    const leaf = {}
    const run = { entries, from: 0, to: entries.length, leaf, size: entries.length }
    const whole = itemsOfRun(run, itemEncoder(encoder, shownAs({ encoding })), { cache })
    const cut = itemEncoder(encoder, shownAs({ encoding, drops: true }))
    const fresh = itemsOfRun({ ...run, leaf: {} }, cut, { cache })
    const refuse = (): NotExact => new NotExact('encoded')
    const again = itemsOfRun(run, { ...cut, append: refuse }, { cache })
    t.notOk(again instanceof NotExact || whole instanceof NotExact || fresh instanceof NotExact)
    t.strictSame(again, fresh)
    t.ok((again as Uint8Array).length < (whole as Uint8Array).length)
  }
})

t.test('a stored object is copied without them, so that they are not encoded', async t => {
  const [entry] = entries
  const { bytes, start, end } = entry!
  const copied = new ByteWriter()
  t.equal(copyWithoutManagedFields(copied, entry!), true)
  t.ok(copied.length < end - start)
  const light = { bytes: copied.bytes, start: 0, end: copied.length }
  t.equal(copyWithoutManagedFields(new ByteWriter(), light), false, 'there are none left')
  for (const encoding of ['json', 'protobuf'] as const) {
    const write = (object: StoredValue, drops?: true): string => {
      const out = new ByteWriter()
      const form = shownAs({ encoding, drops })
      t.equal(encoder.append(out, object, { form, revision: 5, place: 'alone' }), undefined)
      return Buffer.from(out.copy()).toString('latin1')
    }
    t.equal(write(light), write(entry!, true))
    if (encoding !== 'json') continue
    const whole = JSON.parse(write(entry!)) as { metadata: { managedFields?: unknown } }
    delete whole.metadata.managedFields
    t.strictSame(JSON.parse(write(light)), whole)
  }
  // The envelope ends with two empty texts.
  for (let to = start; to < end - 4; to++) {
    const out = new ByteWriter()
    t.equal(copyWithoutManagedFields(out, { bytes: bytes.subarray(0, to), start, end: to }), false)
    t.equal(out.length, 0, 'what is cut off is left to who finds out what is wrong with it')
  }
})

t.test('metadata that is stored twice shows no managed fields either', async t => {
  const [entry] = entries
  const { rawStart, rawEnd } = readEnvelope(entry!.bytes, entry!.start, entry!.end) as Envelope
  const raw = entry!.bytes.subarray(rawStart, rawEnd)
  // Its metadata is as long as two bytes say.
  const size = 3 + (raw[1]! & 0x7f) + raw[2]! * 0x80
  const out = new ByteWriter()
  const twice = new ByteWriter()
  for (const part of [raw, raw.subarray(0, size)]) twice.append(part)
  appendEnvelope(out, { apiVersion: 'v1', kind: 'ConfigMap' }, twice)
  const object = { bytes: Buffer.from(out.copy()), start: 0, end: out.length }
  for (const encoding of ['json', 'protobuf', 'yaml'] as const) {
    for (const rendering of ['object', 'Table', 'PartialObjectMetadata'] as const) {
      if (encoding === 'protobuf' && rendering !== 'PartialObjectMetadata') continue
      const cut = new ByteWriter()
      const form = shownAs({ encoding, rendering, drops: true })
      const problem = encoder.append(cut, object, { form, revision: 5, place: 'alone' })
      t.equal(problem, undefined)
      t.notMatch(Buffer.from(cut.copy()).toString('latin1'), /managedFields|kubectl/)
      t.match(Buffer.from(cut.copy()).toString('latin1'), 'app-config')
    }
  }
})

t.test('CBOR and YAML are made of what is left', async t => {
  const [entry] = entries
  for (const encoding of ['cbor', 'yaml'] as const) {
    const out = new ByteWriter()
    const options = {
      form: shownAs({ encoding, drops: true }),
      revision: 5,
      place: 'alone',
    } as const
    t.equal(encoder.append(out, entry!, options), undefined)
    const text = written(out)
    t.match(text, 'app-config')
    t.notMatch(text, 'managedFields')
  }
})
