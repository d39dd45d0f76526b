import assert from 'node:assert/strict'
import { constants, crc32, deflateRawSync, gunzipSync, inflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { appendedCrc, crcShift, GzipMember, storedBlocks } from '../../../lib/codec/output/gzip.ts'

t.test('the checksum of two texts follows from those of each', t => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 3000 }),
      fc.uint8Array({ maxLength: 70_000 }),
      (a, b) => {
        const shift = crcShift(b.length)
        assert.equal(appendedCrc(crc32(a), crc32(b), shift), crc32(Buffer.concat([a, b])))
      },
    ),
  )
  t.end()
})

t.test('shifts add up, however long the texts', t => {
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 31 - 1 }), fc.nat({ max: 2 ** 31 - 1 }), (a, b) => {
      // Appending a then b bytes is appending a + b bytes: 1 shifted by both in turn.
      const inTurn = appendedCrc(crcShift(a), 0, crcShift(b))
      assert.equal(inTurn, crcShift(a + b))
    }),
  )
  t.end()
})

t.test('runs that were compressed by themselves make one member, in any order and number', t => {
  const run = fc.record({
    bytes: fc.oneof(fc.uint8Array({ maxLength: 400 }), fc.string({ maxLength: 4000 }).map(utf8)),
    isStored: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(run, { maxLength: 12 }), runs => {
      const member = new GzipMember()
      const pieces = [member.head]
      for (const { bytes, isStored } of runs) {
        const deflated = isStored
          ? storedBlocks(bytes)
          : deflateRawSync(bytes, { level: 1, finishFlush: constants.Z_FULL_FLUSH })
        const { length } = bytes
        pieces.push(member.add({ deflated, crc: crc32(bytes), length, shift: crcShift(length) }))
      }
      pieces.push(member.end())
      const plain = Buffer.concat(runs.map(({ bytes }) => bytes))
      assert.deepEqual(gunzipSync(Buffer.concat(pieces)), plain)
    }),
  )
  t.end()
})

function utf8(text: string): Uint8Array {
  return Buffer.from(text)
}

t.test('bytes that are not compressed are in as few blocks as can be', async t => {
  for (const [length, blocks] of [
    [0, 1],
    [1, 1],
    [65_534, 1],
    [65_535, 1],
    [65_536, 2],
    [131_070, 2],
    [131_071, 3],
  ] as const) {
    const bytes = Uint8Array.from({ length }, (_, i) => i % 251)
    const stored = storedBlocks(bytes)
    t.equal(stored.length, length + 5 * blocks, `${length}`)
    const plain = inflateRawSync(Buffer.concat([stored, Buffer.from([3, 0])]))
    t.ok(plain.equals(bytes), `${length}`)
  }
})

t.test('a member has ten bytes on either side, and its length modulo 2^32', async t => {
  const member = new GzipMember()
  const run = { deflated: Buffer.alloc(0), crc: 0, length: 2 ** 32 - 1, shift: 0 }
  for (let i = 0; i < 2; i++) member.add(run)
  const end = Buffer.from(member.end())
  t.equal(member.head.length, 10)
  t.equal(end.length, 10)
  t.equal(end.readUInt32LE(6), 2 ** 32 - 2)
})
