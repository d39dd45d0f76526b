/** A list that is encoded ahead of its reader: all its leaves, in order, whatever the other threads do. */

import fc from 'fast-check'
import t from 'tap'
import { allKeys, type Key, keyFromText } from '../../../../lib/base/keys.ts'
import { revision } from '../../../../lib/base/revision.ts'
import { Ahead } from '../../../../lib/http/read/ahead.ts'
import type { Run } from '../../../../lib/codec/output/segments.ts'
import { BTreeBuilder } from '../../../../lib/store/btree-builder.ts'
import type { LeafSlice } from '../../../../lib/store/btree.ts'
import { KeyValue, noLease } from '../../../../lib/store/event.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const kibibyte = 1024
const value = Buffer.alloc(16 * kibibyte)
const meta = { createRevision: revision(1), modRevision: revision(1), version: 1, lease: noLease }

/** Leaves of about 340 KiB. */
function slicesOf(entries: number): LeafSlice<KeyValue>[] {
  const builder = new BTreeBuilder<KeyValue>()
  for (let i = 0; i < entries; i++) {
    const window = { bytes: value, start: 0, end: value.length }
    builder.add(new KeyValue(keyFromText(String(i).padStart(6, '0')), window, meta))
  }
  return [...builder.finish().leaves(allKeys)]
}

interface Asked {
  readonly start: Key
  readonly end: Key
  readonly done: () => void
}

interface Stage {
  readonly ahead: Ahead
  readonly clock: FakeClock
  readonly kept: Set<unknown>
  readonly asked: Asked[]
  readonly encodedHere: unknown[]
}

function createStage(slices: readonly LeafSlice<KeyValue>[], canEncode = true): Stage {
  const clock = new FakeClock()
  const kept = new Set<unknown>()
  const asked: Asked[] = []
  const encodedHere: unknown[] = []
  const ahead = new Ahead({
    slices,
    isKept: run => kept.has(run.leaf),
    encode: run => {
      if (canEncode) kept.add(run.leaf)
      encodedHere.push(run.leaf)
      return canEncode
    },
    ask: (start, end) =>
      new Promise(resolve => {
        asked.push({ start, end, done: resolve })
      }),
    others: 2,
    isWorthwhile: () => true,
    clock,
  })
  return { ahead, clock, kept, asked, encodedHere }
}

/** Does what was asked. */
function encode(
  { kept }: Stage,
  slices: readonly LeafSlice<KeyValue>[],
  { start, end, done }: Asked,
): void {
  for (const { entries, from, leaf } of slices) {
    const { key } = entries[from]!
    if (key >= start && key < end) kept.add(leaf)
  }
  done()
}

/** What another thread does with what it was asked: at once, later, or never. */
const behaviours = fc.array(fc.constantFrom('at once', 'later', 'never'), {
  minLength: 1,
  maxLength: 40,
})

t.test('all leaves are read once and in order, whatever others do', async t => {
  const slices = slicesOf(1500)
  await fc.assert(
    fc.asyncProperty(behaviours, fc.boolean(), async (others, canEncode) => {
      const stage = createStage(slices, canEncode)
      const { ahead, clock, asked } = stage
      const read: Run[] = []
      let answered = 0
      const answer = (isLater: boolean): void => {
        for (; answered < asked.length; answered++) {
          const behaviour = others[answered % others.length]
          if (behaviour === 'later' && !isLater) return
          if (behaviour !== 'never') encode(stage, slices, asked[answered]!)
        }
      }
      for (const run of ahead.runs) {
        answer(false)
        if (run.from < run.to) {
          read.push(run)
          continue
        }
        const more = ahead.more()
        for (let i = 0; i < 200; i++) await Promise.resolve()
        answer(true)
        await clock.advance(100)
        await more
      }
      return read.length === slices.length && read.every((run, i) => run.leaf === slices[i]!.leaf)
    }),
    { numRuns: 60 },
  )
  t.pass()
})

t.test('others encode most of it, within a window', async t => {
  const slices = slicesOf(3000)
  const stage = createStage(slices)
  let leaves = 0
  let readHere = 0
  for (const run of stage.ahead.runs) {
    for (const one of stage.asked.splice(0)) {
      const at = slices.findIndex(({ entries, from }) => entries[from]!.key === one.start)
      t.ok((at - leaves) * 340 < 13 * kibibyte, 'no further ahead than the window')
      encode(stage, slices, one)
    }
    await Promise.resolve()
    await Promise.resolve()
    if (run.from === run.to) continue
    if (!stage.kept.has(run.leaf)) readHere++
    leaves++
  }
  t.equal(leaves, slices.length)
  t.ok(readHere < slices.length / 4, `${readHere} of ${leaves} are left to the reader`)
})

t.test('a list that is given up asks for no more', async t => {
  const slices = slicesOf(3000)
  const stage = createStage(slices)
  const runs = stage.ahead.runs[Symbol.iterator]()
  runs.next()
  const { length } = stage.asked
  t.equal(length, 4, 'two for each of the others')
  runs.return?.()
  for (const one of stage.asked) encode(stage, slices, one)
  await Promise.resolve()
  await Promise.resolve()
  t.equal(stage.asked.length, length)
})

t.test('a list does not wait for threads that do nothing, and asks them no more', async t => {
  const slices = slicesOf(1500)
  const stage = createStage(slices)
  let waits = 0
  for (const run of stage.ahead.runs) {
    if (run.from < run.to) continue
    waits++
    const more = stage.ahead.more()
    await stage.clock.advance(100)
    await more
  }
  t.equal(stage.asked.length, 4)
  t.equal(waits, 4)
  t.ok(stage.encodedHere.length > 20, 'it encodes others while it waits')
})
