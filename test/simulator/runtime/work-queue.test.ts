import t from 'tap'
import { WorkQueue } from '../../../lib/simulator/runtime/work-queue.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { silentLogger } from '../../support/silent-logger.ts'

t.test('a thing that rests is looked at once for all that came meanwhile', async t => {
  const clock = new FakeClock()
  const worked: string[] = []
  const { signal } = new AbortController()
  const work = (item: string): Promise<void> => {
    worked.push(item)
    return Promise.resolve()
  }
  const queue = new WorkQueue({ name: 'q', clock, logger: silentLogger, signal, restMs: 50, work })
  queue.add('a')
  await settle()
  for (let i = 0; i < 10; i++) queue.add('a')
  queue.add('b')
  await settle()
  t.same(worked, ['a', 'b'])
  await clock.advance(50)
  t.same(worked, ['a', 'b', 'a'])
  await clock.advance(500)
  t.same(worked, ['a', 'b', 'a'])
  queue.add('a')
  await settle()
  t.same(worked, ['a', 'b', 'a', 'a'], 'at once, after a rest')
  t.equal(clock.pendingTimers, 1)
})

t.test('Node does not warn of a leak when many things rest', async t => {
  const warnings: Error[] = []
  const note = (warning: Error): number => warnings.push(warning)
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  const clock = new FakeClock()
  const { signal } = new AbortController()
  const work = (): Promise<void> => Promise.resolve()
  const queue = new WorkQueue({ name: 'q', clock, logger: silentLogger, signal, restMs: 50, work })
  for (let i = 0; i < 30; i++) queue.add(`item ${i}`)
  await settle()
  t.equal(clock.pendingTimers, 30)
  // A warning is told in a later turn.
  await new Promise(resolve => setImmediate(resolve))
  t.same(warnings, [])
})
