/** An entry of a protobuf map of texts: a message {1 key, 2 value}. */

import { equalBytes, textFromBytes, wireBytes, WireReader } from '@watchglass/base'

/** Holds one entry at a time. A part that is absent is empty; what is malformed ends the entry. */
export class MapEntry {
  #bytes: Uint8Array = new Uint8Array(0)
  #keyStart = 0
  #keyEnd = 0
  #valueStart = 0
  #valueEnd = 0
  readonly #reader = new WireReader()

  /** Reads the entry in `bytes[start..end)`. */
  read(bytes: Uint8Array, start: number, end: number): void {
    this.#bytes = bytes
    // This is how every writer writes it: both parts in order, with short lengths.
    const keyEnd = start + 2 + (bytes[start + 1] as number)
    if (bytes[start] === 0x0a && keyEnd + 2 <= end && bytes[keyEnd] === 0x12) {
      const valueLength = bytes[keyEnd + 1] as number
      const isShort = (bytes[start + 1] as number) < 0x80 && valueLength < 0x80
      if (isShort && keyEnd + 2 + valueLength === end) {
        this.#keyStart = start + 2
        this.#keyEnd = keyEnd
        this.#valueStart = keyEnd + 2
        this.#valueEnd = end
        return
      }
    }
    this.#readAny(bytes, start, end)
  }

  keyEquals(key: Uint8Array): boolean {
    return equalBytes(this.#bytes, this.#keyStart, this.#keyEnd, key)
  }

  key(): string {
    return textFromBytes(this.#bytes, this.#keyStart, this.#keyEnd)
  }

  value(): string {
    return textFromBytes(this.#bytes, this.#valueStart, this.#valueEnd)
  }

  #readAny(bytes: Uint8Array, start: number, end: number): void {
    this.#keyStart = this.#keyEnd = this.#valueStart = this.#valueEnd = start
    const reader = this.#reader
    reader.reset(bytes, start, end)
    while (reader.nextField()) {
      if (reader.wire !== wireBytes) {
        reader.skip()
      } else if (reader.readWindow() && reader.field === 1) {
        this.#keyStart = reader.start
        this.#keyEnd = reader.at
      } else if (!reader.isMalformed && reader.field === 2) {
        this.#valueStart = reader.start
        this.#valueEnd = reader.at
      }
    }
  }
}
