/** Text from windows of bytes. Most texts in objects are short ASCII, and many come again and
 *  again: names of namespaces and nodes, label values, phases. So they are looked up in a small
 *  table of texts seen before, which saves both the decoding and the string. */

/** Power of two: the table is indexed by the low bits of a hash. 4,096 strings of at most
 *  `internMaxBytes` are a few hundred KB. */
const internEntries = 4096
/** Longer texts are rarely the same, and the native decoder is faster for them. */
const internMaxBytes = 40

const interned: string[] = Array.from<string>({ length: internEntries }).fill('')

/** Node's own slices, without the checks and the dispatch of `toString`; that, where Node does not
 *  have them. */
interface NativeSlices {
  utf8Slice(this: Uint8Array, start: number, end: number): string
  latin1Slice(this: Uint8Array, start: number, end: number): string
}

/** The slices of a Buffer's prototype. */
function slicesOf(prototype: Partial<NativeSlices>): NativeSlices {
  const { utf8Slice, latin1Slice } = prototype
  if (utf8Slice !== undefined && latin1Slice !== undefined) return { utf8Slice, latin1Slice }
  return {
    utf8Slice(start, end) {
      return Buffer.prototype.toString.call(this, 'utf8', start, end)
    },
    latin1Slice(start, end) {
      return Buffer.prototype.toString.call(this, 'latin1', start, end)
    },
  }
}

const native = slicesOf(Buffer.prototype as Partial<NativeSlices>)

/** The UTF-8 text of `bytes[start..end)`. Invalid bytes become U+FFFD. The window must lie inside
 *  `bytes`. */
export function textFromBytes(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start
  if (length > internMaxBytes) return native.utf8Slice.call(bytes, start, end)
  if (length === 0) return ''
  let hash = length
  let high = 0
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number
    hash = Math.imul(hash ^ byte, 0x0100_0193)
    high |= byte
  }
  if (high >= 0x80) return native.utf8Slice.call(bytes, start, end)
  const place = (hash ^ (hash >>> 15)) & (internEntries - 1)
  const known = interned[place] as string
  if (known.length === length && isAsciiText(bytes, start, known)) return known
  const text = native.latin1Slice.call(bytes, start, end)
  interned[place] = text
  return text
}

/** One character for each byte of `bytes[start..end)`. */
export function latin1FromBytes(bytes: Uint8Array, start: number, end: number): string {
  return native.latin1Slice.call(bytes, start, end)
}

/** True if the bytes from `start` on are those of `text`, which must be ASCII. The caller compares
 *  the lengths. */
export function isAsciiText(bytes: Uint8Array, start: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (bytes[start + i] !== text.charCodeAt(i)) return false
  }
  return true
}

/** True if `bytes[start..end)` are exactly `wanted`. */
export function equalBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  wanted: Uint8Array,
): boolean {
  if (end - start !== wanted.length) return false
  for (let i = 0; i < wanted.length; i++) {
    if (bytes[start + i] !== wanted[i]) return false
  }
  return true
}

/** A copy to keep: V8 has a part of a text keep the whole of it, which may be a request with its
 *  token. Undefined for a text with other characters than Latin-1 has. */
export function latin1Copy(text: string): string | undefined {
  const copy = Buffer.from(text, 'latin1').toString('latin1')
  return copy === text ? copy : undefined
}
