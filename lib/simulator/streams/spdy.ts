/** The server's side of SPDY/3.1, as far as clients of Kubernetes speak it: streams that the client
 *  opens, and bytes both ways. Neither they nor Kubernetes' servers keep windows, so slowness has
 *  to be told by whoever carries the bytes. */

import type { Carrier } from './carrier.ts'
import { StreamFrames, type StreamServices } from './stream-frames.ts'
import { BadHeaders, HeaderReader, type Headers, HeaderWriter } from './spdy-headers.ts'

const frameTypes = { open: 1, reply: 2, reset: 3, ping: 6, goAway: 7 }
const finFlag = 1
const headLength = 8
const frameMaxBytes = 1024 * 1024
/** Bytes that have come while headers are read; beyond, the client has to wait. */
const aheadMaxBytes = 2 * frameMaxBytes
const pingBytes = 4

export interface SpdyEvents {
  readonly open: (stream: number, headers: Headers) => void
  readonly data: (stream: number, bytes: Buffer) => void
  /** The client sends no more. */
  readonly end: (stream: number) => void
  /** The client wants no more of the stream. */
  readonly reset: (stream: number) => void
}

interface Frame {
  readonly isControl: boolean
  /** A flag that means something in a control frame only. */
  readonly type: number
  /** A flag that means something in a data frame only. */
  readonly stream: number
  readonly isLast: boolean
  readonly payload: Buffer
}

export class SpdySession {
  readonly #events: SpdyEvents
  readonly #reader = new HeaderReader()
  readonly #writer = new HeaderWriter()
  readonly #carrier: Carrier
  readonly #frames: StreamFrames
  /** Numbers of streams rise: one that came again would take the place of another. */
  #lastStream = 0
  #isOver = false

  /** A client that breaks the protocol is cut off. */
  constructor(carrier: Carrier, services: StreamServices, events: SpdyEvents) {
    this.#carrier = carrier
    this.#events = events
    this.#frames = new StreamFrames(carrier.client, services, {
      aheadMaxBytes,
      lengthOf: bytes => this.#lengthOf(bytes),
      take: bytes => this.#handle(frameOf(bytes)),
    })
  }

  /** Bytes of the client. */
  take(bytes: Buffer): void {
    if (!this.#isOver) this.#frames.push(bytes)
  }

  data(stream: number, bytes: Buffer): void {
    this.#sendData(stream, bytes, 0)
  }

  /** Nothing more is sent on the stream. */
  end(stream: number): void {
    this.#sendData(stream, Buffer.alloc(0), finFlag)
  }

  close(): void {
    this.#isOver = true
    this.#reader.close()
    this.#writer.close()
  }

  #lengthOf(bytes: Buffer): number | undefined {
    if (bytes.length < headLength) return undefined
    const length = headLength + bytes.readUIntBE(5, 3)
    return length > frameMaxBytes ? this.#fail() : length
  }

  #handle({ isControl, type, stream, isLast, payload }: Frame): Promise<void> | undefined {
    const { data, end, reset } = this.#events
    if (!isControl) {
      if (payload.length > 0) data(stream, payload)
      if (isLast) end(stream)
      return undefined
    }
    switch (type) {
      case frameTypes.open:
        return this.#open(payload, isLast)
      case frameTypes.reset:
        if (payload.length >= 4) reset(idIn(payload))
        return undefined
      case frameTypes.ping:
        if (payload.length !== pingBytes) return this.#fail()
        this.#carrier.send(controlFrame(frameTypes.ping, payload))
        return undefined
      case frameTypes.goAway:
        return this.#fail()
      default:
        // Settings and windows say nothing here.
        return undefined
    }
  }

  /** Headers are read in their order: frames behind them wait. */
  async #open(payload: Buffer, isLast: boolean): Promise<void> {
    const stream = payload.length < 10 ? 0 : idIn(payload)
    if (stream <= this.#lastStream) return this.#fail()
    this.#lastStream = stream
    try {
      const headers = await this.#reader.read(payload.subarray(10))
      if (this.#isOver) return
      const block = await this.#writer.write(new Map())
      if (this.#isOver) return
      const id = Buffer.alloc(4)
      id.writeUInt32BE(stream)
      this.#carrier.send(controlFrame(frameTypes.reply, Buffer.concat([id, block])))
      this.#events.open(stream, headers)
      if (isLast) this.#events.end(stream)
    } catch (error) {
      if (!(error instanceof BadHeaders)) throw error
      this.#fail()
    }
  }

  #sendData(stream: number, bytes: Buffer, flags: number): void {
    if (this.#isOver) return
    const head = Buffer.alloc(headLength)
    head.writeUInt32BE(stream)
    head.writeUInt32BE((flags << 24) | bytes.length, 4)
    this.#carrier.send(Buffer.concat([head, bytes]))
  }

  #fail(): undefined {
    this.close()
    this.#carrier.client.destroy()
  }
}

function frameOf(bytes: Buffer): Frame {
  const first = bytes.readUInt32BE()
  return {
    isControl: first >= 2 ** 31,
    type: first & 0xffff,
    stream: first & 0x7fffffff,
    isLast: ((bytes[4] ?? 0) & finFlag) !== 0,
    payload: bytes.subarray(headLength),
  }
}

function idIn(payload: Buffer): number {
  return payload.readUInt32BE() & 0x7fffffff
}

function controlFrame(type: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(headLength)
  head.writeUInt32BE(0x80030000 + type)
  head.writeUInt32BE(payload.length, 4)
  return Buffer.concat([head, payload])
}
