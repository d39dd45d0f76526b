import t, { type Test } from 'tap'
import { effort } from '../support/effort.ts'
import { simulateSource } from '../support/source/simulate-source.ts'

const runs = 2 * effort
const steps = 300

t.test('an API that misbehaves: events, progress, contents and reads stay true', t => run(t, false))

t.test('so they do in the copies of a thread, which dies now and then', t => run(t, true))

async function run(t: Test, hasThread: boolean): Promise<void> {
  const sum = { events: 0, resets: 0, mirror: 0, elsewhere: 0 }
  for (let seed = 1; seed <= runs; seed++) {
    const { problems, events, resets, reads } = await simulateSource(seed, steps, hasThread)
    t.strictSame(problems, [], `seed ${seed}`)
    sum.events += events
    sum.resets += resets
    sum.mirror += reads.mirror
    sum.elsewhere += reads.elsewhere
  }
  t.comment(JSON.stringify(sum))
  t.ok(sum.events > 100 && sum.mirror > 20, 'all of it was tried')
}
