/** PersistentVolumes: pending from the beginning, and the server says when their phase changed. */

import { type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { internalValue } from '../../validation/internal-types.ts'
import { checkChangedMeta, checkNewMeta, isSame } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { ofOldAnnotation, storageClass } from '../../warnings/annotations.ts'
import { ofTerm } from '../../warnings/labels.ts'
import { ofOldVolume } from '../../warnings/old-volumes.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkVolumeSpec, sourceChecks } from '../shared/volume-spec.ts'
import { checkModeUpdate } from './shared/volume-modes.ts'

export const persistentVolume: BuiltInKind = kind({
  group: '',
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  hasStatus: true,
  returnsDeleted: true,
  prepareCreate: (object, { now }) => {
    const status: JsonObject = new Map([
      ['phase', 'Pending'],
      ['lastPhaseTransitionTime', now],
    ])
    object.set('status', status)
  },
  hasOwnMetadata: true,
  validateCreate: object => {
    checkVolume(object)
    checkMountOptions(object)
  },
  validateUpdate: (object, old) => {
    checkVolume(object, old)
    checkMountOptions(object)
    checkVolume(object, old)
    checkVolumeUpdate(object.in('spec'), old.in('spec'))
  },
  warn: ofVolume,
  subresources: {
    status: {
      prepare: (object, old, { now }) => {
        const status = object.get('status')
        if (!(status instanceof Map)) return
        const [time, oldTime] = [status, old.get('status')].map(
          of => memberOf(of, 'lastPhaseTransitionTime') ?? null,
        )
        const isSamePhase = memberOf(old.get('status'), 'phase') === status.get('phase')
        if (isSamePhase && time === null) {
          if (oldTime !== null && oldTime !== undefined) {
            status.set('lastPhaseTransitionTime', oldTime)
          }
        } else if (!isSamePhase && (time === null || time === oldTime)) {
          status.set('lastPhaseTransitionTime', now)
        }
      },
      validate: checkChangedMeta,
    },
  },
})

function checkVolume(object: Place, old?: Place): void {
  checkNewMeta(object, false)
  const volumeName = object.in('metadata', 'name').text
  checkVolumeSpec(object.in('spec'), { volumeName, old: old?.in('spec') })
}

/** The sources that are mounted with options. */
const mountedSources = [
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'nfs',
  'rbd',
  'quobyte',
  'iscsi',
  'cinder',
  'cephfs',
  'azureFile',
  'vsphereVolume',
  'azureDisk',
  'photonPersistentDisk',
]

function checkMountOptions(object: Place): void {
  const options = object.in('metadata', 'annotations', 'volume.beta.kubernetes.io/mount-options')
  if (!options.isSet || mountedSources.some(name => object.in('spec', name).isSet)) return
  options.forbidden('may not specify mount options for this volume type')
}

/** Checks that the place of a volume's data does not change. */
function checkVolumeUpdate(spec: Place, old: Place): void {
  const sourceOf = (place: Place): JsonObject => {
    const names = [...(place.object?.keys() ?? [])].filter(name =>
      Object.hasOwn(sourceChecks, name),
    )
    return new Map(names.map((name): [string, JsonValue] => [name, place.in(name).value ?? null]))
  }
  const [now, then] = [sourceOf(spec), sourceOf(old)]
  const expand = 'controllerExpandSecretRef'
  if (old.in('csi').isSet && !old.in('csi', expand).isSet && spec.in('csi', expand).isSet) {
    const csi: JsonObject = new Map(spec.in('csi').object)
    csi.delete(expand)
    now.set('csi', csi)
  }
  if (!isSame(now, then)) {
    spec
      .as('spec.persistentvolumesource')
      .forbidden('spec.persistentvolumesource is immutable after creation')
  }
  checkModeUpdate(spec, old)
  const affinity = spec.in('nodeAffinity')
  const before = old.in('nodeAffinity')
  if (before.isSet && !isSameAffinity(affinity, before)) {
    const shown = internalValue('*VolumeNodeAffinity', affinity.value)
    affinity
      .as('nodeAffinity')
      .invalid('field is immutable, except for updating from beta label to GA', shown)
  }
  const attributes = 'volumeAttributesClassName'
  if (old.in(attributes).isSet && !spec.in(attributes).isSet) {
    spec.in(attributes).forbidden('update from non-nil value to nil is forbidden')
  }
}

/** Labels of nodes that have a newer name. */
const renamedLabels: ReadonlyMap<string, string> = new Map([
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
  ['beta.kubernetes.io/os', 'kubernetes.io/os'],
  ['beta.kubernetes.io/arch', 'kubernetes.io/arch'],
  ['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'],
])

/** True if both select the same nodes; labels may have their newer names. */
function isSameAffinity(affinity: Place, before: Place): boolean {
  const path = ['required', 'nodeSelectorTerms'] as const
  const now = affinity.in(...path)
  const terms = before.in(...path).items.map((term, i): JsonValue => {
    const lists = ['matchExpressions', 'matchFields'].filter(name => term.in(name).size > 0)
    const members = lists.map((name): [string, JsonValue] => {
      const list = now.item(i).in(name)
      return [name, term.in(name).items.map((item, j) => withNewLabel(item, list.item(j)))]
    })
    return new Map(members)
  })
  const selector: JsonObject = new Map([['nodeSelectorTerms', terms]])
  return isSame(affinity.value, new Map([['required', selector]]))
}

function withNewLabel(requirement: Place, now: Place): JsonValue {
  const { text } = now.in('key')
  return renamedLabels.get(requirement.in('key').text) === text
    ? new Map([...(requirement.object ?? []), ['key', text]])
    : (requirement.value ?? null)
}

const mountOptions = [
  'volume.beta.kubernetes.io/mount-options',
  'deprecated since v1.31; use "mountOptions" attribute instead',
] as const

function ofVolume(object: Place): string[] {
  const spec = object.in('spec')
  const terms = spec.in('nodeAffinity', 'required', 'nodeSelectorTerms')
  return [
    ...[storageClass, mountOptions].flatMap(one => ofOldAnnotation(object, one)),
    ...(spec.in('persistentVolumeReclaimPolicy').text === 'Recycle'
      ? [
          'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
        ]
      : []),
    ...terms.items.flatMap(term => ofTerm(term, false)),
    ...ofOldVolume(spec, [
      'cephfs',
      'photonPersistentDisk',
      'scaleIO',
      'storageos',
      'glusterfs',
      'rbd',
    ]),
  ]
}
