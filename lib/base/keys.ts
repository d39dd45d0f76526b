/** etcd keys, which are arbitrary bytes, as strings with one character (U+0000 to U+00FF) for each
 *  byte.
 *
 *  Such a string has exactly the order of the bytes under `<`, is hashable, immutable, and costs
 *  one byte a character and no external memory; a `Buffer` of the same bytes costs four times as
 *  much and a native call for each comparison (lib/ARCHITECTURE.md has the figures). Text is
 *  converted to UTF-8 bytes on the way in and out. */

declare const brand: unique symbol

/** The bytes of an etcd key, one character for each. */
export type Key = string & { readonly [brand]: 'key' }

/** All keys with `start <= key < end`; an `end` of `undefined` means that the range has no upper
 *  bound. */
export interface KeyRange {
  readonly start: Key
  readonly end: Key | undefined
}

/** The smallest key: no bytes at all. */
export const minKey: Key = '' as Key

/** Every key there is. */
export const allKeys: KeyRange = { start: minKey, end: undefined }

/** The key with the bytes of `bytes`, copied. */
export function keyFromBytes(bytes: Uint8Array): Key {
  return asBuffer(bytes).toString('latin1') as Key
}

/** The bytes of a key, as a buffer of its own. */
export function bytesFromKey(key: Key): Buffer {
  return Buffer.from(key, 'latin1')
}

/** The key whose bytes are the UTF-8 form of `text`. */
export function keyFromText(text: string): Key {
  return (isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1')) as Key
}

/** The text whose UTF-8 form the key's bytes are; bytes that are not UTF-8 become U+FFFD, so this
 *  is for people. */
export function textFromKey(key: Key): string {
  return isAscii(key) ? key : bytesFromKey(key).toString('utf8')
}

/** Byte order: negative, zero or positive as `a` is before, equal to or after `b`. */
export function compareKeys(a: Key, b: Key): number {
  return a < b ? -1 : a === b ? 0 : 1
}

/** The first key after `key`: the same bytes and a zero byte. */
export function keyAfter(key: Key): Key {
  return (key + '\0') as Key
}

/** The first key after all keys that begin with `prefix`; `undefined` when there is none (no bytes,
 *  or only 0xff). */
export function prefixEnd(prefix: Key): Key | undefined {
  for (let i = prefix.length - 1; i >= 0; i--) {
    const byte = prefix.charCodeAt(i)
    if (byte < 0xff) return (prefix.slice(0, i) + String.fromCharCode(byte + 1)) as Key
  }
  return undefined
}

/** All keys that begin with `prefix`. */
export function prefixRange(prefix: Key): KeyRange {
  return { start: prefix, end: prefixEnd(prefix) }
}

/** Exactly `key`. */
export function singleKey(key: Key): KeyRange {
  return { start: key, end: keyAfter(key) }
}

export function inRange(key: Key, range: KeyRange): boolean {
  return key >= range.start && (range.end === undefined || key < range.end)
}

/** True when no key can lie in the range. */
export function isEmptyRange(range: KeyRange): boolean {
  return range.end !== undefined && range.end <= range.start
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0x7f) return false
  }
  return true
}

function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
