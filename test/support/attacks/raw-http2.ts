/** HTTP/2 as frames: what no library would send. Headers are written as literals that nothing has
 *  to be remembered for, so that no table is needed (RFC 7541, 6.2.2). */

import type { Socket } from 'node:net'
import { connect, type Address } from './ask.ts'

export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const

const endStream = 1
export const endHeaders = 4

export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Names and values, in this order, however often. */
export function headerBlock(lines: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(
    lines
      .flatMap(([name, value]) => [literal(name), literal(value)])
      .flatMap((text, i) => (i % 2 === 0 ? [Buffer.from([0]), text] : [text])),
  )
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  return Buffer.concat([length(bytes.length), bytes])
}

/** An integer with a prefix of 7 bits. */
function length(value: number): Buffer {
  if (value < 127) return Buffer.from([value])
  const bytes = [127]
  let rest = value - 127
  while (rest >= 128) {
    bytes.push((rest % 128) + 128)
    rest = Math.floor(rest / 128)
  }
  return Buffer.from([...bytes, rest])
}

export function request(
  stream: number,
  lines: readonly (readonly [string, string])[],
  hasBody = false,
): Buffer {
  const flags = endHeaders | (hasBody ? 0 : endStream)
  return frame(frameTypes.headers, flags, stream, headerBlock(lines))
}

export function settings(...pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(pairs.length * 6)
  for (const [i, [id, value]] of pairs.entries()) {
    payload.writeUInt16BE(id, i * 6)
    payload.writeUInt32BE(value, i * 6 + 2)
  }
  return frame(frameTypes.settings, 0, 0, payload)
}

/** A connection that has said that it speaks HTTP/2, with these settings. What comes back is
 *  counted and thrown away. */
export async function openRaw(
  address: Address,
  ...pairs: readonly (readonly [number, number])[]
): Promise<Socket> {
  const socket = await connect(address, ['h2'])
  socket.on('data', () => {})
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(settings(...pairs))
  return socket
}
