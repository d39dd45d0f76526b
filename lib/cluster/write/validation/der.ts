/** Values of ASN.1 in its distinguished encoding (X.690). */

export interface DerPart {
  readonly content: Buffer
  /** The bytes after it. */
  readonly rest: Buffer
}

/** The value with which the bytes begin, if it has this tag and is whole. */
export function readDer(bytes: Buffer, tag: number): DerPart | undefined {
  const [first, short] = bytes
  if (first !== tag || short === undefined) return undefined
  let [length, at] = [short, 2]
  if (short >= 0x80) {
    const count = short & 0x7f
    if (count === 0 || count > 4 || bytes.length < 2 + count) return undefined
    length = bytes.readUIntBE(2, count)
    at = 2 + count
    // The shortest form is the only one.
    if (length < 0x80 || length >>> ((count - 1) * 8) === 0) return undefined
  }
  if (at + length > bytes.length) return undefined
  return { content: bytes.subarray(at, at + length), rest: bytes.subarray(at + length) }
}
