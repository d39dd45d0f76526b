/** A minimal HTTP/1.1 client over TLS, so that the client costs little compared with the server. It
 *  sees the chunks of a response, which are the pieces that the server wrote. */

import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'

export type RequestHeaders = Readonly<Record<string, string>>

export interface Answer {
  readonly status: number
  readonly bytes: number
  /** The pieces of the body, if they were asked for. */
  readonly pieces: readonly Buffer[]
}

/** One connection, with one request at a time. */
export class Http1Client {
  readonly #socket: TLSSocket
  #answer: AnswerReader | undefined
  #resolve: (answer: Answer) => void = () => {}
  #reject: (error: Error) => void = () => {}

  private constructor(socket: TLSSocket) {
    this.#socket = socket
    socket.on('data', (bytes: Buffer) => this.#take(bytes))
    socket.on('error', error => this.#reject(error))
    socket.on('close', () => this.#reject(new Error('the server has closed the connection')))
  }

  static async connect(port: number): Promise<Http1Client> {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    socket.setNoDelay()
    return new Http1Client(socket)
  }

  get(path: string, headers: RequestHeaders, keepsPieces = false): Promise<Answer> {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#answer = new AnswerReader(keepsPieces)
      this.#socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}\r\n`)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(bytes: Buffer): void {
    const answer = this.#answer
    if (answer === undefined) throw new Error('the server has sent what nobody asked for')
    answer.take(bytes)
    if (!answer.isWhole) return
    this.#answer = undefined
    this.#resolve(answer)
  }
}

type Awaited = 'head' | 'size' | 'data' | 'line' | 'nothing'

class AnswerReader implements Answer {
  readonly pieces: Buffer[] = []
  status = 0
  bytes = 0
  readonly #keepsPieces: boolean
  #awaited: Awaited = 'head'
  #isChunked = false
  /** Text of a head or a line that has not ended yet. */
  #text = ''
  /** Rest of a chunk, or of a body with a length. */
  #left = 0
  #parts: Buffer[] = []

  constructor(keepsPieces: boolean) {
    this.#keepsPieces = keepsPieces
  }

  get isWhole(): boolean {
    return this.#awaited === 'nothing'
  }

  take(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      if (this.#awaited === 'data') at = this.#takeData(bytes, at)
      else at = this.#takeText(bytes, at)
    }
  }

  #takeData(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    this.bytes += end - at
    this.#left -= end - at
    if (this.#keepsPieces) this.#parts.push(bytes.subarray(at, end))
    if (this.#left > 0) return end
    if (this.#keepsPieces) this.pieces.push(Buffer.concat(this.#parts))
    this.#parts = []
    this.#awaited = this.#isChunked ? 'line' : 'nothing'
    return end
  }

  /** A head ends with an empty line, anything else at the end of its line. */
  #takeText(bytes: Buffer, at: number): number {
    const known = this.#text.length
    this.#text += bytes.toString('latin1', at, Math.min(bytes.length, at + 2048))
    const end = this.#awaited === 'head' ? '\r\n\r\n' : '\r\n'
    const found = this.#text.indexOf(end)
    if (found < 0) return Math.min(bytes.length, at + 2048)
    const text = this.#text.slice(0, found)
    this.#text = ''
    if (this.#awaited === 'head') this.#takeHead(text)
    else if (this.#awaited === 'size') this.#takeSize(Number.parseInt(text, 16))
    else this.#awaited = this.#left < 0 ? 'nothing' : 'size'
    return at + found + end.length - known
  }

  #takeHead(head: string): void {
    this.status = Number(head.slice(9, 12))
    this.#left = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
    this.#isChunked = /^transfer-encoding: *chunked/im.test(head)
    if (this.#isChunked) this.#awaited = 'size'
    else this.#awaited = this.#left === 0 ? 'nothing' : 'data'
  }

  /** The last chunk is empty, and has an empty line behind it. */
  #takeSize(size: number): void {
    this.#left = size === 0 ? -1 : size
    this.#awaited = size === 0 ? 'line' : 'data'
  }
}
