import t from 'tap'
import { createRandom, randomInt, randomItem } from '../../lib/base/random.ts'

t.test('the same seed gives the same sequence, another seed another', async t => {
  const sequence = (seed: number): number[] => {
    const random = createRandom(seed)
    return Array.from({ length: 8 }, () => random.next())
  }
  t.strictSame(sequence(7), sequence(7))
  t.not(sequence(7)[0], sequence(8)[0])
})

t.test('whole numbers are spread over the range with both of its ends', async t => {
  const random = createRandom(1)
  const seen = new Set(Array.from({ length: 300 }, () => randomInt(random, 3, 6)))
  t.strictSame(
    [...seen].sort((a, b) => a - b),
    [3, 4, 5, 6],
  )
  t.throws(() => randomItem(random, []), RangeError)
})
