import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { sortUnstably } from '../../lib/go/sort.ts'

function checkSorted(list: readonly number[]): void {
  const sorted = [...list]
  sortUnstably(sorted, (a, b) => a < b)
  assert.deepEqual(
    sorted,
    list.toSorted((a, b) => a - b),
  )
}

t.test('whatever is sorted is in order afterwards, and nothing is lost', async t => {
  const lists = fc.oneof(
    fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 300 }),
    fc.array(fc.integer(), { maxLength: 300 }),
    fc.array(fc.integer(), { maxLength: 300 }).map(list => list.sort((a, b) => b - a)),
    fc.array(fc.integer(), { maxLength: 300 }).map(list => [...list.sort((a, b) => a - b), 0]),
  )
  fc.assert(
    fc.property(lists, list => {
      checkSorted(list)
    }),
  )
  t.pass()
})

t.test('patterns that make for bad pivots end in a heap sort, still in order', async t => {
  // Organ pipes and saw teeth of many lengths.
  for (let length = 0; length < 400; length += 7) {
    for (const teeth of [2, 3, 7, 50]) {
      const list = Array.from({ length }, (_, i) => (i % 2 === 0 ? i : length - i) % teeth)
      checkSorted(list)
    }
  }
  t.pass()
})

t.test('equal items come out in the order of Go', async t => {
  // What etcd 3.5, built with Go 1.24, answers when it sorts these values ascending.
  const values = 'babbbaabbbaaaaabbbab'
  const items = values.split('').map((value, place) => ({ value, place }))
  sortUnstably(items, (a, b) => a.value < b.value)
  t.strictSame(
    items.map(({ place }) => place),
    [10, 1, 18, 14, 13, 5, 6, 11, 12, 8, 9, 7, 0, 4, 3, 15, 16, 17, 2, 19],
  )
})

t.test('few items keep their order when they are equal', async t => {
  const items = 'bab'.split('').map((value, place) => ({ value, place }))
  sortUnstably(items, (a, b) => a.value < b.value)
  t.strictSame(
    items.map(({ place }) => place),
    [1, 0, 2],
  )
})
