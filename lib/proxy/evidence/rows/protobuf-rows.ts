/** The rows of a stored protobuf object: for every message in it, one number for which of its
 *  fields are set, zero or absent, and which API names its texts are. So the same rules of
 *  omission, defaults and order apply to two objects with the same rows, whatever their texts and
 *  numbers are; and a rule that was not tried yet shows as a new row. It is a walk over the bytes,
 *  without decoding them, and costs an eighth of encoding them. */

import { minors, readEnvelope, schemaOf, type StoredValue } from '@watchglass/codec'
import { NotExact } from '@watchglass/base'
import { type FieldPlan, RowNode } from './path-nodes.ts'
import type { NamesInOrder } from './names-in-order.ts'
import { mixed, type RowTable } from './row-table.ts'
import { nameHash, quantityClasses, textClasses, textHash } from './text-classes.ts'

const zero = 1
const present = 2
const large = 4
const unreadable = -1

/** A quantity is a message whose only field is its text. */
const quantityHead = 2

/** Deeper than any object of the API. */
const depthMax = 48

export class ProtobufRows {
  readonly #rows: RowTable
  readonly #names: NamesInOrder
  readonly #ids = { next: 1 }
  readonly #roots = new Map<string, RowNode>()
  /** Classes of all texts of the object. */
  #textClasses = 0
  /** State of the field under way. */
  #state = 0
  #named = 0

  constructor(rows: RowTable, names: NamesInOrder) {
    this.#rows = rows
    this.#names = names
  }

  /** Adds the rows of a value with an envelope. False if it cannot be read. */
  read({ bytes, start, end }: StoredValue): boolean {
    const envelope = readEnvelope(bytes, start, end)
    if (envelope instanceof NotExact) return false
    const root = this.#rootOf(envelope.apiVersion, envelope.kind)
    if (root === undefined) return false
    this.#textClasses = 0
    if (!this.#message(root, bytes, { start: envelope.rawStart, end: envelope.rawEnd, depth: 0 })) {
      return false
    }
    this.#rows.add(mixed(this.#textClasses, root.id), mixed(this.#textClasses, 0x5bd1_e995))
    return true
  }

  #rootOf(apiVersion: string, kind: string): RowNode | undefined {
    const name = `${apiVersion} ${kind}`
    const known = this.#roots.get(name)
    if (known !== undefined) return known
    // The newest schema knows the most fields. Fields that it does not know count by their bytes.
    const found = schemaOf(minors().at(-1)).findKind(apiVersion, kind)
    if (found === undefined) return undefined
    const root = new RowNode(found.type, [], this.#ids)
    this.#roots.set(name, root)
    return root
  }

  #message(node: RowNode, bytes: Uint8Array, window: Window): boolean {
    const { end, depth } = window
    if (depth > depthMax) return false
    const { fields } = node
    let low = node.id
    let high = ~node.id
    let last = 0
    let at = window.start
    // Of the field before, which may have come several times.
    let state = 0
    let named = 0
    while (at < end) {
      let tag = bytes[at++] as number
      if (tag >= 0x80) {
        const second = bytes[at++] as number
        if (second >= 0x80) return false
        tag = (tag & 0x7f) | (second << 7)
      }
      const field = tag >>> 3
      if (field !== last) {
        if (last !== 0) {
          low = mixed(low, Math.imul(last, 0x1_0001) ^ (state << 8) ^ named)
          high = mixed(high, Math.imul(last, 0x0101) ^ state ^ Math.imul(named, 0x1b87_3593))
        }
        last = field
        state = 0
        named = 0
      }
      this.#state = 0
      this.#named = 0
      at = this.#field(fields[field], bytes, { at, end, wire: tag & 7, depth, node, field })
      if (at === unreadable) return false
      state |= this.#state
      named = (named + this.#named) | 0
    }
    if (last !== 0) {
      low = mixed(low, Math.imul(last, 0x1_0001) ^ (state << 8) ^ named)
      high = mixed(high, Math.imul(last, 0x0101) ^ state ^ Math.imul(named, 0x1b87_3593))
    }
    this.#rows.add(mixed(low, last), mixed(high, low))
    return at === end
  }

  /** Notes the state of a field's value; where the next one begins. */
  #field(plan: FieldPlan | undefined, bytes: Uint8Array, place: Place): number {
    const { at, end, wire } = place
    switch (wire) {
      case 0:
        return this.#varint(bytes, at, end)
      case 1:
        this.#state = present
        return at + 8 > end ? unreadable : at + 8
      case 5:
        this.#state = present
        return at + 4 > end ? unreadable : at + 4
      case 2:
        return this.#window(plan, bytes, place)
      default:
        return unreadable
    }
  }

  #varint(bytes: Uint8Array, from: number, end: number): number {
    let at = from
    let bits = 0
    while (at < end) {
      const byte = bytes[at++] as number
      bits |= byte & 0x7f
      if (byte >= 0x80) continue
      // Beyond 2^53 or negative: nine bytes and more.
      this.#state = at - from > 7 ? large : bits === 0 ? zero : present
      return at
    }
    return unreadable
  }

  #window(plan: FieldPlan | undefined, bytes: Uint8Array, place: Place): number {
    let { at } = place
    let length = 0
    for (let scale = 1; ; scale *= 0x80) {
      if (at >= place.end || scale > 0x1000_0000) return unreadable
      const byte = bytes[at++] as number
      length += (byte & 0x7f) * scale
      if (byte < 0x80) break
    }
    const end = at + length
    if (end > place.end) return unreadable
    this.#state = length === 0 ? zero : present
    if (plan === undefined || length === 0) return end
    return this.#content(plan, bytes, { start: at, end, place }) ? end : unreadable
  }

  #content(plan: FieldPlan, bytes: Uint8Array, { start, end, place }: Content): boolean {
    const { depth, node, field } = place
    switch (plan.form) {
      case 'plain':
        return true
      case 'text':
        this.#textClasses |= textClasses(bytes, start, end)
        this.#named = plan.hasNames ? nameHash(bytes, start, end) : 0
        if (this.#named !== 0 && node.isOrdered) this.#names.add(node.id, field, this.#named)
        return true
      case 'message':
        return this.#child(plan, bytes, { start, end, depth: depth + 1 })
      case 'quantity':
        this.#state |= quantityClasses(bytes, start + quantityHead, end)
        return true
      case 'map':
        this.#textClasses |= textClasses(bytes, start, end) & ~1
        return true
      case 'quantities':
      case 'messages':
        return this.#entry(plan, bytes, { start, end, depth: depth + 1 })
    }
  }

  /** The contents of a message do not change the state of the field that holds it. */
  #child({ child }: FieldPlan, bytes: Uint8Array, window: Window): boolean {
    if (child === undefined) return true
    if (!this.#message(child, bytes, window)) return false
    this.#state = present
    this.#named = 0
    return true
  }

  /** An entry of a map: {1 key, 2 value}. */
  #entry(plan: FieldPlan, bytes: Uint8Array, { start, end, depth }: Window): boolean {
    let at = start
    let named = 0
    let classes = 0
    while (at < end) {
      const tag = bytes[at++] as number
      const window = windowAt(bytes, at, end)
      if (window === undefined || (tag & 7) !== 2) return false
      at = window.end
      if (tag >>> 3 === 1) named = textHash(bytes, window.start, window.end)
      else if (plan.form === 'messages') {
        if (!this.#child(plan, bytes, { ...window, depth })) return false
        // Keys of such maps are chosen by users.
        named = 0
      } else classes |= quantityClasses(bytes, window.start + quantityHead, window.end)
    }
    this.#state = present | classes
    this.#named = plan.form === 'quantities' ? named : 0
    return true
  }
}

interface Window {
  readonly start: number
  readonly end: number
  readonly depth: number
}

interface Place {
  readonly at: number
  readonly end: number
  readonly wire: number
  readonly depth: number
  readonly node: RowNode
  readonly field: number
}

interface Content {
  readonly start: number
  readonly end: number
  readonly place: Place
}

function windowAt(
  bytes: Uint8Array,
  from: number,
  end: number,
): { readonly start: number; readonly end: number } | undefined {
  let at = from
  let length = 0
  for (let scale = 1; at < end && scale <= 0x1000_0000; scale *= 0x80) {
    const byte = bytes[at++] as number
    length += (byte & 0x7f) * scale
    if (byte < 0x80) return at + length > end ? undefined : { start: at, end: at + length }
  }
  return undefined
}
