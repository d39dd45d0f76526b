/** Fields of protobuf messages, written by hand. */

import { varintLength, writeVarint } from '../../../lib/base/bytes/varint.ts'

export function fieldOf(number: number, value: string | number | Buffer): Buffer {
  if (typeof value === 'number') return Buffer.concat([varint(number * 8), varint(value)])
  const bytes = Buffer.from(value)
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes])
}

export function messageOf(fields: readonly Buffer[]): Buffer {
  return Buffer.concat(fields)
}

function varint(value: number): Buffer {
  const bytes = Buffer.alloc(varintLength(value))
  writeVarint(bytes, 0, value)
  return bytes
}
