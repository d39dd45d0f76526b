import t from 'tap'
import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import type { ClusterApi } from '../../../lib/simulator/runtime/cluster-api.ts'
import type { ObjectFacts } from '../../../lib/simulator/housekeeping/object-facts.ts'
import { PodReaper } from '../../../lib/simulator/housekeeping/pod-reaper.ts'
import { FakeClock } from '../../support/fake-clock.ts'

t.test('no pod has less than its grace, though times are cut to their second', async t => {
  const clock = new FakeClock()
  const looked: Key[] = []
  const reaper = new PodReaper({
    cluster: {} as ClusterApi,
    clock,
    lookAt: key => looked.push(key),
  })
  t.teardown(() => reaper.stop())
  // Late in a second it is deleted with a grace of one second.
  const deletedAtMs = Math.floor((clock.wallMs() + 950 + 1000) / 1000) * 1000
  await clock.advance(950)
  const facts = { deletedAtMs, graceSeconds: 1 } as ObjectFacts
  reaper.found(keyFromText('/registry/pods/default/p'), facts)
  await clock.advance(999)
  t.equal(looked.length, 0)
  await clock.advance(1_001)
  t.equal(looked.length, 1)
})
