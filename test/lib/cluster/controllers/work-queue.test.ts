import t from 'tap'
import { WorkQueue } from '../../../../lib/cluster/controllers/work-queue.ts'
import { FakeClock, settle } from '../../../support/fake-clock.ts'
import { silentLogger } from '../../../support/silent-logger.ts'

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
