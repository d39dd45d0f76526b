/** Which fields of an object a Table needs, and of which form: a pattern in TypeScript, from which both the readers (pick.ts) and the types
 *  of what they read are made.
 *
 *      const fields = { metadata: { name: 'text' }, spec: { replicas: 'integer?', containers: [{ name: 'text' }] } } as const
 *
 *  A name says what is read there:
 *  - `text` a string or a quantity, `integer` up to 32 bits, `long` 64 bits, `flag` a boolean; zero values when absent
 *  - `text?`, `integer?`, `flag?` the same, and `undefined` when absent: Go's pointers
 *  - `time` milliseconds, `null` when zero or absent; `time?` `undefined` when absent
 *  - `choice` an integer or a text (`intorstring`), as text; `choice?`
 *  - `texts` a list of strings, `count` how many elements or entries there are, `size` how many bytes
 *  - `pairs` a map with text or quantity values, sorted by name
 *  - `isSet` whether a pointer is there
 *  - an object for a message, a list of one object for a list of messages, `{ '?': object }` for a pointer to a message
 *
 *  Fields that are absent have the value that the server would fill in on read (read-defaults.json), if that is a plain value. */

import { CacheError } from '../../base/errors.ts'
import { type Field, type MessageType, messageType, readDefaults } from '../schema.ts'

/** What the names stand for. */
export interface Marks {
  readonly text: string
  readonly 'text?': string | undefined
  readonly integer: number
  readonly 'integer?': number | undefined
  readonly long: bigint
  readonly flag: boolean
  readonly 'flag?': boolean | undefined
  readonly time: number | null
  readonly 'time?': number | null | undefined
  readonly choice: string
  readonly 'choice?': string | undefined
  readonly texts: readonly string[]
  readonly count: number
  readonly size: number
  readonly pairs: readonly (readonly [name: string, value: string])[]
  readonly isSet: boolean
}

export type Mark = keyof Marks

/** A pattern. */
export interface Fields {
  readonly [name: string]: Pattern
}
export type Pattern = Mark | Fields | readonly [Fields] | { readonly '?': Fields }

/** What is read by a pattern. */
export type Picked<P> = P extends Mark
  ? Marks[P]
  : P extends readonly [infer Element]
    ? readonly Picked<Element>[]
    : P extends { readonly '?': infer Target }
      ? Picked<Target> | undefined
      : { readonly [Name in keyof P]: Picked<P[Name]> }

/** A pattern for one message type, compiled. */
export interface Shape {
  /** What an empty message reads as. */
  readonly zero: Readonly<Record<string, unknown>>
  /** By field number. */
  readonly slots: readonly (Slot | undefined)[]
}

/** How one field is read. */
export interface Slot {
  readonly name: string
  /** The name in the pattern without its question mark; `message` and `messages` for nested patterns. */
  readonly mark: SlotMark
  /** As in the schema: distinguishes strings from quantities. */
  readonly type: string
  readonly isList: boolean
  readonly shape: Shape | undefined
  /** A present but empty message (a pointer to a zero time) is not the same as an absent one. */
  readonly isPointer: boolean
  /** What an empty value reads as when the server fills it in. */
  readonly fallback: unknown
}

export type SlotMark =
  | 'text'
  | 'integer'
  | 'long'
  | 'flag'
  | 'time'
  | 'choice'
  | 'texts'
  | 'count'
  | 'size'
  | 'pairs'
  | 'isSet'
  | 'message'
  | 'messages'

/** Compiles a pattern. `root` is the kind of the object: some defaults apply to some kinds only. Throws `unsupported` for a
 *  field that the type does not have. */
export function compileShape(fields: Fields, type: MessageType, root: string): Shape {
  const zero: Record<string, unknown> = {}
  const slots: (Slot | undefined)[] = []
  for (const [name, pattern] of Object.entries(fields)) {
    const field = type.fields.find(({ jsonName }) => jsonName === name)
    if (field === undefined) {
      throw new CacheError('unsupported', `${type.name} has no field ${name}`)
    }
    const slot = compileSlot(field, pattern, { type, root })
    slots[field.number] = slot
    zero[name] = zeroOf(slot, typeof pattern === 'string' && pattern.endsWith('?'))
  }
  return { zero: Object.freeze(zero), slots: Array.from(slots) }
}

function compileSlot(
  field: Field,
  pattern: Pattern,
  { type, root }: { type: MessageType; root: string },
): Slot {
  const { jsonName: name, type: fieldType, container, isPointer } = field
  const base = { name, type: fieldType, isList: container === 'list', isPointer }
  const fallback = defaultOf(type.name, name, root)
  if (typeof pattern === 'string') {
    const mark = pattern.replace(/\?$/, '') as SlotMark
    return { ...base, mark, shape: undefined, fallback }
  }
  const nested = nestedFields(pattern)
  const shape = compileShape(nested, messageType(fieldType), root)
  const mark = Array.isArray(pattern) ? 'messages' : 'message'
  return { ...base, mark, shape, fallback: mark === 'messages' ? listFallback(fallback) : undefined }
}

function nestedFields(pattern: Exclude<Pattern, string>): Fields {
  if (Array.isArray(pattern)) return (pattern as readonly [Fields])[0]
  return '?' in pattern ? (pattern['?'] as Fields) : (pattern as Fields)
}

function zeroOf(slot: Slot, isOptional: boolean): unknown {
  if (slot.fallback !== undefined) return slot.fallback
  switch (slot.mark) {
    case 'text':
    case 'choice':
      return isOptional ? undefined : ''
    case 'integer':
    case 'count':
    case 'size':
      return isOptional ? undefined : 0
    case 'long':
      return 0n
    case 'flag':
      return isOptional ? undefined : false
    case 'isSet':
      return false
    case 'time':
      return isOptional ? undefined : null
    case 'texts':
    case 'pairs':
    case 'messages':
      return []
    case 'message':
      return slot.isPointer ? undefined : slot.shape?.zero
  }
}

/** A default that is a list of objects would have to be read by the pattern, too: printers know those themselves. */
function listFallback(fallback: unknown): unknown {
  return Array.isArray(fallback) ? undefined : fallback
}

/** The plain value that the server fills in, if any. */
function defaultOf(type: string, field: string, root: string): unknown {
  const rule = readDefaults().find(
    candidate =>
      candidate.type === type &&
      candidate.field === field &&
      candidate.when === undefined &&
      candidate.path === undefined &&
      (candidate.root === undefined || candidate.root === root),
  )
  const value = rule?.value
  if (value === null || value === undefined) return undefined
  if (Array.isArray(value)) return value.every(item => typeof item === 'string') ? value : undefined
  return typeof value === 'object' ? undefined : value
}
