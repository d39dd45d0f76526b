/** A mirror of real etcd clusters that fail in every way a test can make them: at the end it equals
 *  etcd key for key, and no consistent read was wrong. */

import t, { type Test } from 'tap'
import { revision } from '../../../lib/base/revision.ts'
import { keyFromText, singleKey } from '../../../lib/base/keys.ts'
import { compactRevisionKey } from '../../../lib/cache/mirror/feed/compaction.ts'
import { type EtcdCluster, startEtcd } from '../../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../../support/etcd/real-etcd.ts'
import { effort } from '../../support/effort.ts'
import { EtcdLoad, pause } from './real-etcd-load.ts'

// Most of the time is spent waiting for members that are down.
t.jobs = 3

const writes = 2_000 * effort
const outageMs = 10_000

const etcd35 = await findEtcd('3.5')
const etcd34 = await findEtcd('3.4')

/** Compacts as Kubernetes does, at the newest revision, while the mirror does not watch. */
async function compactUnderLag(load: EtcdLoad): Promise<void> {
  await load.whileLagging(async () => {
    const before = load.writes
    while (load.writes < before + 200) await pause(10)
    const { header } = await load.client.range({
      range: singleKey(keyFromText('/none')),
      countOnly: true,
    })
    await load.client.txn({
      compares: [],
      success: [
        { type: 'put', key: compactRevisionKey, value: Buffer.from(String(header.revision)) },
      ],
      failure: [],
    })
    await load.client.compact(revision(header.revision))
  })
}

async function pauseConnected(cluster: EtcdCluster, load: EtcdLoad): Promise<void> {
  const member = cluster.members.find(one => one.endpoint === load.endpoint)
  if (member === undefined) throw new Error(`the mirror is connected to ${load.endpoint}`)
  member.pause()
  await pause(outageMs)
  member.resume()
}

async function stopAll(cluster: EtcdCluster): Promise<void> {
  await Promise.all(cluster.members.map(member => member.kill()))
  await pause(outageMs)
  await Promise.all(cluster.members.map(member => member.restart()))
}

function startLoad(t: Test, cluster: EtcdCluster): EtcdLoad {
  const load = new EtcdLoad(cluster.endpoints, { writesPerSecond: 100 })
  t.teardown(() => load.close())
  load.start()
  return load
}

/** `mistakes`: what this etcd is known to do to its order. Everything must have been read again
 *  then. */
async function finish(
  t: Test,
  load: EtcdLoad,
  writesMin: number,
  mistakes: readonly string[] = [],
): Promise<void> {
  await load.untilWritten(writesMin)
  const report = await load.finish()
  t.comment(JSON.stringify({ ...report, counts: Object.fromEntries(load.counts) }))
  t.ok(report.checkedStates > 0, 'answers were compared with etcd at their own revision')
  if (report.etcdsMistakes > 0) {
    t.comment(`${report.etcdsMistakes} reads were too old because etcd's own probe was`)
  }
  const known = ['stale-quorum-read', ...mistakes].map(kind => `violation ${kind}`)
  const violations = [...load.counts.keys()].filter(
    name => name.startsWith('violation') && !known.includes(name),
  )
  t.same(violations, [], 'etcd kept its order')
  for (const kind of mistakes) {
    if (load.counts.has(`violation ${kind}`)) t.ok(load.counts.get('bootstrap violation'), kind)
  }
  t.notOk(load.counts.get('selfCheck differed'))
  t.notOk(load.counts.get('newEpoch'), 'no failure was taken for a restore')
}

t.test(
  'a single member that is killed, paused, gone and compacted',
  { skip: etcd35.skip, buffered: true },
  async t => {
    const cluster = await startEtcd(t, etcd35)
    const load = startLoad(t, cluster)
    const [member] = cluster.members
    await load.untilReady()
    await member!.kill()
    await member!.restart()
    await load.untilReady()
    await pauseConnected(cluster, load)
    await load.untilReady()
    await compactUnderLag(load)
    await load.untilReady()
    t.ok(load.counts.get('reconnect compacted'), 'what was missed was compacted')
    t.ok(load.counts.get('bootstrap compacted'))
    await stopAll(cluster)
    await load.untilReady()
    await finish(t, load, writes)
  },
)

t.test(
  'three members, each of which is killed, paused or gone',
  { skip: etcd35.skip, buffered: true },
  async t => {
    const cluster = await startEtcd(t, etcd35, { members: 3 })
    const load = startLoad(t, cluster)
    await load.untilReady()
    for (const member of cluster.members) {
      await member.kill()
      await load.untilReady()
      await member.restart()
    }
    await pauseConnected(cluster, load)
    await load.untilReady()
    t.ok(load.counts.get('reconnect silent') ?? load.counts.get('reconnect failed'))
    await compactUnderLag(load)
    await load.untilReady()
    await stopAll(cluster)
    await load.untilReady()
    await finish(t, load, writes)
  },
)

t.test(
  'etcd 3.4.23: safe mode, said at start-up',
  { skip: etcd34.skip, buffered: true },
  async t => {
    const cluster = await startEtcd(t, etcd34, { members: 3 })
    const load = startLoad(t, cluster)
    while (!load.mirror.statuses().every(({ state }) => state === 'ready')) await pause(20)
    // The versions are asked for beside the bootstrap: either may come first.
    const trust = (): string | undefined => load.mirror.statuses()[0]?.trust
    while (trust() === 'unknown' || trust() === 'unanswered') await pause(20)
    t.equal(trust(), 'old version')
    t.ok(load.warnings.some(text => text.startsWith('safe mode')))
    await load.untilReady()
    await cluster.members[0]!.kill()
    await load.untilReady()
    await cluster.members[0]!.restart()
    await compactUnderLag(load)
    await load.untilReady()
    // Its progress marks may be below what it has sent. Safe mode passes over them; while nobody
    // has told its version yet, such a mark is believed to be a fault.
    await finish(t, load, 1_000 * effort, ['progress-went-back'])
  },
)
