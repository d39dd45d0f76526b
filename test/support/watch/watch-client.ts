/** Reads a watch frame by frame over a real socket, HTTP/1.1 or HTTP/2. */

import * as http from 'node:http'
import * as http2 from 'node:http2'
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { decodeFirst } from 'cborg'

export interface WatchRequest {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly version?: '1.1' | '2' | undefined
}

export interface WatchResponse {
  readonly status: number
  readonly type: string
  /** `gzip`, or empty. */
  readonly encoding: string
  /** Pieces as they have come so far, compressed or not. */
  readonly pieces: readonly Buffer[]
  /** The next frame as it came; undefined at the stream's end in order. Rejects when it was cut
   *  off. */
  next(): Promise<Buffer | undefined>
  /** Leaves. */
  close(): void
}

/** Opens a watch. Resolves with the answer's head. */
export async function openWatch(port: number, request: WatchRequest): Promise<WatchResponse> {
  const { body, ...head } = await (request.version === '2' ? open2 : open1)(port, request)
  const pieces: Buffer[] = []
  body.on('data', (piece: Buffer) => pieces.push(piece))
  const plain = head.encoding === 'gzip' ? pipeline(body, createGunzip(), () => {}) : body
  const frames = framesOf(plain, head.type)
  // From now on the stream is read: a stream of HTTP/2 that has ended before somebody begins to
  // read counts as cut off in newer versions of Node.
  let begun: ReturnType<typeof frames.next> | undefined = frames.next()
  begun.catch(() => {})
  const next = async (): Promise<Buffer | undefined> => {
    const frame = begun ?? frames.next()
    begun = undefined
    return (await frame).value as Buffer | undefined
  }
  return { ...head, pieces, next }
}

interface Opened {
  readonly status: number
  readonly type: string
  readonly encoding: string
  readonly body: Readable
  readonly close: () => void
}

function open1(port: number, { path, headers = {} }: WatchRequest): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, headers, agent: false as const }
    const request = http.get(options, response => {
      const { statusCode: status = 0, headers: got } = response
      const close = (): void => void request.destroy()
      resolve({ status, ...kindOf(got), body: response, close })
    })
    request.on('error', reject)
  })
}

function open2(port: number, { path, headers = {} }: WatchRequest): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const session = http2.connect(`http://127.0.0.1:${port}`)
    session.on('error', reject)
    const stream = session.request({ ':path': path, ...headers })
    stream.on('error', reject)
    stream.on('close', () => session.close())
    stream.on('response', got => {
      const status = got[':status'] ?? 0
      resolve({ status, ...kindOf(got), body: stream, close: () => session.destroy() })
    })
  })
}

function kindOf(headers: http.IncomingHttpHeaders): Pick<Opened, 'type' | 'encoding'> {
  const { 'content-type': type, 'content-encoding': encoding = '' } = headers
  return { type: String(type), encoding }
}

/** Cuts a stream of bytes into its frames. */
export async function* framesOf(body: Readable, type: string): AsyncGenerator<Buffer, void> {
  const endOf = type.includes('protobuf')
    ? endOfMessage
    : type.includes('cbor')
      ? endOfItem
      : endOfLine
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of body) {
    rest = Buffer.concat([rest, piece as Buffer])
    for (let end = endOf(rest); end > 0; end = endOf(rest)) {
      yield rest.subarray(0, end)
      rest = rest.subarray(end)
    }
  }
  if (rest.length > 0) throw new Error('the stream ended within a frame')
}

/** The end of the first frame; 0 when it is not there yet. */
function endOfLine(bytes: Buffer): number {
  return bytes.indexOf(0x0a) + 1
}

function endOfMessage(bytes: Buffer): number {
  if (bytes.length < 4) return 0
  const end = 4 + bytes.readUInt32BE(0)
  return end <= bytes.length ? end : 0
}

function endOfItem(bytes: Buffer): number {
  const inner = (decode: () => unknown): unknown => decode()
  try {
    const [, rest] = decodeFirst(bytes, {
      useMaps: true,
      tags: { 55799: inner, 22: inner } as never,
    })
    return bytes.length - rest.length
  } catch {
    return 0
  }
}
