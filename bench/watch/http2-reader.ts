/** A minimal HTTP/2 client: it sends requests and passes on the bytes of each response, so that the
 *  client costs little compared with the server. */

import type { TLSSocket } from 'node:tls'
import { appendVarint, ByteWriter } from '../../lib/base/bytes/byte-writer.ts'

/** Takes bytes of an answer, which lie in a buffer that is used again afterwards. */
export type TakeBytes = (bytes: Buffer, from: number, to: number) => void

const frameType = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
} as const
const endStream = 0x1
const endHeaders = 0x4
const ack = 0x1
const headBytes = 9

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const streamWindowBytes = 1024 * 1024
const connectionWindowBytes = 16 * 1024 * 1024
const defaultWindowBytes = 65_535
const noPush = [0x2, 0] as const
const initialWindow = [0x4, streamWindowBytes] as const
/** HPACK: `:status: 200`, as all servers write it. */
const okField = 0x88
const streamsMaxSetting = 0x3
const settingBytes = 6

/** Headers beside those that each request has: names in lower case. */
export type ExtraHeaders = Readonly<Record<string, string>>

interface Asked {
  readonly path: string
  readonly headers: ExtraHeaders
  readonly stream: Stream
}

interface Stream {
  readonly take: TakeBytes
  readonly answered: () => void
  /** Read since the server was last told that it may send more. */
  read: number
}

export class Http2Reader {
  readonly #socket: TLSSocket
  readonly #ended: (() => void) | undefined
  readonly #streams = new Map<number, Stream>()
  /** Requests that wait until the server allows as many streams. */
  #waiting: Asked[] = []
  /** Unknown until the server's first settings have come. */
  #streamsMax = 0
  #nextStream = 1
  #read = 0
  readonly #head = Buffer.alloc(headBytes)
  #headFilled = 0
  /** Length of the rest of the frame whose head was read. */
  #left = 0
  #payload: Buffer = Buffer.alloc(0)

  /** Speaks over a socket that has agreed to `h2`, and is to give it all that comes. `ended` is
   *  told of each answer that ends, or is a refusal; without it a refusal is an error. */
  constructor(socket: TLSSocket, ended?: () => void) {
    this.#socket = socket
    this.#ended = ended
    socket.write(preface, 'latin1')
    this.#send(frameType.settings, 0, { payload: settings([noPush, initialWindow]) })
    this.#allow(0, connectionWindowBytes - defaultWindowBytes)
  }

  /** Asks; resolves when an answer begins. */
  get(path: string, take: TakeBytes, headers: ExtraHeaders = {}): Promise<void> {
    return new Promise(resolve => {
      this.#waiting.push({ path, headers, stream: { take, answered: resolve, read: 0 } })
      this.#ask()
    })
  }

  #ask(): void {
    while (this.#waiting.length > 0 && this.#streams.size < this.#streamsMax) {
      const { path, headers, stream } = this.#waiting.shift()!
      const number = this.#nextStream
      this.#nextStream += 2
      this.#streams.set(number, stream)
      const payload = requestFields(path, headers)
      this.#send(frameType.headers, number, { payload, flags: endStream | endHeaders })
    }
  }

  take(bytes: Buffer, to: number): void {
    let at = 0
    while (at < to) {
      if (this.#left === 0) {
        at = this.#takeHead(bytes, at, to)
        continue
      }
      const end = Math.min(to, at + this.#left)
      this.#left -= end - at
      this.#takePayload(bytes, at, end)
      at = end
    }
  }

  #takeHead(bytes: Buffer, from: number, to: number): number {
    const copied = bytes.copy(this.#head, this.#headFilled, from, to)
    this.#headFilled += copied
    if (this.#headFilled === headBytes) {
      this.#headFilled = 0
      this.#left = this.#head.readUIntBE(0, 3)
      if (this.#left === 0) this.#takeWhole(Buffer.alloc(0))
    }
    return from + copied
  }

  #takePayload(bytes: Buffer, from: number, to: number): void {
    if (this.#head[3] !== frameType.data) {
      this.#payload = Buffer.concat([this.#payload, bytes.subarray(from, to)])
      if (this.#left > 0) return
      this.#takeWhole(this.#payload)
      this.#payload = Buffer.alloc(0)
      return
    }
    const number = this.#head.readUInt32BE(5)
    const stream = this.#streams.get(number)
    if (stream === undefined) throw new Error('the server has sent what nobody asked for')
    stream.take(bytes, from, to)
    stream.read += to - from
    this.#read += to - from
    if (stream.read >= streamWindowBytes / 2) {
      this.#allow(number, stream.read)
      stream.read = 0
    }
    if (this.#read >= connectionWindowBytes / 2) {
      this.#allow(0, this.#read)
      this.#read = 0
    }
    if (this.#left === 0 && (this.#head[4]! & endStream) !== 0) this.#end(number)
  }

  /** A frame that is not data. */
  #takeWhole(payload: Buffer): void {
    const [type, flags] = [this.#head[3]!, this.#head[4]!]
    const number = this.#head.readUInt32BE(5)
    switch (type) {
      case frameType.data:
        if ((flags & endStream) !== 0) this.#end(number)
        break
      case frameType.settings:
        if ((flags & ack) !== 0) break
        this.#send(frameType.settings, 0, { flags: ack })
        this.#streamsMax = streamsMaxOf(payload) ?? (this.#streamsMax || Infinity)
        this.#ask()
        break
      case frameType.ping:
        if ((flags & ack) === 0) this.#send(frameType.ping, 0, { payload, flags: ack })
        break
      case frameType.headers:
        this.#takeHeaders(number, payload, flags)
        break
      case frameType.reset:
        if (this.#ended === undefined) throw new Error('the server ends a stream')
        this.#end(number)
        break
      case frameType.goaway:
        if (this.#ended === undefined) throw new Error('the server ends a connection')
    }
  }

  #takeHeaders(number: number, payload: Buffer, flags: number): void {
    const isRefusal = payload[0] !== okField
    if (isRefusal && this.#ended === undefined) throw new Error('the server refuses a request')
    this.#streams.get(number)?.answered()
    if ((flags & endStream) !== 0) this.#end(number)
  }

  /** An answer is over. */
  #end(number: number): void {
    this.#streams.get(number)?.answered()
    if (this.#streams.delete(number)) this.#ended?.()
    this.#ask()
  }

  #allow(number: number, bytes: number): void {
    const payload = Buffer.alloc(4)
    payload.writeUInt32BE(bytes)
    this.#send(frameType.window, number, { payload })
  }

  #send(
    type: number,
    number: number,
    {
      payload = Buffer.alloc(0),
      flags = 0,
    }: { readonly payload?: Uint8Array; readonly flags?: number },
  ): void {
    const head = Buffer.alloc(headBytes)
    head.writeUIntBE(payload.length, 0, 3)
    head[3] = type
    head[4] = flags
    head.writeUInt32BE(number, 5)
    this.#socket.write(Buffer.concat([head, payload]))
  }
}

function settings(pairs: readonly (readonly [number, number])[]): Buffer {
  const bytes = Buffer.alloc(6 * pairs.length)
  for (const [i, [name, value]] of pairs.entries()) {
    bytes.writeUInt16BE(name, 6 * i)
    bytes.writeUInt32BE(value, 6 * i + 2)
  }
  return bytes
}

/** HPACK (RFC 7541): names and whole fields by their place in the static table, nothing kept in the
 *  dynamic one. */
function requestFields(path: string, headers: ExtraHeaders): Uint8Array {
  const [methodGet, schemeHttps, pathName, authorityName] = [0x82, 0x87, 0x04, 0x01] as const
  const fields = new ByteWriter(1024)
  fields.appendByte(methodGet)
  fields.appendByte(schemeHttps)
  fields.appendByte(pathName)
  appendText(fields, path)
  fields.appendByte(authorityName)
  appendText(fields, '127.0.0.1')
  for (const [name, value] of Object.entries(headers)) {
    fields.appendByte(newName)
    appendText(fields, name)
    appendText(fields, value)
  }
  return fields.copy()
}

/** A field whose name is in no table, and that is kept in none. */
const newName = 0x00

/** The streams that a server allows at once; undefined if these settings do not say. */
function streamsMaxOf(settingsPayload: Buffer): number | undefined {
  for (let at = 0; at + settingBytes <= settingsPayload.length; at += settingBytes) {
    if (settingsPayload.readUInt16BE(at) === streamsMaxSetting) {
      return settingsPayload.readUInt32BE(at + 2)
    }
  }
  return undefined
}

/** Without Huffman's code. What does not fit in the 7 bits of the length's first byte follows as a
 *  varint. */
function appendText(fields: ByteWriter, text: string): void {
  fields.appendByte(Math.min(text.length, 127))
  if (text.length >= 127) appendVarint(fields, text.length - 127)
  fields.appendAscii(text)
}
