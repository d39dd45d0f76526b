import t from 'tap'
import { createRandom } from '../../lib/base/random.ts'
import type { Revision } from '../../lib/base/revision.ts'
import type { ReadOutcome } from '../../lib/cache/mirror/reads/read.ts'
import type { ApiMirrors } from '../../lib/source/api-mirrors.ts'
import { Refusals } from '../../lib/source/refusals.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { silentLogger } from '../support/silent-logger.ts'
import { FakeApi } from '../support/source/fake-api.ts'
import { configMaps, followedBy, silentSink } from '../support/source/followed.ts'

const minuteMs = 60_000

const calm = { cut: 0, tooManyRequests: 0, lostBookmark: 0, stall: 0, errorEvent: 0 }

interface World {
  readonly clock: FakeClock
  readonly api: FakeApi
}

function world(): World {
  const clock = new FakeClock()
  const api = new FakeApi({ clock, random: createRandom(1) })
  for (let i = 0; i < 250; i++) api.write(`c${i}`, `first ${i}`)
  return { clock, api }
}

async function started({ clock, api }: World): Promise<ApiMirrors> {
  const mirrors = followedBy(clock, { upstream: api })
  mirrors.start()
  await clock.advance(5000)
  return mirrors
}

/** The outcome of a consistent list, and its time. */
async function list(
  { clock }: World,
  mirrors: ApiMirrors,
  work?: 'little' | 'list' | 'watch',
  turns = 700,
): Promise<{ readonly outcome: ReadOutcome; readonly tookMs: number }> {
  const beganMs = clock.monotonicMs()
  let outcome: ReadOutcome | undefined
  const freshness = { type: 'consistent' } as const
  void Promise.resolve(mirrors.read(configMaps, { freshness, elsewhere: 'anywhere', work })).then(
    settled => (outcome = settled),
  )
  for (let i = 0; i < turns && outcome === undefined; i++) await clock.advance(10)
  if (outcome === undefined) throw new Error('the read has not ended')
  return { outcome, tookMs: clock.monotonicMs() - beganMs }
}

t.test('objects are held as etcd has them: without their resourceVersion', async t => {
  const w = world()
  const mirrors = await started(w)
  const { store } = mirrors.keyspace(configMaps)
  t.equal(store.latest().size, 250, 'read in pages')
  const entry = store.latest().get(`${configMaps}default/c7` as typeof configMaps)
  t.equal(entry?.modRevision, 9)
  const stored = Buffer.from(entry?.value ?? []).toString()
  t.match(stored, /^\{"kind":"ConfigMap","apiVersion":"v1","metadata":\{"name":"c7"/)
  t.notMatch(stored, 'resourceVersion')
  await mirrors.stop()
})

t.test('a consistent read waits for the bookmark of a short watch', async t => {
  const w = world()
  const mirrors = await started(w)
  w.api.writeOther()
  const { outcome, tookMs } = await list(w, mirrors)
  t.equal(outcome.from, 'mirror')
  t.ok(tookMs > 50 && tookMs <= 2300, `${tookMs} ms`)
  t.ok(w.api.requests.some(path => path.includes('timeoutSeconds=3')))
  const again = await list(w, mirrors)
  t.equal(again.outcome.from, 'mirror')
  t.ok(again.tookMs < 100, 'nothing was written since')
  await mirrors.stop()
})

t.test('a consistent read of what changes is proven by the event', async t => {
  const w = world()
  const mirrors = await started(w)
  w.api.write('c1', 'second')
  const { outcome, tookMs } = await list(w, mirrors)
  t.equal(outcome.from, 'mirror')
  t.ok(tookMs < 100, `${tookMs} ms`)
  await mirrors.stop()
})

t.test('a get is passed on: a proof would cost more', async t => {
  const w = world()
  const mirrors = await started(w)
  const { outcome } = await list(w, mirrors, 'little')
  t.strictSame(outcome, { from: 'elsewhere', reason: 'cheaper-elsewhere' })
  for (let i = 0; i < 60; i++) await list(w, mirrors, 'little')
  await mirrors.stop()
})

t.test('consistent reads of a resource without bookmarks pass', async t => {
  const w = world()
  w.api.hasBookmarks = false
  const mirrors = await started(w)
  await w.clock.advance(5000)
  w.api.writeOther()
  const { outcome } = await list(w, mirrors)
  t.strictSame(outcome, { from: 'elsewhere', reason: 'progress-untrusted' })
  await mirrors.stop()
})

t.test('a watch that ends is continued before it does, without a gap', async t => {
  const w = world()
  const states: string[] = []
  const sink = {
    ...silentSink,
    stateChanged: (_: string, state: string) => void states.push(state),
  }
  const mirrors = followedBy(w.clock, { upstream: w.api, sink })
  mirrors.start()
  await w.clock.advance(10_000)
  for (let i = 0; i < 200; i++) {
    w.api.write(`c${i % 250}`, `at ${i}`)
    await w.clock.advance(5000)
  }
  t.strictSame(states, ['catching-up', 'ready'])
  t.ok(w.api.openWatches <= 3, `${w.api.openWatches} watches`)
  t.equal(mirrors.proven(configMaps), w.api.revision as Revision)
  await mirrors.stop()
})

t.test('a forbidden resource passes, and is tried again later', async t => {
  const w = world()
  w.api.refusal = 403
  const said: string[] = []
  const logger = {
    debug() {},
    info() {},
    warn: (message: string) => void said.push(message),
    error: (message: string) => void said.push(message),
  }
  const mirrors = followedBy(w.clock, { upstream: w.api, logger })
  mirrors.start()
  await w.clock.advance(10_000)
  t.notOk(mirrors.has(configMaps))
  t.strictSame(mirrors.statuses(), [])
  const before = w.api.requests.length
  await w.clock.advance(60_000)
  t.equal(w.api.requests.length, before, 'it is not asked for meanwhile')
  t.equal(said.length, 1)
  w.api.refusal = undefined
  await w.clock.advance(600_000)
  t.ok(mirrors.has(configMaps))
  t.equal(mirrors.keyspace(configMaps).state, 'ready')
  await mirrors.stop()
})

t.test('an outage is told with its cause, once for all, and so is its end', async t => {
  const w = world()
  const said: string[] = []
  const logger = {
    debug() {},
    info: (message: string) => void said.push(message),
    warn: (message: string) => void said.push(message),
    error: (message: string) => void said.push(message),
  }
  const mirrors = followedBy(w.clock, { upstream: w.api, logger })
  mirrors.start()
  await w.clock.advance(20_000)
  w.api.refusal = 500
  w.api.restart()
  await w.clock.advance(5000)
  t.equal(mirrors.outage(), undefined, 'a watch that is cut off begins anew')
  await w.clock.advance(20_000)
  t.match(mirrors.outage(), /^configmaps cannot be followed since \S+Z: the upstream answers 500$/)
  const any = { freshness: { type: 'any' }, elsewhere: 'anywhere' } as const
  t.match(await mirrors.read(configMaps, any), { from: 'mirror', isStale: true })
  w.api.refusal = undefined
  await w.clock.advance(30_000)
  t.equal(mirrors.outage(), undefined)
  t.strictSame(said, [
    'resources of the upstream cannot be followed: what is held is served where it may be old, and all else passes',
    'all resources of the upstream are followed again',
  ])
  await mirrors.stop()
})

t.test('a busy upstream is left alone for as long as it says, by every question', async t => {
  const w = world()
  const mirrors = await started(w)
  w.api.retryAfterSeconds = 10
  w.api.faults = { ...calm, tooManyRequests: 1 }
  w.api.restart()
  await w.clock.advance(5000)
  const before = w.api.requests.length
  await w.clock.advance(60_000)
  const asked = w.api.requests.length - before
  t.ok(asked >= 2 && asked <= 12, `${asked} questions in a minute`)
  const any = { freshness: { type: 'any' }, elsewhere: 'anywhere' } as const
  t.match(await mirrors.read(configMaps, any), { from: 'mirror', isStale: true })
  t.match(mirrors.outage(), /the upstream answers 429/)
  w.api.faults = calm
  await w.clock.advance(30_000)
  t.equal(mirrors.keyspace(configMaps).state, 'ready')
  await mirrors.stop()
})

t.test(
  'credentials that are refused until they are renewed are an outage, and no more',
  async t => {
    const w = world()
    const mirrors = await started(w)
    w.api.refusal = 401
    w.api.restart()
    await w.clock.advance(30_000)
    t.match(mirrors.outage(), /the upstream answers 401/)
    t.ok(mirrors.has(configMaps), 'it is not given up, as what is forbidden')
    const any = { freshness: { type: 'any' }, elsewhere: 'anywhere' } as const
    t.match(await mirrors.read(configMaps, any), { from: 'mirror', isStale: true })
    w.api.refusal = undefined
    await w.clock.advance(30_000)
    t.equal(mirrors.keyspace(configMaps).state, 'ready')
    await mirrors.stop()
  },
)

t.test('a start that takes the upstream minutes is one list', async t => {
  const w = world()
  w.api.listMs = 8000
  const mirrors = followedBy(w.clock, { upstream: w.api })
  mirrors.start()
  await w.clock.advance(5000)
  t.equal(mirrors.awaited().length, 1)
  await w.clock.advance(10 * minuteMs)
  t.equal(mirrors.keyspace(configMaps).state, 'ready')
  t.strictSame(mirrors.awaited(), [])
  const first = w.api.requests.filter(path => /configmaps\?limit=\d{2,}$/.test(path))
  t.equal(first.length, 1, 'no second one was begun meanwhile')
  await mirrors.stop()
})

t.test('of two servers at different revisions, no answer goes back', async t => {
  const clock = new FakeClock()
  const api = new FakeApi({ clock, random: createRandom(3), servers: 2 })
  for (let i = 0; i < 20; i++) api.write(`c${i}`, 'first')
  const w = { clock, api }
  const mirrors = await started(w)
  api.servers[1]!.lagMs = 4000
  let shown = 0
  for (let i = 0; i < 60; i++) {
    const written = api.write(`c${i % 20}`, `at ${i}`)
    // Each ends a watch, so that the next server is another one.
    if (i % 10 === 0) api.restart()
    const { outcome } = await list(w, mirrors)
    if (outcome.from === 'mirror') t.ok(outcome.snapshot.revision >= written)
    const any = { freshness: { type: 'any' }, elsewhere: 'anywhere' } as const
    const old = await mirrors.read(configMaps, any)
    if (old.from === 'mirror') {
      t.ok(old.snapshot.revision >= shown)
      shown = old.snapshot.revision
    }
    await clock.advance(700)
  }
  await clock.advance(30_000)
  t.equal(mirrors.keyspace(configMaps).store.latest().revision, api.revision)
  await mirrors.stop()
})

t.test('what nobody reads is not asked for', async t => {
  const w = world()
  const mirrors = followedBy(w.clock, { upstream: w.api, isWantedAtStart: () => false })
  mirrors.start()
  await w.clock.advance(10_000)
  t.strictSame(w.api.requests, [])
  t.strictSame(
    await mirrors.read(configMaps, { freshness: { type: 'any' }, elsewhere: 'anywhere' }),
    {
      from: 'elsewhere',
      reason: 'not-ready',
    },
  )
  mirrors.want(configMaps)
  await w.clock.advance(10_000)
  t.equal(mirrors.keyspace(configMaps).state, 'ready')
  const asked = w.api.requests.length
  await w.clock.advance(120_000)
  t.ok(w.api.requests.length - asked < 2, 'a quiet resource costs one watch')
  await mirrors.stop()
})

t.test('a resource that nobody has read for a while is let go, and mirrored again', async t => {
  const w = world()
  const watched = { is: false }
  const mirrors = followedBy(w.clock, {
    upstream: w.api,
    isWantedAtStart: () => false,
    isWatched: () => watched.is,
  })
  mirrors.start()
  mirrors.want(configMaps)
  await w.clock.advance(20 * minuteMs)
  const any = { freshness: { type: 'any' }, elsewhere: 'anywhere' } as const
  t.match(await mirrors.read(configMaps, any), { from: 'mirror' })
  await w.clock.advance(20 * minuteMs)
  t.ok(mirrors.has(configMaps), 'it was read since')
  watched.is = true
  await w.clock.advance(60 * minuteMs)
  t.ok(mirrors.has(configMaps), 'it is watched')
  watched.is = false
  await w.clock.advance(29 * minuteMs)
  t.ok(mirrors.has(configMaps), 'the last watch has just ended')
  await w.clock.advance(3 * minuteMs)
  t.notOk(mirrors.has(configMaps))
  t.equal(mirrors.keyspace(configMaps).store.latest().size, 0, 'its memory is given back')
  t.equal(w.api.openWatches, 0)
  t.match(await mirrors.read(configMaps, any), { from: 'elsewhere', reason: 'not-ready' })
  mirrors.want(configMaps)
  await w.clock.advance(10_000)
  t.match(await mirrors.read(configMaps, any), { from: 'mirror' })
  await mirrors.stop()
})

t.test('what is mirrored from the start is kept, read or not', async t => {
  const w = world()
  const mirrors = await started(w)
  await w.clock.advance(120 * minuteMs)
  t.equal(mirrors.keyspace(configMaps).state, 'ready')
  await mirrors.stop()
})

t.test('a restored backup is another history: nothing of the old one is shown', async t => {
  const w = world()
  const mirrors = await started(w)
  for (let i = 0; i < 50; i++) w.api.write('c1', `lost ${i}`)
  await w.clock.advance(2000)
  w.api.restore(200)
  await w.clock.advance(20_000)
  t.equal(mirrors.keyspace(configMaps).state, 'ready')
  t.equal(mirrors.keyspace(configMaps).store.latest().size, w.api.objects.size)
  t.ok(mirrors.isOfOldEpoch(configMaps, 290 as Revision))
  await mirrors.stop()
})

/** Restored stores with other contents, which differ by a modification only. */
const restores: readonly {
  readonly name: string
  readonly before: (api: FakeApi) => void
  /** Once it is mirrored. */
  readonly mirrored: (w: World) => Promise<void>
  readonly restored: (api: FakeApi) => void
}[] = [
  {
    name: 'contents that were read long after their last change',
    before: api => times(20, () => api.writeOther()),
    mirrored: async () => {},
    restored(api) {
      api.restore(255)
      api.write('c1', 'other')
    },
  },
  {
    name: 'a deletion was the last change',
    before: () => {},
    async mirrored({ api, clock }) {
      api.write('c2', 'second')
      api.writeOther()
      api.delete('c3')
      await clock.advance(1000)
    },
    restored(api) {
      api.restore(252)
      api.delete('c3')
      api.write('c1', 'other')
    },
  },
  {
    name: 'progress came after the last change, which the server cannot watch from any more',
    before: () => {},
    async mirrored({ api, clock }) {
      api.write('c2', 'second')
      times(10, () => api.writeOther())
      await clock.advance(90_000)
    },
    restored(api) {
      api.restore(255)
      api.write('c1', 'other')
    },
  },
]

for (const { name, before, mirrored, restored } of restores) {
  t.test(`a restored store that has passed us is another history: ${name}`, async t => {
    const w = world()
    before(w.api)
    const mirrors = await started(w)
    await mirrored(w)
    restored(w.api)
    times(30, () => w.api.writeOther())
    await w.clock.advance(20_000)
    const { outcome } = await list(w, mirrors)
    t.equal(outcome.from, 'mirror')
    const entry = mirrors.keyspace(configMaps).store.latest().get(keyOf('c1'))
    t.match(Buffer.from(entry?.value ?? []).toString(), '"value":"other"')
    await mirrors.stop()
  })
}

t.test('after a cut, contents whose newest change is not known are compared, once', async t => {
  const w = world()
  times(20, () => w.api.writeOther())
  const resets: string[] = []
  const sink = { ...silentSink, reset: (_: string, reason: string) => void resets.push(reason) }
  const mirrors = followedBy(w.clock, { upstream: w.api, sink })
  mirrors.start()
  await w.clock.advance(5000)
  w.api.requests.length = 0
  w.api.restart()
  await w.clock.advance(20_000)
  t.equal(mirrors.keyspace(configMaps).state, 'ready')
  t.strictSame(resets, [], 'nothing is replaced')
  const compared = w.api.requests.filter(path => path.includes('limit=5000'))
  t.equal(compared.length, 1, w.api.requests.join('\n'))
  await mirrors.stop()
})

t.test('a streaming list waits for longer, and passes in the end', async t => {
  const w = world()
  const mirrors = await started(w)
  w.api.servers[0]!.lagMs = 5000
  w.api.writeOther()
  const late = await list(w, mirrors, 'watch')
  t.equal(late.outcome.from, 'mirror')
  t.ok(late.tookMs > 2600, `${late.tookMs} ms`)
  w.api.servers[0]!.lagMs = 60_000
  w.api.writeOther()
  const passed = await list(w, mirrors, 'watch', 1500)
  t.strictSame(passed.outcome, { from: 'elsewhere', reason: 'progress-untrusted' })
  t.ok(passed.tookMs >= 10_000 && passed.tookMs < 11_000, `${passed.tookMs} ms`)
  await mirrors.stop()
})

t.test('resources that are refused together are told in one line', async t => {
  const clock = new FakeClock()
  const told: unknown[] = []
  const warn = (message: string, fields: unknown): void => void told.push([message, fields])
  const refusals = new Refusals({ clock, logger: { ...silentLogger, warn } })
  refusals.note({ resource: 'nodes', reason: 'no nodes' })
  refusals.note({ resource: 'roles', reason: 'no roles' })
  await clock.advance(5000)
  refusals.note({ resource: 'secrets', reason: 'no secrets' })
  refusals.stop()
  t.strictSame(told, [
    [
      'the upstream does not let us follow resources: their requests pass',
      { resources: 'nodes, roles', firstReason: 'no nodes' },
    ],
    [
      'the upstream does not let us follow a resource: its requests pass',
      { resource: 'secrets', reason: 'no secrets' },
    ],
  ])
})

function keyOf(name: string): typeof configMaps {
  return `${configMaps}default/${name}` as typeof configMaps
}

function times(count: number, act: () => void): void {
  for (let i = 0; i < count; i++) act()
}
