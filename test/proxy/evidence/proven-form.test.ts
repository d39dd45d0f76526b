import t from 'tap'
import { areEqualButForAges } from '../../../lib/proxy/evidence/ages.ts'
import { ProvenForm } from '../../../lib/proxy/evidence/proven-form.ts'
import type { Shapes } from '../../../lib/proxy/evidence/rows/shapes.ts'

/** Shapes by their rows. */
function formOf(
  rows: readonly number[][],
  hasCells = false,
  { isConverted = false, state = { epoch: 1 } } = {},
): ProvenForm {
  const shapes = {
    get epoch() {
      return state.epoch
    },
    rowsOf: (shape: number) => ({ rows: Float64Array.from(rows[shape] ?? []), order: shape }),
  } as unknown as Shapes
  return new ProvenForm({ shapes, hasCells, isConverted })
}

t.test('an object is proven when all of its rows are', async t => {
  const form = formOf([[1, 2], [2, 3], [1, 3], [4]])
  t.notOk(form.isProven(0))
  form.learn(0, 'item')
  t.ok(form.isProven(0))
  t.notOk(form.isProven(2))
  form.learn(1, 'item')
  t.ok(form.isProven(2), 'of two others together')
  t.notOk(form.isProven(3))
  t.notOk(form.isProven(-1), 'what has no shape')
  t.ok(form.isKnown('item'))
  t.notOk(form.isKnown('alone'))
})

t.test('where objects are converted, one is proven by others of the same shape only', async t => {
  const state = { epoch: 1 }
  const form = formOf(
    [
      [1, 2],
      [2, 3],
      [1, 3],
    ],
    false,
    { isConverted: true, state },
  )
  form.learn(0, 'item')
  form.learn(1, 'item')
  t.ok(form.isProven(0))
  t.notOk(form.isProven(2))
  // All shapes have other numbers.
  state.epoch++
  t.notOk(form.isProven(0))
  form.learn(2, 'item')
  t.ok(form.isProven(2))
})

t.test('in a Table it counts as well which names come together', async t => {
  const form = formOf([[1], [1]], true)
  form.learn(0, 'item')
  t.ok(form.isProven(0))
  t.notOk(form.isProven(1))
})

t.test('a difference closes it, and a passing one does not for ever', async t => {
  const form = formOf([[1]])
  form.learn(0, 'item')
  form.close('.spec')
  t.notOk(form.isProven(0))
  t.equal(form.difference, '.spec')
  form.reopen()
  t.ok(form.isProven(0))
})

t.test('what one comparison will show is not compared a second time', async t => {
  const form = formOf([[1, 2], [2], [2, 3]])
  const first = form.claim(0)
  t.strictSame(first, [1, 2])
  t.equal(form.claim(1), undefined)
  const third = form.claim(2)
  t.strictSame(third, [2, 3])
  form.release(first ?? [])
  t.equal(form.claim(1), undefined, 'another has claimed it')
  form.release(third ?? [])
  t.strictSame(form.claim(1), [2])
})

t.test('ages may differ by the moment between two looks at a clock', async t => {
  t.ok(areEqualButForAges('["a","10s"]', '["a","12s"]', 3))
  t.ok(areEqualButForAges('["59s","3 (2m ago)"]', '["61s","3 (2m1s ago)"]', 3))
  t.ok(areEqualButForAges('"4d"', '"3d23h"', 3), 'a day leaves out its hours')
  t.notOk(areEqualButForAges('["a","10s"]', '["a","20s"]', 3))
  t.notOk(areEqualButForAges('["a","10s"]', '["b","10s"]', 3))
  t.notOk(areEqualButForAges('["10s"]', '["10s","10s"]', 3))
  t.notOk(areEqualButForAges('"2d"', '"5d"', 3))
})
