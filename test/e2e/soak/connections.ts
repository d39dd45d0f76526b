/** A client of HTTP/1.1 that costs little: kept connections, one request at a time on each, heads
 *  that are not made into objects. */

import { connect, type Socket } from 'node:net'

export interface Answer {
  readonly status: number
  readonly body: Buffer
}

/** A connection is left after so many requests, so that a balancer goes on choosing. */
const requestsEach = 50

export class Connections {
  readonly #port: number
  readonly #idle: Connection[] = []
  opened = 0
  repeated = 0

  constructor(port: number) {
    this.#port = port
  }

  async get(path: string, accept: string): Promise<Answer> {
    const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: ${accept}\r\n\r\n`
    for (;;) {
      const connection = this.#take()
      const isUsed = connection.requests > 0
      const answer = await connection.send(request)
      if (answer === 'ended') {
        if (!isUsed) throw new Error('a new connection ended without an answer')
        this.repeated++
        continue
      }
      if (connection.isOpen && connection.requests < requestsEach) this.#idle.push(connection)
      else connection.close()
      return answer
    }
  }

  close(): void {
    for (const connection of this.#idle) connection.close()
  }

  #take(): Connection {
    for (;;) {
      const idle = this.#idle.pop()
      if (idle === undefined) break
      if (idle.isOpen) return idle
    }
    this.opened++
    return new Connection(this.#port)
  }
}

interface Waiting {
  readonly resolve: (answer: Answer | 'ended') => void
  readonly reject: (reason: Error) => void
}

class Connection {
  requests = 0
  isOpen = true
  readonly #socket: Socket
  #pieces: Buffer[] = []
  #waiting: Waiting | undefined

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1')
    this.#socket.setNoDelay(true)
    this.#socket.on('data', piece => this.#take(piece))
    this.#socket.on('error', () => undefined)
    // The server's end is the end: nothing is sent on a half-open connection.
    for (const name of ['end', 'close']) this.#socket.on(name, () => this.#ended())
  }

  /** `ended` if the connection ends before there is a byte of the answer. */
  send(request: string): Promise<Answer | 'ended'> {
    this.requests++
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      if (!this.isOpen) this.#ended()
      else this.#socket.write(request, 'latin1')
    })
  }

  close(): void {
    this.isOpen = false
    this.#socket.destroy()
  }

  #ended(): void {
    this.isOpen = false
    const waiting = this.#waiting
    this.#waiting = undefined
    if (this.#pieces.length === 0) waiting?.resolve('ended')
    else waiting?.reject(new Error('the connection ended within an answer'))
  }

  #take(piece: Buffer): void {
    this.#pieces.push(piece)
    const bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces)
    this.#pieces = [bytes]
    const headEnd = bytes.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const head = bytes.toString('latin1', 0, headEnd).toLowerCase()
    const body = bodyOf(bytes.subarray(headEnd + 4), head)
    if (body === undefined) return
    this.#pieces = []
    if (/\r\nconnection: close/.test(head)) this.isOpen = false
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.resolve({ status: Number(head.slice(9, 12)), body })
  }
}

/** Undefined while there is more to come. */
function bodyOf(bytes: Buffer, head: string): Buffer | undefined {
  const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1]
  if (length !== undefined) return bytes.length < Number(length) ? undefined : bytes
  const chunks: Buffer[] = []
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = parseInt(bytes.toString('latin1', at, lineEnd), 16)
    const end = lineEnd + 2 + size
    if (bytes.length < end + 2) return undefined
    if (size === 0) return Buffer.concat(chunks)
    chunks.push(bytes.subarray(lineEnd + 2, end))
    at = end + 2
  }
}
