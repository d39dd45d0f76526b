/** A stored value: a window of bytes. */
export interface StoredValue {
  readonly bytes: Uint8Array
  readonly start: number
  readonly end: number
}
