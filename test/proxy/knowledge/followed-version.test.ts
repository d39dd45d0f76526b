/** Each fact that is asked for again: which outcome keeps what is known, and which replaces it. The
 *  time is that of the test. */

import t, { type Test } from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import type { CacheError } from '../../../lib/base/errors.ts'
import { FollowedVersion } from '../../../lib/proxy/knowledge/followed-version.ts'
import { UpstreamFailure } from '../../../lib/proxy/upstream/failure.ts'
import type { Questions } from '../../../lib/proxy/upstream/upstream.ts'
import type { UpstreamAnswer } from '../../../lib/cache/http/auth/upstream-calls.ts'
import type { Resource } from '../../../lib/kube/resources/resource.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { type Said, sayingLogger } from '../../support/saying-logger.ts'

const jobs = {
  group: 'batch',
  version: 'v1',
  resource: 'jobs',
  storageVersionHash: 'ours',
} as Resource

type Path = '/version' | '/metrics' | '/openapi/v3' | '/apis/batch/v1'
type Outcome = 'same' | 'other' | 'not JSON' | number | 'late' | 'gone' | 'reset'

const documents: Readonly<Record<Path, Readonly<Record<'same' | 'other', string>>>> = {
  '/version': {
    same: JSON.stringify({ gitVersion: 'v1.36.0', minor: '36' }),
    other: JSON.stringify({ gitVersion: 'v1.35.0', minor: '35' }),
  },
  '/metrics': {
    same: 'kubernetes_feature_enabled{name="A"} 0\n',
    other: 'kubernetes_feature_enabled{name="A"} 1\n',
  },
  '/openapi/v3': {
    same: JSON.stringify({ paths: { 'apis/batch/v1': { serverRelativeURL: '?hash=1' } } }),
    other: JSON.stringify({ paths: { 'apis/batch/v1': { serverRelativeURL: '?hash=2' } } }),
  },
  '/apis/batch/v1': {
    same: JSON.stringify({ resources: [{ name: 'jobs', storageVersionHash: 'ours' }] }),
    other: JSON.stringify({ resources: [{ name: 'jobs', storageVersionHash: 'other' }] }),
  },
}

interface Followed {
  readonly clock: FakeClock
  readonly followed: FollowedVersion
  readonly outcomes: Record<Path, Outcome>
  readonly asked: Record<Path, number>
  readonly said: Said[]
  /** All that may decide whether a resource is answered here. */
  readonly known: () => unknown
}

async function following(t: Test): Promise<Followed> {
  const clock = new FakeClock()
  const outcomes = recordOf<Outcome>('same')
  const asked = recordOf(0)
  const answer = async (path: string): Promise<UpstreamAnswer> => {
    asked[path as Path]++
    return answerOf(path as Path, outcomes[path as Path])
  }
  const upstream: Questions = {
    call: ({ path }) => answer(path),
    callEach: async ({ path }) => [await answer(path).catch((error: CacheError) => error)],
    line: () => ({ call: ({ path }) => answer(path), isOpen: true, close() {} }),
  }
  const { logger, said } = sayingLogger()
  const followed = new FollowedVersion({
    upstream,
    clock,
    random: createRandom(1),
    logger,
    isKubernetes: () => true,
    builtIns: () => [jobs],
    onChange: () => {},
  })
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  void followed.follow(stop.signal)
  await clock.advance(10_000)
  const known = (): unknown => [
    followed.versions.map(({ minor }) => minor),
    [...followed.statesOf(jobs)],
    followed.isStoredOtherwise(jobs),
  ]
  return { clock, followed, outcomes, asked, said, known }
}

function recordOf<T>(value: T): Record<Path, T> {
  return { '/version': value, '/metrics': value, '/openapi/v3': value, '/apis/batch/v1': value }
}

function answerOf(path: Path, outcome: Outcome): UpstreamAnswer {
  if (outcome === 'gone') throw new UpstreamFailure('unreachable', 'it cannot be reached')
  if (outcome === 'late') throw new UpstreamFailure('late', 'it is late')
  if (outcome === 'reset') throw new UpstreamFailure('broken', 'it was broken off')
  if (outcome === 'not JSON') return { code: 200, headers: {}, body: Buffer.from('<html>') }
  if (typeof outcome === 'number') return { code: outcome, headers: {}, body: Buffer.from('{}') }
  return { code: 200, headers: {}, body: Buffer.from(documents[path][outcome]) }
}

const keep: readonly Outcome[] = [
  'same',
  429,
  500,
  502,
  503,
  504,
  401,
  403,
  'late',
  'gone',
  'reset',
]

const table: Readonly<Record<Path, { keeps: readonly Outcome[]; drops: readonly Outcome[] }>> = {
  '/version': { keeps: [...keep, 'not JSON'], drops: ['other', 404] },
  // A page without gates is one of another server.
  '/metrics': { keeps: keep, drops: ['other', 404, 'not JSON'] },
  '/openapi/v3': { keeps: [...keep, 'not JSON'], drops: ['other', 404] },
  // Without a hash nothing is known to be stored otherwise.
  '/apis/batch/v1': { keeps: [...keep, 'not JSON', 404], drops: ['other'] },
}

for (const [path, { keeps, drops }] of Object.entries(table)) {
  for (const outcome of [...keeps, ...drops]) {
    const isKept = keeps.includes(outcome)
    t.test(`${path} is then answered ${outcome}: ${isKept ? 'kept' : 'dropped'}`, async t => {
      const { clock, followed, outcomes, asked, known } = await following(t)
      const before = known()
      const askedBefore = asked[path as Path]
      outcomes[path as Path] = outcome
      followed.askAgain()
      await clock.advance(60_000)
      t.ok(asked[path as Path] > askedBefore, 'it was asked again')
      const isSame = JSON.stringify(known()) === JSON.stringify(before)
      t.equal(isSame, isKept)
    })
  }
}

t.test('a storage version that differs stays known while its document cannot be had', async t => {
  const { clock, followed, outcomes } = await following(t)
  outcomes['/apis/batch/v1'] = 'other'
  followed.askAgain()
  await clock.advance(20_000)
  t.ok(followed.isStoredOtherwise(jobs))
  outcomes['/apis/batch/v1'] = 429
  followed.askAgain()
  await clock.advance(20_000)
  t.ok(followed.isStoredOtherwise(jobs))
  outcomes['/apis/batch/v1'] = 'same'
  await clock.advance(20_000)
  t.notOk(followed.isStoredOtherwise(jobs), 'it is asked for until there is an answer')
})

t.test('while nothing is answered, everything stays known and little is asked', async t => {
  const { clock, followed, outcomes, asked, said, known } = await following(t)
  const before = JSON.stringify(known())
  for (const path of Object.keys(outcomes)) outcomes[path as Path] = 429
  followed.askAgain()
  const askedBefore = { ...asked }
  for (let ms = 0; ms < 300_000; ms += 1_000) {
    await clock.advance(1_000)
    t.equal(JSON.stringify(known()), before)
  }
  t.ok(followed.unansweredMs > 290_000)
  for (const [path, count] of Object.entries(asked)) {
    t.ok(count - askedBefore[path as Path] < 50, `${path} was asked for too often`)
  }
  for (const path of Object.keys(outcomes)) outcomes[path as Path] = 'same'
  await clock.advance(20_000)
  t.equal(JSON.stringify(known()), before)
  t.equal(followed.unansweredMs, 0)
  t.same(
    said.map(({ level, fields }) => [level, Object.keys(fields)]),
    [
      ['warn', ['reason']],
      ['info', ['seconds']],
    ],
    'it is said once, and once that it is over',
  )
})

t.test('gates that had no answer are asked for again soon, not in ten minutes', async t => {
  const { clock, followed, outcomes, known } = await following(t)
  const before = JSON.stringify(known())
  outcomes['/metrics'] = 503
  followed.askAgain()
  await clock.advance(10_000)
  outcomes['/metrics'] = 'other'
  await clock.advance(25_000)
  t.not(JSON.stringify(known()), before)
})

t.test('health checks that fail now and then do not have metrics read each time', async t => {
  const { clock, followed, asked } = await following(t)
  const before = asked['/metrics']
  for (let i = 0; i < 60; i++) {
    followed.askAgain()
    await clock.advance(1_000)
  }
  t.ok(asked['/metrics'] - before <= 13)
})
