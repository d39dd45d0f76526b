/** Our own questions to servers that are busy or gone, on a clock that a test moves. */

import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { UpstreamFailure } from '../../../lib/proxy/upstream/failure.ts'
import { OwnQuestions } from '../../../lib/proxy/upstream/own-questions.ts'
import { UpstreamServer } from '../../../lib/proxy/upstream/server.ts'
import type { UpstreamAnswer } from '../../../lib/cache/http/auth/upstream-calls.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { type Said, sayingLogger } from '../../support/saying-logger.ts'

type Outcome = number | 'gone' | 'late'

interface Asked {
  readonly clock: FakeClock
  readonly questions: OwnQuestions
  readonly servers: readonly UpstreamServer[]
  /** Questions that have reached each server. */
  readonly seen: number[]
  readonly said: Said[]
  /** The code of the answer, or the fault. */
  readonly ask: () => Promise<number | string>
}

function asking(outcomes: Outcome[], headers: UpstreamAnswer['headers'] = {}): Asked {
  const clock = new FakeClock()
  const servers = outcomes.map((_, i) => new UpstreamServer({ url: new URL(`http://s${i}`) }))
  const seen = outcomes.map(() => 0)
  const { logger, said } = sayingLogger()
  const call = async (server: UpstreamServer): Promise<UpstreamAnswer> => {
    const i = servers.indexOf(server)
    seen[i]!++
    const outcome = outcomes[i]!
    if (outcome === 'gone') throw new UpstreamFailure('unreachable', 'it cannot be reached')
    if (outcome === 'late') throw new UpstreamFailure('late', 'it is late')
    return { code: outcome, headers, body: Buffer.alloc(0) }
  }
  const questions = new OwnQuestions({
    servers,
    choose: tried => servers.find(server => !tried.has(server)) ?? servers[0]!,
    call,
    openLine: server => ({ call: () => call(server), isOpen: true, close() {} }),
    clock,
    random: createRandom(1),
    logger,
  })
  const ask = (): Promise<number | string> =>
    questions.call(request, 'ourselves').then(
      ({ code }) => code,
      (error: Error) => error.message,
    )
  return { clock, questions, servers, seen, said, ask }
}

const request = { method: 'GET', path: '/x', headers: {}, signal: new AbortController().signal }

t.test('it is told once that a server that was left alone answers again', async t => {
  const outcomes: Outcome[] = [200]
  const { clock, ask, questions } = asking(outcomes)
  let told = 0
  questions.onAnswersAgain(() => told++)
  await ask()
  t.equal(told, 0)
  for (const outcome of [429, 'gone'] as const) {
    outcomes[0] = outcome
    await ask()
    await clock.advance(30_000)
    outcomes[0] = 200
    await ask()
    await ask()
  }
  t.equal(told, 2)
})

t.test('a server that is busy for 30 s is asked a few times, however often we want to', async t => {
  const outcomes: Outcome[] = [200]
  const { clock, ask, seen, said, questions } = asking(outcomes)
  t.equal(await ask(), 200)
  outcomes[0] = 429
  t.equal(await ask(), 429)
  for (let i = 0; i < 3_000; i++) {
    await clock.advance(10)
    const answer = await ask()
    t.ok(answer === 429 || String(answer).includes('429'))
  }
  t.ok(seen[0]! <= 12, `${seen[0]} questions`)
  outcomes[0] = 200
  await clock.advance(10_000)
  t.equal(await ask(), 200)
  t.equal(await ask(), 200, 'all are answered again')
  t.same(
    said.map(({ level, text }) => [level, /no answers|answers our own/.exec(text)?.[0]]),
    [
      ['warn', 'no answers'],
      ['info', 'answers our own'],
    ],
    'it is said once, and once that it is over',
  )
  t.match(said[0]?.fields, { reason: /429/ })
  t.match(said[1]?.fields, { seconds: Number })
  t.match(questions.counts, { answered: 3, failed: 0 })
  t.ok(questions.counts.withheld > 2_900)
})

t.test('what the server says about when to ask again is obeyed, within bounds', async t => {
  for (const [after, fromMs, toMs] of [
    ['7', 7_000, 7_500],
    ['86400', 30_000, 30_500],
    ['soon', 0, 500],
  ] as const) {
    const { clock, ask, seen } = asking([429], { 'retry-after': after })
    await ask()
    await clock.advance(fromMs)
    await ask()
    t.equal(seen[0], 1, after)
    await clock.advance(toMs - fromMs)
    await ask()
    t.equal(seen[0], 2, after)
  }
})

t.test('one question finds out whether it answers again, the others wait', async t => {
  const { clock, ask, seen } = asking([429])
  await ask()
  await clock.advance(500)
  await Promise.all([ask(), ask(), ask(), ask()])
  t.equal(seen[0], 2)
})

interface Case {
  readonly outcome: Outcome
  /** The next question is sent at once. */
  readonly isAskedAgain: boolean
}

const cases: readonly Case[] = [
  { outcome: 200, isAskedAgain: true },
  { outcome: 403, isAskedAgain: true },
  { outcome: 404, isAskedAgain: true },
  { outcome: 429, isAskedAgain: false },
  { outcome: 500, isAskedAgain: true },
  { outcome: 503, isAskedAgain: true },
  { outcome: 'late', isAskedAgain: true },
  { outcome: 'gone', isAskedAgain: false },
]

for (const { outcome, isAskedAgain } of cases) {
  t.test(`after ${outcome} it is ${isAskedAgain ? '' : 'not '}asked at once`, async t => {
    const { ask, seen, questions } = asking([outcome])
    await ask()
    await ask()
    await questions.callEach(request, 'ourselves')
    await questions
      .line()
      .call(request)
      .catch(() => undefined)
    t.equal(seen[0], isAskedAgain ? 4 : 1)
  })
}

t.test('of several servers another one is asked', async t => {
  const { ask, seen, questions } = asking([429, 200])
  t.equal(await ask(), 429)
  t.equal(await ask(), 200)
  t.equal(await ask(), 200)
  t.strictSame(seen, [1, 2])
  const answers = await questions.callEach(request, 'ourselves')
  t.match(answers, [{ code: 'overloaded' }, { code: 200 }])
  t.strictSame(seen, [1, 3])
})

t.test('a server that a health check has found well again is asked at once', async t => {
  const outcomes: Outcome[] = ['gone']
  const { ask, servers, questions } = asking(outcomes)
  await ask()
  outcomes[0] = 200
  t.equal(await ask(), 'it cannot be reached')
  questions.isWell(servers[0]!)
  t.equal(await ask(), 200)
})
