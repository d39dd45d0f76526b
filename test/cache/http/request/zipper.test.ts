import assert from 'node:assert/strict'
import { syncBuiltinESMExports } from 'node:module'
import zlib, { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { noteKept, type Segment } from '../../../../lib/codec/output/segments.ts'
import { Zipper } from '../../../../lib/cache/http/request/zipper.ts'
import { SegmentCache } from '../../../../lib/store/segments.ts'

/** Bytes as those of a whole leaf that are kept. */
function kept(bytes: Uint8Array): Uint8Array {
  noteKept(bytes)
  return bytes
}

async function zipAll(zipper: Zipper, pieces: Iterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of zipper.zip(pieces)) all.push(piece)
  return Buffer.concat(all)
}

t.test('what was zipped is what there was, with kept pieces and others, in any order', async () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 50 }),
    fc.string({ minLength: 600, maxLength: 3000 }).map(text => Buffer.from(text)),
    fc.nat({ max: 400_000 }).map(length => Buffer.alloc(length, '{"metadata":{"name":"x"}}')),
  )
  const piece = fc.record({ bytes, isKept: fc.boolean(), times: fc.integer({ min: 1, max: 3 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 8 }), fc.nat(100_000), async (made, budget) => {
      const zipper = new Zipper(new SegmentCache<Segment>(budget))
      const pieces = made.flatMap(one =>
        Array.from({ length: one.times }, () => (one.isKept ? kept(one.bytes) : one.bytes)),
      )
      const plain = Buffer.concat(pieces)
      assert.deepEqual(gunzipSync(await zipAll(zipper, pieces)), plain)
      assert.deepEqual(gunzipSync(await zipAll(zipper, pieces)), plain, 'again, from what is kept')
    }),
    { numRuns: 60 },
  )
})

t.test('what is kept is compressed once, also for two who ask at once', async t => {
  const cache = new SegmentCache<Segment>(1_000_000)
  const zipper = new Zipper(cache)
  const leaves = ['a', 'b'].map(text => kept(Buffer.alloc(50_000, text)))
  const [first, second] = await Promise.all([zipAll(zipper, leaves), zipAll(zipper, leaves)])
  t.strictSame(first, second)
  t.equal(cache.count, 2)
  const { bytes } = cache
  t.ok(bytes > 0 && bytes < 5_000, 'and counted in the budget with its compressed size')
  t.strictSame(await zipAll(zipper, leaves), first)
  t.equal(cache.bytes, bytes)
  cache.dropTo(0)
  t.strictSame(await zipAll(zipper, leaves), first, 'and again when it was dropped')
})

t.test('what could not be compressed is compressed when it is asked for again', async t => {
  const zipper = new Zipper(new SegmentCache<Segment>(1_000_000))
  const leaf = kept(Buffer.alloc(50_000, 'a'))
  const { deflateRaw } = zlib
  const fail = (_bytes: unknown, _options: unknown, done: (error: Error) => void): void =>
    done(new Error('no memory'))
  Object.assign(zlib, { deflateRaw: fail })
  syncBuiltinESMExports()
  const both = [zipAll(zipper, [leaf]), zipAll(zipper, [leaf])]
  for (const one of both) await t.rejects(one, { message: 'no memory' })
  Object.assign(zlib, { deflateRaw })
  syncBuiltinESMExports()
  t.strictSame(gunzipSync(await zipAll(zipper, [leaf])), leaf)
})

t.test('who leaves in the middle has no more made', async t => {
  const zipper = new Zipper(new SegmentCache<Segment>(1_000_000))
  let made = 0
  let isClosed = false
  function* pieces(): Generator<Uint8Array> {
    try {
      for (; made < 1000; made++) yield Buffer.from(Array.from({ length: 90_000 }, noise))
    } finally {
      isClosed = true
    }
  }
  for await (const piece of zipper.zip(pieces())) {
    t.ok(piece.length > 0)
    break
  }
  t.ok(isClosed)
  t.ok(made < 100, `made ${made}`)
})

let state = 1
/** Bytes that cannot be made smaller, the same in every run. */
function noise(): number {
  state = (state * 1_103_515_245 + 12_345) % 2 ** 31
  return (state >>> 16) & 0xff
}
