import { strictEqual } from 'node:assert'
import t from 'tap'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { readEnvelope } from '../../../lib/codec/transcode/envelope.ts'
import { type MessageType, schemaOf } from '../../../lib/codec/schema/schema.ts'
import { jsonFromProtobuf } from '../../../lib/codec/transcode/transcode.ts'
import { WireReader } from '../../../lib/base/bytes/reader.ts'
import { enveloped, lengthField } from './random-messages.ts'
import { loadVectors } from './vectors.ts'

interface Piece {
  readonly number: number
  readonly bytes: Buffer
  readonly value: Buffer
}

function fieldsOf(message: Buffer): Piece[] {
  const reader = new WireReader()
  reader.reset(message, 0, message.length)
  const pieces: Piece[] = []
  for (let begin = 0; reader.nextField(); begin = reader.at) {
    const { field: number } = reader
    reader.skip()
    const bytes = message.subarray(begin, reader.at)
    pieces.push({ number, bytes, value: message.subarray(reader.start, reader.at) })
  }
  return pieces
}

const specials = new Set(['quantity', 'intorstring', 'fieldsv1', 'rawextension', 'json'])

/** The same message with each single message in two pieces, its fields shared among them, and the
 *  second behind everything else. */
function inPieces(type: MessageType, message: Buffer): Buffer {
  const behind: Buffer[] = []
  const parts = fieldsOf(message).map(({ number, bytes, value }) => {
    const field = type.fields.find(known => known.number === number)
    if (field === undefined) return bytes
    const inner = type.schema.findMessageType(field.type)
    if (field.container === 'map') {
      return inner === undefined ? bytes : lengthField(number, entryInPieces(inner, value))
    }
    if (inner === undefined && !specials.has(field.type)) return bytes
    const whole = inner === undefined ? value : inPieces(inner, value)
    if (field.container !== 'single') return lengthField(number, whole)
    const fields = fieldsOf(whole)
    const half = Math.floor(fields.length / 2)
    const join = (some: readonly Piece[]): Buffer => Buffer.concat(some.map(one => one.bytes))
    behind.push(lengthField(number, join(fields.slice(half))))
    return lengthField(number, join(fields.slice(0, half)))
  })
  return Buffer.concat([...parts, ...behind])
}

function entryInPieces(inner: MessageType, entry: Buffer): Buffer {
  return Buffer.concat(
    fieldsOf(entry).map(({ number, bytes, value }) =>
      number === 2 ? lengthField(2, inPieces(inner, value)) : bytes,
    ),
  )
}

t.test('messages that come in pieces are what they are in one piece', async t => {
  let compared = 0
  for (const { apiVersion, kind, pb, json } of loadVectors()) {
    const envelope = readEnvelope(pb, 0, pb.length)
    const found = schemaOf().findKind(apiVersion, kind)
    if (envelope instanceof NotExact || found?.type.hasProtobuf !== true) continue
    const message = Buffer.from(pb.subarray(envelope.rawStart, envelope.rawEnd))
    const apart = inPieces(found.type, message)
    if (apart.equals(message)) continue
    const made = jsonFromProtobuf(enveloped(apiVersion, kind, apart))
    const text = made instanceof NotExact ? made.reason : Buffer.from(made).toString()
    strictEqual(text, json, `${apiVersion} ${kind}`)
    if (++compared >= 250) break
  }
  t.ok(compared > 200, `${compared}`)
})

/** The JSON, or the reason why there is none, of an object with two pieces of metadata, and this
 *  behind them. */
function reasonOf(named: string, parts: readonly Buffer[]): string {
  const [apiVersion = '', kind = ''] = named.split(' ')
  const twice = [lengthField(1, Buffer.alloc(0)), lengthField(1, Buffer.alloc(0))]
  const made = jsonFromProtobuf(enveloped(apiVersion, kind, Buffer.concat([...twice, ...parts])))
  return made instanceof NotExact ? made.reason : Buffer.from(made).toString()
}

t.test('what cannot be put together is refused', async t => {
  t.equal(reasonOf('v1 ConfigMap', []), '{"kind":"ConfigMap","apiVersion":"v1","metadata":{}}\n')
  t.equal(reasonOf('v1 ConfigMap', [Buffer.from('0a05', 'hex')]), 'core/v1.ConfigMap is malformed')
})
