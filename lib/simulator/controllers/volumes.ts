/** Claims are bound to volumes: to one that fits, or to one that is made for them. */

import type { Key } from '@watchglass/base'
import { type Fact, factOf } from '../runtime/facts.ts'
import type { Metadata, Selector } from '../runtime/objects.ts'
import type { Note } from '../runtime/event-recorder.ts'
import {
  nothing,
  type ReconcileResult,
  statusWrite,
  type Write,
} from '../runtime/reconcile-result.ts'
import type { Seen } from '../runtime/reconciler.ts'
import { selects } from '../runtime/selectors.ts'
import { quantityOf } from '../quantities.ts'

export interface Claim {
  readonly metadata: Metadata
  readonly spec: {
    readonly accessModes?: readonly string[]
    readonly volumeName?: string
    readonly storageClassName?: string
    readonly volumeMode?: string
    readonly selector?: Selector
    readonly resources?: { readonly requests?: { readonly storage?: string } }
  }
  readonly status?: { readonly phase?: string; readonly capacity?: { readonly storage?: string } }
}

export interface Volume {
  readonly metadata: Metadata
  readonly spec: {
    readonly accessModes?: readonly string[]
    readonly capacity?: { readonly storage?: string }
    readonly storageClassName?: string
    readonly volumeMode?: string
    readonly persistentVolumeReclaimPolicy?: string
    readonly claimRef?: ClaimReference
  }
  readonly status?: { readonly phase?: string }
}

interface ClaimReference {
  readonly namespace?: string
  readonly name?: string
  readonly uid?: string
}

export interface StorageClass {
  readonly metadata: Metadata
  readonly provisioner: string
  readonly reclaimPolicy?: string
  readonly volumeBindingMode?: string
}

type VolumeAt = Pick<VolumeFact, 'key' | 'object'>

export interface ClaimParts {
  /** Volumes that are free, or are for this claim. */
  readonly volumes: readonly VolumeAt[]
  readonly classes: readonly StorageClass[]
  /** A pod on a node uses it, or is to get a node. */
  readonly hasPod: boolean
}

export const isDefault = 'storageclass.kubernetes.io/is-default-class'
const bindCompleted = 'pv.kubernetes.io/bind-completed'
const boundByController = 'pv.kubernetes.io/bound-by-controller'

export function reconcileClaim(seen: Seen<Claim> & ClaimParts): ReconcileResult {
  const { key, object, volumes, classes } = seen
  const { metadata, spec, status } = object
  if (metadata.deletionTimestamp !== undefined || status?.phase === 'Bound') return nothing
  const className = spec.storageClassName ?? defaultClass(classes)?.metadata.name ?? ''
  if (spec.storageClassName === undefined && className !== '') {
    return { writes: [{ type: 'patch', key, patch: { spec: { storageClassName: className } } }] }
  }
  const volume = volumes.find(one => isFor(one.object, object)) ?? smallest(object, volumes)
  if (volume !== undefined) return { writes: bindingOf(seen, volume) }
  if ((spec.volumeName ?? '') !== '') return nothing
  const known = classes.find(one => one.metadata.name === className)
  if (className === '') return waiting(seen, noClass)
  if (known === undefined) {
    const message = `storageclass.storage.k8s.io "${className}" not found`
    return waiting(seen, { type: 'Warning', reason: 'ProvisioningFailed', message })
  }
  if (known.provisioner === 'kubernetes.io/no-provisioner') return nothing
  if (known.volumeBindingMode === 'WaitForFirstConsumer' && !seen.hasPod) {
    return waiting(seen, forConsumer)
  }
  return { writes: [made(object, known)] }
}

const noClass: Note = {
  reason: 'FailedBinding',
  message: 'no persistent volumes available for this claim and no storage class is set',
}
const forConsumer: Note = {
  reason: 'WaitForFirstConsumer',
  message: 'waiting for first consumer to be created before binding',
}

/** A claim that has no volume yet. */
function waiting({ key, object }: Seen<Claim>, note: Note): ReconcileResult {
  return { writes: statusWrite(key, object.status, { phase: 'Pending' }), notes: [note] }
}

export interface VolumeParts {
  /** The claim that the volume is for, if it is there. */
  readonly claim: Claim | undefined
}

export function reconcileVolume(seen: Seen<Volume> & VolumeParts): ReconcileResult {
  const { key, object, claim } = seen
  const { metadata, spec, status } = object
  const { claimRef } = spec
  const phase = (to: string): Write[] =>
    status?.phase === to
      ? []
      : [{ type: 'patch', key, patch: { status: { phase: to } }, subresource: 'status' }]
  if (metadata.deletionTimestamp !== undefined) return nothing
  if (claimRef?.uid === undefined || claimRef.uid === '') return { writes: phase('Available') }
  if (claim?.metadata.uid === claimRef.uid) return { writes: phase('Bound') }
  const isDeleted = spec.persistentVolumeReclaimPolicy === 'Delete'
  const deletion: Write[] = isDeleted ? [{ type: 'delete', key, uid: metadata.uid }] : []
  return { writes: [...phase('Released'), ...deletion] }
}

function defaultClass(classes: readonly StorageClass[]): StorageClass | undefined {
  return classes
    .filter(({ metadata }) => metadata.annotations?.[isDefault] === 'true')
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))[0]
}

/** Whether a volume was made for the claim, or one of them names the other. */
function isFor(
  { metadata: volume, spec: { claimRef } }: Volume,
  { metadata, spec }: Claim,
): boolean {
  const isNamed =
    claimRef?.namespace === metadata.namespace &&
    claimRef?.name === metadata.name &&
    (claimRef?.uid ?? metadata.uid) === metadata.uid
  return isNamed || (spec.volumeName === volume.name && claimRef === undefined)
}

function smallest({ spec }: Claim, volumes: readonly VolumeAt[]): VolumeAt | undefined {
  if ((spec.volumeName ?? '') !== '') return undefined
  const wanted = quantityOf(spec.resources?.requests?.storage)
  const sizeOf = ({ object }: VolumeAt): number => quantityOf(object.spec.capacity?.storage)
  return volumes
    .filter(
      one =>
        one.object.spec.claimRef === undefined &&
        one.object.metadata.deletionTimestamp === undefined &&
        (one.object.spec.storageClassName ?? '') === (spec.storageClassName ?? '') &&
        (one.object.spec.volumeMode ?? 'Filesystem') === (spec.volumeMode ?? 'Filesystem') &&
        (spec.accessModes ?? []).every(mode => one.object.spec.accessModes?.includes(mode)) &&
        (spec.selector === undefined || selects(spec.selector, one.object.metadata.labels ?? {})) &&
        sizeOf(one) >= wanted,
    )
    .sort((a, b) => sizeOf(a) - sizeOf(b))[0]
}

function bindingOf({ key, object }: Seen<Claim>, volume: VolumeAt): Write[] {
  const { metadata } = object
  const { accessModes, capacity } = volume.object.spec
  const reference = referenceTo(metadata)
  const annotations = { [bindCompleted]: 'yes', [boundByController]: 'yes' }
  return [
    ...(volume.object.spec.claimRef?.uid === metadata.uid
      ? []
      : [{ type: 'patch' as const, key: volume.key, patch: { spec: { claimRef: reference } } }]),
    {
      type: 'patch',
      key: volume.key,
      patch: { status: { phase: 'Bound' } },
      subresource: 'status',
    },
    {
      type: 'patch',
      key,
      patch: { metadata: { annotations }, spec: { volumeName: volume.object.metadata.name } },
    },
    {
      type: 'patch',
      key,
      patch: { status: { phase: 'Bound', accessModes, capacity } },
      subresource: 'status',
    },
  ]
}

function referenceTo({ namespace = '', name, uid }: Metadata): object {
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid }
}

/** A volume that nothing is behind. */
function made({ metadata, spec }: Claim, known: StorageClass): Write {
  const name = `pvc-${metadata.uid}`
  const object = {
    metadata: {
      name,
      annotations: { 'pv.kubernetes.io/provisioned-by': known.provisioner },
    },
    spec: {
      accessModes: spec.accessModes,
      capacity: { storage: spec.resources?.requests?.storage ?? '1Gi' },
      claimRef: referenceTo(metadata),
      hostPath: { path: `/var/lib/volumes/${name}`, type: 'DirectoryOrCreate' },
      persistentVolumeReclaimPolicy: known.reclaimPolicy ?? 'Delete',
      storageClassName: known.metadata.name,
      volumeMode: spec.volumeMode ?? 'Filesystem',
    },
  }
  const note = { reason: 'ProvisioningSucceeded', message: 'Successfully provisioned volume %' }
  return { type: 'create', group: '', resource: 'persistentvolumes', namespace: '', object, note }
}

export interface ClaimFact extends Fact {
  readonly isBound: boolean
}

export function claimFact(key: Key, revision: number, { metadata, status }: Claim): ClaimFact {
  return factOf(key, revision, metadata, { isBound: status?.phase === 'Bound' })
}

export interface VolumeFact extends Fact {
  readonly object: Volume
}

export function volumeFact(
  key: Key,
  revision: number,
  { metadata, spec, status }: Volume,
): VolumeFact {
  const { name, uid, labels, deletionTimestamp } = metadata
  const own = {
    name,
    uid,
    ...(labels && { labels }),
    ...(deletionTimestamp && { deletionTimestamp }),
  }
  const object = { metadata: own, spec, ...(status && { status }) }
  return factOf(key, revision, metadata, { object })
}
