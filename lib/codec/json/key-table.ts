/** Looks object keys up by their bytes, so that a scanner makes no string for a key it passes. */

/** A fixed set of keys, each with a value. Open addressing, at most half full. */
export class KeyTable<Value> {
  readonly #mask: number
  readonly #keys: (Uint8Array | undefined)[]
  readonly #values: (Value | undefined)[]

  constructor(entries: Iterable<readonly [string, Value]>) {
    const list = [...entries].map(([key, value]) => [Buffer.from(key), value] as const)
    let size = 4
    while (size < list.length * 2) size *= 2
    this.#mask = size - 1
    this.#keys = Array.from<undefined>({ length: size }).fill(undefined)
    this.#values = Array.from<undefined>({ length: size }).fill(undefined)
    for (const [key, value] of list) {
      let place = hashOf(key, 0, key.length) & this.#mask
      while (this.#keys[place] !== undefined) place = (place + 1) & this.#mask
      this.#keys[place] = key
      this.#values[place] = value
    }
  }

  /** The value of the key in `bytes[start..end)`. */
  find(bytes: Uint8Array, start: number, end: number): Value | undefined {
    let place = hashOf(bytes, start, end) & this.#mask
    for (;;) {
      const key = this.#keys[place]
      if (key === undefined) return undefined
      if (key.length === end - start && isSame(key, bytes, start)) return this.#values[place]
      place = (place + 1) & this.#mask
    }
  }
}

/** FNV-1a; its high bits are better mixed than the low ones that the table uses. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c_9dc5
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x0100_0193)
  return hash ^ (hash >>> 15)
}

function isSame(key: Uint8Array, bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < key.length; i++) {
    if (key[i] !== bytes[start + i]) return false
  }
  return true
}
