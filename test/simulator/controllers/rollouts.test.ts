/** Rollouts wait, and say when they take too long. */

import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import {
  progressCondition,
  type ProgressState,
  untilProgressIsDue,
} from '../../../lib/simulator/controllers/deployment-progress.ts'
import { nameHash } from '../../../lib/simulator/controllers/name-hash.ts'
import { availablePods } from '../../../lib/simulator/controllers/owned-pods.ts'
import { reconcileReplicaSet } from '../../../lib/simulator/controllers/replica-sets.ts'
import { maxUnavailableOf } from '../../../lib/simulator/controllers/rollout.ts'
import { podFact, replicaSetFact } from '../../../lib/simulator/runtime/facts.ts'
import type { Deployment, Pod, StatusCondition } from '../../../lib/simulator/runtime/objects.ts'

const startMs = Date.parse('2026-01-01T00:00:00Z')
const labels = { app: 'web' }
const template = { metadata: { labels }, spec: { containers: [] } }

function pod(name: string, readySince: string): ReturnType<typeof podFact> {
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: readySince }]
  const object: Pod = {
    metadata: { name, namespace: 'default', uid: name, labels },
    spec: { containers: [] },
    status: { phase: 'Running', conditions },
  }
  return podFact(keyFromText(`/registry/pods/default/${name}`), 1, object)
}

t.test('names of templates have eight to ten letters', async t => {
  for (let i = 0; i < 1_000; i++) {
    t.match(nameHash(`template ${i}`), /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/)
  }
  t.equal(nameHash('one'), nameHash('one'))
})

t.test('a pod is available once it has been ready for long enough', async t => {
  const pods = [pod('a', '2026-01-01T00:00:00Z'), pod('b', '2026-01-01T00:00:05Z')]
  const at = (ms: number): [number, number | undefined] => {
    const { pods: available, againMs } = availablePods(pods, { minReadySeconds: 10 }, startMs + ms)
    return [available.length, againMs]
  }
  t.same(at(9_000), [0, 1_000])
  t.same(at(10_000), [1, 5_000])
  t.same(at(15_000), [2, undefined])
  t.same(availablePods(pods, {}, startMs).pods.length, 2)
})

t.test('a replica set tells available pods when they are, and looks again for it', async t => {
  const key = keyFromText('/registry/replicasets/default/web')
  const metadata = { name: 'web', namespace: 'default', uid: 'rs', generation: 1 }
  const spec = { replicas: 1, minReadySeconds: 10, selector: { matchLabels: labels }, template }
  const kind = { apiVersion: 'apps/v1', kind: 'ReplicaSet' }
  const owned = [pod('a', '2026-01-01T00:00:00Z')]
  const look = (nowMs: number): ReturnType<typeof reconcileReplicaSet> =>
    reconcileReplicaSet({
      key,
      object: { metadata, spec },
      now: '',
      nowMs,
      kind,
      owned,
      orphans: [],
    })
  const first = look(startMs + 4_000)
  t.equal(first.againMs, 6_000)
  t.match(first.writes, [{ patch: { status: { readyReplicas: 1, availableReplicas: 0 } } }])
  t.match(look(startMs + 10_000).writes, [{ patch: { status: { availableReplicas: 1 } } }])
})

const deployment: Deployment = {
  metadata: { name: 'web', namespace: 'default', uid: 'd' },
  spec: { replicas: 2, progressDeadlineSeconds: 60, selector: { matchLabels: labels }, template },
  status: { replicas: 2, updatedReplicas: 1 },
}

const current = replicaSetFact(keyFromText('/registry/replicasets/default/web-x'), 1, {
  metadata: { name: 'web-x', uid: 'x', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { template },
})

function told(reason: string, rest: Partial<StatusCondition> = {}): StatusCondition {
  const lastUpdateTime = '2026-01-01T00:00:00Z'
  const message = 'ReplicaSet "web-x" is progressing.'
  return { type: 'Progressing', status: 'True', reason, lastUpdateTime, message, ...rest }
}

function reasonOf(rest: Partial<ProgressState>, of: Deployment = deployment): string | undefined {
  const counts = { replicas: 2, updatedReplicas: 1 }
  const state = { nowMs: startMs, current, isComplete: false, before: undefined, counts, ...rest }
  return progressCondition(of, state).condition?.reason
}

t.test('a rollout is created, goes on, and is done', async t => {
  t.equal(reasonOf({}), 'NewReplicaSetCreated')
  const before = told('NewReplicaSetAvailable', {
    message: 'ReplicaSet "web-old" has successfully progressed.',
    lastUpdateTime: '2025-12-31T00:00:00Z',
  })
  t.equal(reasonOf({ before }), 'NewReplicaSetCreated')
  const counts = { replicas: 2, updatedReplicas: 2 }
  t.equal(reasonOf({ before: told('NewReplicaSetCreated'), counts }), 'ReplicaSetUpdated')
  t.equal(
    reasonOf({ before: told('ReplicaSetUpdated'), isComplete: true }),
    'NewReplicaSetAvailable',
  )
})

t.test('a rollout that takes longer than its deadline says so, once', async t => {
  const before = told('ReplicaSetUpdated')
  t.equal(reasonOf({ before, nowMs: startMs + 60_000 }), 'ReplicaSetUpdated')
  const { condition } = progressCondition(deployment, {
    nowMs: startMs + 60_001,
    current,
    isComplete: false,
    before,
    counts: { replicas: 2, updatedReplicas: 1 },
  })
  t.match(condition, {
    status: 'False',
    reason: 'ProgressDeadlineExceeded',
    message: 'ReplicaSet "web-x" has timed out progressing.',
  })
  const waits = (one: StatusCondition): number | undefined =>
    untilProgressIsDue({ ...deployment, status: { conditions: [one] } }, startMs + 10_000)
  t.equal(waits(before), 51_000)
  t.equal(waits(told('ProgressDeadlineExceeded')), undefined)
  t.equal(waits(told('NewReplicaSetAvailable')), undefined)
})

t.test('without a deadline nothing is said about progress', async t => {
  const spec = { ...deployment.spec, progressDeadlineSeconds: 2 ** 31 - 1 }
  t.equal(reasonOf({}, { ...deployment, spec }), undefined)
})

t.test('a rollout that is paused is not late', async t => {
  const paused = { ...deployment, spec: { ...deployment.spec, paused: true } }
  const late = { before: told('ReplicaSetUpdated'), nowMs: startMs + 100_000 }
  t.equal(reasonOf(late, paused), 'DeploymentPaused')
  t.equal(reasonOf({ before: told('DeploymentPaused') }), 'DeploymentResumed')
})

t.test('a deployment is available without as many pods as it may miss', async t => {
  t.equal(maxUnavailableOf({ ...deployment.spec, replicas: 10 }), 2)
  t.equal(maxUnavailableOf({ ...deployment.spec, strategy: { type: 'Recreate' } }), 0)
  const rollingUpdate = { maxUnavailable: '50%', maxSurge: 1 }
  t.equal(maxUnavailableOf({ ...deployment.spec, replicas: 5, strategy: { rollingUpdate } }), 2)
})
