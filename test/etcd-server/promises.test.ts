/** The checks of etcd's robustness tests, over two replicas in front of one cluster: clients change
 *  replicas with each call, watchers resume at the other replica, and a member is killed meanwhile.
 *  `SEED=7 node dist/test/etcd-server/promises.test.js` runs another sequence. */

import t, { type Test } from 'tap'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { createRandom, type Random, randomInt } from '../../lib/base/random.ts'
import { effort } from '../support/effort.ts'
import { startEtcd } from '../support/etcd/etcd-cluster.ts'
import {
  linearizable,
  type SeenCall,
  type SeenEvent,
  type SeenResponse,
  type SeenValue,
  type SeenWatch,
  type Truth,
  watchChecks,
} from '../support/etcd/promises.ts'
import { type Message, RawEtcd } from '../support/etcd/raw-etcd.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'
import { startTestReplica } from '../support/etcd/test-replica.ts'
import { createTestEngine } from '../support/etcd/test-engine.ts'
import { WatchLog } from '../support/etcd/watch-log.ts'
import { base64 } from './engine/operations.ts'

const seed = Number(process.env['SEED'] ?? 20_261_124)
const clients = 5
const callsOfClient = 60 * effort
const keys = 6

const [key, rangeEnd] = [base64('/r/'), base64('/r0')]
const text = (bytes = ''): string => Buffer.from(bytes, 'base64').toString()

interface Sides {
  readonly direct: RawEtcd
  readonly replicas: readonly RawEtcd[]
}

async function openSides(t: Test, endpoints: readonly string[]): Promise<Sides> {
  const direct = new RawEtcd(endpoints[0]!.replace('http://', ''))
  const replicas = await Promise.all([1, 2].map(() => startTestReplica(t, endpoints)))
  await Promise.all(replicas.map(replica => replica.ready()))
  const through = replicas.map(({ address }) => new RawEtcd(address))
  t.teardown(() => [direct, ...through].forEach(one => one.close()))
  return { direct, replicas: through }
}

/** One client: reads everything, or writes a key if it has the revision that was read. */
async function work({ replicas }: Sides, random: Random, name: string): Promise<SeenCall[]> {
  const seen: SeenCall[] = []
  const revisions = new Map<string, string>()
  for (let i = 0; i < callsOfClient; i++) {
    const replica = replicas[randomInt(random, 0, replicas.length - 1)]!
    const startMs = performance.now()
    const isRead = random.next() < 0.5
    const written = { key: `/r/${randomInt(random, 0, keys - 1)}`, value: `${name}-${i}` }
    const answer = isRead
      ? await replica.call('KV', 'Range', { key, rangeEnd })
      : await replica.call('KV', 'Txn', txnOf(written, revisions.get(written.key) ?? '0', random))
    const endMs = performance.now()
    // Nobody knows whether a write that failed has been done.
    if (!('response' in answer)) continue
    const { header, kvs = [], succeeded } = answer.response as unknown as Answered
    const revision = Number(header.revision)
    for (const kv of kvs) revisions.set(text(kv['key']), kv['modRevision'] ?? '0')
    const read = isRead ? new Map(kvs.map(kv => [text(kv['key']), text(kv['value'])])) : undefined
    if (!isRead && succeeded !== true) continue
    seen.push({ startMs, endMs, revision, read, written: isRead ? undefined : written })
  }
  return seen
}

interface Answered {
  readonly header: { readonly revision: string }
  readonly kvs?: readonly Record<string, string>[]
  readonly succeeded?: boolean
}

/** Writes a key, and with it another one or deletes one, if its revision is known. */
function txnOf(written: { key: string; value: string }, known: string, random: Random): Message {
  const put = { requestPut: { key: base64(written.key), value: base64(written.value) } }
  const other = base64(`/r/x${randomInt(random, 0, 2)}`)
  const others = [
    { requestPut: { key: other, value: base64(written.value) } },
    { requestDeleteRange: { key: other } },
  ]
  const compare = { key: base64(written.key), target: 2, modRevision: known }
  return { compare: [compare], success: [put, others[randomInt(random, 0, 1)]!] }
}

/** Watches with previous values, from a revision. */
async function watch(etcd: RawEtcd, request: Message): Promise<WatchLog> {
  const log = new WatchLog(etcd)
  await log.create({ key, rangeEnd, prevKv: true, ...request })
  return log
}

function responsesOf(log: WatchLog): SeenResponse[] {
  return log.responses
    .filter(one => one['created'] !== true)
    .map(one => ({
      headerRevision: Number((one['header'] as { revision: string }).revision),
      events: ((one['events'] ?? []) as WireEvent[]).map(seenEvent),
    }))
}

interface WireEvent {
  readonly type?: number | string
  readonly kv: Record<string, string>
  readonly prevKv?: Record<string, string>
}

function seenEvent({ type, kv, prevKv }: WireEvent): SeenEvent {
  const isPut = type === undefined || type === 0 || type === 'PUT'
  return {
    type: isPut ? 'put' : 'delete',
    key: text(kv['key']),
    revision: Number(kv['modRevision']),
    now: isPut ? seenValue(kv) : undefined,
    before: prevKv && seenValue(prevKv),
  }
}

function seenValue(kv: Record<string, string>): SeenValue {
  const { createRevision, modRevision, version } = kv
  const numbers = [createRevision, modRevision, version].map(Number) as [number, number, number]
  return {
    value: text(kv['value']),
    createRevision: numbers[0],
    modRevision: numbers[1],
    version: numbers[2],
  }
}

/** Waits until a watch has been told of everything up to a revision. */
async function untilProgress(log: WatchLog, revision: number): Promise<void> {
  const asking = setInterval(() => log.send({ progressRequest: {} }), 50)
  await log.until(() => log.progress >= revision)
  clearInterval(asking)
}

async function check(t: Test, sides: Sides, trouble: () => Promise<void>): Promise<void> {
  const { direct, replicas } = sides
  const start = await direct.call('KV', 'Range', { key, rangeEnd, countOnly: true })
  const from = 'response' in start ? revisionOf(start.response) + 1 : 1
  const startRevision = String(from)
  const everything = await watch(direct, { startRevision })
  const one = { key: base64('/r/1'), rangeEnd: '' }
  const logs = await Promise.all([
    watch(replicas[0]!, { startRevision }),
    watch(replicas[1]!, { startRevision, ...one }),
    watch(replicas[0]!, { startRevision, filters: [0] }),
  ])
  const workers = Array.from({ length: clients }, (_, i) =>
    work(sides, createRandom(seed + i), `c${i}`),
  )
  const [calls] = await Promise.all([Promise.all(workers), trouble()])
  const end = await replicas[0]!.call('KV', 'Range', { key, rangeEnd })
  const last = 'response' in end ? revisionOf(end.response) : 0
  // A watch through the other replica goes on in the middle of what the first one has told.
  const told = logs[0]!.events
  const middle = told[Math.floor(told.length / 2)]?.revision ?? from
  const resumed = await watch(replicas[1]!, { startRevision: String(middle) })
  logs.push(resumed)
  for (const log of [everything, ...logs]) await untilProgress(log, last)
  const truth: Truth = responsesOf(everything).flatMap(({ events }) => events)
  t.ok(truth.length > clients, `${truth.length} events (seed ${seed})`)
  linearizable(calls.flat(), truth)
  t.ok(calls.flat().length > (clients * callsOfClient) / 4, `${calls.flat().length} calls`)
  const selections: SeenWatch['selects'][] = [
    () => true,
    event => event.key === '/r/1',
    event => event.type === 'delete',
    () => true,
  ]
  for (const [i, log] of logs.entries()) {
    const first = log === resumed ? middle : from
    const seen = { from: first, selects: selections[i]!, responses: responsesOf(log) }
    for (const [name, holds] of Object.entries(watchChecks)) {
      t.doesNotThrow(() => holds(seen, truth), `watch ${i}: ${name}`)
    }
    log.close()
  }
  everything.close()
}

function revisionOf(response: Message): number {
  return Number((response['header'] as { revision: string }).revision)
}

t.test(`in front of the embedded engine (seed ${seed})`, async t => {
  const { engine } = createTestEngine(t)
  const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  t.teardown(() => server.close())
  await check(t, await openSides(t, [`http://${server.address}`]), async () => {})
})

const etcd = await findEtcd('3.5')

t.test(`in front of three members, one of which is killed (seed ${seed})`, etcd, async t => {
  const cluster = await startEtcd(t, etcd, { members: 3 })
  const killed = cluster.members[2]!
  await check(t, await openSides(t, cluster.endpoints), async () => {
    await killed.kill()
    await killed.restart({ wait: false })
  })
})

t.test('broken promises are found', async t => {
  const value = (n: number): SeenValue => {
    return { value: `${n}`, createRevision: n, modRevision: n, version: 1 }
  }
  const put = (key: string, n: number): SeenEvent => {
    return { type: 'put', key, revision: n, now: value(n), before: undefined }
  }
  const [a, b, c] = [put('a', 2), put('b', 3), put('c', 3)]
  const truth = [a!, b!, c!]
  const of = (...responses: (readonly SeenEvent[] | number)[]): SeenWatch => ({
    from: 2,
    selects: event => event.key !== 'z',
    responses: responses.map(one =>
      typeof one === 'number'
        ? { headerRevision: one, events: [] }
        : { headerRevision: 3, events: one },
    ),
  })
  const broken: readonly (readonly [string, SeenWatch])[] = [
    ['filtered', of([put('z', 2)])],
    ['ordered', of([b!], [a!])],
    ['unique', of([a!, a!])],
    ['atomic', of([a!, b!], [c!])],
    ['reliable', of([b!, c!])],
    ['resumable', { ...of([a!]), from: 3 }],
    ['bookmarkable', of(3)],
    ['bookmarkable', of([a!], 3, [b!, c!])],
    ['previous', of([{ ...a!, before: value(1) }])],
    ['created', of([{ ...a!, now: { ...value(2), version: 2 } }])],
  ]
  for (const [name, watch] of broken) t.throws(() => watchChecks[name]!(watch, truth), name)
  for (const [name, holds] of Object.entries(watchChecks)) {
    t.doesNotThrow(() => holds(of([a!], [b!, c!], 3), truth), name)
    t.ok(
      broken.some(one => one[0] === name),
      `${name} is tried`,
    )
  }
  const call = { startMs: 0, endMs: 1, revision: 3, written: undefined, read: undefined }
  const all = new Map([a!, b!, c!].map(({ key, now }) => [key, now!.value]))
  linearizable([{ ...call, read: all }], truth)
  for (const calls of [
    [{ ...call, read: new Map([['a', '2']]) }],
    [{ ...call, written: { key: 'a', value: '2' } }],
    [call, { ...call, startMs: 2, endMs: 3, revision: 2 }],
  ]) {
    t.throws(() => linearizable(calls, truth))
  }
})
