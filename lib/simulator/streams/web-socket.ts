/** The server's side of a WebSocket (RFC 6455), for the streams of pods: messages of bytes, each of
 *  which is a channel's. What a client sends is bounded, and a client that breaks the rules is told
 *  by a code. */

import {
  acceptOf,
  closeCodes,
  closeMessage,
  controlMaxBytes,
  message,
  messageHead,
  opcodes,
} from '@watchglass/cache'
import { ClientSide, type Upgraded } from './client-side.ts'
import { StreamFrames, type StreamServices } from './stream-frames.ts'
import { Unread } from './unread.ts'

const messageMaxBytes = 1024 * 1024

export interface WebSocketEvents {
  readonly message: (bytes: Buffer) => void
  readonly drained?: () => void
  /** The connection is over, by either side. */
  readonly over: () => void
}

/** The head of the answer that agrees to the upgrade. */
export function acceptance(key: string, protocol: string): string {
  return [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${acceptOf(key)}`,
    `Sec-WebSocket-Protocol: ${protocol}`,
    '\r\n',
  ].join('\r\n')
}

export class WebSocketServer {
  readonly client: ClientSide
  readonly #events: WebSocketEvents
  readonly #frames: StreamFrames
  /** The parts of a message that have come; undefined between messages. */
  readonly #parts: Unread
  #isWithin = false

  constructor(upgraded: Upgraded, services: StreamServices, events: WebSocketEvents) {
    this.#events = events
    this.#parts = new Unread(services.held)
    this.client = new ClientSide(upgraded, services.held, {
      bytes: bytes => this.#frames.push(bytes),
      drained: () => events.drained?.(),
      over: events.over,
    })
    this.#frames = new StreamFrames(this.client, services, {
      aheadMaxBytes: messageMaxBytes + headMaxBytes,
      lengthOf: bytes => this.#lengthOf(bytes),
      take: bytes => this.#take(bytes),
    })
  }

  send(bytes: Buffer): void {
    this.client.write(messageHead(opcodes.binary, bytes.length))
    this.client.write(bytes)
  }

  /** Ends the connection when all that was sent is written. */
  close(): void {
    this.client.write(closeMessage(closeCodes.normal))
    this.client.end()
  }

  #fail(code: number): undefined {
    this.client.fail(closeMessage(code))
  }

  /** Clients mask what they send. */
  #lengthOf(bytes: Buffer): number | undefined {
    if (bytes.length < 2) return undefined
    const [first = 0, second = 0] = bytes
    const opcode = first & 0x0f
    const short = second & 0x7f
    const isControl = opcode >= opcodes.close
    const isWhole = (first & 0x80) !== 0
    const isBroken =
      (first & 0x70) !== 0 ||
      (second & 0x80) === 0 ||
      !known.has(opcode) ||
      (isControl && (!isWhole || short > controlMaxBytes)) ||
      (!isControl && (opcode === opcodes.continuation) !== this.#isWithin)
    if (isBroken) return this.#fail(closeCodes.protocol)
    const headLength = headLengthOf(short)
    if (bytes.length < headLength) return undefined
    const size = sizeOf(bytes, short)
    if (size + this.#parts.size > messageMaxBytes) return this.#fail(closeCodes.tooLarge)
    return headLength + size
  }

  #take(frame: Buffer): undefined {
    const [first = 0, second = 0] = frame
    const payload = unmasked(frame, headLengthOf(second & 0x7f))
    switch (first & 0x0f) {
      case opcodes.close:
        return this.#fail(answeredCode(payload))
      case opcodes.ping:
        this.client.write(message(opcodes.pong, payload))
        return undefined
      case opcodes.pong:
        return undefined
      default:
        return this.#takePart(payload, (first & 0x80) !== 0)
    }
  }

  #takePart(payload: Buffer, isLast: boolean): undefined {
    if (isLast && !this.#isWithin) this.#events.message(payload)
    else {
      this.#isWithin = !isLast
      if (!this.#parts.add(payload)) this.client.destroy()
      else if (isLast) this.#events.message(this.#parts.take(this.#parts.size))
    }
    return undefined
  }
}

const known: ReadonlySet<number> = new Set(Object.values(opcodes))

const headMaxBytes = 14

/** With the mask. */
function headLengthOf(short: number): number {
  return (short === 126 ? 4 : short === 127 ? 10 : 2) + 4
}

function sizeOf(bytes: Buffer, short: number): number {
  if (short === 126) return bytes.readUInt16BE(2)
  return short === 127 ? Number(bytes.readBigUInt64BE(2)) : short
}

function unmasked(frame: Buffer, headLength: number): Buffer {
  const mask = frame.subarray(headLength - 4, headLength)
  const payload = Buffer.from(frame.subarray(headLength))
  for (let i = 0; i < payload.length; i++) payload[i] = (payload[i] ?? 0) ^ (mask[i & 3] ?? 0)
  return payload
}

/** The code with which a close is answered: its own, if it is one that may be sent. */
function answeredCode(payload: Buffer): number {
  if (payload.length === 0) return closeCodes.normal
  const code = payload.length === 1 ? 0 : payload.readUInt16BE()
  const isSent = (code >= 1000 && code <= 1014) || (code >= 3000 && code <= 4999)
  return isSent && ![1004, 1005, 1006].includes(code) ? code : closeCodes.protocol
}
