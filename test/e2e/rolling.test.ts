/** The short form of `npm run soak -- --rolling`. */

import t from 'tap'
import { rollingRestart } from './soak/rolling.ts'

t.test('the restart of one of two replicas shows clients no error', async t => {
  const report = await rollingRestart(t, {
    pods: 20,
    changesPerSecond: 20,
    watchers: 10,
    listsPerSecond: 10,
    shutdownDelay: 1,
    settleMs: 100,
    restarts: 1,
    progress: () => undefined,
  })
  t.comment(JSON.stringify(report))
  t.strictSame(report.errors, [])
  t.ok(report.lists > 10)
  t.equal(report.crossed, 2)
  t.ok(report.changes > 0)
  t.ok(report.resumes > 0, 'watchers were at the replica that stopped')
})
