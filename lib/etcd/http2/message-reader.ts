/** Splits the bytes of a gRPC stream into messages: a flag, a length of four bytes, the message.
 *
 *  Chunks are read where they are, and only a message that lies in several of them is put together:
 *  to copy all bytes took as long as everything else that is done with a change of etcd. What is
 *  small is copied while it waits, since a chunk of one byte would keep the 64 KB that the socket
 *  has read it with, and so would each of a million of them. */

/** A message as it came. */
export interface Message {
  readonly isCompressed: boolean
  readonly bytes: Buffer
}

/** The flag and the length before each message. */
export const prefixBytes = 5

/** The least that is taken for the beginning of a message. */
const roomMinBytes = 256

/** Bytes that keep at most sixteen times as much memory while they wait where they came. */
const keptMinBytes = 4 * 1024

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
  /** The chunks that follow. */
  #later: Buffer[] = []
  /** Memory behind the last of them that is ours. */
  #room: Buffer = nothing

  /** Messages of more than `maxBytes` are not read. Those of up to `atOnceBytes` have their room as
   *  soon as their length is known, so that nothing is copied twice. */
  constructor(maxBytes: number, atOnceBytes = 0) {
    this.#maxBytes = maxBytes
    this.#atOnceBytes = atOnceBytes
  }

  /** Size of the bytes that are not read yet. */
  get heldBytes(): number {
    const later = this.#later.reduce((sum, chunk) => sum + chunk.length, 0)
    return later + (this.#isOwn ? this.#bytes.length : this.#end - this.#start)
  }

  /** The bytes after the last message that was read, which are forgotten. */
  rest(): Buffer {
    this.#join(Infinity)
    const rest = this.#bytes.subarray(this.#start, this.#end)
    this.#set(nothing, false)
    return rest
  }

  push(chunk: Buffer): void {
    if (this.#start === this.#end) {
      this.#set(chunk, false)
      return
    }
    let rest = chunk
    while (rest.length > 0 && this.#later.length === 0 && this.#missing() > 0) {
      const part = rest.subarray(0, this.#missing())
      this.#append(part)
      rest = rest.subarray(part.length)
    }
    if (rest.length > 0) this.#wait(rest)
  }

  /** The next message; `undefined` while it is not whole; its length when it has too many bytes. */
  next(): Message | number | undefined {
    while (this.#later.length > 0 && this.#missing() > 0) this.#join(this.#missing())
    const length = this.#length()
    if (length === undefined || length > this.#maxBytes) return length
    const start = this.#start + prefixBytes
    if (this.#end < start + length) return undefined
    const message = {
      isCompressed: this.#bytes[this.#start] !== 0,
      bytes: this.#bytes.subarray(start, start + length),
    }
    this.#start = start + length
    if (this.#start === this.#end) this.#set(this.#later.shift() ?? nothing, false)
    return message
  }

  /** Nothing more is read for now: lets go of the chunk that the rest has come in. */
  settle(): void {
    const unread = this.#end - this.#start
    if (!this.#isOwn && unread > 0 && unread < keptMinBytes) this.#makeRoom(0)
  }

  /** Length of the next message; `undefined` while that is not known. */
  #length(): number | undefined {
    const isKnown = this.#end - this.#start >= prefixBytes
    return isKnown ? this.#bytes.readUInt32BE(this.#start + 1) : undefined
  }

  /** Bytes that the next message lacks, or its prefix; at most 0 if it is whole. */
  #missing(): number {
    const known = this.#end - this.#start
    const length = this.#length()
    if (length === undefined) return prefixBytes - known
    return length > this.#maxBytes ? 0 : prefixBytes + length - known
  }

  /** Keeps a chunk until what is before it has been read. Small ones are put together. */
  #wait(chunk: Buffer): void {
    const last = this.#later.at(-1)
    if (chunk.length >= keptMinBytes) {
      this.#later.push(chunk)
      this.#room = nothing
    } else if (last !== undefined && chunk.length <= this.#room.length) {
      chunk.copy(this.#room)
      const length = last.length + chunk.length
      this.#later.splice(-1, 1, Buffer.from(last.buffer, last.byteOffset, length))
      this.#room = this.#room.subarray(chunk.length)
    } else {
      const whole = Buffer.allocUnsafeSlow(2 * keptMinBytes)
      this.#later.push(whole.subarray(0, chunk.copy(whole)))
      this.#room = whole.subarray(chunk.length)
    }
  }

  /** Puts so many bytes of the chunks that follow behind those before them, if there are as
   *  many. */
  #join(most: number): void {
    let left = most
    for (let chunk = this.#later.shift(); chunk !== undefined; chunk = this.#later.shift()) {
      const part = chunk.subarray(0, left)
      this.#append(part)
      left -= part.length
      if (part.length < chunk.length) this.#later.unshift(chunk.subarray(part.length))
      if (left === 0) return
    }
  }

  #append(bytes: Buffer): void {
    this.#makeRoom(bytes.length)
    this.#end += bytes.copy(this.#bytes, this.#end)
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
