/** Compiles the functions that write messages as JSON, each when it is first needed, and links them to each other.
 *
 *  A function for each message type, made as source, is several times faster than one that interprets the schema: field numbers
 *  become jump tables, names become constants (bench/codec). Compiling one takes some tenths of a millisecond, and a cluster
 *  uses few of the 1,200 types, so none is compiled before it is met. */

import { type Field, type MessageType, messageType } from '../schema.ts'
import { WireReader, wireBytes } from '../wire-reader.ts'
import { type DecoderContext, type Shape, decoderSource } from './decoder-source.ts'
import { writeBase64, writeText } from './json-text.ts'
import { createMapWriter, seekTag, writeQuotedText } from './maps.ts'
import { createNumbersWriter } from './number-lists.ts'
import * as numbers from './numbers.ts'
import { writeIntOrString, writeJson, writeQuantity, writeRawExtension } from './specials.ts'
import { tagOf } from './source.ts'
import { type Conversion, type WriteValue, giveUp, giveUpOnRepetition, maxDepth } from './state.ts'
import { isZeroTime, writeMicroTime, writeTime } from './times.ts'

/** What distinguishes the functions of one message type. */
export interface Variant {
  readonly shape: Shape
  /** A type in `wrap` form without items: a field is `null`, the value of a map is `[]`. */
  readonly isMapValue?: boolean
}

/** A function that may not have been compiled yet. */
export interface Link {
  run: WriteValue | undefined
  readonly type: MessageType
  readonly variant: Variant
}

/** The functions of one way to write JSON. */
export class Decoders {
  readonly #links = new Map<string, Link>()

  /** The function for a type. */
  writerOf(type: MessageType, variant: Variant): WriteValue {
    const link = this.#linkOf(type, variant)
    return link.run ?? this.#compile(link)
  }

  #linkOf(type: MessageType, variant: Variant): Link {
    const key = `${type.name} ${variant.shape} ${variant.isMapValue === true ? 'map' : ''}`
    let link = this.#links.get(key)
    if (link === undefined) {
      link = { run: undefined, type, variant }
      this.#links.set(key, link)
    }
    return link
  }

  #compile(link: Link): WriteValue {
    const links: Link[] = []
    const writers: WriteValue[] = []
    const context: DecoderContext = {
      child: field => {
        links.push(
          this.#linkOf(messageType(field.type), { shape: field.isInline ? 'members' : 'value' }),
        )
        return `(L${links.length - 1}.run ?? compile(L${links.length - 1}))`
      },
      map: field => {
        writers.push(this.#mapWriter(field))
        return `M${writers.length - 1}`
      },
      numbers: field => {
        writers.push(createNumbersWriter(field))
        return `M${writers.length - 1}`
      },
      checks: '',
      defaultOf: () => undefined,
      replacementOf: () => undefined,
      prefix: link.type.form === 'wrap' ? (link.variant.isMapValue === true ? '[]' : 'null') : '',
      isRecursive: isRecursive(link.type.name),
    }
    const body = decoderSource(link.type, link.variant.shape, context)
    const names = [
      ...links.map((_, i) => `L${i} = links[${i}]`),
      ...writers.map((_, i) => `M${i} = writers[${i}]`),
    ]
    const source = `
      const { ${Object.keys(helpers).join(', ')} } = helpers;
      ${names.length === 0 ? '' : `const ${names.join(', ')};`}
      return function ${link.type.name.replaceAll(/\W/g, '_')}(O, s, e, p) { ${body} };`
    // The source is made from our own schema; nothing of an object gets into it.
    // oxlint-disable-next-line typescript/no-implied-eval
    const make = new Function('helpers', 'compile', 'links', 'writers', source) as (
      helpers: object,
      compile: (link: Link) => WriteValue,
      links: readonly Link[],
      writers: readonly WriteValue[],
    ) => WriteValue
    link.run = make(helpers, other => other.run ?? this.#compile(other), links, writers)
    return link.run
  }

  #mapWriter(field: Field): WriteValue {
    return createMapWriter(tagOf(field.number, wireBytes), this.#mapValueWriter(field.type))
  }

  #mapValueWriter(type: string): WriteValue {
    const special = mapValueWriters[type]
    if (special !== undefined) return special
    const link = this.#linkOf(messageType(type), { shape: 'value', isMapValue: true })
    return (out, start, end, position) =>
      (link.run ?? this.#compile(link))(out, start, end, position)
  }
}

const mapValueWriters: Readonly<Record<string, WriteValue>> = {
  string: writeQuotedText,
  bytes: (out, start, end, position) => {
    out.bytes[position] = 0x22
    const to = writeBase64(out, start, end, position + 1)
    out.bytes[to] = 0x22
    return to + 1
  },
  quantity: writeQuantity,
  time: writeTime,
}

/** Everything that the compiled source calls by name. */
const helpers = {
  ...numbers,
  writeText,
  writeBase64,
  writeQuantity,
  writeIntOrString,
  writeJson,
  writeRawExtension,
  writeTime,
  writeMicroTime,
  isZeroTime,
  seekTag,
  maxDepth,
  repeated: giveUpOnRepetition,
  malformed: (type: string): never => giveUp(`${type} is malformed`),
  tooDeep: (): never => giveUp('messages are nested too deep'),
  unknownField,
}

/** Says why a field was not expected where it is. */
function unknownField(type: string, out: Conversion, at: number, end: number): never {
  const reader = new WireReader()
  reader.reset(out.input, at, end)
  if (!reader.nextField()) return giveUp(`${type} is malformed`)
  const { field, wire } = reader
  const isKnown = messageType(type).fields.some(({ number }) => number === field)
  return giveUp(
    isKnown
      ? `${type} has field ${field} with wire type ${wire}`
      : `${type} has field ${field}, which the schema does not know`,
  )
}

const recursion = new Map<string, boolean>()

/** True if a message of the type can lie inside another of the type. */
function isRecursive(name: string): boolean {
  let known = recursion.get(name)
  if (known === undefined) {
    const seen = new Set<string>()
    const waiting = [name]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      for (const { type } of messageType(next).fields) {
        if (!type.includes('.') || seen.has(type)) continue
        seen.add(type)
        waiting.push(type)
      }
    }
    known = seen.has(name)
    recursion.set(name, known)
  }
  return known
}
