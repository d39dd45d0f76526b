import assert from 'node:assert/strict'
import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { parsePlan } from '../../../lib/simulator/generate/plan.ts'
import { podObject, storedPod } from '../../../lib/simulator/generate/pods.ts'
import { storedBytes } from '../../../lib/simulator/generate/stored.ts'
import { Topology } from '../../../lib/simulator/generate/topology.ts'

t.test(
  'a stamped pod has the bytes that encoding it gives, whatever happens to its template',
  async t => {
    const topology = new Topology(
      parsePlan('pods=600,nodes=20'),
      createRandom(5),
      1_790_000_000_000,
    )
    for (let round = 0; round < 3; round++) {
      for (const workload of topology.workloads) {
        for (const pod of workload.pods) {
          // Few have restarted: each is looked at with restarts, too.
          const shown = { ...pod, restarts: pod.restarts + round }
          assert.deepEqual(
            Buffer.from(storedPod(shown)),
            Buffer.from(storedBytes(podObject(shown))),
          )
          pod.updatedMs += 17_000
        }
        if (round === 0) topology.rollOut(workload)
        topology.addPod(workload, 1_790_000_100_000)
      }
    }
    t.pass()
  },
)

t.test('pods are about as large as real ones', async t => {
  const topology = new Topology(parsePlan('pods=1000'), createRandom(1), 1_790_000_000_000)
  const sizes = topology.workloads.flatMap(({ pods }) => pods.map(pod => storedPod(pod).length))
  const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length
  t.ok(mean > 2_000 && mean < 4_500, `${mean} bytes`)
})
