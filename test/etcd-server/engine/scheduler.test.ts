import { SeededScheduler } from '../../support/etcd/seeded-scheduler.ts'
import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'

function traceOf(seed: number): string[] {
  const scheduler = new SeededScheduler(createRandom(seed))
  const trace: string[] = []
  for (const name of ['a', 'b', 'c']) {
    const lane = scheduler.createLane()
    for (let i = 0; i < 5; i++) lane.post(() => trace.push(`${name}${i}`))
  }
  while (scheduler.step());
  return trace
}

t.test('the seed decides the order between lanes; each lane keeps its own', async t => {
  t.strictSame(traceOf(1), traceOf(1))
  t.notSame(traceOf(1), traceOf(2))
  for (const name of ['a', 'b', 'c']) {
    const own = traceOf(3).filter(message => message.startsWith(name))
    t.strictSame(
      own,
      [0, 1, 2, 3, 4].map(i => `${name}${i}`),
    )
  }
})

t.test('a lane that is held delivers nothing until it is released', async t => {
  const scheduler = new SeededScheduler(createRandom(1))
  const trace: string[] = []
  const held = scheduler.createLane()
  held.post(() => trace.push('held'))
  held.hold()
  held.post(() => trace.push('too'))
  t.equal(scheduler.step(), false)
  t.equal(held.waiting, 2)
  held.release()
  while (scheduler.step());
  t.strictSame(trace, ['held', 'too'])
})

t.test('a lane that is closed loses what waits, and what comes later', async t => {
  const scheduler = new SeededScheduler(createRandom(1))
  const lane = scheduler.createLane()
  lane.post(() => t.fail('delivered'))
  lane.close()
  lane.post(() => t.fail('delivered'))
  t.equal(scheduler.step(), false)
})

t.test('a message may overtake those that wait on its lane', async t => {
  const scheduler = new SeededScheduler(createRandom(1))
  const trace: number[] = []
  const lane = scheduler.createLane()
  lane.postFirst(() => trace.push(2))
  lane.post(() => trace.push(3))
  lane.postFirst(() => trace.push(1))
  lane.post(() => trace.push(4))
  while (scheduler.step());
  t.strictSame(trace, [1, 2, 3, 4])
})

t.test('the direct scheduler delivers in the order of posting, later, over all lanes', async t => {
  const scheduler = createDirectScheduler()
  const trace: number[] = []
  const [a, b] = [scheduler.createLane(), scheduler.createLane()]
  a.post(() => {
    trace.push(1)
    b.postFirst(() => trace.push(2))
    a.post(() => trace.push(1003))
  })
  for (let i = 3; i <= 1002; i++) (i % 2 === 0 ? a : b).post(() => trace.push(i))
  const closed = scheduler.createLane()
  closed.post(() => t.fail('delivered'))
  closed.close()
  t.strictSame(trace, [])
  while (trace.length < 1003) await new Promise(resolve => setImmediate(resolve))
  t.strictSame(
    trace,
    Array.from({ length: 1003 }, (_, i) => i + 1),
  )
})
