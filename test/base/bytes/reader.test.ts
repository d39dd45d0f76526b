import t from 'tap'
import { WireReader, wireBytes, wireVarint } from '../../../lib/base/bytes/reader.ts'

/** A reader of a window in the middle of other bytes, which would be valid fields if it overran. */
function readerOf(...bytes: number[]): WireReader {
  const reader = new WireReader()
  reader.reset(Uint8Array.of(0x08, 0x01, ...bytes, 0x08, 0x01, 0x08, 0x01), 2, 2 + bytes.length)
  return reader
}

t.test('fields are read in order, and windows are not copied', async t => {
  const reader = readerOf(0x08, 0x96, 0x01, 0x12, 0x02, 0x61, 0x62, 0x82, 0x01, 0x00)
  t.ok(reader.nextField())
  t.match(reader, { field: 1, wire: wireVarint })
  t.equal(reader.readVarint(), 150)
  t.ok(reader.nextField())
  t.match(reader, { field: 2, wire: wireBytes })
  t.ok(reader.readWindow())
  t.match(reader, { start: 7, at: 9 })
  t.ok(reader.nextField())
  t.match(reader, { field: 16, wire: wireBytes })
  t.ok(reader.skip())
  t.notOk(reader.nextField())
  t.notOk(reader.isMalformed)
})

t.test('signed numbers are read as Go reads them', async t => {
  for (const [bytes, value] of [
    [[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], -1n],
    [[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01], -(2n ** 63n)],
    [[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], 2n ** 63n - 1n],
    [[0x80, 0x00], 0n],
  ] as const) {
    t.equal(readerOf(...bytes).readInt64(), value)
  }
})

t.test('what reaches beyond the window is malformed, and stops the loop', async t => {
  for (const bytes of [
    [0x80],
    [0x08, 0x80],
    [0x12, 0x05, 0x61],
    [0x12, 0xff, 0xff, 0xff, 0xff, 0x0f],
    [0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    [0x09, 0x01],
    [0x0d, 0x01],
    [0x00, 0x01],
    [0x0b],
    [0x0c],
    [0x0f],
    [0x88, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x00],
  ]) {
    const reader = readerOf(...bytes)
    let count = 0
    while (reader.nextField()) {
      reader.skip()
      t.ok(++count < 10)
    }
    t.ok(reader.isMalformed, bytes.join(' '))
    t.equal(reader.at, reader.end)
  }
})
