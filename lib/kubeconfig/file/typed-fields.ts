/** Typed fields of an untyped document. A field of another type is a mistake that is reported with
 *  its place: `clusters[0].cluster.server is a number; it must be a text`. Fields that nobody knows
 *  are ignored, as client-go ignores them. */

import { CacheError, isObject, memberOf } from '@watchglass/base'

export class TypedFields {
  readonly #value: unknown
  /** The place in the document, for messages; empty for the document. */
  readonly place: string

  /** Fails if the value is there and is no object. */
  constructor(value: unknown, place: string) {
    if (value !== undefined && value !== null && !isObject(value)) {
      throw mistaken(place, value, 'an object')
    }
    this.#value = value
    this.place = place
  }

  /** True if the field is there and is not null. */
  has(name: string): boolean {
    return this.member(name) !== undefined
  }

  member(name: string): unknown {
    return memberOf(this.#value, name) ?? undefined
  }

  placeOf(name: string): string {
    return this.place === '' ? name : `${this.place}.${name}`
  }

  /** Empty if it is not there. */
  text(name: string): string {
    const value = this.member(name) ?? ''
    if (typeof value !== 'string') throw mistaken(this.placeOf(name), value, 'a text')
    return value
  }

  flag(name: string): boolean {
    const value = this.member(name) ?? false
    if (typeof value !== 'boolean') throw mistaken(this.placeOf(name), value, 'true or false')
    return value
  }

  /** Bytes in base64; undefined if it is not there or is empty. */
  bytes(name: string): Buffer | undefined {
    const text = this.text(name).replace(/[\r\n]/g, '')
    if (text === '') return undefined
    const isBase64 = /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0
    if (isBase64) return Buffer.from(text, 'base64')
    throw new CacheError(
      'invalid_request',
      `${this.placeOf(name)} is not base64; the contents of a file are written there by "base64 -w0 FILE"`,
    )
  }

  object(name: string): TypedFields {
    return new TypedFields(this.member(name), this.placeOf(name))
  }

  /** Empty if it is not there. */
  objects(name: string): readonly TypedFields[] {
    return this.#list(name).map((item, i) => new TypedFields(item, `${this.placeOf(name)}[${i}]`))
  }

  texts(name: string): readonly string[] {
    return this.#list(name).map((item, i) => {
      if (typeof item === 'string') return item
      throw mistaken(`${this.placeOf(name)}[${i}]`, item, 'a text')
    })
  }

  /** Lists of texts by name. */
  textsByName(name: string): Readonly<Record<string, readonly string[]>> {
    const fields = this.object(name)
    const value = fields.#value
    const names = isObject(value) ? Object.keys(value) : []
    return Object.fromEntries(names.map(one => [one, fields.texts(one)]))
  }

  #list(name: string): readonly unknown[] {
    const value = this.member(name) ?? []
    if (!Array.isArray(value)) throw mistaken(this.placeOf(name), value, 'a list')
    return value as unknown[]
  }
}

/** The value is left out of the message: it may be a secret. */
function mistaken(place: string, value: unknown, expected: string): CacheError {
  const found = Array.isArray(value)
    ? 'a list'
    : typeof value === 'string'
      ? 'a text'
      : typeof value === 'object'
        ? 'an object'
        : typeof value === 'boolean'
          ? 'true or false'
          : 'a number'
  const hint = expected === 'a text' && typeof value !== 'object' ? ' (write it in quotes)' : ''
  return new CacheError('invalid_request', `${place} is ${found}; it must be ${expected}${hint}`)
}
