/** Writes many objects that differ only in names, ids, times and counts: one is encoded with marks
 *  in these places, and each copy has its own values in place of the marks. Building and encoding
 *  each of them anew takes many times as long, and made 100,000 pods a matter of half a minute.
 *
 *  Values may be longer or shorter than their marks. A message in protobuf begins with its length,
 *  so those that hold a mark are kept apart, as groups whose length is known when they are filled
 *  in:
 *
 *      bytes | length( bytes | text 3 | bytes | length( number 0 ) | bytes ) | bytes */

import {
  AssertionError,
  equalBytes,
  varintLength,
  wireBytes,
  WireReader,
  wireVarint,
  writeVarint,
} from '@watchglass/base'
import { schemaOf } from '@watchglass/codec'

/** The values that differ between objects. Marks are values too: texts and numbers that no object
 *  contains by chance. */
export interface Variables {
  readonly texts: readonly string[]
  /** Not negative. */
  readonly numbers: readonly number[]
}

type Part =
  | { readonly type: 'bytes'; readonly bytes: Uint8Array }
  | { readonly type: 'text' | 'number'; readonly index: number }
  | Group

interface Group {
  readonly type: 'group'
  readonly parts: readonly Part[]
  /** Its own bytes that are always the same, and the other parts. */
  readonly fixedBytes: number
  readonly variable: readonly Exclude<Part, { readonly type: 'bytes' }>[]
  /** Size of the object that is being written. */
  size: number
}

function groupOf(parts: readonly Part[]): Group {
  let fixedBytes = 0
  for (const part of parts) if (part.type === 'bytes') fixedBytes += part.bytes.length
  const variable = parts.filter(part => part.type !== 'bytes')
  return { type: 'group', parts, fixedBytes, variable, size: 0 }
}

/** The content of a field with a length: text, or a message with fields of its own. */
type Nesting = 'leaf' | ((field: number) => Nesting)

export class Stamp {
  readonly #object: Group

  /** `bytes` is the stored object, a message of that name in its envelope, with marks for its
   *  variables. */
  constructor(bytes: Uint8Array, messageName: string, marks: Variables) {
    const magicBytes = 4
    const object = new Marked(bytes, marks)
    const envelope: Nesting = field => (field === 2 ? nestingOf(messageName) : 'leaf')
    this.#object = groupOf([
      { type: 'bytes', bytes: bytes.slice(0, magicBytes) },
      ...object.partsOf(magicBytes, bytes.length, envelope),
    ])
  }

  /** The variables of an object that was filled in; undefined if anything else of it is
   *  different. */
  read(bytes: Uint8Array): Variables | undefined {
    const found: Found = { texts: [], numbers: [] }
    const reader = new WireReader()
    reader.reset(bytes, 0, bytes.length)
    return readGroup(reader, this.#object, found) ? found : undefined
  }

  /** The object with the variables in place of the marks. */
  fill(variables: Variables): Uint8Array {
    const size = sizeOf(this.#object, variables)
    if (size > slab.length - slabUsed) {
      slab = Buffer.allocUnsafeSlow(Math.max(size, slabBytes))
      slabUsed = 0
    }
    const start = slabUsed
    slabUsed = write(slab, start, { group: this.#object, variables })
    return slab.subarray(start, slabUsed)
  }
}

/** Objects share a slab: allocating and collecting an array for each of them would be most of the
 *  cost. */
const slabBytes = 256 * 1024
let slab: Buffer = Buffer.alloc(0)
let slabUsed = 0

const scalars = new Set(['string', 'bool', 'int32', 'int64', 'float64', 'bytes', 'any'])

function nestingOf(type: string): Nesting {
  if (scalars.has(type)) return 'leaf'
  // Times, quantities and the like: messages of texts and numbers.
  if (!type.includes('.')) return () => 'leaf'
  return number => {
    const field = schemaOf()
      .messageType(type)
      .fields.find(one => one.number === number)
    if (field === undefined) return 'leaf'
    const value = nestingOf(field.type)
    return field.container === 'map' ? member => (member === 1 ? 'leaf' : value) : value
  }
}

/** Splits an encoded object at its marks. */
class Marked {
  readonly #bytes: Uint8Array
  readonly #marks: Variables
  readonly #texts: RegExp

  constructor(bytes: Uint8Array, marks: Variables) {
    this.#bytes = bytes
    this.#marks = marks
    this.#texts = new RegExp(`(${marks.texts.join('|')})`)
  }

  /** A message as parts; a single part of bytes if it has no mark. */
  partsOf(start: number, end: number, nesting: Exclude<Nesting, 'leaf'>): Part[] {
    const parts: Part[] = []
    let from = start
    const push = (to: number, part: Part, next: number): void => {
      if (to > from) parts.push({ type: 'bytes', bytes: this.#bytes.slice(from, to) })
      parts.push(part)
      from = next
    }
    const reader = new WireReader()
    reader.reset(this.#bytes, start, end)
    while (reader.nextField()) {
      const { at } = reader
      if (reader.wire === wireVarint) {
        const index = this.#marks.numbers.indexOf(reader.readVarint())
        if (index >= 0) push(at, { type: 'number', index }, reader.at)
      } else if (reader.wire === wireBytes && reader.readWindow()) {
        const inner = nesting(reader.field)
        const group =
          inner === 'leaf'
            ? this.#textOf(reader.start, reader.at)
            : this.partsOf(reader.start, reader.at, inner)
        const isMarked = group.some(({ type }) => type !== 'bytes')
        if (isMarked) push(at, groupOf(group), reader.at)
      } else reader.skip()
    }
    if (reader.isMalformed) throw new AssertionError('a generated object is malformed')
    if (end > from) parts.push({ type: 'bytes', bytes: this.#bytes.slice(from, end) })
    return parts
  }

  #textOf(start: number, end: number): Part[] {
    const text = Buffer.from(this.#bytes.subarray(start, end)).toString('latin1')
    return text.split(this.#texts).flatMap((piece): Part[] => {
      if (piece === '') return []
      const index = this.#marks.texts.indexOf(piece)
      return [
        index < 0
          ? { type: 'bytes', bytes: Buffer.from(piece, 'latin1') }
          : { type: 'text', index },
      ]
    })
  }
}

interface Found {
  readonly texts: string[]
  readonly numbers: number[]
}

/** Reads what lies from `at` to `end` of the reader as the group. */
function readGroup(reader: WireReader, { parts }: Group, found: Found): boolean {
  for (const [i, part] of parts.entries()) {
    switch (part.type) {
      case 'bytes': {
        const next = reader.at + part.bytes.length
        const isInside = next <= reader.end
        if (!isInside || !equalBytes(reader.bytes, reader.at, next, part.bytes)) return false
        reader.at = next
        break
      }
      case 'number': {
        const number = reader.readVarint()
        if ((found.numbers[part.index] ??= number) !== number) return false
        break
      }
      case 'text':
        if (!readText(reader, part.index, { next: parts[i + 1], found })) return false
        break
      case 'group': {
        const { end } = reader
        if (!reader.readWindow()) return false
        reader.end = reader.at
        reader.at = reader.start
        if (!readGroup(reader, part, found)) return false
        reader.end = end
      }
    }
  }
  return reader.at === reader.end && !reader.isMalformed
}

/** A text goes on until the next bytes that are always the same. */
function readText(
  reader: WireReader,
  index: number,
  { next, found }: { readonly next: Part | undefined; readonly found: Found },
): boolean {
  const rest = Buffer.from(reader.bytes.buffer, reader.bytes.byteOffset, reader.end)
  const known = found.texts[index]
  let end = reader.end
  if (known !== undefined) end = reader.at + known.length
  else if (next?.type === 'bytes') end = rest.indexOf(next.bytes, reader.at)
  else if (next !== undefined) return false
  if (end < 0 || end > reader.end) return false
  const text = rest.toString('latin1', reader.at, end)
  if ((found.texts[index] ??= text) !== text) return false
  reader.at = end
  return true
}

/** Bytes of the parts when they are filled in; notes those of each group. */
function sizeOf(group: Group, variables: Variables): number {
  let size = group.fixedBytes
  for (const part of group.variable) {
    switch (part.type) {
      case 'text':
        size += (variables.texts[part.index] as string).length
        break
      case 'number':
        size += varintLength(variables.numbers[part.index] as number)
        break
      case 'group': {
        const inner = sizeOf(part, variables)
        size += varintLength(inner) + inner
      }
    }
  }
  group.size = size
  return size
}

interface Filling {
  readonly group: Group
  readonly variables: Variables
}

/** Writes the parts at an offset, and returns the offset after them. */
function write(out: Buffer, start: number, { group, variables }: Filling): number {
  let at = start
  for (const part of group.parts) {
    switch (part.type) {
      case 'bytes':
        out.set(part.bytes, at)
        at += part.bytes.length
        break
      case 'text':
        at += out.write(variables.texts[part.index] as string, at, 'latin1')
        break
      case 'number':
        at = writeVarint(out, at, variables.numbers[part.index] as number)
        break
      case 'group':
        at = writeVarint(out, at, part.size)
        at = write(out, at, { group: part, variables })
    }
  }
  return at
}
