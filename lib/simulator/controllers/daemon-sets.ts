/** Daemon sets: a pod on each node that takes it. */

import { adopt } from './adoption.ts'
import { activePods, availablePods, podCreation } from './owned-pods.ts'
import { refusedCreation } from './refused-creation.ts'
import { percentOf } from './rollout.ts'
import { type NodeFact, type PodFact, selectingFact } from '../runtime/facts.ts'
import {
  type Metadata,
  type Placing,
  type PodTemplate,
  type Selector,
  type Toleration,
} from '../runtime/objects.ts'
import {
  nothing,
  type ReconcileResult,
  type RefusedWrite,
  statusWrite,
  type Write,
} from '../runtime/reconcile-result.ts'
import { isWanted } from '../nodes/placing.ts'
import type { Seen } from '../runtime/reconciler.ts'
import { lookAtPodOwners } from '../runtime/wiring.ts'
import type { ControllerRuntime } from '../runtime/controller-runtime.ts'
import {
  hashOfTemplate,
  revisionFact,
  type RevisionFact,
  revisionLabel,
  revisionWrites,
} from './revisions.ts'

export interface DaemonSet {
  readonly metadata: Metadata
  readonly spec: {
    readonly selector: Selector
    readonly template: PodTemplate
    readonly revisionHistoryLimit?: number
    readonly minReadySeconds?: number
    readonly updateStrategy?: {
      readonly type?: string
      readonly rollingUpdate?: { readonly maxUnavailable?: number | string }
    }
  }
  readonly status?: object
}

export interface DaemonSetParts {
  readonly owned: readonly PodFact[]
  readonly orphans: readonly PodFact[]
  readonly revisions: readonly RevisionFact[]
  /** Revisions of the namespace that nobody has. */
  readonly orphanRevisions: readonly RevisionFact[]
  readonly nodes: readonly NodeFact[]
}

/** Pods made in one look; then it is the turn of other sets. */
const stepPods = 50

export function reconcileDaemonSet(seen: Seen<DaemonSet> & DaemonSetParts): ReconcileResult {
  const { key, object, owned, orphans, revisions } = seen
  const { metadata, spec } = object
  if (metadata.deletionTimestamp !== undefined) return nothing
  const { name, uid } = metadata
  const adopter = { apiVersion: 'apps/v1', kind: 'DaemonSet', name, uid }
  const adoptions = [
    ...adopt(adopter, spec.selector, owned, orphans),
    ...adopt(adopter, spec.selector, revisions, seen.orphanRevisions),
  ]
  if (adoptions.length > 0) return { writes: adoptions, againMs: 0 }
  const state = stateOf(seen)
  const { hash, wanted, onNode, surplus } = state
  const missing = wanted.filter(node => !onNode.has(node.name))
  const ended = owned.filter(pod => pod.phase === 'Failed' && !pod.isDeleting)
  const used = new Set(owned.map(({ labels }) => labels[revisionLabel] ?? ''))
  return {
    writes: [
      ...revisionWrites({ kind: 'DaemonSet', metadata, spec }, revisions, used),
      ...[...ended, ...surplus].map(deletion),
      ...missing.slice(0, stepPods).map(node => create(object, node.name, hash)),
      ...updates(seen, { hash, pods: [...onNode.values()], wanted: wanted.length }),
      ...statusWrite(key, object.status, statusOf(seen, state)),
    ],
    againMs: availablePods(owned, spec, seen.nowMs).againMs,
  }
}

/** The answer to a pod that may not be created: an Event, and the status without it. */
export function refusedOfDaemonSet(
  seen: Seen<DaemonSet> & DaemonSetParts,
  refusal: RefusedWrite,
): ReconcileResult {
  if (refusal.write.type !== 'create') return nothing
  const { key, object } = seen
  return {
    writes: statusWrite(key, object.status, statusOf(seen, stateOf(seen))),
    notes: refusedCreation(refusal),
  }
}

/** The nodes that are to have a pod, and the pods that are there. */
function stateOf({ object: { spec }, nodes, owned }: Seen<DaemonSet> & DaemonSetParts): State {
  const placing = { ...(spec.template.spec as Placing), ...daemonTolerations(spec.template) }
  const wanted = nodes.filter(node => !node.isDeleting && isWanted(node, placing))
  const byNode = podsByNode(owned, new Set(wanted.map(node => node.name)))
  return { hash: hashOfTemplate({ spec }), wanted, ...byNode }
}

function daemonTolerations(template: PodTemplate): { tolerations: Toleration[] } {
  const { tolerations = [], hostNetwork } = template.spec as Placing & { hostNetwork?: boolean }
  const toleration = (name: string, effect: string): Toleration => {
    return { key: `node.kubernetes.io/${name}`, operator: 'Exists', effect }
  }
  return {
    tolerations: [
      ...tolerations,
      toleration('not-ready', 'NoExecute'),
      toleration('unreachable', 'NoExecute'),
      toleration('disk-pressure', 'NoSchedule'),
      toleration('memory-pressure', 'NoSchedule'),
      toleration('pid-pressure', 'NoSchedule'),
      toleration('unschedulable', 'NoSchedule'),
      ...(hostNetwork === true ? [toleration('network-unavailable', 'NoSchedule')] : []),
    ],
  }
}

/** One pod for each node; the others are surplus, the youngest first. */
function podsByNode(
  owned: readonly PodFact[],
  wanted: ReadonlySet<string>,
): { onNode: Map<string, PodFact>; surplus: PodFact[] } {
  const onNode = new Map<string, PodFact>()
  const surplus: PodFact[] = []
  const live = owned.filter(({ phase }) => phase !== 'Failed' && phase !== 'Succeeded')
  for (const pod of live.sort((a, b) => a.createdMs - b.createdMs)) {
    const node = pod.node === '' ? pod.intendedNode : pod.node
    // A pod that is going away still has the node.
    if (wanted.has(node) && !onNode.has(node)) onNode.set(node, pod)
    else if (!pod.isDeleting) surplus.push(pod)
  }
  return { onNode, surplus }
}

function deletion({ key, uid }: PodFact): Write {
  const note = { reason: 'SuccessfulDelete', message: 'Deleted pod: %' }
  return { type: 'delete', key, uid, note }
}

/** The node is in the affinity of the pod until it is bound. */
function create({ metadata, spec }: DaemonSet, node: string, hash: string): Write {
  const { name, namespace = '', uid } = metadata
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name, uid }
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }]
  const required = { nodeSelectorTerms: [{ matchFields }] }
  const { template } = spec
  return podCreation(owner, namespace, {
    metadata: {
      ...template.metadata,
      labels: { ...template.metadata?.labels, [revisionLabel]: hash },
    },
    spec: {
      ...template.spec,
      affinity: {
        ...(template.spec as { affinity?: object }).affinity,
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required },
      },
      ...daemonTolerations(template),
    },
  })
}

interface Update {
  readonly hash: string
  readonly pods: readonly PodFact[]
  readonly wanted: number
}

/** As many old pods go as may be unavailable. */
function updates(
  { object: { spec }, nowMs }: Seen<DaemonSet>,
  { hash, pods, wanted }: Update,
): Write[] {
  if (spec.updateStrategy?.type === 'OnDelete') return []
  const limit = spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1
  const most = percentOf(limit, wanted, Math.ceil)
  const old = pods.filter(({ labels, isDeleting }) => labels[revisionLabel] !== hash && !isDeleting)
  const available = new Set(availablePods(pods, spec, nowMs).pods.filter(one => !one.isDeleting))
  const idle = old.filter(pod => !available.has(pod))
  const room = Math.max(0, Math.max(1, most) - (wanted - available.size))
  const next = old.filter(pod => available.has(pod)).slice(0, room)
  return [...idle, ...next].map(deletion)
}

interface State {
  readonly hash: string
  readonly onNode: ReadonlyMap<string, PodFact>
  readonly surplus: readonly PodFact[]
  readonly wanted: readonly NodeFact[]
}

function statusOf(
  { object: { metadata, spec }, nowMs }: Seen<DaemonSet>,
  { hash, onNode, surplus, wanted }: State,
): object {
  const pods = activePods(onNode.values())
  const ready = pods.filter(({ isReady }) => isReady).length
  const available = availablePods(pods, spec, nowMs).pods.length
  return {
    observedGeneration: metadata.generation ?? 1,
    currentNumberScheduled: pods.length,
    numberMisscheduled: new Set(surplus.map(({ node }) => node)).size,
    desiredNumberScheduled: wanted.length,
    numberReady: ready,
    updatedNumberScheduled: pods.filter(({ labels }) => labels[revisionLabel] === hash).length,
    numberAvailable: available,
    numberUnavailable: wanted.length - available,
  }
}

/** A change of a node that a set cannot see is none. */
function nodeText({ name, labels, taints, isDeleting }: NodeFact): string {
  return JSON.stringify([name, labels, taints, isDeleting])
}

export function wireDaemonSets(runtime: ControllerRuntime): void {
  const sets = runtime.informer('daemonsets', selectingFact)
  const revisions = runtime.informer('controllerrevisions', revisionFact)
  const { lookAt } = runtime.controller<DaemonSet, DaemonSetParts>({
    name: 'a simulated daemon set',
    source: { component: 'daemonset-controller' },
    gather: ({ metadata: { uid, namespace = '' } }) => ({
      owned: [...runtime.pods.index.ownedBy(uid)],
      orphans: [...runtime.pods.index.orphansIn(namespace)],
      revisions: [...revisions.index.ownedBy(uid)],
      orphanRevisions: [...revisions.index.orphansIn(namespace)],
      nodes: [...runtime.nodes.index.values()],
    }),
    reconcile: reconcileDaemonSet,
    refused: refusedOfDaemonSet,
  })
  lookAtPodOwners(runtime, 'DaemonSet', sets, ({ key }) => lookAt(key))
  const known = new Map<string, string>()
  const lookAtAll = (): void => {
    for (const { key } of sets.index.values()) lookAt(key)
  }
  runtime.nodes.listen({
    noted: node => {
      const text = nodeText(node)
      if (known.get(node.name) === text) return
      known.set(node.name, text)
      lookAtAll()
    },
    gone: ({ name }) => {
      known.delete(name)
      lookAtAll()
    },
  })
}
