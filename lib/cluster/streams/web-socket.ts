/** The server's side of a WebSocket (RFC 6455), for the streams of pods: messages of bytes, each of
 *  which is a channel's. What a client sends is bounded, and a client that reads nothing is cut
 *  off. */

import { createHash } from 'node:crypto'
import type { Duplex } from 'node:stream'

const messageMaxBytes = 1024 * 1024
/** Bytes that may wait for a client that reads slowly. */
const waitingMaxBytes = 4 * 1024 * 1024

const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 }

export interface WebSocketEvents {
  readonly message: (bytes: Buffer) => void
  /** The connection is over, by either side. */
  readonly over: () => void
}

/** The head of the answer that agrees to the upgrade. */
export function acceptance(key: string, protocol: string): string {
  const accept = createHash('sha1').update(`${key}${guid}`).digest('base64')
  return [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    `Sec-WebSocket-Protocol: ${protocol}`,
    '\r\n',
  ].join('\r\n')
}

export class WebSocketServer {
  readonly #socket: Duplex
  readonly #events: WebSocketEvents
  #unread: Buffer
  #parts: Buffer[] = []
  #isOver = false

  /** `early` is what has come after the request. */
  constructor(socket: Duplex, early: Uint8Array, events: WebSocketEvents) {
    this.#socket = socket
    this.#events = events
    this.#unread = Buffer.from(early)
    socket.on('data', (piece: Buffer) => this.#receive(piece))
    socket.on('error', () => this.#end())
    socket.on('end', () => this.#end())
    socket.on('close', () => this.#end())
    socket.resume()
    queueMicrotask(() => this.#receive(Buffer.alloc(0)))
  }

  send(bytes: Buffer): void {
    if (this.#isOver) return
    this.#write(opcodes.binary, bytes)
    if (this.#socket.writableLength > waitingMaxBytes) this.#end()
  }

  /** Ends the connection when all that was sent is written. */
  close(code = 1000): void {
    if (this.#isOver) return
    const reason = Buffer.alloc(2)
    reason.writeUInt16BE(code)
    this.#write(opcodes.close, reason)
    this.#socket.end()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#socket.destroy()
    this.#events.over()
  }

  #write(opcode: number, bytes: Buffer): void {
    const { length } = bytes
    const head = Buffer.alloc(length < 126 ? 2 : length < 65536 ? 4 : 10)
    head[0] = 0x80 | opcode
    if (length < 126) head[1] = length
    else if (length < 65536) {
      head[1] = 126
      head.writeUInt16BE(length, 2)
    } else {
      head[1] = 127
      head.writeBigUInt64BE(BigInt(length), 2)
    }
    this.#socket.write(head)
    if (length > 0) this.#socket.write(bytes)
  }

  #receive(piece: Buffer): void {
    if (this.#isOver) return
    this.#unread = this.#unread.length === 0 ? piece : Buffer.concat([this.#unread, piece])
    for (;;) {
      const frame = frameOf(this.#unread)
      if (frame === 'broken') return this.#end()
      if (frame === undefined) return
      this.#unread = this.#unread.subarray(frame.length)
      this.#take(frame)
      // What a message has led to may have ended it.
      if (this.#over()) return
    }
  }

  #over(): boolean {
    return this.#isOver
  }

  #take({ opcode, isLast, payload }: Frame): void {
    switch (opcode) {
      case opcodes.close:
        this.close()
        return this.#end()
      case opcodes.ping:
        return this.#write(opcodes.pong, payload)
      case opcodes.pong:
        return
      case opcodes.continuation:
      case opcodes.text:
      case opcodes.binary: {
        this.#parts.push(payload)
        const size = this.#parts.reduce((sum, part) => sum + part.length, 0)
        if (size > messageMaxBytes || this.#parts.length > 1_000) return this.#end()
        if (!isLast) return
        const message = Buffer.concat(this.#parts)
        this.#parts = []
        return this.#events.message(message)
      }
      default:
        this.#end()
    }
  }
}

interface Frame {
  readonly opcode: number
  readonly isLast: boolean
  readonly payload: Buffer
  /** Bytes of the whole frame. */
  readonly length: number
}

/** The first frame; undefined if it has not come whole. Clients mask what they send. */
function frameOf(bytes: Buffer): Frame | 'broken' | undefined {
  if (bytes.length < 2) return undefined
  const [first = 0, second = 0] = bytes
  if ((first & 0x70) !== 0 || (second & 0x80) === 0) return 'broken'
  const short = second & 0x7f
  const headLength = short === 126 ? 4 : short === 127 ? 10 : 2
  if (bytes.length < headLength + 4) return undefined
  const size =
    short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short
  if (size > messageMaxBytes) return 'broken'
  const length = headLength + 4 + size
  if (bytes.length < length) return undefined
  const mask = bytes.subarray(headLength, headLength + 4)
  const payload = Buffer.from(bytes.subarray(headLength + 4, length))
  for (let i = 0; i < size; i++) payload[i] = (payload[i] ?? 0) ^ (mask[i & 3] ?? 0)
  return { opcode: first & 0x0f, isLast: (first & 0x80) !== 0, payload, length }
}
