import t from 'tap'
import { type Decision, Decisions } from '../../../../lib/http/auth/decisions.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const yes: Decision = { type: 'allowed' }
const no: Decision = { type: 'denied', reason: '' }

function setUp(): { clock: FakeClock; decisions: Decisions; asked: () => number; ask: Ask } {
  const clock = new FakeClock()
  const decisions = new Decisions({
    clock,
    keptMs: ({ type }: Decision) => (type === 'allowed' ? 10_000 : 5_000),
  })
  let count = 0
  const ask = async (): Promise<Decision> => {
    count++
    return yes
  }
  return { clock, decisions, ask, asked: () => count }
}

type Ask = () => Promise<Decision>

t.test('a decision is kept for its time, and then asked for again', async t => {
  const { clock, decisions, ask, asked } = setUp()
  t.equal((await decisions.decide('a', ask)).type, 'allowed')
  await clock.advance(9_999)
  await decisions.decide('a', ask)
  t.equal(asked(), 1)
  await clock.advance(1)
  await decisions.decide('a', ask)
  t.equal(asked(), 2)
  await decisions.decide('no', async () => no)
  await clock.advance(5_000)
  t.equal((await decisions.decide('no', ask)).type, 'allowed')
})

t.test('those who ask the same at the same time share the answer', async t => {
  const { decisions, ask, asked } = setUp()
  const answers = await Promise.all([1, 2, 3].map(async () => decisions.decide('a', ask)))
  t.strictSame(answers, [yes, yes, yes])
  t.equal(asked(), 1)
  await decisions.decide('b', ask)
  t.equal(asked(), 2)
})

t.test('failures are told to those who asked, and not kept', async t => {
  const { decisions, ask } = setUp()
  const failing = async (): Promise<Decision> => {
    throw new Error('down')
  }
  const both = await Promise.allSettled([1, 2].map(async () => decisions.decide('a', failing)))
  t.strictSame(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  t.equal((await decisions.decide('a', ask)).type, 'allowed')
})

t.test('after a change nothing old is used, and what is new is kept shortly', async t => {
  const { clock, decisions, ask, asked } = setUp()
  await decisions.decide('a', ask)
  decisions.drop()
  await decisions.decide('a', ask)
  t.equal(asked(), 2)
  await clock.advance(999)
  await decisions.decide('a', ask)
  t.equal(asked(), 2)
  await clock.advance(1)
  await decisions.decide('a', ask)
  t.equal(asked(), 3)
  await clock.advance(4_000)
  await decisions.decide('a', ask)
  await clock.advance(9_999)
  await decisions.decide('a', ask)
  t.equal(asked(), 4, 'five seconds later decisions are kept as usual')
})

t.test('a question of before a change answers nobody who comes after it', async t => {
  const { decisions, ask, asked } = setUp()
  let answer: (decision: Decision) => void = () => {}
  const old = decisions.decide('a', () => new Promise(resolve => (answer = resolve)))
  decisions.drop()
  t.equal((await decisions.decide('a', async () => no)).type, 'denied')
  answer(yes)
  t.equal((await old).type, 'allowed')
  t.equal((await decisions.decide('a', ask)).type, 'denied')
  t.equal(asked(), 0)
})

t.test('nothing is kept beyond the end of the credentials', async t => {
  const { clock, decisions, ask, asked } = setUp()
  await decisions.decide('a', ask, clock.wallMs() + 3_000)
  await clock.advance(3_000)
  await decisions.decide('a', ask, clock.wallMs())
  await decisions.decide('a', ask, clock.wallMs())
  t.equal(asked(), 3)
})

t.test('too many questions at a time are refused', async t => {
  const { decisions } = setUp()
  const never = (): Promise<Decision> => new Promise(() => {})
  for (let i = 0; i < 2_000; i++) void decisions.decide(`${i}`, never)
  await t.rejects(async () => decisions.decide('more', never), { code: 'overloaded' })
})
