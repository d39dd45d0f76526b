import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { heldSlabBytes, shareSlabs, slabBytes, SlabWriter } from '../../lib/store/slab.ts'

t.test('copies lie side by side in one slab and are not the bytes they came from', async t => {
  const writer = new SlabWriter()
  const source = Buffer.from('abcdef')
  const first = writer.copy(source, 1, 3)
  const second = writer.copy(source)
  source.fill(0)
  t.equal(text(first), 'bc')
  t.equal(text(second), 'abcdef')
  t.equal(first.bytes, second.bytes)
  t.equal(second.start, first.end)
})

t.test('a slab that is full is followed by another', async t => {
  const writer = new SlabWriter()
  const value = Buffer.alloc(slabBytes / 4, 1)
  const windows = Array.from({ length: 5 }, () => writer.copy(value))
  t.equal(new Set(windows.map(({ bytes }) => bytes)).size, 2)
  t.ok(windows.every(({ bytes, start, end }) => bytes.subarray(start, end).every(b => b === 1)))
})

t.test('a large value has a buffer of its own, and an empty one none', async t => {
  const writer = new SlabWriter()
  const small = writer.copy(Buffer.from('a'))
  const large = writer.copy(Buffer.alloc(slabBytes / 4 + 1, 7))
  t.equal(large.bytes.length, slabBytes / 4 + 1)
  t.equal(writer.copy(Buffer.from('b')).bytes, small.bytes)
  t.equal(writer.copy(Buffer.alloc(0)).end, 0)
})

t.test('shared slabs that nothing holds are collected, though V8 does not count them', async t => {
  shareSlabs()
  const writer = new SlabWriter()
  const value = Buffer.alloc(slabBytes)
  for (let i = 0; i < 800; i++) {
    writer.copy(value)
    if (i % 10 === 0) await turn()
  }
  await turn()
  t.ok(heldSlabBytes() < 150 * 1024 * 1024, `${heldSlabBytes()} bytes of 200 MiB are held`)
})

function text({ bytes, start, end }: { bytes: Uint8Array; start: number; end: number }): string {
  return Buffer.from(bytes.subarray(start, end)).toString()
}
