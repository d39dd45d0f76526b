/** Splits the bytes of a gRPC stream into messages: a flag, a length of four bytes, the message. */

/** A message as it came. */
export interface Message {
  readonly isCompressed: boolean
  readonly bytes: Buffer
}

/** The flag and the length before each message. */
export const prefixBytes = 5

export class MessageReader {
  readonly #maxBytes: number
  #chunks: Buffer[] = []
  #length = 0

  /** Messages of more than `maxBytes` are not read. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The bytes after the last message that was read. */
  rest(): Buffer {
    return Buffer.concat(this.#chunks.splice(0))
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return
    this.#chunks.push(chunk)
    this.#length += chunk.length
  }

  /** The next message; `undefined` while it is not whole; its length when it has too many bytes. */
  next(): Message | number | undefined {
    if (this.#length < prefixBytes) return undefined
    const head = this.#join(prefixBytes)
    const length = head.readUInt32BE(1)
    if (length > this.#maxBytes) return length
    const wanted = prefixBytes + length
    if (this.#length < wanted) return undefined
    const whole = this.#join(wanted)
    this.#chunks[0] = whole.subarray(wanted)
    this.#length -= wanted
    if (this.#chunks[0].length === 0) this.#chunks.shift()
    return { isCompressed: head[0] !== 0, bytes: whole.subarray(prefixBytes, wanted) }
  }

  /** The first chunk, with at least so many bytes. */
  #join(bytes: number): Buffer {
    const [first] = this.#chunks
    if (first !== undefined && first.length >= bytes) return first
    const joined = Buffer.concat(this.#chunks)
    this.#chunks = [joined]
    return joined
  }
}

/** What goes before a message of so many bytes. */
export function messagePrefix(length: number): Buffer {
  const prefix = Buffer.allocUnsafe(prefixBytes)
  prefix[0] = 0
  prefix.writeUInt32BE(length, 1)
  return prefix
}
