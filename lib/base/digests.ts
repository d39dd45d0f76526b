/** Hash functions, which the pure layers are given. */

export interface Digests {
  sha256(text: string): Uint8Array
  sha512(text: string): Uint8Array
  /** The digest of a text that is too long to be hashed at once. */
  sha512InParts(): PartialDigest
}

export interface PartialDigest {
  /** Takes the next part, which never begins within a character. */
  add(part: string): void
  end(): Uint8Array
}
