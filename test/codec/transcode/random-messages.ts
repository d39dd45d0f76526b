/** Random messages of any type of the schema, as protobuf in the form that Go writes, or in another
 *  that means the same. */

import { type Random, randomInt, randomItem } from '../../../lib/base/random.ts'
import { type MessageField, type MessageType, schemaOf } from '../../../lib/codec/schema/schema.ts'
import { WireReader } from '../../../lib/base/bytes/reader.ts'

/** One field of a message in the making: its bytes, tag included. Fields with the same number keep
 *  their order. */
interface Piece {
  readonly number: number
  readonly bytes: Buffer
}

export interface RandomForm {
  readonly random: Random
  /** Chance that a field that may be absent is there. */
  readonly fullness: number
  /** Fields in any order, numbers packed, tags' values again: what decoders must take, but Go does
   *  not write. */
  readonly isOdd: boolean
  /** Number of fields that may be absent for which there is still room: types nest deeper than
   *  chance can bound. */
  room: number
}

/** A message of the type, without values that protobuf keeps but JSON does not, such as empty
 *  bytes. */
export function randomMessage(type: MessageType, form: RandomForm, depth = 0): Buffer {
  const pieces = [...type.fields]
    .sort((a, b) => a.number - b.number)
    .flatMap(field => piecesOf(type, field, form, depth))
  return Buffer.concat(
    (form.isOdd ? shuffled(pieces, form.random) : pieces).map(({ bytes }) => bytes),
  )
}

/** The same message with its fields in another order, on every level. */
export function reordered(type: MessageType, message: Buffer, random: Random): Buffer {
  const reader = new WireReader()
  const pieces: Piece[] = []
  reader.reset(message, 0, message.length)
  for (let begin = reader.at; reader.nextField(); begin = reader.at) {
    const { field: number } = reader
    const field = type.fields.find(candidate => candidate.number === number)
    reader.skip()
    const inner =
      field?.container === 'map' ? undefined : schemaOf().findMessageType(field?.type ?? '')
    const bytes =
      inner === undefined
        ? message.subarray(begin, reader.at)
        : lengthField(number, reordered(inner, message.subarray(reader.start, reader.at), random))
    pieces.push({ number, bytes })
  }
  return Buffer.concat(shuffled(pieces, random).map(({ bytes }) => bytes))
}

/** A message in its envelope. */
export function enveloped(apiVersion: string, kind: string, message: Buffer): Buffer {
  const names = Buffer.concat([
    lengthField(1, Buffer.from(apiVersion)),
    lengthField(2, Buffer.from(kind)),
  ])
  return Buffer.concat([
    Buffer.from('k8s\0'),
    lengthField(1, names),
    lengthField(2, message),
    Buffer.from([0x1a, 0, 0x22, 0]),
  ])
}

export function lengthField(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes])
}

export function varint(value: number | bigint): Buffer {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  return Buffer.from([...bytes, Number(rest)])
}

function piecesOf(
  type: MessageType,
  field: MessageField,
  form: RandomForm,
  depth: number,
): Piece[] {
  const { random } = form
  const { number } = field
  const isThere = random.next() < form.fullness / (1 + depth / 4) && form.room-- > 0
  if (type.form !== 'object') return formPieces(type, field, form, depth)
  const one = (): Piece => ({ number, bytes: fieldBytes(field, form, depth) })
  switch (field.container) {
    case 'single': {
      const isWrap = field.type.includes('.') && schemaOf().messageType(field.type).form === 'wrap'
      const mayBeAbsent = field.isPointer || field.type === 'bytes' || isWrap
      if (mayBeAbsent && !isThere) return []
      // Decoders take the last of several values.
      const isAgain = form.isOdd && !isMerged(field.type) && random.next() < 0.2
      return isAgain ? [one(), one()] : [one()]
    }
    case 'list': {
      if (!isThere) return []
      const count = randomInt(random, 1, 3)
      const isPacked = form.isOdd && ['int32', 'int64', 'bool'].includes(field.type)
      if (!isPacked) return Array.from({ length: count }, one)
      const numbers = Array.from({ length: count }, () => scalarBytes(field.type, random))
      return [{ number, bytes: lengthField(number, Buffer.concat(numbers)) }]
    }
    case 'map': {
      if (!isThere) return []
      const keys = [...new Set(Array.from({ length: 3 }, () => randomText(random)))]
      keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      return keys.map(key => {
        const value = lengthField(2, windowBytes(field.type, form, depth + 1))
        const entry = [lengthField(1, Buffer.from(key)), value]
        return {
          number,
          bytes: lengthField(number, Buffer.concat(form.isOdd ? entry.reverse() : entry)),
        }
      })
    }
  }
}

/** Messages whose JSON is one of their fields: only one of them is set, as more would not
 *  survive. */
function formPieces(
  type: MessageType,
  field: MessageField,
  form: RandomForm,
  depth: number,
): Piece[] {
  const piece = (): Piece => ({ number: field.number, bytes: fieldBytes(field, form, depth) })
  if (type.form === 'wrap') return [piece(), piece()]
  if (type.form === 'orbool') {
    return field.number === 1 ? [{ number: 1, bytes: Buffer.from([0x08, depth % 2]) }] : []
  }
  return field.number === 2 ? [piece()] : []
}

function fieldBytes(field: MessageField, form: RandomForm, depth: number): Buffer {
  const { number, type } = field
  if (type === 'float64') {
    return Buffer.concat([varint(number * 8 + 1), scalarBytes(type, form.random)])
  }
  if (['bool', 'int32', 'int64'].includes(type)) {
    return Buffer.concat([varint(number * 8), scalarBytes(type, form.random)])
  }
  return lengthField(number, windowBytes(type, form, depth + 1, field.isPointer))
}

function isMerged(type: string): boolean {
  return !['string', 'bytes', 'time', 'microtime', 'bool', 'int32', 'int64', 'float64'].includes(
    type,
  )
}

function scalarBytes(type: string, random: Random): Buffer {
  switch (type) {
    case 'bool':
      return varint(randomInt(random, 0, 1))
    case 'int32':
      return varint(randomItem(random, [0, 1, 127, 128, 65_536, 2_147_483_647, -1, -2_147_483_648]))
    case 'int64': {
      const values = [0n, 1n, 300n, 2n ** 53n + 1n, 2n ** 63n - 1n, -1n, -(2n ** 63n), -300n]
      return varint(randomItem(random, values))
    }
    default: {
      const bytes = Buffer.alloc(8)
      bytes.writeDoubleLE(randomItem(random, [0, 1.5, -3, 1e21, 1e-7, 123_456.789, 2 ** 60]))
      return bytes
    }
  }
}

function windowBytes(type: string, form: RandomForm, depth: number, isPointer = false): Buffer {
  const { random } = form
  switch (type) {
    case 'string':
      return Buffer.from(randomText(random))
    case 'bytes':
      return Buffer.from(
        Array.from({ length: randomInt(random, 1, 9) }, () => randomInt(random, 0, 255)),
      )
    case 'quantity':
      return lengthField(
        1,
        Buffer.from(
          randomItem(random, ['0', '1', '100m', '1536Mi', '-5k', '1e9', '3n', '999Ki', '7Ei']),
        ),
      )
    case 'time':
    case 'microtime':
      return timeBytes(random, type === 'microtime', isPointer)
    case 'intorstring': {
      const isText = random.next() < 0.5
      const text = isText ? randomText(random) : ''
      const number = isText ? varint(0) : scalarBytes('int32', random)
      return Buffer.concat([
        Buffer.from([0x08, isText ? 1 : 0, 0x10]),
        number,
        lengthField(3, Buffer.from(text)),
      ])
    }
    case 'fieldsv1':
    case 'rawextension':
    case 'json':
      return lengthField(1, Buffer.from(randomItem(random, rawTexts)))
    default:
      return randomMessage(schemaOf().messageType(type), form, depth)
  }
}

/** Compact already, and escaped as Go escapes. */
const rawTexts = [
  '{}',
  '{"f:a":{".":{},"f:b\\u003c":[1,2.50,-1e-7,true,null]}}',
  '[]',
  '"é\\u2028"',
  '0',
  'false',
]

/** A pointer to a zero time is written as if it were absent. */
function timeBytes(random: Random, isMicro: boolean, isPointer: boolean): Buffer {
  const seconds = randomItem(
    random,
    [0, -62_135_596_800, 1_700_000_000, -1, 951_782_400, 253_402_300_799],
  )
  const zero = isPointer ? Buffer.from([0x08, 0, 0x10, 0]) : Buffer.alloc(0)
  if (seconds < -62_000_000_000) return zero
  const nanos = isMicro ? randomItem(random, [0, 1000, 999_999_000]) : 0
  return Buffer.concat([Buffer.from([0x08]), varint(seconds), Buffer.from([0x10]), varint(nanos)])
}

const texts = [
  '',
  'a',
  'app.kubernetes.io/name',
  'a text that is longer than a few words, so that it takes several steps',
  '"quoted" \\ <b>&amp;</b>\n\t\b\f\r\u0001\u007f',
  'é日本語😀',
  '\u2028\u2029\ufffd',
  'x'.repeat(200),
]

function randomText(random: Random): string {
  const text = randomItem(random, texts)
  return text.slice(0, randomInt(random, 0, text.length)).replace(/[\ud800-\udbff]$/, '')
}

/** Another order, in which fields with the same number follow each other as before. */
function shuffled(pieces: readonly Piece[], random: Random): Piece[] {
  const queues = new Map<number, Piece[]>()
  for (const piece of pieces) queues.set(piece.number, [...(queues.get(piece.number) ?? []), piece])
  const order = pieces.map(({ number }) => number)
  for (let i = order.length - 1; i > 0; i--) {
    const j = randomInt(random, 0, i)
    ;[order[i], order[j]] = [order[j]!, order[i]!]
  }
  return order.map(number => queues.get(number)!.shift()!)
}
