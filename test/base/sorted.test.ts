import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { sortedInSteps } from '../../lib/base/sorted.ts'
import { allSteps } from '../support/steps.ts'

const byNumber = ([a]: [number, number], [b]: [number, number]): number => a - b

t.test('a long list is sorted as at once, and equal items keep their order', async () => {
  const numbers = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 10 })
  fc.assert(
    fc.property(numbers, fc.integer({ min: 0, max: 900 }), (few, times) => {
      const items = Array.from({ length: few.length * times }, (_, i): [number, number] => [
        (few[i % few.length] as number) * (i % 7),
        i,
      ])
      deepStrictEqual(allSteps(sortedInSteps(items, byNumber)), [...items].sort(byNumber))
    }),
    { numRuns: 30 },
  )
})

t.test('a short list takes one step', async t => {
  const sorted = sortedInSteps([3, 1, 2], (a, b) => a - b).next()
  t.same(sorted, { done: true, value: [1, 2, 3] })
})
