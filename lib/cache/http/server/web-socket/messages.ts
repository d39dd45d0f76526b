/** Messages of a WebSocket as a server sends them (RFC 6455, 5.2): whole, and not masked, so that
 *  all clients can be sent the same bytes. */

import { createHash } from 'node:crypto'

const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** The proof that a handshake's key was read (RFC 6455, 4.2.2). */
export function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}${guid}`, 'latin1').digest('base64')
}

export const opcodes = {
  continuation: 0,
  text: 1,
  binary: 2,
  close: 8,
  ping: 9,
  pong: 10,
} as const

export const closeCodes = { normal: 1000, protocol: 1002, tooLarge: 1009 } as const

/** Control messages have at most this payload. */
export const controlMaxBytes = 125

/** Payload lengths from here on are written in two bytes, and in eight. */
const longFrom = 126
const longestFrom = 65_536

/** The head of a message with a payload of this length. */
export function messageHead(opcode: number, length: number): Buffer {
  const head = Buffer.alloc(length < longFrom ? 2 : length < longestFrom ? 4 : 10)
  head[0] = 0x80 | opcode
  if (length < longFrom) head[1] = length
  else if (length < longestFrom) {
    head[1] = 126
    head.writeUInt16BE(length, 2)
  } else {
    head[1] = 127
    head.writeBigUInt64BE(BigInt(length), 2)
  }
  return head
}

export function message(opcode: number, payload: Uint8Array): Buffer {
  const head = messageHead(opcode, payload.length)
  const whole = Buffer.allocUnsafeSlow(head.length + payload.length)
  whole.set(head)
  whole.set(payload, head.length)
  return whole
}

export function closeMessage(code: number): Buffer {
  return message(opcodes.close, Buffer.of(code >> 8, code & 0xff))
}

/** The first of some messages that were made here, taken apart. */
export function firstMessage(bytes: Uint8Array): {
  readonly opcode: number
  readonly payload: Uint8Array
  readonly rest: Uint8Array
} {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const short = view[1] ?? 0
  const from = short < longFrom ? 2 : short === 126 ? 4 : 10
  const length =
    from === 2 ? short : from === 4 ? view.readUInt16BE(2) : Number(view.readBigUInt64BE(2))
  const to = from + length
  return {
    opcode: (view[0] ?? 0) & 0x0f,
    payload: view.subarray(from, to),
    rest: view.subarray(to),
  }
}
