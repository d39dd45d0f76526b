/** Callers who were allowed a moment ago, while the upstream has no answers to reviews. */

import t from 'tap'
import { createRandom } from '../../../../lib/base/random.ts'
import type { Authorizer } from '../../../../lib/cache/http/auth/authorizer.ts'
import { createAuthorizer } from '../../../../lib/cache/http/auth/authorization.ts'
import type { Attributes } from '../../../../lib/kube/request/attributes.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { delegatedTo, RulesServer } from '../../../support/http/rules-server.ts'
import { ScriptedRequest } from '../../../support/http/scripted-request.ts'
import { type Said, sayingLogger } from '../../../support/saying-logger.ts'
import { identity } from '../../../support/upstream/reviews.ts'

const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }
const users = new Map(['ann', 'bob'].map(name => [`${name}-token`, identity(name)]))

function podsIn(namespace: string): Attributes {
  return {
    verb: 'list',
    group: '',
    version: 'v1',
    resource: 'pods',
    subresource: '',
    namespace,
    name: '',
    fields: [],
    labels: [],
  }
}

interface Fixture {
  readonly clock: FakeClock
  readonly rules: RulesServer
  readonly authorizer: Authorizer
  readonly said: Said[]
  readonly prolonged: () => number
  readonly verdict: (token?: string, namespace?: string) => Promise<string>
}

/** Ann was allowed to list pods six seconds after the start, and bob was never asked about. */
async function setUp(allowMs?: number): Promise<Fixture> {
  const clock = new FakeClock()
  const rules = new RulesServer(users, [{ subjects: ['ann', 'bob'], namespace: '', rules: [all] }])
  const { logger, said } = sayingLogger()
  let prolonged = 0
  const metrics = { review: () => {}, prolonged: () => void prolonged++ }
  const options = { ...delegatedTo(rules), canPass: true, allowMs }
  const random = createRandom(1)
  const authorizer = createAuthorizer(options, { clock, random, metrics, logger })!
  const verdict = async (token = 'ann', namespace = ''): Promise<string> => {
    const request = Object.assign(new ScriptedRequest(), {
      headers: { authorization: `Bearer ${token}-token` },
    })
    const decided = Promise.resolve(authorizer.authorize(request, podsIn(namespace)))
    await clock.advance(0)
    const { type } = await decided
    return type
  }
  await clock.advance(6_000)
  await verdict()
  return { clock, rules, authorizer, said, prolonged: () => prolonged, verdict }
}

interface Case {
  readonly what: string
  readonly breakOff: (rules: RulesServer) => void
  /** The caller goes on being answered here. */
  readonly lasts: boolean
}

const withCode =
  (code: number): Case['breakOff'] =>
  rules =>
    void (rules.code = code)
const cases: readonly Case[] = [
  { what: '429', breakOff: withCode(429), lasts: true },
  { what: '500', breakOff: withCode(500), lasts: true },
  { what: '503', breakOff: withCode(503), lasts: true },
  { what: 'no connection', breakOff: rules => void (rules.isDown = true), lasts: true },
  { what: 'a refusal', breakOff: withCode(401), lasts: false },
  { what: 'another refusal', breakOff: withCode(403), lasts: false },
  { what: 'no such path', breakOff: withCode(404), lasts: false },
  { what: 'a bad request', breakOff: withCode(400), lasts: false },
  { what: 'no review', breakOff: withCode(200), lasts: false },
  { what: 'a no', breakOff: rules => void (rules.bindings = []), lasts: false },
]

for (const { what, breakOff, lasts } of cases) {
  t.test(`a yes that has expired, and ${what}: ${lasts ? 'holds' : 'does not hold'}`, async t => {
    const { clock, rules, verdict, prolonged } = await setUp()
    breakOff(rules)
    await clock.advance(10_000)
    t.equal(await verdict(), lasts ? 'granted' : 'pass')
    t.equal(prolonged(), lasts ? 1 : 0)
    t.equal(await verdict('bob'), 'pass', 'nobody has allowed it')
    t.equal(await verdict('ann', 'other'), 'pass', 'nor another question')
  })
}

t.test('it holds for a minute, with few reviews, and is said once', async t => {
  const { clock, rules, verdict, said } = await setUp()
  rules.code = 429
  await clock.advance(10_000)
  const before = rules.paths.length
  for (let ms = 0; ms < 60_000; ms += 100) {
    t.equal(await verdict(), 'granted')
    await clock.advance(100)
  }
  t.ok(rules.paths.length - before <= 20, `${rules.paths.length - before} reviews`)
  t.equal(await verdict(), 'pass', 'and no longer')
  rules.code = undefined
  t.equal(await verdict(), 'granted')
  await clock.advance(10_001)
  t.equal(await verdict(), 'granted')
  t.same(
    said.map(({ level }) => level),
    ['warn', 'info'],
  )
  t.match(said[0], { text: /no answers to access reviews/, fields: { reason: /429/ } })
})

t.test('as soon as there are answers, they count', async t => {
  const { clock, rules, verdict } = await setUp()
  rules.code = 503
  await clock.advance(10_000)
  t.equal(await verdict(), 'granted')
  rules.code = undefined
  rules.bindings = []
  await clock.advance(500)
  t.equal(await verdict(), 'pass')
})

t.test('Retry-After is obeyed', async t => {
  const { clock, rules, verdict } = await setUp()
  rules.code = 429
  rules.retryAfter = '20'
  await clock.advance(10_000)
  const before = rules.paths.length
  for (let ms = 0; ms < 20_000; ms += 1_000) {
    await verdict()
    await clock.advance(1_000)
  }
  t.equal(rules.paths.length - before, 1)
})

t.test('nobody with a former yes waits for an upstream that hangs', async t => {
  const { clock, rules, verdict, prolonged } = await setUp()
  t.equal(await verdict('ann', 'other'), 'granted')
  let open = (): void => {}
  rules.gate = new Promise(resolve => (open = resolve))
  await clock.advance(10_000)
  const first = verdict()
  await clock.advance(500)
  const second = verdict('ann', 'other')
  await clock.advance(500)
  t.same(await Promise.all([first, second]), ['granted', 'granted'], 'when one review is late')
  const before = rules.paths.length
  t.equal(await verdict(), 'granted', 'at once')
  t.equal(rules.paths.length, before)
  t.equal(prolonged(), 3)
  // They have answers after all.
  open()
  rules.bindings = []
  await clock.advance(20_000)
  t.equal(await verdict(), 'pass')
})

t.test('a rule that changes ends it at once', async t => {
  const { clock, rules, verdict, authorizer } = await setUp()
  rules.code = 429
  await clock.advance(10_000)
  t.equal(await verdict(), 'granted')
  authorizer.rulesChanged()
  t.equal(await verdict(), 'pass')
})

t.test('a yes of right after a change of rules may be an old one, and does not last', async t => {
  const { clock, rules, verdict, authorizer } = await setUp()
  authorizer.rulesChanged()
  await clock.advance(4_000)
  t.equal(await verdict(), 'granted')
  rules.code = 429
  await clock.advance(1_000)
  t.equal(await verdict(), 'pass')
})

t.test('who wants each request to be reviewed has nothing prolonged', async t => {
  const { rules, verdict } = await setUp(0)
  t.equal(await verdict(), 'granted')
  rules.code = 429
  t.equal(await verdict(), 'pass')
})
