/** Deployments have a replica set for each of their templates; the newest one gets all replicas,
 *  step by step. */

import type { Key } from '@watchglass/base'
import type { ControllerRuntime } from '../runtime/controller-runtime.ts'
import {
  deploymentFact,
  type DeploymentFact,
  hashLabel,
  replicaSetFact,
  type ReplicaSetFact,
  revisionAnnotation,
  templateKey,
} from '../runtime/facts.ts'
import type { GeneratedWorkloads } from '../runtime/generated-workloads.ts'
import { type Deployment, type Labels, sortedText } from '../runtime/objects.ts'
import {
  nothing,
  type ReconcileResult,
  type RefusedWrite,
  type Write,
} from '../runtime/reconcile-result.ts'
import type { Seen } from '../runtime/reconciler.ts'
import { selects } from '../runtime/selectors.ts'
import { adopt } from './adoption.ts'
import { deploymentStatus } from './deployment-status.ts'
import { untilProgressIsDue } from './deployment-progress.ts'
import { nameHash } from './name-hash.ts'
import { controllerReference, type OwnerIdentity } from './owner-reference.ts'
import { nextRollout, percentOf, type ReplicaShare } from './rollout.ts'

/** A deployment that was looked at rests, and is not told of each of its many pods. */
const restMs = 50

export interface DeploymentParts {
  readonly owned: readonly OwnedSet[]
  /** Replica sets of the namespace that nobody controls. */
  readonly orphans: readonly ReplicaSetFact[]
}

export interface OwnedSet extends ReplicaSetFact {
  /** The pods that it has, also those that are being deleted. */
  readonly pods: number
}

type SeenDeployment = Seen<Deployment> & DeploymentParts

export function reconcileDeployment(seen: SeenDeployment): ReconcileResult {
  const { key, object, now, nowMs, owned, orphans } = seen
  const { metadata, spec } = object
  if (metadata.deletionTimestamp !== undefined) return nothing
  const adoptions = adopt(identityOf(object), spec.selector, owned, orphans)
  if (adoptions.length > 0) return { writes: adoptions, againMs: 0 }
  const sets = owned.filter(({ isDeleting }) => !isDeleting)
  const template = templateKey(spec.template)
  const current = sets.find(set => set.template === template)
  const isPaused = spec.paused === true
  // The deployment is looked at again once its new set is there.
  if (current === undefined && !isPaused) return { writes: [creationOf(object, sets)] }
  const others = sets.filter(set => set !== current).sort(oldestFirst)
  const revision =
    current === undefined || isPaused
      ? undefined
      : later(current.revisionNumber, newestRevision(others) + 1n)
  return {
    writes: [
      ...(current === undefined ? [] : annotationWrites(object, current, revision)),
      ...(current === undefined ? [] : scalingWrites(object, current, others)),
      ...surplusOf(object, others).map((set): Write => {
        return { type: 'delete', key: set.key, uid: set.uid }
      }),
      ...statusWrites(key, object, {
        revision,
        status: deploymentStatus(object, { now, nowMs, current, sets }),
      }),
    ],
    againMs: untilProgressIsDue(object, nowMs),
  }
}

/** The name of the new set is that of a set that is somebody else's, or has another template: that
 *  is counted in the status, and the next name is another. */
export function refusedOfDeployment(
  { key, object }: SeenDeployment,
  { write, status }: RefusedWrite,
): ReconcileResult {
  if (write.type !== 'create' || status.reason !== 'AlreadyExists') return nothing
  const collisionCount = (object.status?.collisionCount ?? 0) + 1
  return { writes: [{ type: 'patch', key, patch: { status: { collisionCount } }, ...statusOnly }] }
}

const statusOnly = { subresource: 'status' }

function identityOf({ metadata: { name, uid } }: Deployment): OwnerIdentity {
  return { apiVersion: 'apps/v1', kind: 'Deployment', name, uid }
}

function oldestFirst(a: ReplicaSetFact, b: ReplicaSetFact): number {
  return Number(a.revisionNumber - b.revisionNumber)
}

function newestRevision(sets: readonly ReplicaSetFact[]): bigint {
  return sets.map(({ revisionNumber }) => revisionNumber).reduce(later, 0n)
}

function later(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}

/** The set of the present template. */
function creationOf(deployment: Deployment, sets: readonly ReplicaSetFact[]): Write {
  const { metadata, spec, status } = deployment
  const { name, namespace = '' } = metadata
  const collisions = status?.collisionCount === undefined ? '' : String(status.collisionCount)
  const hash = nameHash(`${sortedText(spec.template)}${collisions}`)
  const labels = { ...spec.template.metadata?.labels, [hashLabel]: hash }
  const { matchLabels } = spec.selector
  const replicas = sets.length === 0 ? (spec.replicas ?? 1) : 0
  const { minReadySeconds = 0 } = spec
  const object = {
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      labels,
      annotations: {
        ...passedOn(metadata.annotations),
        ...sizesOf(deployment),
        [revisionAnnotation]: String(newestRevision(sets) + 1n),
      },
      ownerReferences: [controllerReference(identityOf(deployment))],
    },
    spec: {
      replicas,
      ...(minReadySeconds === 0 ? {} : { minReadySeconds }),
      selector: { ...spec.selector, matchLabels: { ...matchLabels, [hashLabel]: hash } },
      template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
    },
  }
  const creation = { group: 'apps', resource: 'replicasets', namespace, object }
  const note = replicas > 0 ? { note: scaled('%', 0, replicas) } : {}
  return { type: 'create', ...creation, ...note }
}

/** The set of the present template has the newest revision, also if it is in use again, and the
 *  annotations of the deployment. Undefined: a deployment that is paused has no new revision. */
function annotationWrites(
  { metadata, spec: { minReadySeconds = 0 } }: Deployment,
  set: ReplicaSetFact,
  revision: bigint | undefined,
): Write[] {
  if (revision === undefined) return []
  const { key, annotations, revisionNumber } = set
  const passed = passedOn(metadata.annotations)
  const isPassed = Object.entries(passed).every(([name, text]) => annotations[name] === text)
  const waitsAsLong = set.minReadySeconds === minReadySeconds
  if (revision === revisionNumber && isPassed && waitsAsLong) return []
  const wanted = { ...passed, [revisionAnnotation]: String(revision) }
  const spec = waitsAsLong ? {} : { spec: { minReadySeconds } }
  return [{ type: 'patch', key, patch: { metadata: { annotations: wanted }, ...spec } }]
}

function scalingWrites(
  deployment: Deployment,
  current: OwnedSet,
  others: readonly OwnedSet[],
): Write[] {
  const next = nextRollout(deployment.spec, shareOf(current), others.map(shareOf))
  const resized = resize(deployment, current, next.current)
  if (deployment.spec.paused === true) return resized
  return [
    ...resized,
    ...others.flatMap((set, i) => resize(deployment, set, next.old[i] ?? set.replicas)),
  ]
}

/** Recreating waits until the last pod has gone, not only until it is being deleted. */
function shareOf({ replicas, available, statusReplicas, pods }: OwnedSet): ReplicaShare {
  return { replicas, available, present: Math.max(statusReplicas, pods) }
}

function resize(deployment: Deployment, set: ReplicaSetFact, replicas: number): Write[] {
  const { key, name } = set
  if (set.replicas === replicas) return []
  const patch = { metadata: { annotations: sizesOf(deployment) }, spec: { replicas } }
  return [{ type: 'patch', key, patch, note: scaled(name, set.replicas, replicas) }]
}

function scaled(set: string, from: number, to: number): NonNullable<Write['note']> {
  const direction = to > from ? 'up' : 'down'
  const message = `Scaled ${direction} replica set ${set} from ${String(from)} to ${String(to)}`
  return { reason: 'ScalingReplicaSet', message }
}

/** The oldest of the sets that are not used any more, above as many as are kept. */
function surplusOf({ spec }: Deployment, others: readonly ReplicaSetFact[]): ReplicaSetFact[] {
  const idle = others.filter(set => set.replicas === 0 && set.statusReplicas === 0)
  return idle.slice(0, Math.max(0, idle.length - (spec.revisionHistoryLimit ?? 10)))
}

interface DeploymentNews {
  readonly revision: bigint | undefined
  /** Undefined, if it is as it should be. */
  readonly status: object | undefined
}

/** The revision and the status in one write of the status, as upstream's getNewReplicaSet does it
 *  by UpdateStatus: an annotation that is written to the deployment itself would raise its
 *  generation. */
function statusWrites(
  key: Key,
  { metadata }: Deployment,
  { revision, status }: DeploymentNews,
): Write[] {
  const known = metadata.annotations?.[revisionAnnotation]
  const isNew = revision !== undefined && known !== String(revision)
  if (!isNew && status === undefined) return []
  const annotations = { [revisionAnnotation]: String(revision) }
  const patch = {
    ...(isNew ? { metadata: { annotations } } : {}),
    ...(status === undefined ? {} : { status }),
  }
  return [{ type: 'patch', key, patch, ...statusOnly }]
}

/** Annotations that a replica set takes over, such as the cause of the change. */
function passedOn(annotations: Labels = {}): Labels {
  const own = ['kubectl.kubernetes.io/last-applied-configuration', revisionAnnotation]
  return Object.fromEntries(
    Object.entries(annotations).filter(
      ([name]) => !own.includes(name) && !name.startsWith('deployment.kubernetes.io/'),
    ),
  )
}

function sizesOf({ spec: { replicas = 1, strategy } }: Deployment): Labels {
  const surge = percentOf(strategy?.rollingUpdate?.maxSurge ?? '25%', replicas, Math.ceil)
  const most = strategy?.type === 'Recreate' ? replicas : replicas + surge
  return {
    'deployment.kubernetes.io/desired-replicas': String(replicas),
    'deployment.kubernetes.io/max-replicas': String(most),
  }
}

export function wireDeployments(runtime: ControllerRuntime, generated: GeneratedWorkloads): void {
  const deployments = runtime.informer('deployments', deploymentFact)
  const sets = runtime.informer('replicasets', replicaSetFact)
  const { lookAt } = runtime.controller<Deployment, DeploymentParts>({
    name: 'a simulated deployment',
    source: { component: 'deployment-controller' },
    restMs,
    isDue: key => {
      generated.takeIfShort(key)
      const fact = deployments.index.get(key)
      return fact === undefined || !generated.isLeft(fact)
    },
    gather: ({ metadata: { uid, namespace = '' } }) => ({
      owned: [...sets.index.ownedBy(uid)].map(set =>
        Object.assign({ pods: runtime.pods.index.countOwnedBy(set.uid) }, set),
      ),
      orphans: [...sets.index.orphansIn(namespace)],
    }),
    reconcile: reconcileDeployment,
    refused: refusedOfDeployment,
  })
  const changed = (deployment: DeploymentFact): void => {
    if (!generated.isLeft(deployment)) lookAt(deployment.key)
  }
  deployments.listen({ changed })
  runtime.owners('Deployment', deployments, changed)
  runtime.tellOwners(sets)
  sets.listen({
    changed: set => {
      if (set.owner !== undefined) return
      for (const one of deployments.index.inNamespace(set.namespace)) {
        if (selects(one.selector, set.labels)) changed(one)
      }
    },
  })
  generated.onTaken(({ key }) => lookAt(key))
  // One that is recreated waits for its last pod to go. Of one that the generator looks after, it
  // may have made another pod in the same step, of which nobody has been told yet.
  runtime.pods.listen({
    gone: pod => {
      const deployment = generated.deploymentOf(pod)
      if (deployment !== undefined) lookAt(deployment.key)
    },
  })
}
