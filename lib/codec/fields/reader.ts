/** Fields of protobuf messages by path, without decoding the rest.
 *
 *      const pod = compileFields('core/v1.Pod', { phase: 'status.phase', labels: 'metadata.labels' })
 *      if (!pod.readStored(entry.bytes, entry.start, entry.end)) ...      // malformed: nothing is set
 *      pod.text(pod.slot.phase)                                          // '' when absent
 *      pod.mapText(pod.slot.labels, key)                                 // undefined when there is no such label
 *
 *  A reader is compiled once per type and set of paths. `read` walks the message once along the
 *  paths and notes windows; values are decoded when they are asked for. One reader holds one
 *  message at a time, so a reader is not re-entrant. Absent fields read as Go's zero values; `has`
 *  tells them apart from present ones.
 *
 *  Paths are dotted JSON names (`spec.nodeName`); inline messages are looked through; `list[0].x`
 *  enters the first element. Times are their seconds, quantities their text, raw JSON its bytes,
 *  `intorstring` a message (see `intOrString`).
 *
 *  What is stored is taken as it is: defaults on read are the business of selectable.ts and
 *  view.ts. */

import { assert, int64FromVarint, lowBits, textFromBytes, varintEnd } from '@watchglass/base'
import { hasEnvelope } from '../transcode/envelope.ts'
import { MapEntry } from './map-entry.ts'
import { schemaOf } from '../schema/schema.ts'
import {
  type CompiledPaths,
  type PathNode,
  type FindType,
  compilePaths,
  wrapPaths,
} from './paths.ts'

/** A reader of the fields at `paths` (name of a slot: dotted path) in messages of `type`. Compile
 *  once: it costs more than many reads. Throws `unsupported` for a path that the type does not
 *  have. */
export function compileFields<Name extends string>(
  type: string,
  paths: Readonly<Record<Name, string>>,
  findType: FindType = name => schemaOf().findMessageType(name),
): FieldReader<Name> {
  const names = Object.keys(paths) as Name[]
  const compiled = compilePaths(
    findType,
    type,
    names.map(name => paths[name]),
  )
  return new FieldReader(names, compiled)
}

const entry = new MapEntry()

/** `raw` of the envelope behind the magic. */
const envelopeRaw = 2

export class FieldReader<Name extends string> {
  /** Which slot each path has: pass it to the accessors. */
  readonly slot: Readonly<Record<Name, number>>
  readonly #paths: CompiledPaths
  readonly #stored: CompiledPaths
  readonly #starts: Int32Array
  readonly #ends: Int32Array
  /** By slot, for lists and maps: start, end, start, end, ... */
  readonly #lists: (number[] | undefined)[]
  /** Number of used entries in each list. The arrays are kept for the next object. */
  readonly #lengths: Int32Array
  #bytes: Uint8Array = new Uint8Array(0)

  constructor(names: readonly Name[], paths: CompiledPaths) {
    this.#paths = paths
    this.#stored = wrapPaths(paths, [envelopeRaw])
    const entries = names.map((name, i) => [name, paths.slots[i] as number])
    this.slot = Object.fromEntries(entries) as Record<Name, number>
    this.#starts = new Int32Array(paths.kinds.length)
    this.#ends = new Int32Array(paths.kinds.length)
    this.#lengths = new Int32Array(paths.kinds.length)
    this.#lists = paths.kinds.map(kind => (kind === 'list' || kind === 'map' ? [] : undefined))
  }

  /** Reads the message in `bytes[start..end)`. False if it is malformed; then every field is
   *  absent. */
  read(bytes: Uint8Array, start: number, end: number): boolean {
    this.#clear(bytes)
    if (this.#walk(this.#paths.root, start, end)) return true
    this.#clear(bytes)
    return false
  }

  /** Like `read`, for a value as etcd has it: `k8s\0` and the envelope around the message. */
  readStored(bytes: Uint8Array, start: number, end: number): boolean {
    this.#clear(bytes)
    if (hasEnvelope(bytes, start, end) && this.#walk(this.#stored.root, start + 4, end)) {
      return true
    }
    this.#clear(bytes)
    return false
  }

  /** Bytes that are being read: windows are positions in them. */
  get bytes(): Uint8Array {
    return this.#bytes
  }

  has(slot: number): boolean {
    return this.#ends[slot] !== 0 || this.#lengths[slot] !== 0
  }

  /** The beginning of the field's value: after the tag, and after the length. 0 when absent. */
  start(slot: number): number {
    return this.#starts[slot] as number
  }

  end(slot: number): number {
    return this.#ends[slot] as number
  }

  /** A string or quantity; '' when absent. */
  text(slot: number): string {
    return textFromBytes(this.#bytes, this.#starts[slot] as number, this.#ends[slot] as number)
  }

  boolean(slot: number): boolean {
    return this.has(slot) && lowBits(this.#bytes, this.start(slot), this.end(slot)) !== 0
  }

  /** An int32, int64, or the seconds of a time; 0 when absent. Above 2^53 it is rounded: see
   *  `bigint`. */
  integer(slot: number): number {
    const start = this.start(slot)
    const end = this.end(slot)
    if (end - start <= 4) return lowBits(this.#bytes, start, end)
    return Number(int64FromVarint(this.#bytes, start, end))
  }

  bigint(slot: number): bigint {
    return int64FromVarint(this.#bytes, this.start(slot), this.end(slot)) ?? 0n
  }

  /** Any scalar as text, as field selectors compare it; '' when it is absent or zero. */
  scalarText(slot: number): string {
    const kind = this.#paths.kinds[slot]
    if (kind === 'text') return this.text(slot)
    if (kind === 'boolean') return this.boolean(slot) ? 'true' : ''
    if (kind !== 'varint') return ''
    const value = this.bigint(slot)
    return value === 0n ? '' : String(value)
  }

  /** The value of an entry of a map of texts; undefined if there is none. The key is in UTF-8. */
  mapText(slot: number, key: Uint8Array): string | undefined {
    const list = this.#list(slot)
    // The last of equal keys wins.
    for (let i = (this.#lengths[slot] as number) - 2; i >= 0; i -= 2) {
      entry.read(this.#bytes, list[i] as number, list[i + 1] as number)
      if (entry.keyEquals(key)) return entry.value()
    }
    return undefined
  }

  /** Calls back with each key of a map of texts. */
  eachMapKey(slot: number, take: (key: string) => void): void {
    const list = this.#list(slot)
    for (let i = 0; i < (this.#lengths[slot] as number); i += 2) {
      entry.read(this.#bytes, list[i] as number, list[i + 1] as number)
      take(entry.key())
    }
  }

  /** The number of elements of a list, or of entries of a map. */
  count(slot: number): number {
    return (this.#lengths[slot] as number) / 2
  }

  #list(slot: number): number[] {
    const list = this.#lists[slot]
    assert(list !== undefined, 'this slot is neither a list nor a map')
    return list
  }

  #clear(bytes: Uint8Array): void {
    this.#bytes = bytes
    const ends = this.#ends
    // There are few slots: a native fill would cost more than the loop.
    for (let slot = 0; slot < ends.length; slot++) {
      this.#starts[slot] = 0
      ends[slot] = 0
      this.#lengths[slot] = 0
    }
  }

  /** Walks one message. Go merges a message field that comes twice and keeps the last of a scalar;
   *  noting windows in order does the same. */
  #walk(node: PathNode, start: number, end: number): boolean {
    const bytes = this.#bytes
    let position = start
    let entered = 0
    while (position < end) {
      let tag = bytes[position++] as number
      if (tag >= 0x80) {
        const next = varintEnd(bytes, position - 1, end)
        if (next < 0) return false
        tag = lowBits(bytes, position - 1, next)
        position = next
      }
      const number = tag >>> 3
      const valueStart = position
      let from = position
      switch (tag & 7) {
        case 0:
          position = varintEnd(bytes, position, end)
          break
        case 1:
          position += 8
          break
        case 2: {
          let length = position < end ? (bytes[position++] as number) : -1
          const second = position < end ? (bytes[position] as number) : 0x80
          if (length >= 0x80 && second < 0x80) {
            length = (length & 0x7f) | (second << 7)
            position++
          } else if (length >= 0x80) {
            position = varintEnd(bytes, valueStart, end)
            const isShort = position > 0 && position - valueStart <= 5
            length = isShort ? lowBits(bytes, valueStart, position) : -1
          }
          if (length < 0) return false
          from = position
          position += length
          break
        }
        case 5:
          position += 4
          break
        default:
          return false
      }
      if (position < 0 || position > end || number === 0) return false
      const place = number < node.branchOf.length ? (node.branchOf[number] as number) : 0
      if (place === 0) continue
      const branch = node.branches[place - 1]
      if (branch === undefined || branch.wire !== (tag & 7)) return false
      if (branch.slot >= 0) this.#note(branch.slot, from, position)
      if (branch.child !== undefined) {
        if (branch.first) {
          if (((entered >>> place) & 1) === 1) continue
          entered |= 1 << place
        }
        if (!this.#walk(branch.child, from, position)) return false
      }
    }
    return position === end
  }

  #note(slot: number, start: number, end: number): void {
    const list = this.#lists[slot]
    if (list !== undefined) {
      const length = this.#lengths[slot] as number
      list[length] = start
      list[length + 1] = end
      this.#lengths[slot] = length + 2
    } else {
      this.#starts[slot] = start
      this.#ends[slot] = end
    }
  }
}
