/** Watches through replicas with a mirror in front of a real etcd, which all tests share: revisions
 *  are counted from where a test begins. */

import t, { type Test } from 'tap'
import { startEtcd } from '../support/etcd/etcd-cluster.ts'
import type { Message } from '../support/etcd/raw-etcd.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'
import { openSides, type Sides, type TestReplicaOptions } from '../support/etcd/test-replica.ts'
import { WatchLog } from '../support/etcd/watch-log.ts'
import { base64 } from './engine/operations.ts'

const etcd = await findEtcd('3.5')
const { skip } = etcd

const shortHistory = { maxBatches: 10, maxAgeMs: 600_000, maxBytes: 10_000_000 }

const cluster = skip === false ? await startEtcd(t, etcd) : undefined

interface Started extends Sides {
  /** Added to the revisions of an empty etcd. */
  readonly offset: number
}

/** A replica of the test's own. */
async function start(t: Test, options: TestReplicaOptions = {}): Promise<Started> {
  const sides = await openSides(t, cluster!, options)
  const revisions = sides.replica.replica.mirrors.statuses().map(({ revision }) => revision)
  return { ...sides, offset: Math.min(...revisions) - 1 }
}

/** Revisions from 2 on. */
function revisions({ offset }: Started, count: number): number[] {
  return Array.from({ length: count }, (_, i) => offset + i + 2)
}

function watch(t: Test, { through }: Sides, metadata: Record<string, string> = {}): WatchLog {
  const log = new WatchLog(through, metadata)
  t.teardown(() => log.close())
  return log
}

async function put({ direct }: Sides, key: string, count = 1): Promise<number> {
  let revision = 0
  for (let i = 0; i < count; i++) {
    const answer = await direct.call('KV', 'Put', { key: base64(key), value: base64(`${i}`) })
    if ('response' in answer) {
      revision = Number((answer.response['header'] as { revision: string }).revision)
    }
  }
  return revision
}

/** Waits until the mirror has this revision. */
async function mirrored({ replica }: Sides, revision: number): Promise<void> {
  while (replica.replica.mirrors.statuses().some(one => one.revision < revision)) {
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

/** A watcher from a revision on, or from now on. */
function from({ offset }: Started, revision: number, key = 'a'): Message {
  return { key: base64(key), startRevision: String(revision === 0 ? 0 : revision + offset) }
}

t.test(
  'a start before the history comes from etcd, and goes on from the history',
  { skip },
  async t => {
    const sides = await start(t, { history: shortHistory })
    const last = await put(sides, 'a', 100)
    await mirrored(sides, last)
    const log = watch(t, sides)
    await log.create(from(sides, 2))
    await log.until(() => log.events.length === 100)
    const passed = sides.replica.count('Watch', 'etcd')
    await put(sides, 'a', 50)
    await log.until(() => log.events.length === 150)
    t.strictSame(
      log.events.map(({ revision }) => revision),
      revisions(sides, 150),
    )
    t.equal(passed, 0, 'the stream itself does not pass')
    log.send({ progressRequest: {} })
    await log.until(() => log.progress === last + 50)
  },
)

t.test('open watchers are counted until they end, or their stream', { skip }, async t => {
  const sides = await start(t)
  const [one, two] = [watch(t, sides), watch(t, sides)]
  const { watchId = '0' } = await one.create(from(sides, 0))
  await one.create(from(sides, 0))
  await two.create(from(sides, 0))
  t.equal(sides.replica.watchers, 3)
  one.send({ cancelRequest: { watchId } })
  await one.until(() => one.responses.at(-1)?.['canceled'] === true)
  t.equal(sides.replica.watchers, 2)
  one.close()
  two.close()
  while (sides.replica.watchers > 0) await new Promise(resolve => setTimeout(resolve, 5))
})

t.test('a quiet range from before the history is taken over too', { skip }, async t => {
  const sides = await start(t, { history: shortHistory })
  const last = await put(sides, 'b', 100)
  await mirrored(sides, last)
  const log = watch(t, sides)
  await log.create(from(sides, 2))
  // Progress is told for what is taken over only.
  log.send({ progressRequest: {} })
  await log.until(() => log.progress === last)
  await put(sides, 'a')
  await log.until(() => log.events.length === 1)
})

t.test('a compacted start is canceled as etcd cancels it', { skip }, async t => {
  const sides = await start(t)
  await put(sides, 'a', 10)
  await sides.direct.call('KV', 'Compact', { revision: `${8 + sides.offset}` })
  const log = watch(t, sides)
  // The mirror has not been told of the compaction, and its history has what etcd has forgotten.
  await log.create(from(sides, 5))
  await log.until(() => log.events.length === 7)
  await sides.through.call('KV', 'Compact', { revision: `${9 + sides.offset}` })
  const own = watch(t, sides)
  await own.create(from(sides, 5))
  await own.until(() => own.responses.at(-1)?.['canceled'] === true)
  t.match(own.responses.at(-1), { compactRevision: `${9 + sides.offset}` })
})

t.test(
  'ranges that are not mirrored are watched at etcd, on the same stream',
  { skip },
  async t => {
    const sides = await start(t, { prefixes: ['a'] })
    const log = watch(t, sides)
    const mixed = [
      from(sides, 0, 'a'),
      from(sides, 0, 'b'),
      { key: base64('a'), rangeEnd: base64('c') },
    ]
    for (const request of mixed) log.send({ createRequest: request })
    await log.until(() => log.responses.filter(one => one['created'] === true).length === 3)
    t.strictSame(
      log.responses.map(one => one['watchId'] ?? '0'),
      ['0', '1', '2'],
      'one after the other',
    )
    const first = await put(sides, 'a')
    await put(sides, 'b')
    await log.until(() => log.events.length === 4)
    const seen = (id: string): number[] =>
      log.events.filter(({ watch }) => watch === id).map(({ revision }) => revision)
    t.strictSame([seen('0'), seen('1'), seen('2')], [[first], [first + 1], [first, first + 1]])
    while (log.progress < first + 1) {
      log.send({ progressRequest: {} })
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    log.send({ cancelRequest: { watchId: '1' } })
    await log.until(() => log.responses.at(-1)?.['canceled'] === true)
    await put(sides, 'b')
    await log.until(() => log.events.length === 5)
    t.strictSame(seen('1'), [first + 1])
  },
)

t.test('progress is told also when nothing has been written', { skip }, async t => {
  const sides = await start(t)
  const revision = await put(sides, 'a')
  await mirrored(sides, revision)
  const log = watch(t, sides)
  // As clients do after a list.
  await log.create(from({ ...sides, offset: 0 }, revision + 1))
  log.send({ progressRequest: {} })
  await log.until(() => log.progress === revision)
  t.strictSame(log.events, [])
})

t.test('a watch of what comes next begins after what its client has written', { skip }, async t => {
  const sides = await start(t)
  for (let i = 0; i < 20; i++) {
    const value = base64(`${i}`)
    const [log, answer] = [
      watch(t, sides),
      await sides.through.call('KV', 'Put', { key: base64('a'), value }),
    ]
    const created = await log.create({ key: base64('a') })
    const written = 'response' in answer && (answer.response['header'] as Message)['revision']
    t.equal((created['header'] as Message)['revision'], written)
    const next = await put(sides, 'a')
    await log.until(() => log.events.length > 0)
    t.strictSame(log.events, [{ watch: '0', type: 'put', key: 'a', revision: next }])
    log.close()
  }
})

t.test('a large revision comes in fragments to who asks for them', { skip }, async t => {
  const sides = await start(t)
  const value = Buffer.alloc(400_000, 120).toString('base64')
  for (const round of [0, 1]) {
    const success = [0, 1, 2].map(i => ({ requestPut: { key: base64(`k${i}`), value } }))
    t.match(await sides.direct.call('KV', 'Txn', { success }), { response: {} }, `round ${round}`)
  }
  const [whole, parts] = [watch(t, sides), watch(t, sides)]
  const request = { ...from(sides, 3, 'k'), rangeEnd: base64('l'), prevKv: true }
  await Promise.all([whole.create(request), parts.create({ ...request, fragment: true })])
  for (const log of [whole, parts]) await log.until(() => log.events.length === 3)
  const answers = (log: WatchLog): Message[] => log.responses.filter(one => one['events'])
  t.strictSame(
    answers(whole).map(({ fragment }) => fragment),
    [undefined],
    'a revision is not split',
  )
  const fragments = answers(parts).map(({ fragment }) => fragment)
  t.ok(fragments.length > 1)
  t.strictSame(fragments, [...fragments.slice(1).map(() => true), undefined])
  t.strictSame(parts.events, whole.events)
})

t.test('a client that does not read costs a position', { skip }, async t => {
  const sides = await start(t, { history: { ...shortHistory, maxBatches: 30 } })
  const log = watch(t, sides)
  await log.create(from(sides, 2))
  log.pause()
  const value = Buffer.alloc(200_000, 120).toString('base64')
  for (let i = 0; i < 8; i++) {
    const puts = Array.from({ length: 10 }, () =>
      sides.direct.call('KV', 'Put', { key: base64('a'), value }),
    )
    await Promise.all(puts)
  }
  log.resume()
  await log.until(() => log.events.length === 80)
  t.strictSame(
    log.events.map(({ revision }) => revision),
    revisions(sides, 80),
  )
})

t.test('watches survive a restart of etcd, with nothing lost or told twice', { skip }, async t => {
  const sides = await start(t)
  const log = watch(t, sides)
  await log.create(from(sides, 2))
  await put(sides, 'a', 10)
  const [member] = sides.cluster.members
  await member!.kill()
  await member!.restart()
  let last = 0
  while (last === 0) last = await put(sides, 'a')
  await put(sides, 'a', 9)
  await log.until(() => log.events.length >= 20)
  t.strictSame(
    log.events.map(({ revision }) => revision),
    revisions(sides, 20),
  )
})

t.test('a stream that requires a leader ends when etcd is lost, others stay', { skip }, async t => {
  const sides = await start(t)
  const [bound, free] = [watch(t, sides, { hasleader: 'true' }), watch(t, sides)]
  await Promise.all([bound.create(from(sides, 0)), free.create(from(sides, 0))])
  const begun = Date.now()
  await sides.cluster.members[0]!.kill()
  t.match(await bound.untilFailed(), { code: 14, details: 'etcdserver: no leader' })
  t.ok(Date.now() - begun > 2500)
  t.equal(free.failure, undefined)
  t.match(await sides.through.call('KV', 'Range', { key: base64('a'), serializable: true }), {
    response: {},
  })
})
