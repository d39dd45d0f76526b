/** Asks a computed default whether it would change a stored message: the parts of the message that
 *  the row says it reads become a tree, and the very function that changes trees is run on it. So
 *  there is one program of such a default. It is asked of few messages: rows have conditions, which
 *  compiled source looks at first. */

import { GiveUp, giveUp, textFromBytes, wireBytes, WireReader, wireVarint } from '@watchglass/base'
import { JsonNumber, type JsonObject, type JsonValue, textInOrder } from '@watchglass/go'
import { type MessageField, type MessageType, type Schema, perSchema } from '../../schema/schema.ts'
import { type DecodeState } from '../../transcode/decode/state.ts'
import { computationKey, rulesOf } from '../default-rules.ts'
import { type MessageComputation, messageComputations } from '../stored/computations.ts'

/** A function for compiled source: whether the computation of that key (`computationKey`) would
 *  change the message in the window. */
export const wouldChangeOf: (
  schema: Schema,
) => (out: DecodeState, start: number, end: number, key: string) => boolean = perSchema(schema => {
  const questions = perKey(schema)
  return ({ input }, start, end, key) => {
    const { compute, parts } = questions(key)
    const tree = pickedTree(input, { start, end }, parts)
    const before = textInOrder(tree)
    try {
      compute(tree, true)
    } catch (error) {
      if (error instanceof GiveUp) return true
      throw error
    }
    return textInOrder(tree) !== before
  }
})

interface AskedComputation {
  readonly compute: MessageComputation
  readonly parts: Parts
}

/** The parts of a message that are read, by the numbers of their fields. */
type Parts = ReadonlyMap<number, Part>

interface Part {
  readonly field: MessageField
  /** The parts that are read of a message in the field. */
  readonly inside: Parts
}

function perKey(schema: Schema): (key: string) => AskedComputation {
  const known = new Map<string, AskedComputation>()
  return key => {
    let asked = known.get(key)
    if (asked === undefined) {
      const type = schema.messageType(key.slice(0, key.indexOf(' ')))
      const rule = rulesOf(type).find(candidate => computationKey(candidate) === key)
      const compute = messageComputations[rule?.compute ?? '']
      if (compute === undefined) throw new RangeError(`no computation ${key}`)
      const paths = rule?.reads?.map(path => path.split('.')) ?? []
      asked = { compute, parts: partsOf(type, paths) }
      known.set(key, asked)
    }
    return asked
  }
}

function partsOf(type: MessageType, paths: readonly (readonly string[])[]): Parts {
  const parts = new Map<number, Part>()
  for (const field of type.fields) {
    const rest = paths.filter(([name]) => name === field.jsonName).map(([, ...names]) => names)
    if (rest.length === 0) continue
    const inside = field.type.includes('.')
      ? partsOf(type.schema.messageType(field.type), rest)
      : new Map<number, Part>()
    parts.set(field.number, { field, inside })
  }
  return parts
}

interface Window {
  readonly start: number
  readonly end: number
}

/** The parts of a message as a tree. Compiled functions have checked the message at its own level
 *  only; whatever is malformed further in is found when it is written. */
function pickedTree(input: Uint8Array, { start, end }: Window, parts: Parts): JsonObject {
  const tree: JsonObject = new Map()
  const reader = new WireReader()
  reader.reset(input, start, end)
  while (reader.nextField()) {
    const part = parts.get(reader.field)
    if (part === undefined || (reader.wire !== wireBytes && reader.wire !== wireVarint)) {
      reader.skip()
    } else if (reader.wire === wireVarint) {
      const number = Number(reader.readInt64())
      const isBool = part.field.type === 'bool'
      tree.set(part.field.jsonName, isBool ? number !== 0 : new JsonNumber(String(number)))
    } else if (reader.readWindow()) {
      add(tree, part, input, { start: reader.start, end: reader.at })
    }
  }
  return tree
}

function add(tree: JsonObject, part: Part, input: Uint8Array, window: Window): void {
  const { jsonName, container } = part.field
  if (container === 'map') {
    const known = tree.get(jsonName)
    const map: JsonObject = known instanceof Map ? known : new Map()
    const [key, value] = [windowIn(input, window, 1), windowIn(input, window, 2)]
    map.set(textFromBytes(input, key.start, key.end), valueOf(part, input, value))
    tree.set(jsonName, map)
    return
  }
  const value = valueOf(part, input, window)
  const known = tree.get(jsonName)
  if (container === 'single') tree.set(jsonName, value)
  else if (Array.isArray(known)) known.push(value)
  else tree.set(jsonName, [value])
}

function valueOf({ field, inside }: Part, input: Uint8Array, window: Window): JsonValue {
  if (field.type.includes('.')) return pickedTree(input, window, inside)
  const text = field.type === 'quantity' ? windowIn(input, window, 1) : window
  if (!['string', 'bytes', 'quantity'].includes(field.type)) {
    return giveUp(`a default reads ${field.jsonName}, which is no text`)
  }
  return textFromBytes(input, text.start, text.end)
}

/** The last occurrence of a field, or an empty window. */
function windowIn(input: Uint8Array, { start, end }: Window, number: number): Window {
  const reader = new WireReader()
  let found: Window = { start: 0, end: 0 }
  reader.reset(input, start, end)
  while (reader.nextField()) {
    const isWanted = reader.field === number && reader.wire === wireBytes
    if (reader.skip() && isWanted) found = { start: reader.start, end: reader.at }
  }
  return found
}
