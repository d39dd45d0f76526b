import t from 'tap'
import { CacheError } from '../../../lib/base/errors.ts'
import { allKeys, keyFromText, singleKey } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import type { Client, TxnRequest } from '../../../lib/etcd/client.ts'
import { SimEngine } from '../../support/etcd/sim-engine.ts'
import { WatchRecorder } from '../../support/watch/watch-recorder.ts'

function put(name: string, value: string): TxnRequest {
  const operation = { type: 'put', key: keyFromText(name), value: Buffer.from(value) } as const
  return { compares: [], success: [operation], failure: [] }
}

async function valueOf(client: Client, name: string, serializable = false): Promise<string> {
  const range = singleKey(keyFromText(name))
  const { entries } = await client.range({ range, serializable })
  return String(Buffer.from(entries[0]?.value ?? []))
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no failure',
    (error: unknown) => (error instanceof CacheError ? error.code : String(error)),
  )
}

t.test(
  'a member that lags answers serializable reads from the past, and makes others wait',
  async t => {
    const sim = new SimEngine()
    const [leader, follower] = [sim.client(0), sim.client(1)]
    await sim.outcome(leader.txn(put('a', '1')))
    sim.member(1).isolate()
    await sim.outcome(leader.txn(put('a', '2')))
    t.equal(sim.member(1).lag, 1)
    t.equal(await sim.outcome(valueOf(follower, 'a', true)), '1')
    t.equal(await sim.outcome(valueOf(leader, 'a')), '2')
    const waiting = valueOf(follower, 'a')
    await sim.run()
    sim.member(1).rejoin()
    t.equal(await sim.outcome(waiting), '2')
    t.equal(sim.member(1).lag, 0)
  },
)

t.test('a write through a follower is answered once the follower has it', async t => {
  for (let seed = 0; seed < 50; seed++) {
    const sim = new SimEngine({ seed })
    const follower = sim.client(2)
    const { header } = await sim.outcome(follower.txn(put('a', '1')))
    t.equal(header.revision, sim.member(2).revision)
    t.equal(header.memberId, sim.member(2).id)
  }
})

t.test('a watch tells what its own member has applied', async t => {
  const sim = new SimEngine()
  const sink = new WatchRecorder()
  sim.client(1).watch({ range: allKeys }, sink)
  await sim.run()
  sim.member(1).isolate()
  await sim.outcome(sim.client(0).txn(put('a', '1')))
  t.strictSame(sink.changes, [])
  sim.member(1).rejoin()
  await sim.run()
  t.strictSame(sink.changes, ['put a 1'])
})

t.test('a member that stays cut off ends watches and lets requests time out', async t => {
  const sim = new SimEngine()
  const sink = new WatchRecorder()
  const client = sim.client(1)
  client.watch({ range: allKeys }, sink)
  await sim.run()
  sim.member(1).isolate()
  const read = codeOf(valueOf(client, 'a'))
  const write = codeOf(client.txn(put('a', '1')))
  await sim.run()
  await sim.clock.advance(4000)
  await sim.run()
  t.equal(sink.failures[0]?.code, 'source_failed')
  await sim.clock.advance(4000)
  t.equal(await sim.outcome(read), 'source_failed')
  t.equal(await sim.outcome(write), 'source_failed')
  t.equal(sim.engine.revision, 1, 'the write was never decided')
})

t.test('a compaction reaches a lagging member when it catches up, and not before', async t => {
  const sim = new SimEngine()
  const leader = sim.client(0)
  for (const value of ['1', '2', '3']) await sim.outcome(leader.txn(put('a', value)))
  sim.member(1).isolate()
  await sim.outcome(leader.txn(put('a', '4')))
  await sim.outcome(leader.compact(revision(4)))
  const old = (client: Client): Promise<string> =>
    codeOf(client.range({ range: allKeys, revision: revision(3), serializable: true }))
  t.equal(await sim.outcome(old(leader)), 'expired')
  t.equal(await sim.outcome(old(sim.client(1))), 'no failure')
  sim.member(1).rejoin()
  await sim.run()
  t.equal(await sim.outcome(old(sim.client(1))), 'expired')
})

t.test('a new leader has everything that was decided', async t => {
  const sim = new SimEngine()
  sim.member(1).isolate()
  await sim.outcome(sim.client(0).txn(put('a', '1')))
  sim.member(1).rejoin()
  const { raftTerm } = sim.engine
  sim.engine.elect(sim.member(1))
  t.equal(sim.engine.raftTerm, raftTerm + 1n)
  t.equal(await sim.outcome(valueOf(sim.client(1), 'a', true)), '1')
  const { header } = await sim.outcome(sim.client(1).txn(put('a', '2')))
  t.strictSame([header.revision, header.raftTerm], [3, sim.engine.raftTerm])
})

t.test('a restored backup takes revisions back, in another cluster', async t => {
  const sim = new SimEngine()
  const client = sim.client()
  const sink = new WatchRecorder()
  await sim.outcome(client.txn(put('a', '1')))
  await sim.outcome(client.grantLease(60, 7n))
  const backup = sim.engine.backup()
  await sim.outcome(client.txn(put('a', '2')))
  client.watch({ range: allKeys }, sink)
  await sim.run()
  const { clusterId } = sim.engine
  sim.engine.restore(backup)
  await sim.run()
  t.equal(sink.failures[0]?.code, 'source_failed')
  t.equal(sim.engine.revision, 2)
  t.not(sim.engine.clusterId, clusterId)
  t.equal(await sim.outcome(valueOf(client, 'a')), '1')
  t.equal((await sim.outcome(client.keepLeaseAlive(7n))).ttlSeconds, 60)
  const { header } = await sim.outcome(client.txn(put('a', 'other')))
  t.equal(header.revision, 3)
  const kept = sim.engine.clusterId
  sim.engine.restore(backup, { keepClusterId: true })
  t.equal(sim.engine.clusterId, kept)
})

t.test('history that weighs too much is compacted by itself', async t => {
  const sim = new SimEngine({ memberCount: 1, historyMaxBytes: 100_000 })
  const client = sim.client()
  for (let i = 0; i < 200; i++) await sim.outcome(client.txn(put('a', String(i))))
  t.ok(sim.engine.compactRevision > 1)
  t.ok(sim.engine.bytes < 110_000)
  t.equal(await sim.outcome(valueOf(client, 'a')), '199')
})

t.test(
  'history is compacted by itself every so often, to where it was the time before',
  async t => {
    const sim = new SimEngine({ memberCount: 1, historyMinAgeMs: 300_000 })
    const client = sim.client()
    await sim.outcome(client.txn(put('a', '0')))
    const before = sim.engine.revision
    t.equal(sim.engine.compactRevision, -1)
    await sim.clock.advance(300_000)
    await sim.outcome(client.txn(put('a', '1')))
    const once = sim.engine.compactRevision
    await sim.outcome(client.txn(put('a', '2')))
    t.equal(sim.engine.compactRevision, once)
    await sim.clock.advance(300_000)
    await sim.outcome(client.txn(put('a', '3')))
    t.equal(sim.engine.compactRevision, before + 1)
    t.equal(await sim.outcome(valueOf(client, 'a')), '3')
  },
)
