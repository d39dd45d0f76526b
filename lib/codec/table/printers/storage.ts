/** Volumes, claims and their classes, CSI. */

import { amountText, isDefault, none, pairValue, since, unset } from '../format.ts'
import { type Printer, named, printer } from '../printer.ts'

/** The annotation with the class of a volume or claim, from before there was a field for it; it
 *  still wins. */
const classAnnotation = 'volume.beta.kubernetes.io/storage-class'

const deletable = { ...named, deletionTimestamp: 'isSet', annotations: 'pairs' } as const

export const persistentVolumes: Printer = printer({
  fields: {
    metadata: deletable,
    spec: {
      capacity: 'pairs',
      accessModes: 'texts',
      persistentVolumeReclaimPolicy: 'text',
      claimRef: { '?': { namespace: 'text', name: 'text' } },
      storageClassName: 'text',
      volumeAttributesClassName: 'text?',
      volumeMode: 'text?',
    },
    status: { phase: 'text', reason: 'text' },
  },
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    amountText(spec.capacity, 'storage'),
    accessModesText(spec.accessModes),
    spec.persistentVolumeReclaimPolicy,
    metadata.deletionTimestamp ? 'Terminating' : status.phase,
    spec.claimRef === undefined ? '' : `${spec.claimRef.namespace}/${spec.claimRef.name}`,
    pairValue(metadata.annotations, classAnnotation) ?? spec.storageClassName,
    spec.volumeAttributesClassName ?? unset,
    status.reason,
    since(metadata.creationTimestamp, now),
    spec.volumeMode ?? unset,
  ],
})

export const persistentVolumeClaims: Printer = printer({
  fields: {
    metadata: deletable,
    spec: {
      volumeName: 'text',
      storageClassName: 'text?',
      volumeAttributesClassName: 'text?',
      volumeMode: 'text?',
    },
    status: { phase: 'text', capacity: 'pairs', accessModes: 'texts' },
  },
  cells({ metadata, spec, status }, now) {
    const isBound = spec.volumeName !== ''
    return [
      metadata.name,
      metadata.deletionTimestamp ? 'Terminating' : status.phase,
      spec.volumeName,
      isBound ? amountText(status.capacity, 'storage') : '',
      isBound ? accessModesText(status.accessModes) : '',
      pairValue(metadata.annotations, classAnnotation) ?? spec.storageClassName ?? '',
      spec.volumeAttributesClassName ?? unset,
      since(metadata.creationTimestamp, now),
      spec.volumeMode ?? unset,
    ]
  },
})

const accessModes: readonly (readonly [string, string])[] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
]

function accessModesText(modes: readonly string[]): string {
  return accessModes
    .filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(',')
}

export const storageClasses: Printer = printer({
  fields: {
    metadata: { ...named, annotations: 'pairs' },
    provisioner: 'text',
    reclaimPolicy: 'text?',
    volumeBindingMode: 'text?',
    allowVolumeExpansion: 'flag?',
  },
  cells({ metadata, ...storageClass }, now) {
    const isDefaultClass = isDefault(
      metadata.annotations,
      'storageclass.kubernetes.io/is-default-class',
      'storageclass.beta.kubernetes.io/is-default-class',
    )
    return [
      isDefaultClass ? `${metadata.name} (default)` : metadata.name,
      storageClass.provisioner,
      storageClass.reclaimPolicy ?? 'Delete',
      storageClass.volumeBindingMode ?? 'Immediate',
      storageClass.allowVolumeExpansion ?? false,
      since(metadata.creationTimestamp, now),
    ]
  },
})

export const volumeAttributesClasses: Printer = printer({
  fields: { metadata: { ...named, annotations: 'pairs' }, driverName: 'text' },
  cells({ metadata, driverName }, now, schema) {
    const isDefaultClass =
      schema.has('volumeAttributesClassDefault') &&
      isDefault(metadata.annotations, 'volumeattributesclass.alpha.kubernetes.io/is-default-class')
    return [
      isDefaultClass ? `${metadata.name} (default)` : metadata.name,
      driverName,
      since(metadata.creationTimestamp, now),
    ]
  },
})

export const volumeAttachments: Printer = printer({
  fields: {
    metadata: named,
    spec: { attacher: 'text', nodeName: 'text', source: { persistentVolumeName: 'text?' } },
    status: { attached: 'flag' },
  },
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec.attacher,
    spec.source.persistentVolumeName ?? '',
    spec.nodeName,
    status.attached,
    since(metadata.creationTimestamp, now),
  ],
})

export const csiDrivers: Printer = printer({
  fields: {
    metadata: named,
    spec: {
      attachRequired: 'flag?',
      podInfoOnMount: 'flag?',
      storageCapacity: 'flag?',
      tokenRequests: [{ audience: 'text' }],
      requiresRepublish: 'flag?',
      volumeLifecycleModes: 'texts',
    },
  },
  cells({ metadata, spec }, now) {
    const audiences = spec.tokenRequests.map(({ audience }) => audience).join(',')
    return [
      metadata.name,
      spec.attachRequired ?? true,
      spec.podInfoOnMount ?? false,
      spec.storageCapacity ?? false,
      spec.tokenRequests.length === 0 ? unset : audiences,
      spec.requiresRepublish ?? false,
      spec.volumeLifecycleModes.join(',') || none,
      since(metadata.creationTimestamp, now),
    ]
  },
})

export const csiNodes: Printer = printer({
  fields: { metadata: named, spec: { drivers: 'count' } },
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec.drivers,
    since(metadata.creationTimestamp, now),
  ],
})
