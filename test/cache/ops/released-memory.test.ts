import t from 'tap'
import { ReleasedMemory } from '../../../lib/cache/ops/released-memory.ts'

const mebibyte = 1024 ** 2
let garbage: number[] = []

t.test('shared memory is collected soon after much of it was let go of', async t => {
  const released = new ReleasedMemory()
  let collected = 0
  const registry = new FinalizationRegistry(() => collected++)
  let held = Array.from({ length: 200 }, () => new SharedArrayBuffer(mebibyte))
  for (const piece of held) registry.register(piece, undefined)
  // Collections of what is young leave it alone from now on.
  for (let i = 0; i < 300; i++) garbage = Array.from({ length: 100_000 }, () => i)
  t.equal(garbage.length, 100_000)
  held = []
  released.add(200 * mebibyte)
  for (let i = 0; i < 3_000 && collected === 0; i++) {
    await new Promise(resolve => setTimeout(resolve, 1))
  }
  t.ok(collected > 0, 'nothing is collected')
  t.ok(released.pendingBytes < 1000 * mebibyte)
})

t.test('little is not worth a collection', async t => {
  const released = new ReleasedMemory()
  released.add(20 * mebibyte)
  t.equal(released.pendingBytes, 0)
  released.add(20 * mebibyte)
  t.equal(released.pendingBytes, 33 * mebibyte)
})
