import t from 'tap'
import { type AccessAnswer, ReviewCache } from '../../../../lib/cache/http/auth/review-cache.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const yes: AccessAnswer = { type: 'allowed' }
const no: AccessAnswer = { type: 'denied', reason: '' }

function setUp(): { clock: FakeClock; reviewCache: ReviewCache; asked: () => number; ask: Ask } {
  const clock = new FakeClock()
  const reviewCache = new ReviewCache({
    clock,
    keptMs: ({ type }: AccessAnswer) => (type === 'allowed' ? 10_000 : 5_000),
  })
  let count = 0
  const ask = async (): Promise<AccessAnswer> => {
    count++
    return yes
  }
  return { clock, reviewCache, ask, asked: () => count }
}

type Ask = () => Promise<AccessAnswer>

t.test('a decision is kept for its time, and then asked for again', async t => {
  const { clock, reviewCache, ask, asked } = setUp()
  t.equal((await reviewCache.decide('a', ask)).type, 'allowed')
  await clock.advance(9_999)
  await reviewCache.decide('a', ask)
  t.equal(asked(), 1)
  await clock.advance(1)
  await reviewCache.decide('a', ask)
  t.equal(asked(), 2)
  await reviewCache.decide('no', async () => no)
  await clock.advance(5_000)
  t.equal((await reviewCache.decide('no', ask)).type, 'allowed')
})

t.test('those who ask the same at the same time share the answer', async t => {
  const { reviewCache, ask, asked } = setUp()
  const answers = await Promise.all([1, 2, 3].map(async () => reviewCache.decide('a', ask)))
  t.strictSame(answers, [yes, yes, yes])
  t.equal(asked(), 1)
  await reviewCache.decide('b', ask)
  t.equal(asked(), 2)
})

t.test('failures are told to those who asked, and not kept', async t => {
  const { reviewCache, ask } = setUp()
  const failing = async (): Promise<AccessAnswer> => {
    throw new Error('down')
  }
  const both = await Promise.allSettled([1, 2].map(async () => reviewCache.decide('a', failing)))
  t.strictSame(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  t.equal((await reviewCache.decide('a', ask)).type, 'allowed')
})

t.test('after a change nothing old is used, and what is new is kept shortly', async t => {
  const { clock, reviewCache, ask, asked } = setUp()
  await reviewCache.decide('a', ask)
  reviewCache.drop()
  await reviewCache.decide('a', ask)
  t.equal(asked(), 2)
  await clock.advance(999)
  await reviewCache.decide('a', ask)
  t.equal(asked(), 2)
  await clock.advance(1)
  await reviewCache.decide('a', ask)
  t.equal(asked(), 3)
  await clock.advance(4_000)
  await reviewCache.decide('a', ask)
  await clock.advance(9_999)
  await reviewCache.decide('a', ask)
  t.equal(asked(), 4, 'five seconds later decisions are kept as usual')
})

t.test('a question of before a change answers nobody who comes after it', async t => {
  const { reviewCache, ask, asked } = setUp()
  let answer: (decision: AccessAnswer) => void = () => {}
  const old = reviewCache.decide('a', () => new Promise(resolve => (answer = resolve)))
  reviewCache.drop()
  t.equal((await reviewCache.decide('a', async () => no)).type, 'denied')
  answer(yes)
  t.equal((await old).type, 'allowed')
  t.equal((await reviewCache.decide('a', ask)).type, 'denied')
  t.equal(asked(), 0)
})

t.test('nothing is kept beyond the end of the credentials', async t => {
  const { clock, reviewCache, ask, asked } = setUp()
  await reviewCache.decide('a', ask, { expiresAtMs: clock.wallMs() + 3_000 })
  await clock.advance(3_000)
  await reviewCache.decide('a', ask, { expiresAtMs: clock.wallMs() })
  await reviewCache.decide('a', ask, { expiresAtMs: clock.wallMs() })
  t.equal(asked(), 3)
})

t.test(
  'too many questions about strangers are refused, and hold nobody up who is known',
  async t => {
    const { reviewCache } = setUp()
    const never = (): Promise<AccessAnswer> => new Promise(() => {})
    for (let i = 0; i < 1_016; i++) void reviewCache.decide(`${i}`, never)
    await t.rejects(async () => reviewCache.decide('more', never), { code: 'overloaded' })
    const known = { isAccepted: true }
    t.equal((await reviewCache.decide('known', async () => yes, known)).type, 'allowed')
  },
)

t.test('rules of a namespace concern what was asked about it, and nothing else', async t => {
  const { reviewCache, asked, ask } = setUp()
  const both = async (): Promise<void> => {
    for (const namespace of ['', 'a', 'b']) {
      await reviewCache.decide(`in ${namespace}`, ask, { namespace })
    }
  }
  await both()
  reviewCache.drop('a')
  await both()
  t.equal(asked(), 4)
  reviewCache.drop()
  await both()
  t.equal(asked(), 7)
})
