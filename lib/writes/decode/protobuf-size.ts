/** The number of values in a message, counted before anything is made of it: two bytes of a body
 *  can be an object with four names in JSON. */

import type { MessageType } from '@watchglass/codec'
import { wireBytes, WireReader } from '@watchglass/base'
import { tooManyValues, valuesMax } from './documents.ts'

/** Deeper messages are refused by whoever decodes them. */
const depthMax = 500

/** Refuses a body whose message has more values than a write may have. */
export function requireFewValues(
  bytes: Uint8Array,
  { rawStart: start, rawEnd: end }: { readonly rawStart: number; readonly rawEnd: number },
  type: MessageType,
): void {
  if (hasMoreValues(type, { bytes, start, end }, valuesMax)) throw tooManyValues()
}

/** True if the message has more values than `most`, those included that are written though they are
 *  not there. Malformed parts count up to where they are wrong. */
export function hasMoreValues(
  type: MessageType,
  window: { readonly bytes: Uint8Array; readonly start: number; readonly end: number },
  most: number,
): boolean {
  const counter = new Counter(window.bytes, most)
  counter.message(type, window.start, window.end, 0)
  return counter.left < 0
}

interface KnownType {
  /** The number of members that the JSON of this type always has. */
  readonly written: number
  readonly messages: ReadonlyMap<number, { readonly type: MessageType; readonly isMap: boolean }>
}

class Counter {
  left: number
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array, most: number) {
    this.#bytes = bytes
    this.left = most
  }

  message(type: MessageType, start: number, end: number, depth: number): void {
    const { written, messages } = knownType(type)
    this.left -= written
    if (depth > depthMax) return
    const reader = new WireReader()
    reader.reset(this.#bytes, start, end)
    while (this.left >= 0 && reader.nextField()) {
      this.left--
      const { field, wire } = reader
      const inner = wire === wireBytes ? messages.get(field) : undefined
      if (inner === undefined) reader.skip()
      else if (!reader.readWindow()) return
      else if (inner.isMap) this.#entry(inner.type, reader.start, reader.at, depth)
      else this.message(inner.type, reader.start, reader.at, depth + 1)
    }
  }

  #entry(type: MessageType, start: number, end: number, depth: number): void {
    const reader = new WireReader()
    reader.reset(this.#bytes, start, end)
    while (this.left >= 0 && reader.nextField()) {
      if (reader.field !== 2 || reader.wire !== wireBytes) reader.skip()
      else if (reader.readWindow()) this.message(type, reader.start, reader.at, depth + 1)
    }
  }
}

const known = new WeakMap<MessageType, KnownType>()

function knownType(type: MessageType): KnownType {
  let found = known.get(type)
  if (found === undefined) known.set(type, (found = readType(type)))
  return found
}

function readType({ fields, schema, form }: MessageType): KnownType {
  const messages = new Map<number, { readonly type: MessageType; readonly isMap: boolean }>()
  let written = 0
  for (const { number, container, type, isOmittedWhenEmpty, isInline } of fields) {
    if (!isOmittedWhenEmpty && !isInline) written++
    if (!type.includes('.')) continue
    messages.set(number, { type: schema.messageType(type), isMap: container === 'map' })
  }
  return { written: form === 'object' ? written : 0, messages }
}
