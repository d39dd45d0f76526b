/** Copies of mirrors that begin on demand, end, and begin anew: those of a Kubernetes API. */

import t from 'tap'
import { createRandom } from '../../lib/base/random.ts'
import type { Key } from '../../lib/base/keys.ts'
import type { ReadOutcome } from '../../lib/cache/mirror/reads/read.ts'
import type { MirrorSink } from '../../lib/cache/mirror/mirrored-keyspace.ts'
import type { Resource } from '../../lib/kube/resources/resource.ts'
import type { ApiMirrors } from '../../lib/source/api-mirrors.ts'
import type { WorkerMirrors } from '../../lib/workers/mirror/worker-mirrors.ts'
import type { MirrorSide } from '../../lib/workers/mirror/mirror-side.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { RecordingSink } from '../support/mirror/mirror-builders.ts'
import { attachCopies, mirrorSideOf } from '../support/mirror/copies.ts'
import { FakeApi } from '../support/source/fake-api.ts'
import {
  configMaps,
  configMapVersions,
  followedBy,
  followedDescription,
} from '../support/source/followed.ts'

interface CopiedWorld {
  readonly clock: FakeClock
  readonly api: FakeApi
  readonly mirrors: ApiMirrors
  readonly side: MirrorSide
  readonly copies: WorkerMirrors
  readonly stop: () => Promise<void>
}

interface WorldOptions {
  readonly isWantedAtStart?: (keyspace: Key) => boolean
  readonly versionsOf?: () => readonly Resource[]
  /** In the thread that has copies. */
  readonly isWatched?: (keyspace: Key) => boolean
}

async function world({ isWatched, ...options }: WorldOptions = {}): Promise<CopiedWorld> {
  const clock = new FakeClock()
  const api = new FakeApi({ clock, random: createRandom(1) })
  for (let i = 0; i < 20; i++) api.write(`c${i}`, `first ${i}`)
  const sink: MirrorSink = {
    applied: keyspace => side.applied(keyspace),
    progressed: () => side.progressed(),
    reset: keyspace => side.reset(keyspace),
    stateChanged: keyspace => side.stateChanged(keyspace),
  }
  const mirrors: ApiMirrors = followedBy(clock, {
    upstream: api,
    sink,
    onFactsChanged: () => side.factsChanged(),
    ...options,
  })
  const side: MirrorSide = mirrorSideOf(mirrors, clock)
  const { copies, fed } = attachCopies(side, clock, new RecordingSink(), isWatched)
  copies.add(followedDescription)
  mirrors.start()
  await clock.advance(5000)
  const stop = async (): Promise<void> => {
    fed.end()
    await copies.stop()
    await mirrors.stop()
  }
  return { clock, api, mirrors, side, copies, stop }
}

async function list(
  { clock }: CopiedWorld,
  copies: WorkerMirrors,
  type: 'any' | 'consistent' = 'consistent',
): Promise<ReadOutcome> {
  let outcome: ReadOutcome | undefined
  const read = copies.read(configMaps, { freshness: { type }, elsewhere: 'anywhere' })
  void Promise.resolve(read).then(settled => (outcome = settled))
  for (let i = 0; i < 400 && outcome === undefined; i++) await clock.advance(10)
  if (outcome === undefined) throw new Error('the read has not ended')
  return outcome
}

/** The value of an object in the contents that a read was answered with. */
function valueOf(outcome: ReadOutcome, name: string): string | undefined {
  if (outcome.from !== 'mirror') return `elsewhere: ${outcome.reason}`
  const entry = outcome.snapshot.get(`${configMaps}default/${name}` as Key)
  if (entry === undefined) return undefined
  const stored = JSON.parse(Buffer.from(entry.value).toString()) as { data: { value: string } }
  return stored.data.value
}

t.test('a resource that a thread wants is mirrored, and read there', async t => {
  const w = await world({ isWantedAtStart: () => false })
  t.notOk(w.copies.has(configMaps))
  t.strictSame(await list(w, w.copies), { from: 'elsewhere', reason: 'not-ready' })
  t.strictSame(w.api.requests, [], 'nobody has asked for it')
  w.copies.want(configMaps)
  await w.clock.advance(5000)
  t.ok(w.copies.has(configMaps))
  w.api.write('c1', 'second')
  t.equal(valueOf(await list(w, w.copies), 'c1'), 'second')
  t.equal(w.copies.proofOf(configMaps), 'event', 'with its proof')
  w.api.writeOther()
  t.equal(valueOf(await list(w, w.copies), 'c1'), 'second')
  t.equal(w.copies.proofOf(configMaps), 'short-watch')
  await w.stop()
})

t.test('what a thread reads or watches is kept', async t => {
  const watched = { is: false }
  const w = await world({
    isWantedAtStart: () => false,
    isWatched: () => watched.is,
  })
  const { mirrors, copies, clock } = w
  copies.want(configMaps)
  await clock.advance(5000)
  for (let i = 0; i < 4; i++) {
    t.match(await list(w, copies, 'any'), { from: 'mirror' })
    await clock.advance(20 * 60_000)
  }
  watched.is = true
  await clock.advance(80 * 60_000)
  t.ok(mirrors.has(configMaps), 'it is watched in the thread')
  watched.is = false
  await clock.advance(32 * 60_000)
  t.notOk(mirrors.has(configMaps))
  t.notOk(copies.has(configMaps))
  await w.stop()
})

t.test('what is not mirrored any more is not read in a thread either', async t => {
  const w = await world()
  t.equal(valueOf(await list(w, w.copies), 'c1'), 'first 1')
  w.api.refusal = 403
  w.api.restart()
  await w.clock.advance(5000)
  t.notOk(w.mirrors.has(configMaps))
  t.notOk(w.copies.has(configMaps))
  t.strictSame(await list(w, w.copies, 'any'), { from: 'elsewhere', reason: 'not-ready' })
  w.api.refusal = undefined
  w.api.write('c1', 'later')
  await w.clock.advance(600_000)
  t.equal(valueOf(await list(w, w.copies), 'c1'), 'later', 'and is read when it is mirrored again')
  await w.stop()
})

t.test('contents of a resource that is followed in another way replace the former', async t => {
  let versions = configMapVersions
  const w = await world({ versionsOf: () => versions })
  t.equal(valueOf(await list(w, w.copies), 'c1'), 'first 1')
  const before = w.copies.keyspace(configMaps)
  versions = configMapVersions.map(one => ({ ...one, isNamespaced: true, version: 'v2' }))
  w.mirrors.redefined()
  await w.clock.advance(0)
  t.notOk(w.mirrors.keyspace(configMaps).isServed)
  t.notOk(w.copies.keyspace(configMaps).isServed, 'nothing of the former is shown')
  t.ok(before.isDropped)
  await w.clock.advance(5000)
  t.equal(valueOf(await list(w, w.copies), 'c1'), 'first 1')
  await w.stop()
})

t.test('a thread that comes later has what there is, and what is gone it never had', async t => {
  const w = await world()
  w.api.refusal = 403
  w.api.restart()
  await w.clock.advance(5000)
  w.api.refusal = undefined
  await w.clock.advance(600_000)
  w.api.write('c2', 'second')
  const later = attachCopies(w.side, w.clock)
  later.copies.add(followedDescription)
  await w.clock.advance(100)
  for (const copies of [w.copies, later.copies]) {
    t.equal(valueOf(await list(w, copies), 'c2'), 'second')
    t.equal(copies.statuses().length, 1)
  }
  later.fed.end()
  await later.copies.stop()
  await w.stop()
})

t.test('an epoch of the API is one of the copies', async t => {
  const w = await world()
  w.api.write('c1', 'lost')
  await w.clock.advance(2000)
  t.equal(valueOf(await list(w, w.copies), 'c1'), 'lost')
  w.api.restore(15)
  t.not(valueOf(await list(w, w.copies), 'c1'), 'lost', 'a consistent read shows nothing lost')
  await w.clock.advance(10_000)
  t.equal(valueOf(await list(w, w.copies), 'c1'), 'first 1')
  await w.stop()
})
