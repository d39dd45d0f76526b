/** The short form of `npm run soak`. */

import t from 'tap'
import { soak } from './soak/informers.ts'
import { moment } from '../support/http/moment.ts'

t.test('informers of the JavaScript client end equal to a list', async t => {
  const report = await soak(t, {
    pods: 150,
    changesPerSecond: 300,
    lasts: async events => {
      const enough = events() + 100
      while (events() < enough) await moment()
    },
    cuts: 2,
    progress: () => undefined,
  })
  t.ok(report.events >= 300)
  t.ok(report.restarts >= 2)
  t.ok(report.objects.every(count => count > 0))
})
