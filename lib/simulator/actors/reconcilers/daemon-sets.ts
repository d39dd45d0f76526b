/** Daemon sets: a pod on each node that takes it. */

import { adopt } from '../adoption.ts'
import { activePods } from '../replica-sets.ts'
import { type NodeFact, type PodFact, selectingFact } from '../facts.ts'
import {
  type Metadata,
  metadataForPods,
  type Placing,
  type PodTemplate,
  type Selector,
  type Toleration,
} from '../objects.ts'
import { nothing, type Outcome, statusWrite, type Write } from '../outcome.ts'
import { isWanted } from '../placing.ts'
import type { Seen } from '../reconciler.ts'
import { lookAtPodOwners } from '../wiring.ts'
import type { World } from '../world.ts'
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

/** So many pods are made at once; then it is the turn of other sets. */
const stepPods = 50

/** The node for which a pod was made is in its affinity until it is bound. */
export function reconcileDaemonSet(seen: Seen<DaemonSet> & DaemonSetParts): Outcome {
  const { key, object, owned, orphans, revisions, nodes } = seen
  const { metadata, spec } = object
  if (metadata.deletionTimestamp !== undefined) return nothing
  const { name, uid } = metadata
  const adopter = { apiVersion: 'apps/v1', kind: 'DaemonSet', name, uid }
  const adoptions = [
    ...adopt(adopter, spec.selector, owned, orphans),
    ...adopt(adopter, spec.selector, revisions, seen.orphanRevisions),
  ]
  if (adoptions.length > 0) return { writes: adoptions }
  const hash = hashOfTemplate({ spec })
  const placing = { ...(spec.template.spec as Placing), ...daemonTolerations(spec.template) }
  const wanted = nodes.filter(node => !node.isDeleting && isWanted(node, placing))
  const { onNode, surplus } = podsByNode(owned, new Set(wanted.map(node => node.name)))
  const missing = wanted.filter(node => !onNode.has(node.name))
  const ended = owned.filter(pod => pod.phase === 'Failed' && !pod.isDeleting)
  const used = new Set(owned.map(({ labels }) => labels[revisionLabel] ?? ''))
  return {
    writes: [
      ...revisionWrites({ kind: 'DaemonSet', metadata, spec }, revisions, used),
      ...[...ended, ...surplus].map(deletion),
      ...missing.slice(0, stepPods).map(node => create(object, node.name, hash)),
      ...updates(object, { hash, pods: [...onNode.values()], wanted: wanted.length }),
      ...statusWrite(key, object.status, statusOf(object, { hash, onNode, surplus, wanted })),
    ],
  }
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

function create({ metadata, spec }: DaemonSet, node: string, hash: string): Write {
  const { name, namespace = '', uid } = metadata
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name, uid }
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }]
  const required = { nodeSelectorTerms: [{ matchFields }] }
  const object = {
    metadata: {
      ...metadataForPods(spec.template),
      generateName: `${name}-`,
      namespace,
      labels: { ...spec.template.metadata?.labels, [revisionLabel]: hash },
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    spec: {
      ...spec.template.spec,
      affinity: {
        ...(spec.template.spec as { affinity?: object }).affinity,
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required },
      },
      ...daemonTolerations(spec.template),
    },
  }
  const note = { reason: 'SuccessfulCreate', message: 'Created pod: %' }
  return { type: 'create', group: '', resource: 'pods', namespace, object, note }
}

interface Update {
  readonly hash: string
  readonly pods: readonly PodFact[]
  readonly wanted: number
}

/** As many old pods go as may be unavailable. */
function updates({ spec }: DaemonSet, { hash, pods, wanted }: Update): Write[] {
  if (spec.updateStrategy?.type === 'OnDelete') return []
  const limit = spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1
  const most =
    typeof limit === 'number' ? limit : Math.ceil((Number.parseInt(limit, 10) / 100) * wanted)
  const old = pods.filter(({ labels, isDeleting }) => labels[revisionLabel] !== hash && !isDeleting)
  const available = pods.filter(({ isReady, isDeleting }) => isReady && !isDeleting).length
  const idle = old.filter(({ isReady }) => !isReady)
  const room = Math.max(0, Math.max(1, most) - (wanted - available))
  const next = old.filter(({ isReady }) => isReady).slice(0, room)
  return [...idle, ...next].map(deletion)
}

interface State {
  readonly hash: string
  readonly onNode: ReadonlyMap<string, PodFact>
  readonly surplus: readonly PodFact[]
  readonly wanted: readonly NodeFact[]
}

function statusOf({ metadata }: DaemonSet, { hash, onNode, surplus, wanted }: State): object {
  const pods = activePods(onNode.values())
  const ready = pods.filter(({ isReady }) => isReady).length
  return {
    observedGeneration: metadata.generation ?? 1,
    currentNumberScheduled: pods.length,
    numberMisscheduled: new Set(surplus.map(({ node }) => node)).size,
    desiredNumberScheduled: wanted.length,
    numberReady: ready,
    updatedNumberScheduled: pods.filter(({ labels }) => labels[revisionLabel] === hash).length,
    numberAvailable: ready,
    numberUnavailable: wanted.length - ready,
  }
}

/** A change of a node that a set cannot see is none. */
function nodeText({ name, labels, taints, isDeleting }: NodeFact): string {
  return JSON.stringify([name, labels, taints, isDeleting])
}

export function wireDaemonSets(world: World): void {
  const sets = world.follow('daemonsets', selectingFact)
  const revisions = world.follow('controllerrevisions', revisionFact)
  const lookAt = world.controller<DaemonSet, DaemonSetParts>({
    name: 'a simulated daemon set',
    source: { component: 'daemonset-controller' },
    gather: ({ metadata: { uid, namespace = '' } }) => ({
      owned: [...world.pods.index.ownedBy(uid)],
      orphans: [...world.pods.index.orphansIn(namespace)],
      revisions: [...revisions.index.ownedBy(uid)],
      orphanRevisions: [...revisions.index.orphansIn(namespace)],
      nodes: [...world.nodes.index.values()],
    }),
    reconcile: reconcileDaemonSet,
  })
  lookAtPodOwners(world, 'DaemonSet', sets, ({ key }) => lookAt(key))
  const known = new Map<string, string>()
  const lookAtAll = (): void => {
    for (const { key } of sets.index.values()) lookAt(key)
  }
  world.nodes.listen({
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
