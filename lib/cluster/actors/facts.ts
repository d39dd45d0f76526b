/** The facts about each object that actors follow: enough to see whether there is anything to
 *  do. */

import type { Key } from '../../base/keys.ts'
import {
  type Deployment,
  hasCondition,
  hashOf,
  type Labels,
  type Metadata,
  type Node,
  type OwnerReference,
  type Pod,
  type ReplicaSet,
  type Selector,
  sortedText,
  type Taint,
} from './objects.ts'
import { selectorOf } from './selectors.ts'

/** Facts about every object. */
export interface Fact {
  readonly key: Key
  /** The revision of the object. */
  readonly revision: number
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly isDeleting: boolean
  readonly createdMs: number
  /** The controller. */
  readonly owner: { readonly kind: string; readonly name: string; readonly uid: string } | undefined
  /** Owners that do not control it, if it has any. */
  readonly otherOwners?: readonly OwnerReference[] | undefined
}

export interface PodFact extends Fact {
  readonly phase: string
  readonly isReady: boolean
  readonly node: string
  readonly runsForEver: boolean
  /** It is not to be scheduled: it waits for something. */
  readonly isHeld: boolean
  /** A scheduler has found no place for it. */
  readonly isUnplaced: boolean
  readonly labels: Labels
  readonly graceSeconds: number
}

export interface ReplicaSetFact extends Fact {
  readonly replicas: number
  readonly statusReplicas: number
  readonly ready: number
  readonly available: number
  readonly revisionNumber: number
  /** Equal for equal templates. */
  readonly template: string
  readonly labels: Labels
  readonly annotations: Labels
  readonly selector: Selector
}

export interface DeploymentFact extends Fact {
  /** The generator has made it, and nobody has told its state since. */
  readonly isGenerated: boolean
  readonly selector: Selector
  /** Its status is about an older specification. */
  readonly isUnobserved: boolean
  readonly statusReplicas: number
}

export interface NodeFact extends Fact {
  readonly isReady: boolean
  readonly heartbeatMs: number
  readonly address: string
  readonly labels: Labels
  readonly taints: readonly Taint[]
  readonly isUnschedulable: boolean
}

export function factOf(key: Key, revision: number, metadata: Metadata): Fact {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true)
  const others = metadata.ownerReferences?.filter(one => one !== owner) ?? []
  return {
    key,
    revision,
    uid: metadata.uid,
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    isDeleting: metadata.deletionTimestamp !== undefined,
    createdMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
    owner: owner && { kind: owner.kind, name: owner.name, uid: owner.uid },
    ...(others.length === 0 ? {} : { otherOwners: others }),
  }
}

/** Labels that many pods have, once in memory each. */
const known = new Map<string, Labels>()
const knownMax = 10_000

function sharedLabels(labels: Labels = {}): Labels {
  const text = JSON.stringify(labels)
  const shared = known.get(text)
  if (shared !== undefined) return shared
  if (known.size >= knownMax) known.clear()
  known.set(text, labels)
  return labels
}

export function podFact(key: Key, revision: number, pod: Pod): PodFact {
  const { metadata, spec, status } = pod
  const unplaced = status?.conditions?.some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable',
  )
  return {
    ...factOf(key, revision, metadata),
    phase: status?.phase ?? 'Pending',
    isReady: hasCondition(status?.conditions, 'Ready'),
    node: spec.nodeName ?? '',
    runsForEver: (spec.restartPolicy ?? 'Always') === 'Always',
    isHeld: (spec.schedulingGates?.length ?? 0) > 0,
    isUnplaced: unplaced === true,
    labels: sharedLabels(metadata.labels),
    graceSeconds: metadata.deletionGracePeriodSeconds ?? 0,
  }
}

export const revisionAnnotation = 'deployment.kubernetes.io/revision'
export const hashLabel = 'pod-template-hash'

/** Equal for equal templates, whatever their replica set is called. */
export function templateKey({ metadata, spec }: ReplicaSet['spec']['template']): string {
  const { [hashLabel]: _, ...labels } = metadata?.labels ?? {}
  const text = sortedText({ labels, annotations: metadata?.annotations ?? {}, spec })
  return `${hashOf(text).toString(36)}-${hashOf(`${text}.`).toString(36)}`
}

export function replicaSetFact(key: Key, revision: number, set: ReplicaSet): ReplicaSetFact {
  const { metadata, spec, status } = set
  return {
    ...factOf(key, revision, metadata),
    replicas: spec.replicas ?? 1,
    statusReplicas: status?.replicas ?? 0,
    ready: status?.readyReplicas ?? 0,
    available: status?.availableReplicas ?? 0,
    revisionNumber: Number(metadata.annotations?.[revisionAnnotation] ?? 0),
    template: templateKey(spec.template),
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    selector: selectorOf(spec),
  }
}

export function deploymentFact(
  key: Key,
  revision: number,
  { metadata, spec, status }: Deployment,
): DeploymentFact {
  const conditions = status?.conditions ?? []
  return {
    ...factOf(key, revision, metadata),
    // Its conditions say no more than their reason.
    isGenerated: conditions.some(
      ({ reason, message }) => reason !== undefined && message === `${reason}.`,
    ),
    selector: spec.selector,
    isUnobserved: (metadata.generation ?? 0) !== status?.['observedGeneration'],
    statusReplicas: Number(status?.['replicas'] ?? 0),
  }
}

export function nodeFact(key: Key, revision: number, node: Node): NodeFact {
  const { metadata, spec, status } = node
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  return {
    ...factOf(key, revision, metadata),
    isReady: ready?.status === 'True',
    heartbeatMs: Date.parse(ready?.lastHeartbeatTime ?? '') || 0,
    address: status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? '10.0.0.1',
    labels: metadata.labels ?? {},
    taints: spec?.taints ?? [],
    isUnschedulable: spec?.unschedulable === true,
  }
}
