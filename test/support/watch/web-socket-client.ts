/** The client of a watch over a WebSocket, which can also send what no client should. */

import * as net from 'node:net'

/** A message of the server. */
export interface Message {
  readonly opcode: number
  readonly payload: Buffer
}

export type HandshakeLines = Readonly<Record<string, string | undefined>>

/** The example of RFC 6455. */
const usual: HandshakeLines = {
  Host: 'x',
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version': '13',
  Origin: 'http://x',
}

/** The request of a handshake; `undefined` leaves a line out. */
export function handshake(path: string, lines: HandshakeLines = {}): string {
  const all = Object.entries({ ...usual, ...lines }).filter(([, value]) => value !== undefined)
  const text = all.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return `GET ${path} HTTP/1.1\r\n${text}\r\n`
}

export class WebSocketClient {
  readonly socket: net.Socket
  #got: Buffer = Buffer.alloc(0)
  #isEnded = false
  #wake = (): void => {}

  constructor(
    t: { teardown(task: () => void): void },
    port: number,
    path: string,
    lines: HandshakeLines = {},
  ) {
    this.socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    t.teardown(() => this.socket.destroy())
    this.socket.on('data', piece => {
      this.#got = Buffer.concat([this.#got, piece])
      this.#wake()
    })
    this.socket.on('error', () => {})
    for (const event of ['end', 'close']) {
      this.socket.on(event, () => {
        this.#isEnded = true
        this.#wake()
      })
    }
    this.socket.write(handshake(path, lines))
  }

  /** The status line and the headers of the answer. */
  async head(): Promise<string> {
    const end = '\r\n\r\n'
    const whole = await this.#take(got => (got.includes(end) ? got.indexOf(end) + end.length : 0))
    return whole.toString('latin1')
  }

  /** The next message; undefined at the end of the connection. */
  async next(): Promise<Message | undefined> {
    const frame = await this.#take(lengthOf)
    if (frame.length === 0) return undefined
    const from = headLengthOf(frame)
    return { opcode: (frame[0] ?? 0) & 0x0f, payload: frame.subarray(from) }
  }

  /** All that is still to come, until the connection ends. */
  async rest(): Promise<Buffer> {
    await this.#take(() => 0)
    return this.#got
  }

  async #take(lengthIn: (got: Buffer) => number): Promise<Buffer> {
    for (;;) {
      const length = lengthIn(this.#got)
      if (length > 0 || this.#isEnded) {
        const taken = this.#got.subarray(0, length)
        this.#got = this.#got.subarray(length)
        return taken
      }
      await new Promise<void>(resolve => (this.#wake = resolve))
    }
  }
}

function headLengthOf([, second = 0]: Buffer): number {
  return second === 127 ? 10 : second === 126 ? 4 : 2
}

/** The length of the first frame; 0 if it is not whole yet. A masked one is an error. */
function lengthOf(got: Buffer): number {
  const [first = 0, second = 0] = got
  if (got.length < 2) return 0
  if (second > 127 || (first & 0xf0) !== 0x80) throw new Error('a frame that no server may send')
  const from = headLengthOf(got)
  if (got.length < from) return 0
  const size =
    from === 2 ? second : from === 4 ? got.readUInt16BE(2) : Number(got.readBigUInt64BE(2))
  return got.length >= from + size ? from + size : 0
}
