/** The server's side of SPDY/3.1, as far as clients of Kubernetes speak it: streams that the client
 *  opens, and bytes both ways. Neither they nor Kubernetes' servers keep windows, so slowness has
 *  to be told by whoever carries the bytes. */

import { BadHeaders, HeaderReader, type Headers, HeaderWriter } from './spdy-headers.ts'

const frameTypes = { open: 1, reply: 2, reset: 3, ping: 6, goAway: 7 }
const finFlag = 1
const headLength = 8
const frameMaxBytes = 1024 * 1024
/** Bytes that have come while headers are read; beyond, the client has to wait. */
const aheadMaxBytes = 2 * frameMaxBytes
/** Bytes of a client that does not wait. */
const unreadMaxBytes = 4 * frameMaxBytes

export interface SpdyEvents {
  /** Bytes for the client. */
  readonly send: (bytes: Buffer) => void
  readonly open: (stream: number, headers: Headers) => void
  readonly data: (stream: number, bytes: Buffer) => void
  /** The client sends no more. */
  readonly end: (stream: number) => void
  /** The client wants no more of the stream. */
  readonly reset: (stream: number) => void
  /** More has come than is read: no more is wanted until that is over. */
  readonly behind: (isBehind: boolean) => void
  /** The client breaks the protocol; nothing is read from here on. */
  readonly fail: (reason: string) => void
}

interface Frame {
  readonly isControl: boolean
  /** It means something in a control frame only. */
  readonly type: number
  /** It means something in a data frame only. */
  readonly stream: number
  readonly isLast: boolean
  readonly payload: Buffer
}

export class SpdySession {
  readonly #events: SpdyEvents
  readonly #reader = new HeaderReader()
  readonly #writer = new HeaderWriter()
  #unread: Buffer = Buffer.alloc(0)
  #isReading = false
  #isBehind = false
  #isOver = false

  constructor(events: SpdyEvents) {
    this.#events = events
  }

  /** Bytes of the client. */
  take(bytes: Buffer): void {
    if (this.#isOver) return
    this.#unread = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes])
    if (this.#unread.length > unreadMaxBytes) return this.#fail('too much has come at once')
    if (!this.#isReading) void this.#read()
    this.#setBehind()
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

  /** Frame after frame, because headers are read in their order. */
  async #read(): Promise<void> {
    this.#isReading = true
    try {
      for (;;) {
        const length = lengthOf(this.#unread)
        if (length === undefined || this.#isOver) return
        if (length > frameMaxBytes) return this.#fail('a frame is too long')
        if (this.#unread.length < length) return
        const frame = frameOf(this.#unread.subarray(0, length))
        this.#unread = this.#unread.subarray(length)
        this.#setBehind()
        await this.#handle(frame)
      }
    } catch (error) {
      if (!(error instanceof BadHeaders)) throw error
      this.#fail(error.message)
    } finally {
      this.#isReading = false
    }
  }

  #setBehind(): void {
    const isBehind = this.#unread.length > aheadMaxBytes
    if (isBehind === this.#isBehind) return
    this.#isBehind = isBehind
    this.#events.behind(isBehind)
  }

  async #handle({ isControl, type, stream, isLast, payload }: Frame): Promise<void> {
    const { data, end, reset, send } = this.#events
    if (!isControl) {
      if (payload.length > 0) data(stream, payload)
      if (isLast) end(stream)
      return
    }
    switch (type) {
      case frameTypes.open:
        return this.#open(payload, isLast)
      case frameTypes.reset:
        if (payload.length >= 4) reset(idIn(payload))
        return
      case frameTypes.ping:
        return send(controlFrame(frameTypes.ping, payload))
      case frameTypes.goAway:
        return this.#fail('the client leaves')
      default:
      // Settings and windows say nothing here.
    }
  }

  async #open(payload: Buffer, isLast: boolean): Promise<void> {
    if (payload.length < 10) return this.#fail('a stream has no number')
    const stream = idIn(payload)
    const headers = await this.#reader.read(payload.subarray(10))
    if (this.#isOver) return
    const block = await this.#writer.write(new Map())
    if (this.#isOver) return
    const id = Buffer.alloc(4)
    id.writeUInt32BE(stream)
    this.#events.send(controlFrame(frameTypes.reply, Buffer.concat([id, block])))
    this.#events.open(stream, headers)
    if (isLast) this.#events.end(stream)
  }

  #sendData(stream: number, bytes: Buffer, flags: number): void {
    if (this.#isOver) return
    const head = Buffer.alloc(headLength)
    head.writeUInt32BE(stream)
    head.writeUInt32BE((flags << 24) | bytes.length, 4)
    this.#events.send(Buffer.concat([head, bytes]))
  }

  #fail(reason: string): void {
    if (this.#isOver) return
    this.close()
    this.#events.fail(reason)
  }
}

/** The length of the first frame with its head; undefined if not even that is there. */
function lengthOf(bytes: Buffer): number | undefined {
  return bytes.length < headLength ? undefined : headLength + bytes.readUIntBE(5, 3)
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
