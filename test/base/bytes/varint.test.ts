import t from 'tap'
import fc from 'fast-check'
import { bigVarint, int64FromVarint } from '../../../lib/base/bytes/varint.ts'

/** The same byte by byte. */
function bytesOf(value: bigint): number[] {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, value)
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  return [...bytes, Number(rest)]
}

const edges = [0, 7, 31, 32, 48, 49, 50, 53, 56, 62, 63, 64].flatMap(bits =>
  [-1n, 0n, 1n].flatMap(more => [2n ** BigInt(bits) + more, -(2n ** BigInt(bits)) + more]),
)

t.test('a number of 64 bits is written byte by byte, and read as it was', async t => {
  const holds = (value: bigint): void => {
    const bytes = bigVarint(value)
    t.same(bytes, bytesOf(value), `${value}`)
    const read = int64FromVarint(Uint8Array.from([...bytes, 0xff]), 0, bytes.length)
    t.equal(read, BigInt.asIntN(64, value), `${value}`)
  }
  for (const value of edges) holds(value)
  fc.assert(fc.property(fc.bigInt(-(2n ** 63n), 2n ** 64n - 1n), holds), { numRuns: 200 })
})

t.test('a number that was written with more bytes than it takes is read, too', async t => {
  t.equal(int64FromVarint(Uint8Array.from([0x81, 0x80, 0x00]), 0, 3), 1n)
  const ten = [...Array.from({ length: 9 }, () => 0x80), 0x00]
  t.equal(int64FromVarint(Uint8Array.from(ten), 0, 10), 0n)
})

t.test('bits above the 64th are left out, and a varint of eleven bytes is none', async t => {
  const all = Array.from({ length: 9 }, () => 0xff)
  t.equal(int64FromVarint(Uint8Array.from([...all, 0x7f]), 0, 10), -1n)
  t.equal(int64FromVarint(Uint8Array.from([...all, 0xff, 0x01]), 0, 11), undefined)
  t.equal(int64FromVarint(Uint8Array.from(all), 0, 9), undefined)
})
