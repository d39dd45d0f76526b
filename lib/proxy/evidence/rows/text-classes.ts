/** Classifies strings: those with characters that encodings treat specially, and those that look
 *  like API names. */

/** Bits of classes. */
export const classEscaped = 1
export const classHtml = 2
export const classWide = 4

const classes = new Uint8Array(256)
for (let byte = 0; byte < 256; byte++) {
  if (byte < 0x20 || byte === 0x22 || byte === 0x5c || byte === 0x7f) classes[byte] = classEscaped
  else if (byte === 0x26 || byte === 0x3c || byte === 0x3e) classes[byte] = classHtml
  else if (byte >= 0x80) classes[byte] = classWide
}

/** All classes of the bytes in a window. */
export function textClasses(bytes: Uint8Array, start: number, end: number): number {
  let found = 0
  for (let i = start; i < end; i++) found |= classes[bytes[i] as number] as number
  return found
}

/** Longer texts are not taken for API names. */
const nameMaxBytes = 40

/** A hash of a text that looks like a name of the API's, such as `Running` or `SuccessCriteriaMet`;
 *  0 for all others. */
export function nameHash(bytes: Uint8Array, start: number, end: number): number {
  const first = bytes[start] as number
  if (end - start > nameMaxBytes || start === end || first < 0x41 || first > 0x5a) return 0
  let hash = 0x811c_9dc5
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number
    const lower = byte | 0x20
    const isLetter = lower >= 0x61 && lower <= 0x7a
    if (!isLetter && (byte < 0x30 || byte > 0x39)) return 0
    hash = Math.imul(hash ^ byte, 0x0100_0193)
  }
  return hash === 0 ? 1 : hash
}

/** A hash of any text. */
export function textHash(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c_9dc5
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x0100_0193)
  return hash
}

/** Which kinds of characters a quantity is written with: digits, a sign, a point, an exponent,
 *  which suffix. */
export function quantityClasses(bytes: Uint8Array, start: number, end: number): number {
  let found = 0
  let isZero = true
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number
    if (byte !== 0x30) isZero = false
    found |= quantityClass(byte)
  }
  return isZero ? found | 0x100 : found
}

function quantityClass(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return 0x200
  switch (byte) {
    case 0x2d:
    case 0x2b:
      return 0x400
    case 0x2e:
      return 0x800
    case 0x6d:
      return 0x1000
    case 0x69:
      return 0x2000
    case 0x6e:
    case 0x75:
      return 0x4000
    case 0x65:
    case 0x45:
      return 0x8000
    default:
      return 0x1_0000
  }
}
