import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { allKeys, keyFromText } from '../../../lib/base/keys.ts'
import { Lessor } from '../../../lib/etcd-server/engine/lease.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { SimEngine } from '../../support/etcd/sim-engine.ts'
import { WatchRecorder } from '../../support/watch/watch-recorder.ts'

function createLessor(): { lessor: Lessor; clock: FakeClock; expired: bigint[] } {
  const clock = new FakeClock()
  const expired: bigint[] = []
  const lessor: Lessor = new Lessor(clock, createRandom(1), ({ id }) => {
    expired.push(id)
    lessor.remove(id)
  })
  return { lessor, clock, expired }
}

t.test('leases end when their time is over, the earliest first', async t => {
  const { lessor, clock, expired } = createLessor()
  lessor.grant(1n, 10)
  lessor.grant(2n, 5)
  lessor.grant(3n, 20)
  await clock.advance(4999)
  t.strictSame(expired, [])
  await clock.advance(1)
  t.strictSame(expired, [2n])
  await clock.advance(60_000)
  t.strictSame(expired, [2n, 1n, 3n])
  t.equal(clock.pendingTimers, 0)
})

t.test('a lease that is kept alive lives its whole time again', async t => {
  const { lessor, clock, expired } = createLessor()
  lessor.grant(1n, 10)
  for (let i = 0; i < 10; i++) {
    await clock.advance(9000)
    t.equal(lessor.renew(1n)?.ttlSeconds, 10)
    t.equal(lessor.remainingSeconds(lessor.get(1n)!), 10)
  }
  await clock.advance(9999)
  t.strictSame(expired, [])
  await clock.advance(1)
  t.strictSame(expired, [1n])
  t.equal(lessor.renew(1n), undefined)
})

t.test('a short time is raised to the least that etcd grants, a long one refused', async t => {
  const { lessor } = createLessor()
  t.equal(lessor.grant(1n, 0).ttlSeconds, 2)
  t.equal(lessor.grant(2n, -5).ttlSeconds, 2)
  t.equal(lessor.grant(3n, 9_000_000_000).ttlSeconds, 9_000_000_000)
  t.throws(() => lessor.grant(4n, 9_000_000_001), { message: /too large lease TTL/ })
  t.throws(() => lessor.grant(3n, 10), { message: /already exists/ })
  t.ok(lessor.grant(0n, 10).id > 0n)
  lessor.clear()
})

t.test('leases that are revoked leave nothing behind', async t => {
  const { lessor, clock, expired } = createLessor()
  for (let i = 1n; i <= 1000n; i++) {
    lessor.grant(i, 1000)
    lessor.remove(i)
  }
  t.strictSame(lessor.all(), [])
  await clock.advance(2_000_000)
  t.strictSame(expired, [])
})

t.test(
  'an expired lease deletes its keys in order, all at one revision, and no others',
  async t => {
    const sim = new SimEngine()
    const client = sim.client()
    const sink = new WatchRecorder()
    client.watch({ range: allKeys }, sink)
    const { id } = await sim.outcome(client.grantLease(30, 0n))
    const put = async (name: string, lease: bigint): Promise<void> => {
      const key = keyFromText(name)
      const success = [{ type: 'put', key, value: Buffer.from('1'), lease } as const]
      await sim.outcome(client.txn({ compares: [], success, failure: [] }))
    }
    for (const name of ['b', 'a', 'c', 'kept']) await put(name, id)
    await put('c', 0n)
    await put('kept', 0n)
    await put('b', id)
    const before = sim.engine.revision
    await sim.clock.advance(30_000)
    await sim.run()
    const [last] = sink.batches.slice(-1)
    t.equal(last?.revision, before + 1)
    t.strictSame(sink.changes.slice(-2), ['delete a', 'delete b'])
    t.equal(sim.engine.revision, before + 1)
    const failure = await sim.outcome(client.keepLeaseAlive(id)).catch((error: unknown) => error)
    t.match(failure, { code: 'not_found' })
  },
)
