/** Lists of numbers. Writers in Go put each element in a field of its own; a packed list, where one
 *  field holds them all, is read too, as every decoder must. */

import type { MessageField } from '../../schema/schema.ts'
import { wireBytes, WireReader } from '@watchglass/base'
import { isNonZero64, skipVarint, writeInt32, writeInt64 } from './numbers.ts'
import { type DecodeState, type WriteValue } from './state.ts'

/** A function that writes the elements, with commas between them: from the first one's tag to the
 *  last one's end. */
export function createNumbersWriter({ type, number }: MessageField): WriteValue {
  const write = writers[type] ?? writeInt64
  return (out, start, end, position) => {
    const reader = new WireReader()
    reader.reset(out.input, start, end)
    let to = position
    const element = (at: number): void => {
      if (to !== position) out.bytes[to++] = 0x2c
      to = write(out, at, to)
    }
    while (reader.nextField()) {
      const begin = reader.at
      if (!reader.skip() || reader.field !== number) continue
      if (reader.wire !== wireBytes) {
        element(begin)
        continue
      }
      for (let at = reader.start; at < reader.at;) {
        const next = skipVarint(out, at, reader.at)
        element(at)
        at = next
      }
    }
    return to
  }
}

type WriteNumber = (out: DecodeState, at: number, position: number) => number

const writers: Readonly<Record<string, WriteNumber>> = {
  int32: writeInt32,
  int64: writeInt64,
  bool: (out, at, position) => {
    const text = isNonZero64(out, at) ? 'true' : 'false'
    for (let i = 0; i < text.length; i++) out.bytes[position + i] = text.charCodeAt(i)
    return position + text.length
  },
}
