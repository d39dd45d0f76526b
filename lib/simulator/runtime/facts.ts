/** The facts about each object that controllers follow: enough to see whether there is anything to
 *  do. */

import type { Key } from '@watchglass/base'
import {
  type Deployment,
  hasCondition,
  hashOf,
  type Labels,
  type Metadata,
  type NodeObject,
  type OwnerReference,
  type Placing,
  type Pod,
  type ReplicaSet,
  type Selector,
  sortedText,
  type StatusCondition,
  type Taint,
  type Toleration,
} from './objects.ts'
import { isScripted } from '../containers/scripted-pods.ts'
import { amountsIn, type ResourceAmounts, requestsOf } from '../containers/requests.ts'
import type { Job } from './job.ts'
import type { ContainerResources } from '../containers/declared-pod.ts'
import { jobPodFact, type JobPodFact } from './job-pod-fact.ts'
import { asSelector, selectorOf } from './selectors.ts'

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
  /** The time since when it is ready, or not. */
  readonly readySinceMs: number
  readonly node: string
  /** The amounts that it requests of its node, until it has ended. */
  readonly requests: ResourceAmounts
  readonly runsForEver: boolean
  /** Something says how its containers go. */
  readonly isScripted: boolean
  /** Its containers have other resources than they ask for. */
  readonly isResized: boolean
  /** Its node has looked at it. */
  readonly hasBegun: boolean
  /** Not to be scheduled: a gate holds it. */
  readonly isHeld: boolean
  /** A scheduler has found no place for it. */
  readonly isUnplaced: boolean
  readonly labels: Labels
  readonly address: string
  /** Names of the claims that it uses. */
  readonly claims: readonly string[]
  /** Ports of containers by their names. */
  readonly ports: Readonly<Record<string, number>>
  /** The node for which a daemon set has made it. */
  readonly intendedNode: string
  /** Tolerations of NoExecute. */
  readonly tolerations: readonly Toleration[]
  /** Ephemeral containers that do not run yet. */
  readonly hasNewContainers: boolean
  readonly graceSeconds: number
  readonly finalizers: readonly string[]
  /** Undefined: it is not the pod of a job. */
  readonly job: JobPodFact | undefined
}

export interface ReplicaSetFact extends Fact {
  readonly replicas: number
  readonly statusReplicas: number
  readonly ready: number
  readonly available: number
  /** A number of 64 bits, as Go reads it; 0 for a text that is none. */
  readonly revisionNumber: bigint
  readonly minReadySeconds: number
  /** Equal for equal templates. */
  readonly template: string
  readonly labels: Labels
  readonly annotations: Labels
  readonly selector: Selector
  /** The condition that says why pods of the set could not be created. */
  readonly failure: StatusCondition | undefined
}

export interface DeploymentFact extends Fact {
  /** The generator has made it, and nobody has told its state since. */
  readonly isGenerated: boolean
  readonly selector: Selector
  readonly replicas: number
  /** Its status is about an older specification. */
  readonly isUnobserved: boolean
  readonly statusReplicas: number
}

export interface JobFact extends Fact {
  /** The condition by which it has ended. */
  readonly end: 'Complete' | 'Failed' | undefined
  readonly endedMs: number
  readonly selector: Selector
}

/** Facts about objects that select pods. */
export interface SelectingFact extends Fact {
  readonly selector: Selector
  /** The replicas that it asks for, if it does. */
  readonly replicas: number
}

export interface NodeFact extends Fact {
  readonly isReady: boolean
  readonly heartbeatMs: number
  readonly address: string
  readonly labels: Labels
  readonly taints: readonly Taint[]
  readonly isUnschedulable: boolean
  /** The amounts that pods may request of it. */
  readonly allocatable?: ResourceAmounts | undefined
}

/** The facts about every object, and `own` ones. Not written as `{ ...fact, ...own }`: V8 makes a
 *  class of its own for each object that is made so, which takes twice as much as the object. */
export function factOf<Own extends object>(
  key: Key,
  revision: number,
  metadata: Metadata,
  own: Own,
): Fact & Own {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true)
  const others = metadata.ownerReferences?.filter(one => one !== owner) ?? []
  const fact = {
    key,
    revision,
    uid: metadata.uid,
    namespace: sharedText(metadata.namespace ?? ''),
    name: nameIn(key, metadata.name),
    isDeleting: metadata.deletionTimestamp !== undefined,
    createdMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
    owner: owner && shared({ kind: owner.kind, name: owner.name, uid: owner.uid }),
    otherOwners: others.length === 0 ? undefined : others,
  }
  return Object.assign(fact, own)
}

/** The node that the affinity names, as that of a daemon's pod does. */
function intendedNode({ affinity }: Placing): string {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const fields = required?.nodeSelectorTerms.flatMap(({ matchFields = [] }) => matchFields) ?? []
  return fields.find(({ key }) => key === 'metadata.name')?.values?.[0] ?? ''
}

/** Values that many pods have, once in memory each. */
const known = new Map<string, unknown>()
/** The labels and owners of ten thousand workloads, some 300 bytes each. */
const knownMax = 30_000
const knownTexts = new Map<string, string>()

function shared<T>(value: T): T {
  const text = JSON.stringify(value)
  const before = known.get(text)
  if (before !== undefined) return before as T
  if (known.size >= knownMax) known.clear()
  known.set(text, value)
  return value
}

/** Texts that many objects have, such as the names of namespaces and nodes. */
function sharedText(text: string): string {
  const before = knownTexts.get(text)
  if (before !== undefined) return before
  if (knownTexts.size >= knownMax) knownTexts.clear()
  knownTexts.set(text, text)
  return text
}

/** The name as a part of the key, which is in memory anyway. */
function nameIn(key: Key, name: string): string {
  const end = key.slice(key.length - name.length)
  return end === name ? end : name
}

function claimsOf({ metadata, spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (ephemeral !== undefined) return [`${metadata.name}-${name}`]
    return persistentVolumeClaim === undefined ? [] : [persistentVolumeClaim.claimName]
  })
}

function portsOf({ spec }: Pod): Record<string, number> {
  const ports = spec.containers.flatMap(container => container.ports ?? [])
  return Object.fromEntries(ports.map(({ name = '', containerPort }) => [name, containerPort]))
}

function readySinceMs(conditions: readonly StatusCondition[] = []): number {
  const ready = conditions.find(({ type }) => type === 'Ready')
  return Date.parse(ready?.lastTransitionTime ?? '') || 0
}

/** Containers whose status does not say what they have are left as they are. */
function isResized({ spec, status }: Pod): boolean {
  const statuses = status?.containerStatuses ?? []
  return statuses.some(({ name, resources }) => {
    if (resources === undefined) return false
    const asked = spec.containers.find(container => container.name === name)?.resources
    const text = (of: ContainerResources = {}): string => sortedText([of.requests, of.limits])
    return text(asked) !== text(resources)
  })
}

export function podFact(key: Key, revision: number, pod: Pod): PodFact {
  const { metadata, spec, status } = pod
  const unplaced = status?.conditions?.some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable',
  )
  return factOf(key, revision, metadata, {
    phase: sharedText(status?.phase ?? 'Pending'),
    isReady: hasCondition(status?.conditions, 'Ready'),
    readySinceMs: readySinceMs(status?.conditions),
    node: sharedText(spec.nodeName ?? ''),
    requests: shared(requestsOf(pod)),
    runsForEver: (spec.restartPolicy ?? 'Always') === 'Always',
    isScripted: isScripted(pod),
    isResized: isResized(pod),
    hasBegun: status?.startTime !== undefined,
    isHeld: (spec.schedulingGates?.length ?? 0) > 0,
    isUnplaced: unplaced === true,
    labels: shared(metadata.labels ?? {}),
    address: status?.podIP ?? '',
    claims: shared(claimsOf(pod)),
    ports: shared(portsOf(pod)),
    intendedNode: intendedNode(spec),
    tolerations: shared(
      (spec.tolerations ?? []).filter(({ effect }) => !effect || effect === 'NoExecute'),
    ),
    hasNewContainers:
      (spec.ephemeralContainers?.length ?? 0) > (status?.ephemeralContainerStatuses?.length ?? 0),
    graceSeconds: metadata.deletionGracePeriodSeconds ?? 0,
    finalizers: shared(metadata.finalizers ?? []),
    job: jobPodFact(pod),
  })
}

export const revisionAnnotation = 'deployment.kubernetes.io/revision'
export const hashLabel = 'pod-template-hash'

/** Equal for equal templates, whatever their replica set is called. */
export function templateKey({ metadata, spec }: ReplicaSet['spec']['template']): string {
  const { [hashLabel]: _, ...labels } = metadata?.labels ?? {}
  const text = sortedText({ labels, annotations: metadata?.annotations ?? {}, spec })
  return `${hashOf(text).toString(36)}-${hashOf(`${text}.`).toString(36)}`
}

/** Fits 64 bits whatever its digits. */
const revisionText = /^\d{1,18}$|^[1-8]\d{18}$/

function revisionIn(text: string): bigint {
  return revisionText.test(text) ? BigInt(text) : 0n
}

export function replicaSetFact(key: Key, revision: number, set: ReplicaSet): ReplicaSetFact {
  const { metadata, spec, status } = set
  return factOf(key, revision, metadata, {
    replicas: spec.replicas ?? 1,
    statusReplicas: status?.replicas ?? 0,
    ready: status?.readyReplicas ?? 0,
    available: status?.availableReplicas ?? 0,
    minReadySeconds: spec.minReadySeconds ?? 0,
    revisionNumber: revisionIn(metadata.annotations?.[revisionAnnotation] ?? ''),
    template: templateKey(spec.template),
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    selector: selectorOf(spec),
    failure: status?.conditions?.find(({ type }) => type === 'ReplicaFailure'),
  })
}

export function deploymentFact(
  key: Key,
  revision: number,
  { metadata, spec, status }: Deployment,
): DeploymentFact {
  const conditions = status?.conditions ?? []
  return factOf(key, revision, metadata, {
    // Its conditions say no more than their reason.
    isGenerated: conditions.some(
      ({ reason, message }) => reason !== undefined && message === `${reason}.`,
    ),
    selector: spec.selector,
    replicas: spec.replicas ?? 1,
    isUnobserved: (metadata.generation ?? 0) !== status?.['observedGeneration'],
    statusReplicas: Number(status?.['replicas'] ?? 0),
  })
}

export function jobFact(key: Key, revision: number, { metadata, spec, status }: Job): JobFact {
  const ended = status?.conditions?.find(
    one => (one.type === 'Complete' || one.type === 'Failed') && one.status === 'True',
  )
  return factOf(key, revision, metadata, {
    end: ended && (ended.type as JobFact['end']),
    endedMs: Date.parse(status?.completionTime ?? ended?.lastTransitionTime ?? '') || 0,
    selector: selectorOf(spec),
  })
}

/** An object that selects pods by a selector, or by labels, as a service does. */
export function selectingFact(
  key: Key,
  revision: number,
  {
    metadata,
    spec,
  }: { metadata: Metadata; spec?: { selector?: Selector | Labels; replicas?: number } },
): SelectingFact {
  return factOf(key, revision, metadata, {
    selector: asSelector(spec?.selector ?? {}),
    replicas: spec?.replicas ?? 1,
  })
}

export function nodeFact(key: Key, revision: number, node: NodeObject): NodeFact {
  const { metadata, spec, status } = node
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  return factOf(key, revision, metadata, {
    isReady: ready?.status === 'True',
    heartbeatMs: Date.parse(ready?.lastHeartbeatTime ?? '') || 0,
    address: status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? '10.0.0.1',
    labels: metadata.labels ?? {},
    taints: spec?.taints ?? [],
    isUnschedulable: spec?.unschedulable === true,
    allocatable: shared(amountsIn(status?.allocatable)),
  })
}
