/** PersistentVolumeClaims: the source of a claim has two members with the same content, and most of
 *  its spec never changes. */

import { JsonNumber, type JsonObject, memberOf, quantityNanos } from '@watchglass/go'
import { copyMember, textOf } from '../../metadata.ts'
import { qualifiedName } from '../../validation/formats.ts'
import { checkNewMeta, isSame } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { checkClaimSpec } from '../../validation/pods/claims.ts'
import { isNative } from '../../validation/pods/resources.ts'
import { ofOldAnnotation, storageClass } from '../../warnings/annotations.ts'
import { ofClaimSpec } from '../../warnings/claims.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkModeUpdate } from './shared/volume-modes.ts'

export const persistentVolumeClaim: BuiltInKind = kind({
  group: '',
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  hasStatus: true,
  returnsDeleted: true,
  prepareCreate: object => normaliseSources(object, undefined),
  prepareUpdate: (object, old) => normaliseSources(object, old),
  validateCreate: object => checkClaimSpec(object.in('spec')),
  validateUpdate: (object, old) => {
    checkNewMeta(object)
    const sources = ['dataSource', 'dataSourceRef'].map(name => old.in('spec', name, 'apiGroup'))
    checkClaimSpec(
      object.in('spec'),
      sources.some(({ isSet }) => isSet),
    )
    checkClaimUpdate(object, old)
  },
  warn: object => [...ofOldAnnotation(object, storageClass), ...ofClaimSpec(object.in('spec'))],
  subresources: {
    status: {
      validate: object => checkClaimStatus(object.in('status')),
    },
  },
})

/** A claim's source has two members with the same content. The older one loses sources of kinds
 *  that it never allowed. */
function normaliseSources(object: JsonObject, old: JsonObject | undefined): void {
  const spec = object.get('spec')
  if (!(spec instanceof Map)) return
  const source = spec.get('dataSource') ?? null
  const hadReference = (memberOf(old?.get('spec'), 'dataSourceRef') ?? null) !== null
  // Sources in other namespaces need the gate CrossNamespaceVolumeDataSource, which is off.
  if (!hadReference && textOf(memberOf(spec.get('dataSourceRef'), 'namespace')) !== '') {
    spec.delete('dataSourceRef')
  }
  const reference = spec.get('dataSourceRef') ?? null
  const hadSource = (memberOf(old?.get('spec'), 'dataSource') ?? null) !== null
  if (source !== null && reference === null && !hadReference && !hadSource && !isKnown(source)) {
    spec.delete('dataSource')
    return
  }
  if (reference !== null && source === null && textOf(memberOf(reference, 'namespace')) === '') {
    const copy = new Map(reference as JsonObject)
    copy.delete('namespace')
    spec.set('dataSource', copy)
  } else if (source !== null && reference === null) {
    copyMember(spec, new Map([['dataSourceRef', source]]), 'dataSourceRef')
  }
}

function isKnown(source: unknown): boolean {
  const of = source as JsonObject
  const group = textOf(memberOf(of, 'apiGroup'))
  const kind = textOf(memberOf(of, 'kind'))
  if (group === '') return kind === 'PersistentVolumeClaim'
  return group === 'snapshot.storage.k8s.io' && kind === 'VolumeSnapshot'
}

const className = 'volume.beta.kubernetes.io/storage-class'

function checkClaimUpdate(object: Place, old: Place): void {
  const [spec, before] = [object.in('spec'), old.in('spec')]
  const [annotation, oldAnnotation] = [
    object.in('metadata', 'annotations', className),
    old.in('metadata', 'annotations', className),
  ]
  if (!takesClassOver(object, old) && annotation.text !== oldAnnotation.text) {
    annotation.invalid('field is immutable', annotation.text)
  }
  checkClaimRest(object, old)
  const storage = spec.in('resources', 'requests', 'storage')
  const size = sizeOf(storage)
  const granted = sizeOf(old.in('status', 'capacity', 'storage'))
  if (size < sizeOf(before.in('resources', 'requests', 'storage')) && size <= granted) {
    storage.forbidden('field can not be less than status.capacity')
  }
  checkModeUpdate(spec, before)
  const attributes = spec.in('volumeAttributesClassName')
  if (!old.in('status', 'currentVolumeAttributesClassName').isSet) return
  if (isSame(attributes.value, before.in('volumeAttributesClassName').value)) return
  const suffix = 'is forbidden when status.currentVolumeAttributesClassName is not nil'
  if (!attributes.isSet) attributes.forbidden(`update to nil ${suffix}`)
  else if (attributes.text === '') attributes.forbidden(`update to empty string ${suffix}`)
}

/** The class that an old claim has as an annotation becomes its field. */
function takesClassOver(object: Place, old: Place): boolean {
  const [now, before] = [object, old].map(place => ({
    name: place.in('spec', 'storageClassName'),
    annotation: place.in('metadata', 'annotations', className),
  })) as [Record<'name' | 'annotation', Place>, Record<'name' | 'annotation', Place>]
  if (!before.annotation.isSet || before.name.isSet || !now.name.isSet) return false
  const { text } = before.annotation
  return now.name.text === text && (!now.annotation.isSet || now.annotation.text === text)
}

function sizeOf(amount: Place): bigint {
  return amount.isSet ? quantityNanos(amount.text) : 0n
}

/** Checks the rest of a claim: with a volume, only the size and the class of attributes may change;
 *  one without may get its volume. */
function checkClaimRest(object: Place, old: Place): void {
  const spec: JsonObject = new Map(object.in('spec').object)
  const was: JsonObject = new Map(old.in('spec').object)
  if (old.in('spec', 'volumeName').text === '') keep(was, spec, 'volumeName')
  const isBound = object.in('status', 'phase').text === 'Bound'
  if (isBound) {
    keep(spec, was, 'volumeAttributesClassName')
    const requests = object.in('spec', 'resources', 'requests').object
    if (requests !== undefined) {
      const resources: JsonObject = new Map(object.in('spec', 'resources').object)
      const kept = old.in('spec', 'resources', 'requests', 'storage').value ?? '0'
      resources.set('requests', new Map([...requests, ['storage', kept]]))
      spec.set('resources', resources)
    }
  }
  const oldClass = old.in('metadata', 'annotations', className)
  const newClass = object.in('spec', 'storageClassName')
  // A claim may get the class that is the default, or that it has as an annotation.
  const mayGetClass = !oldClass.isSet || newClass.text === oldClass.text
  if (!old.in('spec', 'storageClassName').isSet && newClass.isSet && mayGetClass) {
    spec.delete('storageClassName')
  }
  // No class may become the default one; the class without a name stays none.
  const [now, before] = [spec, was].map(of => of.get('storageClassName') ?? null)
  if (isSame(spec, was) && now === before) return
  object
    .in('spec')
    .forbidden(
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims',
    )
}

function keep(object: JsonObject, from: JsonObject, name: string): void {
  const value = from.get(name)
  if (value === undefined) object.delete(name)
  else object.set(name, value)
}

const resizes = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
]

/** The amounts that a claim has, and those that it is being given. */
function checkClaimStatus(status: Place): void {
  for (const [, amount] of status.in('capacity').entries) checkAmount(amount)
  const [states, allocated] = [
    status.in('allocatedResourceStatuses'),
    status.in('allocatedResources'),
  ]
  for (const [name, state] of states.entries) {
    checkClaimedName(states, name)
    if (!resizes.includes(state.text)) states.notSupported(resizes, name)
  }
  for (const [name, amount] of allocated.entries) {
    if (checkClaimedName(allocated, name)) checkAmount(amount)
  }
}

/** Shown as a whole number, rounded away from zero. */
function checkAmount(amount: Place): void {
  const nanos = quantityNanos(amount.text)
  if (nanos >= 0n) return
  const shown = new JsonNumber(String(-((-nanos + wholeNanos - 1n) / wholeNanos)))
  amount.invalid('must be a valid resource quantity', shown)
}

const wholeNanos = 1_000_000_000n

/** A resource of a claim: of those that have no domain, claims are only about storage. */
function checkClaimedName(place: Place, name: string): boolean {
  const problems = qualifiedName(name)
  place.invalidFor(problems, name)
  if (problems.length > 0) return false
  if (!isNative(name) || name === 'storage') return true
  place.notSupported(['storage'], name)
  return false
}
