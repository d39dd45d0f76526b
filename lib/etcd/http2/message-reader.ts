/** Splits the bytes of a gRPC stream into messages: a flag, a length of four bytes, the message.
 *
 *  A chunk that comes while nothing waits is read where it is. What is left of it at the end, the
 *  beginning of a message, is copied (`settle`): a chunk of one byte would otherwise keep the 64 KB
 *  that the socket has read it with, and so would each of a million of them. */

/** A message as it came. */
export interface Message {
  readonly isCompressed: boolean
  readonly bytes: Buffer
}

/** The flag and the length before each message. */
export const prefixBytes = 5

/** The least that is taken for the beginning of a message. */
const roomMinBytes = 256

const nothing = Buffer.alloc(0)

export class MessageReader {
  readonly #maxBytes: number
  readonly #atOnceBytes: number
  /** Bytes: those not read yet are between `#start` and `#end`. What is before may be in use: it is
   *  never written again. */
  #bytes: Buffer = nothing
  #start = 0
  #end = 0
  /** The bytes are ours, and there may be room after them. */
  #isOwn = false

  /** Messages of more than `maxBytes` are not read. Those of up to `atOnceBytes` have their room as
   *  soon as their length is known, so that nothing is copied twice. */
  constructor(maxBytes: number, atOnceBytes = 0) {
    this.#maxBytes = maxBytes
    this.#atOnceBytes = atOnceBytes
  }

  /** Size of the bytes that are not read yet. */
  get heldBytes(): number {
    return this.#isOwn ? this.#bytes.length : this.#end - this.#start
  }

  /** The bytes after the last message that was read, which are forgotten. */
  rest(): Buffer {
    const rest = this.#bytes.subarray(this.#start, this.#end)
    this.#set(nothing, false)
    return rest
  }

  push(chunk: Buffer): void {
    if (this.#start === this.#end) this.#set(chunk, false)
    else if (chunk.length > 0) {
      this.#makeRoom(chunk.length)
      chunk.copy(this.#bytes, this.#end)
      this.#end += chunk.length
    }
  }

  /** The next message; `undefined` while it is not whole; its length when it has too many bytes. */
  next(): Message | number | undefined {
    const length = this.#length()
    if (length === undefined || length > this.#maxBytes) return length
    const start = this.#start + prefixBytes
    if (this.#end < start + length) return undefined
    const message = {
      isCompressed: this.#bytes[this.#start] !== 0,
      bytes: this.#bytes.subarray(start, start + length),
    }
    this.#start = start + length
    if (this.#start === this.#end) this.#set(nothing, false)
    return message
  }

  /** Nothing more is read for now: lets go of the chunk that the rest has come in. */
  settle(): void {
    if (!this.#isOwn && this.#start < this.#end) this.#makeRoom(0)
  }

  /** Length of the next message; `undefined` while that is not known. */
  #length(): number | undefined {
    const isKnown = this.#end - this.#start >= prefixBytes
    return isKnown ? this.#bytes.readUInt32BE(this.#start + 1) : undefined
  }

  /** Twice as much as is needed, so that small chunks are not copied again and again, but never
   *  much more than a message that is cut. */
  #makeRoom(bytes: number): void {
    if (this.#isOwn && this.#bytes.length - this.#end >= bytes) return
    const needed = this.#end - this.#start + bytes
    const length = this.#length()
    const isCut = length !== undefined && needed <= prefixBytes + length
    const most = isCut ? prefixBytes + length : Infinity
    const least = most <= this.#atOnceBytes ? most : roomMinBytes
    const room = Buffer.allocUnsafeSlow(Math.min(most, Math.max(least, 2 * needed)))
    const end = this.#bytes.copy(room, 0, this.#start, this.#end)
    this.#set(room, true)
    this.#end = end
  }

  #set(bytes: Buffer, isOwn: boolean): void {
    this.#bytes = bytes
    this.#start = 0
    this.#end = bytes.length
    this.#isOwn = isOwn
  }
}

/** The prefix of a message of so many bytes. */
export function messagePrefix(length: number): Buffer {
  const prefix = Buffer.allocUnsafe(prefixBytes)
  prefix[0] = 0
  prefix.writeUInt32BE(length, 1)
  return prefix
}

/** A message as it came, with its prefix. */
export function asSent({ isCompressed, bytes }: Message): Buffer {
  const prefix = messagePrefix(bytes.length)
  if (isCompressed) prefix[0] = 1
  return Buffer.concat([prefix, bytes])
}
