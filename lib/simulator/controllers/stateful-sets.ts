/** Stateful sets: pods with numbers, made and replaced one after the other, each with claims of its
 *  own. */

import { adopt } from './adoption.ts'
import { controllerReference } from './owner-reference.ts'
import { availablePods } from './owned-pods.ts'
import { refusedCreation } from './refused-creation.ts'
import { type PodFact, selectingFact } from '../runtime/facts.ts'
import {
  type Labels,
  type Metadata,
  metadataForPods,
  type PodTemplate,
  type Selector,
} from '../runtime/objects.ts'
import {
  nothing,
  type ReconcileResult,
  type RefusedWrite,
  statusWrite,
  type Write,
} from '../runtime/reconcile-result.ts'
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
import { claimFact } from './volumes.ts'

export interface StatefulSet {
  readonly metadata: Metadata
  readonly spec: {
    readonly replicas?: number
    readonly minReadySeconds?: number
    readonly selector: Selector
    readonly template: PodTemplate
    readonly serviceName?: string
    readonly podManagementPolicy?: string
    readonly revisionHistoryLimit?: number
    readonly ordinals?: { readonly start?: number }
    readonly updateStrategy?: {
      readonly type?: string
      readonly rollingUpdate?: { readonly partition?: number }
    }
    readonly volumeClaimTemplates?: readonly {
      readonly metadata: { readonly name: string; readonly labels?: Labels }
      readonly spec: object
    }[]
  }
  readonly status?: { readonly currentRevision?: string }
}

export interface StatefulSetParts {
  readonly owned: readonly PodFact[]
  readonly orphans: readonly PodFact[]
  readonly revisions: readonly RevisionFact[]
  /** Revisions of the namespace that nobody has. */
  readonly orphanRevisions: readonly RevisionFact[]
  readonly hasClaim: (name: string) => boolean
  /** The template of the revision that pods below the partition keep; undefined: that of now. */
  readonly kept?: PodTemplate | undefined
}

export function reconcileStatefulSet(seen: Seen<StatefulSet> & StatefulSetParts): ReconcileResult {
  const { object, owned, orphans, revisions } = seen
  const { metadata, spec } = object
  if (metadata.deletionTimestamp !== undefined) return nothing
  const adopter = { apiVersion: 'apps/v1', kind: 'StatefulSet', ...identity(metadata) }
  const adoptions = [
    ...adopt(adopter, spec.selector, owned, orphans.filter(isNumbered(metadata.name))),
    ...adopt(adopter, spec.selector, revisions, seen.orphanRevisions),
  ]
  if (adoptions.length > 0) return { writes: adoptions, againMs: 0 }
  const used = new Set(owned.map(({ labels }) => revisionOf(labels, metadata.name)))
  const revised = { kind: 'StatefulSet', metadata, spec }
  return {
    writes: [
      ...revisionWrites(revised, revisions, used),
      ...podWrites(seen),
      ...statusWrite(seen.key, object.status, statusOf(seen)),
    ],
    againMs: availablePods(owned, spec, seen.nowMs).againMs,
  }
}

/** The answer to a pod or a claim that may not be created. */
export function refusedOfStatefulSet(
  seen: Seen<StatefulSet> & StatefulSetParts,
  refusal: RefusedWrite,
): ReconcileResult {
  const { write } = refusal
  if (write.type !== 'create') return nothing
  const { name } = seen.object.metadata
  const { metadata } = write.object as { readonly metadata: { readonly name: string } }
  const kind = write.resource === 'pods' ? 'Pod' : 'Claim'
  const notes = refusedCreation(refusal, reason =>
    kind === 'Pod'
      ? `create Pod ${metadata.name} in StatefulSet ${name} failed error: ${reason}`
      : `create Claim ${metadata.name} for Pod in StatefulSet ${name} failed error: ${reason}`,
  )
  return { writes: statusWrite(seen.key, seen.object.status, statusOf(seen)), notes }
}

function identity({ name, uid }: Metadata): { name: string; uid: string } {
  return { name, uid }
}

function isNumbered(name: string): (pod: PodFact) => boolean {
  return pod => pod.name.startsWith(`${name}-`) && /^\d+$/.test(pod.name.slice(name.length + 1))
}

/** The label has the name of the set before the hash. */
function revisionOf(labels: Labels, name: string): string {
  return (labels[revisionLabel] ?? '').slice(name.length + 1)
}

/** The next steps; in order, there is one at a time. */
function podWrites(seen: Seen<StatefulSet> & StatefulSetParts): Write[] {
  const { object, owned } = seen
  const { metadata, spec } = object
  const isParallel = spec.podManagementPolicy === 'Parallel'
  const available = new Set(availablePods(owned, spec, seen.nowMs).pods)
  const numbers = numbersOf(spec)
  const byName = new Map(owned.map(pod => [pod.name, pod]))
  const writes: Write[] = []
  for (const number of numbers) {
    const pod = byName.get(`${metadata.name}-${String(number)}`)
    const made = pod === undefined ? create(seen, number) : replaceEnded(metadata.name, pod)
    writes.push(...made)
    const waits = made.length > 0 || pod === undefined || !available.has(pod) || pod.isDeleting
    if (waits && !isParallel) return writes
  }
  const wanted = new Set(numbers.map(number => `${metadata.name}-${String(number)}`))
  const surplus = owned
    .filter(({ name }) => !wanted.has(name))
    .sort((a, b) => numberOf(b.name) - numberOf(a.name))
  for (const pod of surplus) {
    if (!pod.isDeleting) writes.push(deletion(metadata.name, pod))
    if (!isParallel) return writes
  }
  return writes.length > 0 ? writes : updateWrites(seen, byName)
}

/** From the last pod to the first, each when the one before is ready. */
function updateWrites(
  { object }: Seen<StatefulSet>,
  byName: ReadonlyMap<string, PodFact>,
): Write[] {
  const { metadata, spec } = object
  if (spec.updateStrategy?.type === 'OnDelete') return []
  const hash = hashOfTemplate({ spec })
  for (const number of numbersOf(spec).reverse()) {
    if (number < firstUpdated(spec)) return []
    const pod = byName.get(`${metadata.name}-${String(number)}`)
    if (pod === undefined || pod.isDeleting || !pod.isReady) return []
    if (revisionOf(pod.labels, metadata.name) !== hash) {
      return [deletion(metadata.name, pod)]
    }
  }
  return []
}

/** The first number at or above the partition: those below it keep their revision, also when they
 *  are made anew (isCurrentRevisionNeeded). */
function firstUpdated({ updateStrategy, ordinals }: StatefulSet['spec']): number {
  const isRolling = updateStrategy?.type !== 'OnDelete'
  const partition = isRolling ? (updateStrategy?.rollingUpdate?.partition ?? 0) : 0
  return (ordinals?.start ?? 0) + partition
}

function numbersOf({ replicas = 1, ordinals }: StatefulSet['spec']): number[] {
  const start = ordinals?.start ?? 0
  return Array.from({ length: replicas }, (_, i) => start + i)
}

function numberOf(name: string): number {
  return Number(name.slice(name.lastIndexOf('-') + 1))
}

function deletion(set: string, { key, uid }: PodFact): Write {
  const message = `delete Pod % in StatefulSet ${set} successful`
  return { type: 'delete', key, uid, note: { reason: 'SuccessfulDelete', message } }
}

function replaceEnded(set: string, pod: PodFact): Write[] {
  const hasEnded = pod.phase === 'Failed' || pod.phase === 'Succeeded'
  return hasEnded && !pod.isDeleting ? [deletion(set, pod)] : []
}

function create(
  { object, hasClaim, kept }: Seen<StatefulSet> & StatefulSetParts,
  number: number,
): Write[] {
  const { metadata, spec, status } = object
  const isKept = kept !== undefined && number < firstUpdated(spec)
  const used = isKept ? kept : spec.template
  const known = isKept ? status?.currentRevision : undefined
  const revision = known ?? `${metadata.name}-${hashOfTemplate({ spec })}`
  const { namespace = '' } = metadata
  const name = `${metadata.name}-${String(number)}`
  const templates = spec.volumeClaimTemplates ?? []
  const claims = templates
    .map(template => ({ ...template, claim: `${template.metadata.name}-${name}` }))
    .filter(({ claim }) => !hasClaim(claim))
    .map(({ claim, metadata: { labels }, spec: claimSpec }): Write => {
      const all = { ...labels, ...spec.selector.matchLabels }
      const object = { metadata: { name: claim, namespace, labels: all }, spec: claimSpec }
      const message = `create Claim % Pod ${name} in StatefulSet ${metadata.name} success`
      const note = { reason: 'SuccessfulCreate', message }
      const resource = 'persistentvolumeclaims'
      return { type: 'create', group: '', resource, namespace, object, note }
    })
  const template = used.spec as { readonly volumes?: readonly { readonly name: string }[] }
  const own = templates.map(one => ({
    name: one.metadata.name,
    persistentVolumeClaim: { claimName: `${one.metadata.name}-${name}` },
  }))
  const others = (template.volumes ?? []).filter(one => !own.some(({ name }) => name === one.name))
  const volumes = [...own, ...others]
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', ...identity(metadata) }
  const pod = {
    metadata: {
      ...metadataForPods(used),
      name,
      namespace,
      labels: {
        ...used.metadata?.labels,
        'apps.kubernetes.io/pod-index': String(number),
        'statefulset.kubernetes.io/pod-name': name,
        [revisionLabel]: revision,
      },
      ownerReferences: [controllerReference(owner)],
    },
    spec: {
      ...template,
      hostname: name,
      ...(spec.serviceName ? { subdomain: spec.serviceName } : {}),
      ...(volumes.length === 0 ? {} : { volumes }),
    },
  }
  const message = `create Pod % in StatefulSet ${metadata.name} successful`
  const note = { reason: 'SuccessfulCreate', message }
  return [...claims, { type: 'create', group: '', resource: 'pods', namespace, object: pod, note }]
}

function statusOf({ object, owned, nowMs }: Seen<StatefulSet> & StatefulSetParts): object {
  const { metadata, spec, status } = object
  const hash = hashOfTemplate({ spec })
  const updateRevision = `${metadata.name}-${hash}`
  const pods = owned.filter(({ isDeleting, phase }) => !isDeleting && phase !== 'Failed')
  const ready = pods.filter(({ isReady }) => isReady).length
  const updated = pods.filter(({ labels }) => labels[revisionLabel] === updateRevision).length
  const isDone = updated === (spec.replicas ?? 1) && pods.length === updated && ready === updated
  const currentRevision = isDone ? updateRevision : (status?.currentRevision ?? updateRevision)
  const current = pods.filter(({ labels }) => labels[revisionLabel] === currentRevision).length
  return {
    observedGeneration: metadata.generation ?? 1,
    replicas: pods.length,
    readyReplicas: ready,
    availableReplicas: availablePods(pods, spec, nowMs).pods.length,
    currentReplicas: current,
    updatedReplicas: updated,
    currentRevision,
    updateRevision,
    collisionCount: 0,
  }
}

/** A revision as it is stored: how a set is patched to be that again. */
interface StoredRevision {
  readonly data?: { readonly spec?: { readonly template?: PodTemplate & { $patch?: string } } }
}

function templateOf({ data }: StoredRevision): PodTemplate | undefined {
  const { $patch: _, ...template } = data?.spec?.template ?? {}
  return 'spec' in template ? (template as PodTemplate) : undefined
}

/** The revision that pods below the partition have; undefined where it is that of all. */
function keptRevision({ metadata, spec, status }: StatefulSet): string | undefined {
  const { currentRevision } = status ?? {}
  const isSame = currentRevision === `${metadata.name}-${hashOfTemplate({ spec })}`
  return isSame || firstUpdated(spec) === (spec.ordinals?.start ?? 0) ? undefined : currentRevision
}

export function wireStatefulSets(runtime: ControllerRuntime): void {
  const sets = runtime.informer('statefulsets', selectingFact)
  const revisions = runtime.informer('controllerrevisions', revisionFact)
  const claims = runtime.informer('persistentvolumeclaims', claimFact)
  const api = runtime.api('kube-controller-manager')
  const { lookAt } = runtime.controller<StatefulSet, StatefulSetParts>({
    name: 'a simulated stateful set',
    source: { component: 'statefulset-controller' },
    gather: async set => {
      const { uid, namespace = '' } = set.metadata
      const kept = keptRevision(set)
      const revision = kept === undefined ? undefined : revisions.at(namespace, kept)
      const stored = revision && (await api.find<StoredRevision>(revision.key))
      return {
        owned: [...runtime.pods.index.ownedBy(uid)],
        orphans: [...runtime.pods.index.orphansIn(namespace)],
        revisions: [...revisions.index.ownedBy(uid)],
        orphanRevisions: [...revisions.index.orphansIn(namespace)],
        hasClaim: name => claims.at(namespace, name) !== undefined,
        kept: stored && templateOf(stored.object),
      }
    },
    reconcile: reconcileStatefulSet,
    refused: refusedOfStatefulSet,
  })
  lookAtPodOwners(runtime, 'StatefulSet', sets, ({ key }) => lookAt(key))
}
