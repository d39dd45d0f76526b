/** Compiles the functions that write messages as JSON, each when it is first needed, and links them
 *  to each other.
 *
 *  A function for each message type, made as source, is several times faster than one that
 *  interprets the schema: field numbers become jump tables, names become constants (bench/codec).
 *  Compiling one takes some tenths of a millisecond, and a cluster uses few of the 1,200 types, so
 *  none is compiled before it is met. */

import { type Steps, wireBytes } from '@watchglass/base'
import type { MessageField, MessageType } from '../../schema/schema.ts'
import {
  type DecoderContext,
  type Preset,
  type WriterOutput,
  decoderSource,
} from './decoder-source.ts'
import { encodeValue } from '../encode/encoders.ts'
import { createMapWriter } from './maps.ts'
import { createNumbersWriter } from './number-lists.ts'
import { isRecursive, mapValueWriters, runtime } from './runtime.ts'
import { tagOf } from './source.ts'
import { DecodeState, type WriteValue } from './state.ts'

/** The variants of one message type's functions. */
export interface Variant {
  readonly output: WriterOutput
  /** A type in `wrap` form without items: a field is `null`, the value of a map is `[]`. */
  readonly isMapValue?: boolean
  /** Place of the message, as far as additions depend on it. */
  readonly scope?: Scope | undefined
}

/** The place of a message in its object. Parts that make no difference are empty, so that functions
 *  are shared. */
export interface Scope {
  /** Kind and apiVersion of the object, as `v1 Pod`. */
  readonly root: string
  /** The name of the field that it is in. */
  readonly place: string
  /** True for the object's own metadata, not that of a template. */
  readonly isMetadata: boolean
  /** JSON members that are written first. */
  readonly prefix: string
}

/** The additions of one way to write JSON to the plain conversion. */
export interface Additions {
  scopeOf(parent: MessageType, field: MessageField, scope: Scope): Scope
  /** Source to run once the fields' positions are known. */
  checksOf(type: MessageType, scope: Scope): string
  /** Values of a zero field: JSON values with conditions, which are source. */
  presetsOf(type: MessageType, field: MessageField, scope: Scope): readonly PresetValue[]
  /** Source that takes the place of a member. */
  replacementOf(field: MessageField, scope: Scope, mapWriter: () => string): string | undefined
  /** The writer of a map's values. */
  mapValueWriterOf(type: MessageType, field: MessageField): WriteValue | undefined
  /** Functions that this source calls by name. */
  readonly helpers: Readonly<Record<string, unknown>>
}

export interface PresetValue {
  readonly condition: string
  readonly value: unknown
}

/** A function that may not have been compiled yet. */
export interface Link {
  run: WriteValue | undefined
  /** The functions that it calls, once it is compiled. */
  calls: readonly Link[]
  readonly type: MessageType
  readonly variant: Variant
}

/** The functions of one way to write JSON. */
export class Decoders {
  readonly #links = new Map<string, Link>()
  readonly #additions: Additions | undefined
  readonly #helpers: Readonly<Record<string, unknown>>

  constructor(additions?: Additions) {
    this.#additions = additions
    this.#helpers = { ...runtime, ...additions?.helpers }
  }

  /** The function for a type. */
  writerOf(type: MessageType, variant: Variant): WriteValue {
    const link = this.#linkOf(type, variant)
    return link.run ?? this.#compile(link)
  }

  /** Compiles the function for a type and all that it calls, one at each step, those that are
   *  nearest first. */
  *prepare(type: MessageType, variant: Variant): Steps<undefined> {
    const links = new Set([this.#linkOf(type, variant)])
    // A set can be added to while it is gone through.
    for (const link of links) {
      if (link.run === undefined) {
        yield
        this.#compile(link)
      }
      for (const call of link.calls) links.add(call)
    }
    return undefined
  }

  #linkOf(type: MessageType, variant: Variant): Link {
    const { output, isMapValue = false, scope } = variant
    const place = scope === undefined ? '' : JSON.stringify(scope)
    const key = `${type.name} ${output} ${isMapValue} ${place}`
    let link = this.#links.get(key)
    if (link === undefined) {
      link = { run: undefined, calls: [], type, variant }
      this.#links.set(key, link)
    }
    return link
  }

  #compile(link: Link): WriteValue {
    const links: Link[] = []
    const writers: WriteValue[] = []
    const body = decoderSource(
      link.type,
      link.variant.output,
      this.#contextOf(link, links, writers),
    )
    const names = [
      ...links.map((_, i) => `L${i} = links[${i}]`),
      ...writers.map((_, i) => `M${i} = writers[${i}]`),
    ]
    // In brackets, a function is compiled at once instead of being parsed lightly first.
    const source = `
      const { ${Object.keys(this.#helpers).join(', ')} } = helpers;
      ${names.length === 0 ? '' : `const ${names.join(', ')};`}
      return (function ${link.type.name.replaceAll(/\W/g, '_')}(O, s, e, p) { ${body} });`
    // The source is made from our own schema; nothing of an object gets into it.
    // oxlint-disable-next-line typescript/no-implied-eval
    const make = new Function('helpers', 'compile', 'links', 'writers', source) as (
      helpers: object,
      compile: (link: Link) => WriteValue,
      links: readonly Link[],
      writers: readonly WriteValue[],
    ) => WriteValue
    link.calls = links
    link.run = make(this.#helpers, other => other.run ?? this.#compile(other), links, writers)
    return link.run
  }

  /** The names that the source of a function may use: other functions, which it adds to the two
   *  lists. */
  #contextOf({ type, variant }: Link, links: Link[], writers: WriteValue[]): DecoderContext {
    const additions = this.#additions
    const { scope } = variant
    const nameOf = (writer: WriteValue): string => `M${writers.push(writer) - 1}`
    const mapWriter = (field: MessageField): string =>
      nameOf(this.#mapWriter(field, { type, scope, links }))
    const presets = new Map<MessageField, readonly Preset[]>()
    return {
      child: field => {
        const output = field.isInline ? 'members' : 'value'
        const childScope = this.#scopeOf(type, field, scope)
        const place = links.push(
          this.#linkOf(type.schema.messageType(field.type), { output, scope: childScope }),
        )
        return `(L${place - 1}.run ?? compile(L${place - 1}))`
      },
      map: mapWriter,
      numbers: field => nameOf(createNumbersWriter(field)),
      checks: scope === undefined ? '' : (additions?.checksOf(type, scope) ?? ''),
      presetsOf: field => {
        if (additions === undefined || scope === undefined) return []
        let known = presets.get(field)
        if (known === undefined) {
          const childScope = this.#scopeOf(type, field, scope)
          known = additions.presetsOf(type, field, scope).map(({ condition, value }) => ({
            condition,
            json: this.#jsonOf(typeOf(type, field), value, childScope),
          }))
          presets.set(field, known)
        }
        return known
      },
      replacementOf: field =>
        scope === undefined
          ? undefined
          : additions?.replacementOf(field, scope, () => mapWriter(field)),
      prefix:
        type.form === 'wrap'
          ? variant.isMapValue === true
            ? '[]'
            : 'null'
          : (scope?.prefix ?? ''),
      isRecursive: isRecursive(type),
    }
  }

  #scopeOf(type: MessageType, field: MessageField, scope: Scope | undefined): Scope | undefined {
    return scope === undefined ? undefined : this.#additions?.scopeOf(type, field, scope)
  }

  /** JSON of a value that the schema gives for a field: a message goes through its own function,
   *  which adds what it adds. */
  #jsonOf(type: MessageType | undefined, value: unknown, scope: Scope | undefined): string {
    if (type === undefined) return JSON.stringify(value)
    const write = this.writerOf(type, { output: 'value', scope })
    const texts = (Array.isArray(value) ? value : [value]).map(element => {
      const bytes = encodeValue(type, element)
      const out = new DecodeState()
      out.setInput(bytes)
      out.length = write(out, 0, bytes.length, 0)
      return Buffer.from(out.copy()).toString()
    })
    return Array.isArray(value) ? `[${texts.join(',')}]` : (texts[0] ?? 'null')
  }

  #mapWriter(field: MessageField, { type, scope, links }: MapContext): WriteValue {
    const added = scope === undefined ? undefined : this.#additions?.mapValueWriterOf(type, field)
    const known = added ?? mapValueWriters[field.type]
    const tag = tagOf(field.number, wireBytes)
    if (known !== undefined) return createMapWriter(tag, known)
    const link = this.#linkOf(type.schema.messageType(field.type), {
      output: 'value',
      isMapValue: true,
      scope: this.#scopeOf(type, field, scope),
    })
    links.push(link)
    return createMapWriter(tag, (out, start, end, position) =>
      (link.run ?? this.#compile(link))(out, start, end, position),
    )
  }
}

function typeOf({ schema }: MessageType, field: MessageField): MessageType | undefined {
  return field.type.includes('.') ? schema.messageType(field.type) : undefined
}

/** The place of a map, and the functions that the one around it calls. */
interface MapContext {
  readonly type: MessageType
  readonly scope: Scope | undefined
  readonly links: Link[]
}
