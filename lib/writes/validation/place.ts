/** A value of an object and its path: what rules look at, and where they say what is wrong.
 *  Rules read as sentences about places; a value that is absent is a place as well, so that no
 *  rule needs to ask whether what it lies in is there. */

import { JsonNumber, type JsonObject, type JsonValue } from '@watchglass/go'
import {
  type BadValue,
  badValueText,
  child,
  duplicate,
  type FieldError,
  forbidden,
  index,
  invalid,
  keyed,
  NamedText,
  notFound,
  notSupported,
  required,
  ShownValue,
  textNotSupported,
  tooLong,
  tooMany,
} from '../field-errors.ts'
import { writtenMember } from '../decode/written-empties.ts'
import { errorsMaxLength, tooLarge } from '../refusals.ts'
import type { TextFormat } from './formats.ts'

/** The length of each list of errors. */
const lengths = new WeakMap<FieldError[], number>()

/** The list or map that the last error of a list has shown. */
const lastShown = new WeakMap<FieldError[], LastShown>()

interface LastShown {
  readonly value: JsonValue
  readonly member: string
  readonly shown: ShownValue
}

/** A rule: reports errors about a place. */
export type PlaceRule = (place: Place) => void

export class Place {
  readonly value: JsonValue | undefined
  readonly path: string
  /** The errors found so far, shared by all places of an object. */
  readonly errors: FieldError[]
  /** The value that it is a member of. */
  readonly #parent: JsonValue | undefined

  constructor(
    value: JsonValue | undefined,
    path: string,
    errors: FieldError[],
    parent?: JsonValue,
  ) {
    this.value = value
    this.path = path
    this.errors = errors
    this.#parent = parent
  }

  /** The place of a member; of a member of a member. */
  in(...names: readonly string[]): Place {
    let { value, path } = this
    let parent: JsonValue | undefined
    for (const name of names) {
      parent = value
      value = value instanceof Map ? value.get(name) : undefined
      path = child(path, name)
    }
    return new Place(value, path, this.errors, parent)
  }

  /** A place with this value under another path, or with another value under this path. */
  as(path: string, value: JsonValue | undefined = this.value): Place {
    return new Place(value, path, this.errors)
  }

  /** This place with errors of its own. */
  with(errors: FieldError[]): Place {
    return new Place(this.value, this.path, errors)
  }

  /** The places of the items of a list. */
  get items(): Place[] {
    if (!Array.isArray(this.value)) return []
    return this.value.map((_, i) => this.item(i))
  }

  /** The place of an item of a list. */
  item(i: number): Place {
    const value = Array.isArray(this.value) ? this.value[i] : undefined
    return new Place(value, index(this.path, i), this.errors)
  }

  /** The keys of a map, each with its value's place. */
  get entries(): [key: string, value: Place][] {
    if (!(this.value instanceof Map)) return []
    return [...this.value].map(([key, value]) => [
      key,
      new Place(value, keyed(this.path, key), this.errors),
    ])
  }

  get object(): JsonObject | undefined {
    return this.value instanceof Map ? this.value : undefined
  }

  /** The text, or '' where there is none. */
  get text(): string {
    return typeof this.value === 'string' ? this.value : ''
  }

  /** The texts of a list. */
  get texts(): string[] {
    return Array.isArray(this.value)
      ? this.value.filter((item): item is string => typeof item === 'string')
      : []
  }

  /** The number, or 0 where there is none. 64-bit numbers beyond 2^53 are rounded, which no
   *  limit sees. */
  get number(): number {
    return this.value instanceof JsonNumber ? Number(this.value.text) : 0
  }

  get isNumber(): boolean {
    return this.value instanceof JsonNumber
  }

  get isTrue(): boolean {
    return this.value === true
  }

  /** Not null and not absent: a pointer that is set. */
  get isSet(): boolean {
    return this.value !== undefined && this.value !== null
  }

  /** The value as the client wrote it: a list or a map that is there although it is empty. */
  get written(): JsonValue | undefined {
    if (this.value !== undefined || !(this.#parent instanceof Map)) return this.value
    return writtenMember(this.#parent, this.#member)
  }

  /** True for a list or a map that is not nil in Go. */
  get isWritten(): boolean {
    return (this.written ?? null) !== null
  }

  /** The value as errors show it. */
  get shown(): JsonValue {
    return this.written ?? null
  }

  /** Size of a list or a map; characters of a text. */
  get size(): number {
    const { value } = this
    if (Array.isArray(value) || typeof value === 'string') return value.length
    return value instanceof Map ? value.size : 0
  }

  #push(error: FieldError): void {
    const length = (lengths.get(this.errors) ?? 0) + error.field.length + error.message.length
    if (length > errorsMaxLength) throw tooLarge('the errors of the object are too long')
    lengths.set(this.errors, length)
    this.errors.push(error)
  }

  /** The value in Go's order. Its text is made once: a list of five thousand owners may be shown by
   *  an error for each of them. */
  #shownAs(value: BadValue): BadValue {
    if (!Array.isArray(value) && !(value instanceof Map)) return value
    const last = lastShown.get(this.errors)
    if (last?.value === value && last.member === this.#member) return last.shown
    const shown = new ShownValue(badValueText(inGoOrder(value, this.#member)))
    lastShown.set(this.errors, { value, member: this.#member, shown })
    return shown
  }

  /** The name of the member. */
  get #member(): string {
    return this.path.slice(this.path.lastIndexOf('.') + 1)
  }

  invalid(detail: string, value: BadValue = this.value ?? ''): void {
    this.#push(invalid(this.path, this.#shownAs(value), detail))
  }

  /** The error of an invalid value, without the value in its text. */
  invalidPlainly(detail: string): void {
    const { path: field } = this
    this.#push({ reason: 'FieldValueInvalid', field, message: `Invalid value: ${detail}` })
  }

  /** An invalid text whose type has a name in Go. */
  invalidName(detail: string, text: string = this.text): void {
    this.invalid(detail, new NamedText(text))
  }

  /** One error for each detail. */
  invalidFor(details: readonly string[], value?: BadValue): void {
    for (const detail of details) this.invalid(detail, value)
  }

  /** The text must have the format. */
  mustBe(format: TextFormat): void {
    this.invalidFor(format(this.text), this.text)
  }

  /** The server could not find out. */
  failed(detail: string): void {
    const message = `Internal error: ${detail}`
    this.#push({ reason: 'InternalError', field: this.path, message })
  }

  required(detail = ''): void {
    this.#push(required(this.path, detail))
  }

  forbidden(detail: string): void {
    this.#push(forbidden(this.path, detail))
  }

  duplicate(value: BadValue = this.value ?? ''): void {
    this.#push(duplicate(this.path, value))
  }

  /** The error of a duplicate, with more details. */
  duplicateOf(detail: string, value: BadValue): void {
    const error = duplicate(this.path, value)
    this.#push({ ...error, message: `${error.message}: ${detail}` })
  }

  notFound(value: BadValue = this.value ?? '', detail = ''): void {
    this.#push(notFound(this.path, value, detail))
  }

  notSupported(values: readonly string[], value: BadValue = this.value ?? ''): void {
    this.#push(notSupported(this.path, this.#shownAs(value), values))
  }

  tooLong(max: number, unit?: string): void {
    this.#push(tooLong(this.path, max, unit))
  }

  tooMany(max: number): void {
    this.#push(tooMany(this.path, this.size, max))
  }

  /** A number that must not be below zero; absent is fine. */
  notNegative(): void {
    if (this.number < 0) this.invalid('must be greater than or equal to 0')
  }

  /** A text that must be one of these; an empty one is required. */
  oneOf(values: readonly string[], whenEmpty: 'required' | 'unsupported' | 'fine'): void {
    if (this.#isOther(values, whenEmpty)) this.notSupported(values, this.text)
  }

  /** Checks like `oneOf` a text of Go's plain type `string`. */
  textOneOf(values: readonly string[], whenEmpty: 'required' | 'unsupported' | 'fine'): void {
    if (!this.#isOther(values, whenEmpty)) return
    this.#push(textNotSupported(this.path, this.text, values))
  }

  #isOther(values: readonly string[], whenEmpty: 'required' | 'unsupported' | 'fine'): boolean {
    if (this.text === '' && whenEmpty !== 'unsupported') {
      if (whenEmpty === 'required') this.required()
      return false
    }
    return !values.includes(this.text)
  }
}

/** Members that are maps in Go, which shows them in the order of their keys. */
const goMaps = new Set([
  'annotations',
  'capacity',
  'labels',
  'matchLabels',
  'nodeSelector',
  'parameters',
])

function inGoOrder(value: BadValue, name: string | undefined): BadValue {
  if (Array.isArray(value)) return value.map(item => inGoOrder(item, undefined) as JsonValue)
  if (!(value instanceof Map)) return value
  const members = [...value].map(([key, member]): [string, JsonValue] => [
    key,
    inGoOrder(member, key) as JsonValue,
  ])
  const isMap = goMaps.has(name ?? '')
  return new Map(isMap ? members.sort(([a], [b]) => (a < b ? -1 : 1)) : members)
}
