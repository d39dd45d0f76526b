/** Reads what the client of a watch sends over its WebSocket: pings are answered, its end is an
 *  end, and everything else is passed over without being kept. As lenient as kube-apiserver (tried
 *  with 1.36): reserved bits, unknown kinds of frames, fragments in any order, and control frames
 *  that are too long or not whole are no reason to end a watch. Whatever comes, a few bytes are
 *  held. */

import { controlMaxBytes, opcodes } from './messages.ts'

/** The state of the connection after some bytes of the client. */
export type ClientState =
  | 'open'
  /** The client has closed the WebSocket. */
  | 'closed'
  /** A frame is not masked. */
  | 'broken'
  /** A frame is longer than any may be. */
  | 'too large'

/** The longest frame that golang.org/x/net/websocket reads (`DefaultMaxPayloadBytes`). */
const frameMaxBytes = 32 * 1024 * 1024
const headMaxBytes = 14
const maskBytes = 4

export class ClientFrames {
  readonly #head = Buffer.alloc(headMaxBytes)
  #headBytes = 0
  /** Bytes of the payload that are still to come. */
  #left = 0
  /** The payload of a ping, as far as it has come; undefined in any other frame. */
  #ping: number[] | undefined = undefined
  #answer: Buffer | undefined = undefined
  #state: ClientState = 'open'

  /** Reads on. After anything but `open` nothing is read any more. */
  take(bytes: Uint8Array): ClientState {
    let at = 0
    while (this.#state === 'open' && at < bytes.length) {
      at = this.#left > 0 ? this.#passOver(bytes, at) : this.#readHead(bytes, at)
    }
    return this.#state
  }

  /** The payload of the last ping that has not been answered. Older ones need no answer of their
   *  own (RFC 6455, 5.5.3), and a client may send ten thousand in a packet. */
  takePing(): Buffer | undefined {
    const answer = this.#answer
    this.#answer = undefined
    return answer
  }

  #readHead(bytes: Uint8Array, from: number): number {
    let at = from
    while (at < bytes.length && (this.#headBytes < 2 || this.#headBytes < this.#headLength)) {
      this.#head[this.#headBytes++] = bytes[at++] ?? 0
    }
    if (this.#headBytes >= 2 && this.#headBytes === this.#headLength) this.#begin()
    return at
  }

  /** Length of the head, once its first two bytes are there. */
  get #headLength(): number {
    const second = this.#head[1] ?? 0
    const short = second & 0x7f
    const length = short === 126 ? 4 : short === 127 ? 10 : 2
    return length + ((second & 0x80) === 0 ? 0 : maskBytes)
  }

  /** The head of a frame is whole. */
  #begin(): void {
    const head = this.#head
    const [first = 0, second = 0] = head
    const opcode = first & 0x0f
    this.#headBytes = 0
    if ((second & 0x80) === 0) {
      this.#state = 'broken'
      return
    }
    const short = second & 0x7f
    const isControl = opcode === opcodes.ping || opcode === opcodes.pong
    // Go's package takes the topmost bit for zero, which it must be.
    const high = head.readUInt32BE(2) & 0x7fff_ffff
    const longest = high * 2 ** 32 + head.readUInt32BE(6)
    this.#left = short === 126 ? head.readUInt16BE(2) : short === 127 ? longest : short
    if (opcode === opcodes.close) this.#state = 'closed'
    else if (!isControl && this.#left > frameMaxBytes) this.#state = 'too large'
    else if (opcode === opcodes.ping) {
      this.#ping = []
      // The mask is at the end of the head, which the next one overwrites.
      const length = short === 126 ? 4 : short === 127 ? 10 : 2
      head.copyWithin(0, length, length + maskBytes)
      if (this.#left === 0) this.#endOfFrame()
    }
  }

  #passOver(bytes: Uint8Array, from: number): number {
    const to = Math.min(bytes.length, from + this.#left)
    this.#left -= to - from
    const ping = this.#ping
    if (ping !== undefined) {
      for (let at = from; at < to && ping.length < controlMaxBytes; at++) {
        ping.push((bytes[at] ?? 0) ^ (this.#head[ping.length & 3] ?? 0))
      }
    }
    if (this.#left === 0) this.#endOfFrame()
    return to
  }

  #endOfFrame(): void {
    if (this.#ping !== undefined) this.#answer = Buffer.from(this.#ping)
    this.#ping = undefined
  }
}
