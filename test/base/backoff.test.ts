import t from 'tap'
import { Backoff } from '../../lib/base/backoff.ts'

t.test('pauses double up to the bound and begin again after a success', async t => {
  const backoff = new Backoff({ firstMs: 100, maxMs: 350 }, { next: () => 1 })
  t.same(
    [backoff.nextMs(), backoff.nextMs(), backoff.nextMs(), backoff.nextMs()],
    [100, 200, 350, 350],
  )
  backoff.reset()
  t.equal(backoff.nextMs(), 100)
})

t.test('at most half of a pause is taken off', async t => {
  const backoff = new Backoff({ firstMs: 100, maxMs: 100 }, { next: () => 0 })
  t.equal(backoff.nextMs(), 50)
})
