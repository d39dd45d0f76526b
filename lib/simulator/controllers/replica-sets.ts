/** Replica sets and replication controllers: as many pods as they ask for. */

import type { ControllerRuntime } from '../runtime/controller-runtime.ts'
import { type PodFact, replicaSetFact } from '../runtime/facts.ts'
import type { ReplicaSet, StatusCondition } from '../runtime/objects.ts'
import {
  nothing,
  type ReconcileResult,
  type RefusedWrite,
  statusWrite,
  type Write,
} from '../runtime/reconcile-result.ts'
import type { Seen } from '../runtime/reconciler.ts'
import { selectorOf } from '../runtime/selectors.ts'
import { lookAtPodOwners } from '../runtime/wiring.ts'
import { adopt } from './adoption.ts'
import type { GeneratedWorkloads } from '../runtime/generated-workloads.ts'
import { activePods, availablePods, podCreation } from './owned-pods.ts'
import { refusedCreation } from './refused-creation.ts'

/** Pods made or deleted in one look, as in upstream's controller (BurstReplicas); then it is the
 *  turn of other sets. */
const burstPods = 500
/** A set that was looked at rests, and is not told of each of its many pods. */
const restMs = 50

export interface ReplicaSetParts {
  /** The kind of set: a replication controller does what a replica set does. */
  readonly kind: { readonly apiVersion: string; readonly kind: string }
  readonly owned: readonly PodFact[]
  readonly orphans: readonly PodFact[]
}

export function reconcileReplicaSet(seen: Seen<ReplicaSet> & ReplicaSetParts): ReconcileResult {
  const { object, kind, owned, orphans } = seen
  const { metadata, spec } = object
  if (metadata.deletionTimestamp !== undefined) return nothing
  const { name, uid, namespace = '' } = metadata
  const owner = { ...kind, name, uid }
  const adoptions = adopt(owner, selectorOf(spec), owned, activePods(orphans))
  if (adoptions.length > 0) return { writes: adoptions, againMs: 0 }
  const active = activePods(owned)
  const missing = (spec.replicas ?? 1) - active.length
  const created = Math.max(0, Math.min(missing, burstPods))
  const creation = podCreation(owner, namespace, spec.template)
  const surplus = active.sort(leastMissedFirst).slice(0, Math.max(0, Math.min(-missing, burstPods)))
  const kept = active.slice(surplus.length)
  return {
    writes: [
      ...Array.from({ length: created }, () => creation),
      ...surplus.map(deletion),
      ...statusWrites(seen, { pods: kept, created }),
    ],
    againMs: Math.abs(missing) > burstPods ? 0 : availablePods(kept, spec, seen.nowMs).againMs,
  }
}

/** Pods that are not ready come first, and then the youngest. */
function leastMissedFirst(a: PodFact, b: PodFact): number {
  return Number(a.isReady) - Number(b.isReady) || b.createdMs - a.createdMs
}

function deletion({ key, uid }: PodFact): Write {
  const note = { reason: 'SuccessfulDelete', message: 'Deleted pod: %' }
  return { type: 'delete', key, uid, note }
}

/** The answer to a pod that may not be created: a condition, until one has been, and an Event. */
export function refusedOfReplicaSet(
  seen: Seen<ReplicaSet> & ReplicaSetParts,
  refusal: RefusedWrite,
): ReconcileResult {
  const { write, status } = refusal
  if (write.type !== 'create') return nothing
  const condition: StatusCondition = {
    type: failure,
    status: 'True',
    reason: 'FailedCreate',
    message: status.message,
    lastTransitionTime: seen.now,
  }
  const known = seen.object.status?.conditions?.find(({ type }) => type === failure)
  const state = { pods: activePods(seen.owned), created: 0, failed: known ?? condition }
  return { writes: statusWrites(seen, state), notes: refusedCreation(refusal) }
}

const failure = 'ReplicaFailure'

interface SetState {
  /** The pods that stay. */
  readonly pods: readonly PodFact[]
  readonly created: number
  /** The condition that says why pods could not be created. */
  readonly failed?: StatusCondition
}

function statusWrites(
  { key, object, nowMs }: Seen<ReplicaSet>,
  { pods, created, failed }: SetState,
): Write[] {
  const known = object.status?.conditions ?? []
  const others = known.filter(({ type }) => type !== failure)
  const conditions = failed === undefined ? others : [...others, failed]
  const ready = pods.filter(({ isReady }) => isReady).length
  const replicas = pods.length + created
  return statusWrite(key, object.status, {
    replicas,
    fullyLabeledReplicas: replicas,
    readyReplicas: ready,
    availableReplicas: availablePods(pods, object.spec, nowMs).pods.length,
    observedGeneration: object.metadata.generation ?? 1,
    ...(known.length === 0 && failed === undefined ? {} : { conditions }),
  })
}

/** Sets of deployments that the generator of clusters looks after are left to it. */
export function wireReplicaSets(runtime: ControllerRuntime, generated: GeneratedWorkloads): void {
  const sets = runtime.informer('replicasets', replicaSetFact)
  const { lookAt } = runtime.controller<ReplicaSet, ReplicaSetParts>({
    name: 'a simulated replica set',
    source: { component: 'replicaset-controller' },
    restMs,
    gather: ({ metadata }) => ({
      kind: { apiVersion: 'apps/v1', kind: 'ReplicaSet' },
      ...podsOf(runtime, metadata),
    }),
    reconcile: reconcileReplicaSet,
    refused: refusedOfReplicaSet,
  })
  lookAtPodOwners(runtime, 'ReplicaSet', sets, set => {
    if (!generated.isLeftSet(set)) lookAt(set.key)
  })
}

export function wireReplicationControllers(runtime: ControllerRuntime): void {
  const controllers = runtime.informer('controllers', replicaSetFact)
  const { lookAt } = runtime.controller<ReplicaSet, ReplicaSetParts>({
    name: 'a simulated replication controller',
    source: { component: 'replication-controller' },
    gather: ({ metadata }) => ({
      kind: { apiVersion: 'v1', kind: 'ReplicationController' },
      ...podsOf(runtime, metadata),
    }),
    reconcile: reconcileReplicaSet,
    refused: refusedOfReplicaSet,
  })
  lookAtPodOwners(runtime, 'ReplicationController', controllers, ({ key }) => lookAt(key))
}

function podsOf(
  { pods }: ControllerRuntime,
  { uid, namespace = '' }: ReplicaSet['metadata'],
): Pick<ReplicaSetParts, 'owned' | 'orphans'> {
  return { owned: [...pods.index.ownedBy(uid)], orphans: [...pods.index.orphansIn(namespace)] }
}
