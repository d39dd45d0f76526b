/** Two threads with one desk, all in this thread. */

import t from 'tap'
import { CacheError } from '../../../../lib/base/errors.ts'
import { createRandom } from '../../../../lib/base/random.ts'
import type { Authorizer } from '../../../../lib/cache/http/auth/authorizer.ts'
import { createAuthorizer } from '../../../../lib/cache/http/auth/authorization.ts'
import { type Attributes, attributesOf } from '../../../../lib/kube/request/attributes.ts'
import { parseQuery } from '../../../../lib/kube/request/request.ts'
import { ScriptedRequest } from '../../../support/http/scripted-request.ts'
import { silentLogger } from '../../../support/silent-logger.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { delegatedTo, RulesServer } from '../../../support/http/rules-server.ts'
import { identity } from '../../../support/upstream/reviews.ts'

const users = new Map([['ann-token', identity('ann')]])
const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }
const pods: Attributes = attributesOf('GET', { path: '/api/v1/pods', query: parseQuery('') })

interface Fixture {
  readonly clock: FakeClock
  readonly rules: RulesServer
  readonly main: Authorizer
  readonly threads: readonly Authorizer[]
  readonly asked: () => number
}

function setUp(): Fixture {
  const clock = new FakeClock()
  const rules = new RulesServer(users, [{ subjects: ['ann'], namespace: '', rules: [all] }])
  const options = delegatedTo(rules)
  const metrics = { review: () => {}, prolonged: () => {} }
  const parts = { clock, random: createRandom(1), metrics, logger: silentLogger }
  const main = createAuthorizer(options, parts)!
  const threads = [1, 2].map(() =>
    createAuthorizer(options, {
      ...parts,
      askDesk: async question => structuredClone(await main.desk.answer(structuredClone(question))),
    })!,
  )
  return { clock, rules, main, threads, asked: () => rules.paths.length }
}

function requestOf(token: string): ScriptedRequest {
  return Object.assign(new ScriptedRequest(), { headers: { authorization: `Bearer ${token}` } })
}

async function verdictOf(authorizer: Authorizer, token = 'ann-token'): Promise<string> {
  const verdict = await authorizer.authorize(requestOf(token), pods)
  return verdict.type
}

t.test('what one thread has asked, no other asks again', async t => {
  const { threads, asked, clock } = setUp()
  const verdicts = Promise.all(threads.map(thread => verdictOf(thread)))
  await clock.advance(0)
  t.same(await verdicts, ['granted', 'granted'])
  t.equal(asked(), 1)
})

t.test(
  'an answer is kept for its time from when it was asked, not from when a thread got it',
  async t => {
    const { threads, asked, clock } = setUp()
    const [one, two] = threads
    await clock.advance(0)
    const verdict = async (thread: Authorizer): Promise<string> => {
      const decided = verdictOf(thread)
      await clock.advance(0)
      return decided
    }
    t.equal(await verdict(one!), 'granted')
    await clock.advance(9_000)
    t.equal(await verdict(two!), 'granted')
    t.equal(asked(), 1)
    await clock.advance(1_001)
    t.equal(await verdict(two!), 'granted')
    t.equal(asked(), 2)
  },
)

t.test('a change of the rules is asked for anew by each thread that has heard of it', async t => {
  const { threads, asked, clock, main, rules } = setUp()
  const [one, two] = threads
  const verdict = async (thread: Authorizer): Promise<string> => {
    const decided = verdictOf(thread)
    await clock.advance(0)
    return decided
  }
  await verdict(one!)
  await verdict(two!)
  rules.bindings = []
  main.rulesChanged()
  for (const thread of threads) thread.rulesChanged()
  t.equal(await verdict(one!), 'refuse')
  t.equal(await verdict(two!), 'refuse')
  // The access of the new rules, once, and the name that the refusal tells, once.
  t.equal(asked(), 3)
})

t.test('a failure of the desk is one of the review, and is not kept', async t => {
  const { rules, threads, clock } = setUp()
  const verdict = async (): Promise<string> => {
    const decided = verdictOf(threads[0]!)
    await clock.advance(0)
    return decided
  }
  rules.gate = Promise.reject(new CacheError('upstream_failed', 'it is gone'))
  rules.gate.catch(() => {})
  t.equal(await verdict(), 'refuse')
  rules.gate = Promise.resolve()
  t.equal(await verdict(), 'granted')
})

t.test('a name that one thread has learnt is the same in another', async t => {
  const { threads, clock } = setUp()
  const request = requestOf('ann-token')
  const verdicts = threads.map(async thread => thread.authorize(request, pods))
  await clock.advance(0)
  const [one, two] = await Promise.all(verdicts)
  if (one?.type !== 'granted' || two?.type !== 'granted') throw new Error('ann may read')
  t.match(two.grant.user(), /^token /)
  t.equal(two.grant.user(), one.grant.user(), 'threads know credentials by the same key')
  threads[1]!.named(one.grant.user().slice('token '.length), 'ann')
  t.equal(two.grant.user(), 'user ann')
})

t.test('a yes lasts no longer in a thread than in the process', async t => {
  const { threads, rules, clock, asked } = setUp()
  const [thread] = threads
  const verdict = async (): Promise<string> => {
    const decided = verdictOf(thread!)
    await clock.advance(0)
    return decided
  }
  await clock.advance(6_000)
  t.equal(await verdict(), 'granted')
  rules.code = 429
  for (let i = 0; i < 68; i++) {
    await clock.advance(1_000)
    t.equal(await verdict(), 'granted')
  }
  t.ok(asked() <= 20, `${asked()} reviews in a minute`)
  await clock.advance(3_000)
  t.equal(await verdict(), 'refuse')
})
