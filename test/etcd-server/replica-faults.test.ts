/** Random ranges through a replica, compared with those of the etcd behind it: after compactions, a
 *  restart, a partition, and when a backup was restored.
 *
 *  `SEED=7 node dist/test/etcd-server/replica-faults.test.js` runs another sequence. */

import { cpSync, readFileSync, rmSync } from 'node:fs'
import t, { type Test } from 'tap'
import { createRandom, type Random, randomInt } from '../../lib/base/random.ts'
import { effort } from '../support/effort.ts'
import { startEtcd } from '../support/etcd/etcd-cluster.ts'
import { type Answer, comparable, type Message, RawEtcd } from '../support/etcd/raw-etcd.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'
import { startTestReplica, type TestReplica } from '../support/etcd/test-replica.ts'
import { WatchLog } from '../support/etcd/watch-log.ts'
import { startTcpProxy } from '../support/http/tcp-proxy.ts'
import { base64, Calls } from './engine/operations.ts'

const seed = Number(process.env['SEED'] ?? 20_261_122)
const rangesOfRound = 50 * effort
const writesOfRound = 40

const etcd = await findEtcd('3.5')
const { skip } = etcd

interface World {
  readonly direct: RawEtcd
  readonly through: RawEtcd
  readonly replica: TestReplica
  readonly random: Random
  readonly calls: Calls
  revision: number
  compactRevision: number
}

function worldOf(t: Test, address: string, replica: TestReplica): World {
  const random = createRandom(seed)
  const [direct, through] = [new RawEtcd(address), new RawEtcd(replica.address)]
  t.teardown(() => {
    direct.close()
    through.close()
  })
  const calls = new Calls(random, { withTies: true })
  return { direct, through, replica, random, calls, revision: 1, compactRevision: -1 }
}

/** Puts, deletes and transactions past the replica. */
async function write(world: World, count = writesOfRound): Promise<void> {
  for (let i = 0; i < count;) {
    const { service, method, request, isRead } = world.calls.next(world)
    if (isRead || service !== 'KV') continue
    noteRevision(world, await world.direct.call(service, method, request))
    i++
  }
}

function noteRevision(world: World, answer: Answer): void {
  if ('response' in answer) world.revision = revisionOf(answer)
}

function revisionOf(answer: Answer): number {
  if (!('response' in answer)) throw new Error(answer.details)
  return Number((answer.response['header'] as Message)['revision'])
}

/** Compacts, mostly unseen by the replica. */
async function compact(world: World): Promise<void> {
  const revision = randomInt(world.random, Math.max(1, world.compactRevision + 1), world.revision)
  const by = world.random.next() < 0.3 ? world.through : world.direct
  const answer = await by.call('KV', 'Compact', { revision: String(revision) })
  if ('response' in answer) world.compactRevision = revision
}

/** While nobody writes, both say the same of every range. What is serializable must not be behind
 *  what the replica has just said. */
async function compareRanges(t: Test, world: World, when: string): Promise<void> {
  noteRevision(world, await world.through.call('KV', 'Range', { key: base64('a') }))
  for (let i = 0; i < rangesOfRound; i += 10) {
    const requests = Array.from({ length: 10 }, () => world.calls.range(world))
    const pairs = requests.map(async request => {
      // Whether an old revision is compacted a serializable read need not know.
      const isOld = Number(request['revision']) > 0 && request['serializable'] === true
      const asked = isOld ? { ...request, serializable: false } : request
      const answers = [world.direct, world.through].map(one => one.call('KV', 'Range', asked))
      const [wanted, found] = (await Promise.all(answers)) as [Answer, Answer]
      t.strictSame(comparable(found), comparable(wanted), `${when}: ${JSON.stringify(asked)}`)
    })
    await Promise.all(pairs)
  }
}

t.test(`after compactions, a restart and a partition (seed ${seed})`, { skip }, async t => {
  const cluster = await startEtcd(t, etcd)
  const address = String(cluster.endpoints[0]).replace('http://', '')
  let isCut = false
  const proxy = await startTcpProxy(t, () => (isCut ? undefined : cluster.endpoints[0]))
  const replica = await startTestReplica(t, [proxy.endpoint])
  await replica.ready()
  const world = worldOf(t, address, replica)
  const log = new WatchLog(world.through)
  t.teardown(() => log.close())
  await log.create({ key: base64('\0'), rangeEnd: base64('\0'), startRevision: '2' })
  for (let round = 0; round < 3; round++) {
    await write(world)
    await compareRanges(t, world, `round ${round}`)
    await compact(world)
    await compareRanges(t, world, `compacted in round ${round}`)
  }
  // A watch from long ago passes to etcd, and would end with it, until it has caught up.
  log.send({ progressRequest: {} })
  await log.until(() => log.progress >= world.revision)
  await cluster.members[0]!.kill()
  await cluster.members[0]!.restart()
  await untilAnswered(world)
  await write(world)
  await compareRanges(t, world, 'after a restart')

  const before = world.revision
  isCut = true
  proxy.cut()
  await write(world)
  const stale = await world.through.call('KV', 'Range', { key: base64('a'), serializable: true })
  t.equal(revisionOf(stale), before, 'cut off, a serializable read has what was there')
  const late = world.through.call('KV', 'Range', { key: base64('a') })
  await new Promise(resolve => setTimeout(resolve, 100))
  isCut = false
  const answer = await late
  t.ok('code' in answer || revisionOf(answer) >= world.revision, 'no linearizable read is older')
  await untilAnswered(world)
  await compareRanges(t, world, 'after a partition')
  log.send({ progressRequest: {} })
  await log.until(() => log.progress >= world.revision)
  const told = log.events.map(({ revision }) => revision)
  t.strictSame(
    told,
    told.toSorted((a, b) => a - b),
    'the watch was told in order',
  )
  t.equal(new Set(log.events.map(one => `${one.revision} ${one.key}`)).size, told.length, 'once')
  const ranges = ['mirror', 'etcd'].map(source => replica.count('Range', source as 'mirror'))
  t.ok(ranges[0]! > ranges[1]!, `${ranges[0]} ranges from the mirror, ${ranges[1]} from etcd`)
})

t.test(`when a backup was restored (seed ${seed})`, { skip }, async t => {
  const cluster = await startEtcd(t, etcd)
  const [member] = cluster.members
  const address = String(cluster.endpoints[0]).replace('http://', '')
  const replica = await startTestReplica(t, cluster.endpoints)
  await replica.ready()
  const world = worldOf(t, address, replica)
  const data = dataOf(member!.processId)
  const backup = `${data}-backup`
  await write(world)
  await member!.kill()
  cpSync(data, backup, { recursive: true })
  await member!.restart()
  await untilAnswered(world)
  await write(world)
  await compareRanges(t, world, 'before')
  const lost = world.revision
  const log = new WatchLog(world.through)
  t.teardown(() => log.close())
  await log.create({ key: base64('a') })

  await member!.kill()
  rmSync(data, { recursive: true })
  cpSync(backup, data, { recursive: true })
  await member!.restart()
  world.revision = 1
  await untilAnswered(world)
  t.match(await log.untilFailed(), { code: 14 }, 'watches of what is no more end')
  await replica.ready()
  noteRevision(world, await world.through.call('KV', 'Range', { key: base64('a') }))
  t.ok(world.revision < lost, `${world.revision} is before ${lost}`)
  await compareRanges(t, world, 'restored')
  const request = { key: base64('a'), revision: String(lost) }
  t.match(await world.through.call('KV', 'Range', request), { code: 11 }, 'lost, not kept')
  const mirrored = replica.count('Range', 'mirror')
  await write(world, lost)
  await compareRanges(t, world, 'and written to')
  t.ok(replica.count('Range', 'mirror') > mirrored + rangesOfRound / 2, 'out of the mirror again')
})

/** Resolves when a linearizable read through the replica is answered with what etcd has now. */
async function untilAnswered({ direct, through }: World): Promise<void> {
  for (;;) {
    const answers = [direct, through].map(one => one.call('KV', 'Range', { key: base64('a') }))
    const [wanted, found] = (await Promise.all(answers)) as [Answer, Answer]
    if ('response' in wanted && 'response' in found && revisionOf(wanted) === revisionOf(found)) {
      return
    }
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** The folder in which a member keeps its data. */
function dataOf(processId: number): string {
  const args = readFileSync(`/proc/${processId}/cmdline`, 'utf8').split('\0')
  const flag = args.find(arg => arg.startsWith('--data-dir='))
  if (flag === undefined) throw new Error(`process ${processId} is no etcd`)
  return flag.slice('--data-dir='.length)
}
