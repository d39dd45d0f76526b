/** Entries of maps in the usual form are read by a fast path: it must take no other form for the
 *  usual one. */

import { deepStrictEqual as strictSame } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { MapEntry } from '../../../lib/codec/fields/map-entry.ts'
import { WireReader, wireBytes } from '../../../lib/base/bytes/reader.ts'

/** Both parts, field by field: the last of each counts, and what is malformed ends the entry. */
function parts(bytes: Uint8Array): [key: string, value: string] {
  const found: [string, string] = ['', '']
  const reader = new WireReader()
  reader.reset(bytes, 0, bytes.length)
  while (reader.nextField()) {
    if (reader.wire !== wireBytes) reader.skip()
    else if (reader.readWindow() && !reader.isMalformed && reader.field <= 2) {
      const text = Buffer.from(bytes.subarray(reader.start, reader.at)).toString()
      if (reader.field > 0) found[reader.field - 1] = text
    }
  }
  return found
}

const entry = new MapEntry()

/** As the entry is read in the middle of other bytes. */
function read(bytes: Uint8Array): [key: string, value: string] {
  const padded = Buffer.concat([Buffer.from('\n\x03abc\x12'), bytes, Buffer.from('\x12\x01x\x80')])
  entry.read(padded, 6, 6 + bytes.length)
  return [entry.key(), entry.value()]
}

t.test('any bytes are read as their fields say', async () => {
  const byte = fc.oneof(
    fc.constantFrom(0x0a, 0x12, 0, 1, 2, 3, 0x80, 0x7f, 0x10, 0x1a, 0x61),
    fc.nat(255),
  )
  const part = fc
    .tuple(
      fc.constantFrom(0x0a, 0x12, 0x1a, 0x08),
      fc.string({ maxLength: 3 }),
      fc.integer({ min: -1, max: 1 }),
    )
    .map(([tag, text, off]) => [tag, Math.max(0, text.length + off), ...Buffer.from(text)])
  const made = fc.oneof(
    fc.array(byte, { maxLength: 12 }),
    fc.array(part, { maxLength: 3 }).map(list => list.flat()),
  )
  fc.assert(
    fc.property(made, bytes => {
      strictSame(read(Uint8Array.from(bytes)), parts(Uint8Array.from(bytes)))
    }),
    { numRuns: 3_000 },
  )
})

t.test('lengths around what one byte holds', async t => {
  const length = (n: number): number[] => (n < 0x80 ? [n] : [(n & 0x7f) | 0x80, n >> 7])
  for (const key of [0, 1, 0x7f, 0x80, 0x81]) {
    for (const value of [0, 1, 0x7f, 0x80, 0x81]) {
      for (const fill of [0x12, 0x61]) {
        const bytes = [
          0x0a,
          ...length(key),
          ...Array<number>(key).fill(fill),
          0x12,
          ...length(value),
          ...Array<number>(value).fill(fill),
        ]
        t.strictSame(read(Uint8Array.from(bytes)), parts(Uint8Array.from(bytes)))
      }
    }
  }
})

t.test('a long length whose bytes look like those of a short one', async t => {
  // A key of 128 bytes, the last of which are the tag and length of a value of 18.
  const key = [...Array<number>(126).fill(0x61), 0x12, 0x11]
  for (const rest of [
    Array<number>(16).fill(0x62),
    Array<number>(17).fill(0x62),
    Array<number>(18).fill(0x62),
  ]) {
    const bytes = Uint8Array.from([0x0a, 0x80, 0x01, ...key, 0x12, rest.length, ...rest])
    t.strictSame(read(bytes), parts(bytes))
    const last = Uint8Array.from([0x0a, 0x80, 1, ...key.slice(1), 0x12, 0x12, 18, ...rest])
    t.strictSame(read(last), parts(last))
  }
  const value = Uint8Array.from([0x0a, 1, 0x61, 0x12, 0x80, 1, ...Array<number>(128).fill(0x63)])
  t.strictSame(read(value), ['a', 'c'.repeat(128)])
  t.strictSame(read(value.subarray(0, -1)), parts(value.subarray(0, -1)))
})

t.test('a key is compared as bytes', async t => {
  read(Buffer.from('\n\x02ab\x12\x01v', 'latin1'))
  for (const [key, is] of [
    ['ab', true],
    ['a', false],
    ['abc', false],
    ['aB', false],
    ['', false],
  ] as const) {
    t.equal(entry.keyEquals(Buffer.from(key)), is)
  }
})
