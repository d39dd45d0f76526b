/** PersistentVolumes and PersistentVolumeClaims. */

import { JsonNumber, type JsonObject, type JsonValue, quantityNanos } from '@watchglass/go'
import { dnsLabel, dnsSubdomain, qualifiedName } from '../formats.ts'
import { internalValue } from '../internal-types.ts'
import type { KindRules } from '../kind-rules.ts'
import { checkChangedMeta, checkNewMeta, isSame } from '../object-meta.ts'
import type { Place } from '../place.ts'
import { checkAccessModes, checkClaimSpec } from '../pods/claims.ts'
import { checkNoBacksteps } from '../pods/paths.ts'
import {
  checkAzureDisk,
  checkFibreChannel,
  checkFlexVolume,
  checkFlocker,
  checkIscsi,
  checkPartition,
  checkQuobyte,
  checkStorageOs,
  requireText,
} from '../pods/volume-sources.ts'
import { checkResourceName, isNative } from '../pods/resources.ts'
import { checkNodeSelector } from '../pods/scheduling.ts'
import { checkDriverName, checkHostPath, checkNfs } from '../pods/volumes.ts'

export const volumeRules: Readonly<Record<string, KindRules>> = {
  PersistentVolume: {
    hasOwnMetadata: true,
    create: object => {
      checkVolume(object)
      checkMountOptions(object)
    },
    update: (object, old) => {
      checkVolume(object)
      checkMountOptions(object)
      checkVolume(object)
      checkVolumeUpdate(object.in('spec'), old.in('spec'))
    },
    subresources: { status: checkChangedMeta },
  },
  PersistentVolumeClaim: {
    create: object => checkClaimSpec(object.in('spec')),
    update: (object, old) => {
      checkNewMeta(object)
      const sources = ['dataSource', 'dataSourceRef'].map(name => old.in('spec', name, 'apiGroup'))
      checkClaimSpec(
        object.in('spec'),
        sources.some(({ isSet }) => isSet),
      )
      checkClaimUpdate(object, old)
    },
    subresources: { status: object => checkClaimStatus(object.in('status')) },
  },
}

function checkVolume(object: Place): void {
  checkNewMeta(object, false)
  checkVolumeSpec(object.in('spec'), { volumeName: object.in('metadata', 'name').text })
}

/** A volume, or one that lies in another object. */
export function checkVolumeSpec(
  spec: Place,
  { volumeName, isInline = false }: { readonly volumeName: string; readonly isInline?: boolean },
): void {
  const inline = 'may not be specified in the context of inline volumes'
  if (isInline) {
    for (const name of ['claimRef', 'capacity']) {
      if (spec.in(name).isSet) spec.in(name).forbidden(inline)
    }
    if (!spec.in('csi').isSet) {
      spec.in('csi').required('has to be specified in the context of inline volumes')
    }
  }
  const modes = spec.in('accessModes')
  if (modes.size === 0) modes.required()
  checkAccessModes(modes)
  if (!isInline) checkCapacity(spec.in('capacity'))
  const policy = spec.in('persistentVolumeReclaimPolicy')
  if (!isInline) policy.oneOf(['Delete', 'Recycle', 'Retain'], 'fine')
  else if (policy.text !== '' && policy.text !== 'Retain') {
    policy.forbidden('may only be Retain in the context of inline volumes')
  }
  const affinity = spec.in('nodeAffinity')
  if (affinity.isSet && isInline) affinity.forbidden(inline)
  else if (affinity.isSet) {
    const required = affinity.in('required')
    if (required.isSet) checkNodeSelector(required)
    else required.required('must specify required node constraints')
  }
  checkSource(spec, volumeName)
  const path = spec.in('hostPath', 'path').text
  if (isRoot(path) && policy.text === 'Recycle') {
    policy.forbidden("may not be 'recycle' for a hostPath mount of '/'")
  }
  checkClasses(spec, isInline)
}

/** True for the root, whatever way a path goes there. */
function isRoot(path: string): boolean {
  const kept: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') kept.pop()
    else if (part !== '' && part !== '.') kept.push(part)
  }
  return path.startsWith('/') && kept.length === 0
}

function checkClasses(spec: Place, isInline: boolean): void {
  const [storageClass, mode, attributes] = [
    spec.in('storageClassName'),
    spec.in('volumeMode'),
    spec.in('volumeAttributesClassName'),
  ]
  if (storageClass.text !== '') {
    if (isInline) {
      storageClass.forbidden('may not be specified in the context of inline volumes')
    } else storageClass.mustBe(dnsSubdomain)
  }
  if (mode.isSet && !isInline) mode.oneOf(['Block', 'Filesystem'], 'unsupported')
  if (mode.isSet && isInline && mode.text !== 'Filesystem') {
    mode.forbidden(
      'may not specify volumeMode other than Filesystem in the context of inline volumes',
    )
  }
  if (!attributes.isSet) return
  if (attributes.text === '') attributes.required('an empty string is disallowed')
  else attributes.mustBe(dnsSubdomain)
  if (!spec.in('csi').isSet) {
    spec.in('csi').required('has to be specified when using volumeAttributesClassName')
  }
}

function checkCapacity(capacity: Place): void {
  if (capacity.size === 0) capacity.required()
  if (!capacity.in('storage').isSet || capacity.size > 1) {
    capacity.notSupported(['storage'], capacity.shown)
  }
  for (const [name, amount] of capacity.entries) {
    const nanos = quantityNanos(amount.text)
    if (nanos < 0n) {
      const digits = BigInt(nanos / 1_000_000_000n)
      amount.invalid('must be a valid resource quantity', Number(digits))
    }
    if (nanos <= 0n) amount.invalid('must be greater than zero')
    if (name !== 'storage') checkResourceName(amount.with([]), name)
  }
}

type Check = (source: Place, volumeName: string) => void

function requireAll(...names: readonly string[]): Check {
  return source => {
    for (const name of names) {
      if (source.in(name).size === 0) source.in(name).required()
    }
  }
}

/** By the name of the source, in the order in which they are looked at. */
const sourceChecks: Readonly<Record<string, Check>> = {
  hostPath: checkHostPath,
  gcePersistentDisk: source => {
    const disk = source.as(source.path.replace(/\w+$/, 'persistentDisk'))
    requireText(disk, 'pdName')
    checkPartition(disk.in('partition'))
  },
  awsElasticBlockStore: source => {
    requireText(source, 'volumeID')
    checkPartition(source.in('partition'))
  },
  glusterfs: source => {
    for (const name of ['endpoints', 'path']) requireText(source, name)
    const namespace = source.in('endpointsNamespace')
    if (!namespace.isSet) return
    if (namespace.text !== '') namespace.mustBe(dnsLabel)
    else namespace.invalid('if the endpointnamespace is set, it must be a valid namespace name')
  },
  flocker: checkFlocker,
  nfs: checkNfs,
  rbd: requireAll('monitors', 'image'),
  quobyte: checkQuobyte,
  cephfs: requireAll('monitors'),
  iscsi: checkIscsi,
  cinder: source => {
    requireText(source, 'volumeID')
    const secret = source.in('secretRef')
    if (secret.isSet) for (const name of ['name', 'namespace']) requireText(secret, name)
  },
  fc: checkFibreChannel,
  flexVolume: checkFlexVolume,
  azureFile: source => {
    for (const name of ['secretName', 'shareName']) requireText(source, name)
    const namespace = source.in('secretNamespace')
    if (namespace.isSet && namespace.text === '') namespace.required()
  },
  vsphereVolume: requireAll('volumePath'),
  photonPersistentDisk: requireAll('pdID'),
  portworxVolume: requireAll('volumeID'),
  azureDisk: checkAzureDisk,
  scaleIO: requireAll('gateway', 'system', 'volumeName'),
  local: source => {
    if (source.in('path').text === '') source.in('path').required()
    else checkNoBacksteps(source.in('path'))
  },
  storageos: source => checkStorageOs(source, true),
  csi: checkCsi,
}

function checkSource(spec: Place, volumeName: string): void {
  let count = 0
  for (const [name, check] of Object.entries(sourceChecks)) {
    const source = spec.in(name)
    if (!source.isSet) continue
    // A second one of these is not refused.
    if (count++ > 0 && name !== 'flexVolume') {
      const place = source.as(`${spec.path}.${name === 'cephfs' ? 'cephFS' : name}`)
      place.forbidden('may not specify more than 1 volume type')
      continue
    }
    check(source, volumeName)
    if (name === 'local' && !spec.in('nodeAffinity').isSet) {
      spec.in('nodeAffinity').required('Local volume requires node affinity')
    }
  }
  if (count === 0) spec.required('must specify a volume type')
}

const secretNames = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
]

function checkCsi(source: Place): void {
  checkDriverName(source.in('driver'))
  requireText(source, 'volumeHandle')
  for (const name of secretNames) {
    const secret = source.in(name)
    if (!secret.isSet) continue
    const [secretName, namespace] = [secret.in('name'), secret.in('namespace')]
    if (secretName.text === '') secretName.required()
    else secretName.mustBe(dnsSubdomain)
    if (namespace.text === '') namespace.required()
    else namespace.mustBe(dnsLabel)
  }
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

/** The same nodes, which may be called by the newer names of their labels. */
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

function checkModeUpdate(spec: Place, old: Place): void {
  const mode = spec.in('volumeMode')
  if (isSame(mode.value, old.in('volumeMode').value)) return
  mode.as('volumeMode').invalid('field is immutable', mode.value ?? null)
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
