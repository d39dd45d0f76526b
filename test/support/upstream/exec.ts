/** Upgrades of the test upstream: an echo over SPDY (raw bytes, the frames are not parsed) and over
 *  WebSocket, as `kubectl exec` speaks it (v5.channel.k8s.io): standard input is copied to standard
 *  output. */

import { createHash } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { SeenRequest } from './answers.ts'

const acceptGuid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** Answers the request to upgrade. */
export function answerExec({ headers, url }: SeenRequest, socket: Duplex, head: Buffer): void {
  const protocol = String(headers.upgrade).toLowerCase()
  if (url.includes('refuse=')) {
    socket.end(refusal(url))
    return
  }
  if (protocol !== 'websocket') {
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${String(headers.upgrade)}\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n`,
    )
    if (head.length > 0) socket.write(head)
    socket.pipe(socket)
    return
  }
  const key = String(headers['sec-websocket-key'])
  const accept = createHash('sha1')
    .update(key + acceptGuid)
    .digest('base64')
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n`,
  )
  const channels = new Channels(socket)
  if (head.length > 0) channels.take(head)
  socket.on('data', (piece: Buffer) => channels.take(piece))
  socket.on('end', () => socket.end())
}

/** `?refuse=CODE` is answered with that code. */
function refusal(url: string): string {
  const code = /refuse=(\d+)/.exec(url)?.[1] ?? '403'
  const body = `{"kind":"Status","code":${code}}`
  const location = code.startsWith('3') ? 'Location: http://169.254.169.254/\r\n' : ''
  return `HTTP/1.1 ${code} No\r\nContent-Type: application/json\r\n${location}Content-Length: ${body.length}\r\n\r\n${body}`
}

const stdin = 0
const stdout = 1
const failure = 3
const close = 255

/** The remote command protocol inside of WebSocket messages: the first byte of each is its
 *  channel. */
class Channels {
  readonly #socket: Duplex
  #rest: Buffer = Buffer.alloc(0)

  constructor(socket: Duplex) {
    this.#socket = socket
  }

  take(piece: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, piece])
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) {
      this.#answer(frame.opcode, frame.payload)
    }
  }

  #answer(opcode: number, payload: Buffer): void {
    if (opcode === 8) {
      this.#send(8, payload)
      this.#socket.end()
    } else if (opcode === 9) this.#send(10, payload)
    else if (payload[0] === stdin) this.#send(2, Buffer.from([stdout, ...payload.subarray(1)]))
    else if (payload[0] === close) {
      const success = '{"metadata":{},"status":"Success"}'
      this.#send(2, Buffer.concat([Buffer.from([failure]), Buffer.from(success)]))
      this.#send(8, Buffer.from([0x03, 0xe8]))
    }
  }

  /** One masked frame of a client; messages are never split here. */
  #next(): { opcode: number; payload: Buffer } | undefined {
    const rest = this.#rest
    if (rest.length < 6) return undefined
    const short = rest.readUInt8(1) & 0x7f
    const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0
    if (rest.length < 6 + lengthBytes) return undefined
    const length =
      lengthBytes === 0
        ? short
        : lengthBytes === 2
          ? rest.readUInt16BE(2)
          : Number(rest.readBigUInt64BE(2))
    const from = 6 + lengthBytes
    if (rest.length < from + length) return undefined
    const mask = rest.subarray(from - 4, from)
    const payload = Buffer.from(rest.subarray(from, from + length))
    for (let i = 0; i < payload.length; i++) payload[i]! ^= mask[i % 4]!
    this.#rest = rest.subarray(from + length)
    return { opcode: rest.readUInt8(0) & 0x0f, payload }
  }

  #send(opcode: number, payload: Buffer): void {
    const head =
      payload.length < 126
        ? Buffer.from([0x80 | opcode, payload.length])
        : Buffer.from([0x80 | opcode, 126, payload.length >> 8, payload.length & 0xff])
    this.#socket.write(Buffer.concat([head, payload]))
  }
}
