import t from 'tap'
import { CacheError } from '../../../../lib/base/errors.ts'
import { createRandom } from '../../../../lib/base/random.ts'
import type { AccessAnswer } from '../../../../lib/cache/http/auth/review-cache.ts'
import { Rechecks } from '../../../../lib/cache/http/auth/rechecks.ts'
import { FakeClock, settle } from '../../../support/fake-clock.ts'

const yes: AccessAnswer = { type: 'allowed' }
const no: AccessAnswer = { type: 'denied', reason: '' }

class Watch {
  decision: AccessAnswer | 'failing' = yes
  isOpen = true
  asked = 0
  readonly expiresAtMs: number | undefined = undefined
  readonly isStale: boolean = false

  constructor(options: { readonly expiresAtMs?: number; readonly isStale?: boolean } = {}) {
    Object.assign(this, options)
  }

  readonly question = async (): Promise<AccessAnswer> => {
    this.asked++
    if (this.decision === 'failing') throw new CacheError('upstream_failed', 'down')
    return this.decision
  }

  readonly end = (): void => {
    this.isOpen = false
  }
}

function setUp(): { clock: FakeClock; rechecks: Rechecks } {
  const clock = new FakeClock()
  return { clock, rechecks: new Rechecks({ clock, random: createRandom(1) }) }
}

t.test('a change of rules ends at once what is not allowed any more', async t => {
  const { clock, rechecks } = setUp()
  const watches = Array.from({ length: 100 }, () => new Watch())
  for (const watch of watches) rechecks.add(watch)
  for (const watch of watches.slice(0, 50)) watch.decision = no
  rechecks.rulesChanged()
  await clock.advance(0)
  t.strictSame([...new Set(watches.slice(0, 50).map(({ isOpen }) => isOpen))], [false])
  t.strictSame([...new Set(watches.slice(50).map(({ isOpen }) => isOpen))], [true])
  t.equal(rechecks.size, 50)
})

t.test('an upstream that sees the change later is asked again', async t => {
  const { clock, rechecks } = setUp()
  const watch = new Watch()
  rechecks.add(watch)
  rechecks.rulesChanged()
  await clock.advance(1_000)
  watch.decision = no
  t.ok(watch.isOpen)
  await clock.advance(500)
  t.notOk(watch.isOpen)
  const late = new Watch()
  rechecks.add(late)
  rechecks.rulesChanged()
  await clock.advance(4_900)
  late.decision = no
  await clock.advance(1_800)
  t.notOk(late.isOpen)
})

t.test('changes in a row share rounds, and the last one is not forgotten', async t => {
  const { clock, rechecks } = setUp()
  const watch = new Watch()
  rechecks.add(watch)
  for (let i = 0; i < 100; i++) {
    rechecks.rulesChanged()
    await clock.advance(10)
  }
  t.ok(watch.asked <= 6, `asked ${watch.asked} times`)
  watch.decision = no
  rechecks.rulesChanged()
  await clock.advance(200)
  t.notOk(watch.isOpen)
})

t.test('without any change each is asked about every five minutes, at different times', async t => {
  const { clock, rechecks } = setUp()
  const watches = Array.from({ length: 20 }, () => new Watch())
  for (const watch of watches) rechecks.add(watch)
  await clock.advance(4 * 60_000 - 1)
  t.ok(watches.every(({ asked }) => asked === 0))
  await clock.advance(60_000)
  const early = watches.filter(({ asked }) => asked === 1).length
  t.ok(early > 3 && early < 17, `${early} of 20 early`)
  await clock.advance(60_000)
  t.ok(watches.every(({ asked }) => asked === 1))
  watches[0]!.decision = no
  await clock.advance(6 * 60_000)
  t.notOk(watches[0]!.isOpen)
})

t.test('a watch ends with its credentials', async t => {
  const { clock, rechecks } = setUp()
  const watch = new Watch({ expiresAtMs: clock.wallMs() + 7 * 60_000 })
  rechecks.add(watch)
  await clock.advance(7 * 60_000 - 1)
  t.ok(watch.isOpen)
  await clock.advance(1)
  t.notOk(watch.isOpen)
})

t.test('a failure to ask ends nothing, and is made up for soon', async t => {
  const { clock, rechecks } = setUp()
  const watch = new Watch()
  rechecks.add(watch)
  watch.decision = 'failing'
  rechecks.rulesChanged()
  await clock.advance(7_000)
  t.ok(watch.isOpen)
  watch.decision = no
  await clock.advance(10_000)
  t.notOk(watch.isOpen)
})

t.test('a watch that was allowed by older rules is asked about when it opens', async t => {
  const { rechecks } = setUp()
  const watch = new Watch({ isStale: true })
  watch.decision = no
  rechecks.add(watch)
  await settle()
  t.notOk(watch.isOpen)
})

t.test('few are asked about at a time, and nothing is left of those that have gone', async t => {
  const { clock, rechecks } = setUp()
  const answers: ((decision: AccessAnswer) => void)[] = []
  const question = (): Promise<AccessAnswer> => new Promise(resolve => answers.push(resolve))
  const letGo = Array.from({ length: 40 }, () =>
    rechecks.add({ question, end: () => {}, expiresAtMs: undefined, isStale: false }),
  )
  rechecks.rulesChanged()
  await clock.advance(0)
  t.equal(answers.length, 16)
  for (const answer of answers.splice(0)) answer(yes)
  await settle()
  t.equal(answers.length, 16)
  for (const go of letGo) go()
  t.equal(rechecks.size, 0)
  for (const answer of answers.splice(0)) answer(no)
  await settle()
  t.equal(answers.length, 0)
  rechecks.stop()
  rechecks.rulesChanged()
  t.equal(clock.pendingTimers, 0)
})
