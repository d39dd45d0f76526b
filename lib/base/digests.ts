/** Hash functions, which the pure layers are given. */

export interface Digests {
  sha256(text: string): Uint8Array
  sha512(text: string): Uint8Array
}
