import assert from 'node:assert/strict'
import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { parsePlan } from '../../../lib/simulator/generate/plan.ts'
import { storedBytes } from '../../../lib/simulator/generate/stored.ts'
import { Topology } from '../../../lib/simulator/generate/topology.ts'
import {
  countsOf,
  deploymentObject,
  replicaSetObject,
  storedDeployment,
  storedReplicaSet,
} from '../../../lib/simulator/generate/workloads.ts'

t.test('stamped deployments and replica sets have the bytes that encoding them gives', async t => {
  const nowMs = 1_790_000_000_123
  const topology = new Topology(parsePlan('pods=3000,nodes=20'), createRandom(7), nowMs)
  for (let round = 0; round < 3; round++) {
    for (const workload of topology.workloads) {
      const own = workload.pods.filter(pod => pod.template === workload.template)
      const all = countsOf(workload, workload.pods)
      assert.deepEqual(
        Buffer.from(storedDeployment(workload, nowMs)),
        Buffer.from(storedBytes(deploymentObject(workload, all, nowMs))),
      )
      assert.deepEqual(
        Buffer.from(storedReplicaSet(workload, nowMs)),
        Buffer.from(storedBytes(replicaSetObject(workload, countsOf(workload, own), nowMs))),
      )
      if (round === 0) topology.rollOut(workload)
      else topology.addPod(workload, nowMs)
    }
  }
  t.pass()
})
