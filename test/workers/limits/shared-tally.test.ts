/** The tally of a process with several threads, each of which is an object with a part of one
 *  memory. */

import t from 'tap'
import fc from 'fast-check'
import {
  createTallyMemory,
  forgetWorker,
  SharedTally,
} from '../../../lib/workers/limits/shared-tally.ts'
import { UserTally } from '../../../lib/cache/http/limits/user-tally.ts'

interface Fixture {
  readonly memory: SharedArrayBuffer
  readonly tallies: readonly SharedTally[]
}

function talliesOf(threads: number, perUser: number, max: number, unit: 1 | 1024 = 1): Fixture {
  const memory = createTallyMemory(threads)
  const tallies = Array.from(
    { length: threads },
    (_, thread) => new SharedTally({ memory, thread, seed: 5, perUser, max, unit }),
  )
  return { memory, tallies }
}

t.test('bounds hold for all threads together', async t => {
  const {
    tallies: [one, two],
  } = talliesOf(2, 3, 4)
  t.equal(one!.add('ann', 2), undefined)
  t.equal(two!.add('ann', 1), undefined)
  t.equal(two!.add('ann', 1), 'user')
  t.equal(one!.add('bob', 2), 'all')
  t.equal(one!.add('bob', 1), undefined)
  t.equal(two!.add(undefined, 1), 'all')
  one!.remove('ann', 2)
  t.equal(two!.add('ann', 2), undefined)
})

t.test('what a dead thread held is given back', async t => {
  const { memory, tallies } = talliesOf(3, 3, 4)
  tallies[1]!.add('ann', 3)
  tallies[2]!.add('bob', 1)
  t.equal(tallies[0]!.add('ann', 1), 'user')
  forgetWorker(memory, 1)
  t.equal(tallies[0]!.add('ann', 3), undefined)
  t.equal(tallies[0]!.add('eve', 1), 'all', 'what others hold stays')
})

t.test('bytes are counted in kilobytes, and given back whole', async t => {
  const { tallies } = talliesOf(1, 4096, 1e9, 1024)
  const [tally] = tallies
  t.equal(tally!.add('ann', 1025), undefined)
  t.equal(tally!.add('ann', 2048), undefined)
  t.equal(tally!.add('ann', 1), 'user')
  tally!.remove('ann', 1025)
  t.equal(tally!.add('ann', 2048), undefined)
})

t.test('it answers as the tally of one thread does', async t => {
  const step = fc.record({
    thread: fc.nat(2),
    user: fc.constantFrom('a', 'b', 'c', undefined),
    amount: fc.integer({ min: 1, max: 9 }),
    isRemoval: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const { tallies } = talliesOf(3, 12, 30)
      const model = new UserTally(12, 30)
      const held: { thread: number; user: string | undefined; amount: number }[] = []
      for (const { isRemoval, ...taken } of steps) {
        const oldest = isRemoval ? held.shift() : undefined
        if (oldest !== undefined) {
          tallies[oldest.thread]!.remove(oldest.user, oldest.amount)
          model.remove(oldest.user, oldest.amount)
          continue
        }
        const bound = tallies[taken.thread]!.add(taken.user, taken.amount)
        if (bound !== model.add(taken.user, taken.amount)) return false
        if (bound === undefined) held.push(taken)
        if (taken.user === undefined) continue
        if (tallies[0]!.isCrowded(taken.user) !== model.isCrowded(taken.user)) return false
        if (tallies[0]!.isAbove(taken.user, 7) !== model.isAbove(taken.user, 7)) return false
      }
      return true
    }),
  )
  t.pass()
})

t.test('a user who takes everything leaves a thousand others theirs', async t => {
  const { tallies } = talliesOf(2, 100, 1e6)
  for (let i = 0; i < 100; i++) tallies[i % 2]!.add('greedy', 1)
  t.equal(tallies[0]!.add('greedy', 1), 'user')
  const bounds = Array.from({ length: 1000 }, (_, i) => tallies[i % 2]!.add(`user ${i}`, 50))
  t.same(new Set(bounds), new Set([undefined]))
})
