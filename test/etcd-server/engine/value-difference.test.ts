import t, { type Test } from 'tap'
import { createRandom, type Random, randomInt } from '../../../lib/base/random.ts'
import { Base, writeDifferent } from '../../../lib/etcd-server/engine/value-difference.ts'

/** The value again, written in the middle of other bytes and read from the middle of others. */
function again(
  t: Test,
  { base, difference }: { readonly base: Uint8Array; readonly difference: Uint8Array },
  length: number,
): Buffer {
  const out = Buffer.alloc(length + 2, 7)
  const bytes = Buffer.concat([Buffer.from('xyz'), difference, Buffer.from('z')])
  writeDifferent(out, { at: 1, end: length + 1 }, base, { bytes, start: 3 })
  t.same([out[0], out.at(-1)], [7, 7], 'no byte outside is written')
  return out.subarray(1, -1)
}

function randomBytes(random: Random, length: number, kinds: number): Buffer {
  return Buffer.from(Array.from({ length }, () => randomInt(random, 0, kinds)))
}

function edited(random: Random, value: Buffer): Buffer {
  let left = value
  for (let edits = randomInt(random, 0, 6); edits > 0; edits--) {
    const at = randomInt(random, 0, left.length + 1)
    const fresh = randomBytes(random, randomInt(random, 0, 12), 256)
    left = Buffer.concat([
      left.subarray(0, at),
      fresh,
      left.subarray(at + randomInt(random, 0, 12)),
    ])
  }
  return left
}

t.test('a value is read again from its difference, whatever was changed', async t => {
  const random = createRandom(20_261_124)
  let found = 0
  for (let i = 0; i < 2_000; i++) {
    // Few kinds of bytes repeat themselves, so that copies come from other places.
    const base = randomBytes(random, randomInt(random, 1, 400), i % 2 === 0 ? 256 : 4)
    const value = edited(random, base)
    const difference = new Base(base).differenceOf(value, value.length >> 1)
    if (difference === undefined) continue
    found++
    t.ok(difference.length <= value.length >> 1)
    const made = again(t, { base, difference: Buffer.from(difference) }, value.length)
    if (!made.equals(value)) t.fail(`round ${i}`)
  }
  t.ok(found > 1_000, `${found} differences`)
})

t.test('parts that have moved are copied from where they were', async t => {
  const random = createRandom(1)
  const [a, b] = [randomBytes(random, 300, 256), randomBytes(random, 200, 256)]
  const value = Buffer.concat([b, a, b])
  const base = Buffer.concat([a, b])
  const difference = Buffer.from(new Base(base).differenceOf(value, 100) ?? [])
  t.ok(difference.length > 0 && difference.length < 30, `${difference.length} bytes`)
  t.ok(again(t, { base, difference }, value.length).equals(value))
})

t.test('a value that is another one has no difference', async t => {
  const random = createRandom(2)
  const base = new Base(randomBytes(random, 1_000, 256))
  t.equal(base.differenceOf(randomBytes(random, 1_000, 256), 500), undefined)
})

t.test('all that was looked at is said, whether a difference comes of it or not', async t => {
  const random = createRandom(3)
  const [a, b] = [randomBytes(random, 1_500, 256), randomBytes(random, 1_500, 256)]
  const base = new Base(Buffer.concat([a, b]))
  const moved = Buffer.concat([b, a])
  t.equal(base.differenceOf(moved, 1), undefined)
  t.ok(base.readBytes >= 3_000 + 1_500, `itself the first time, and a copy: ${base.readBytes}`)
  t.equal(base.differenceOf(moved, 1), undefined)
  t.ok(base.readBytes >= 1_500 && base.readBytes < 3_000, `${base.readBytes}`)
  t.ok(base.differenceOf(moved, 1_000))
  t.equal(base.readBytes, 3_000)
})
