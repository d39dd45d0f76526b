/** Which fields of an object a Table needs, and of which form: a pattern, from which both the
 *  readers (pick.ts) and the types of what they read are made.
 *
 *      const fields = { metadata: { name: 'text' }, spec: { replicas: 'integer?', containers: [{ name: 'text' }] } } as const
 *
 *  A name says what is read there:
 *  - `text` a string or a quantity, `integer` up to 32 bits, `long` 64 bits, `flag` a boolean; zero
 *    values when absent
 *  - `text?`, `integer?`, `flag?` the same, and `undefined` when absent: Go's pointers
 *  - `time` milliseconds, `null` when zero or absent; `time?` `undefined` when absent
 *  - `choice` an integer or a text (`intorstring`), as text; `choice?`
 *  - `texts` a list of strings, `count` how many elements or entries there are, `size` how many
 *    bytes
 *  - `names` of a map, in any order and with repetitions
 *  - `pairs` a map with text or quantity values, sorted by name
 *  - `isSet` whether a pointer is there
 *  - an object for a message, a list of one object for a list of messages, `{ '?': object }` for a
 *    pointer to a message
 *
 *  Fields that are absent have the value that the server would fill in on read
 *  (read-defaults.json), if that is a plain value. */

/** The types behind the names of marks. */
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
  readonly names: readonly string[]
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

/** The type that a pattern reads. */
export type Picked<P> = P extends Mark
  ? Marks[P]
  : P extends readonly [infer Element]
    ? readonly Picked<Element>[]
    : P extends { readonly '?': infer Target }
      ? Picked<Target> | undefined
      : { readonly [Name in keyof P]: Picked<P[Name]> }

/** An object that a pattern has read, seen without the pattern. */
export type PickedObject = Readonly<Record<string, unknown>>

/** A pattern, compiled for one message type. */
export interface CompiledPattern {
  /** Value of an empty message. */
  readonly zero: Readonly<Record<string, unknown>>
  /** By field number. */
  readonly slots: readonly (Slot | undefined)[]
  readonly pick: PickMessage
}

/** Reads what a pattern asks of the message in `bytes[start..end)`. */
export type PickMessage = (bytes: Uint8Array, start: number, end: number) => PickedObject

/** The reader of one field. */
export interface Slot {
  readonly name: string
  /** The name in the pattern without its question mark; `message` and `messages` for nested
   *  patterns. */
  readonly mark: SlotMark
  /** As in the schema: distinguishes strings from quantities. */
  readonly type: string
  readonly nested: CompiledPattern | undefined
  /** A present but empty message (a pointer to a zero time) is not the same as an absent one. */
  readonly isPointer: boolean
  /** Value in place of an empty one, when the server fills it in. */
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
  | 'names'
  | 'count'
  | 'size'
  | 'pairs'
  | 'isSet'
  | 'message'
  | 'messages'
