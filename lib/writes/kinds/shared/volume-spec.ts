/** The spec of a PersistentVolume, of its own or inline in a VolumeAttachment. */

import { quantityNanos } from '@watchglass/go'
import { dnsLabel, dnsSubdomain } from '../../validation/formats.ts'
import type { Place } from '../../validation/place.ts'
import { checkAccessModes } from '../../validation/pods/claims.ts'
import { checkNoBacksteps } from '../../validation/pods/paths.ts'
import { checkResourceName } from '../../validation/pods/resources.ts'
import { checkNodeSelector, hasWrongValue } from '../../validation/pods/scheduling.ts'
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
} from '../../validation/pods/volume-sources.ts'
import { checkDriverName, checkHostPath, checkNfs } from '../../validation/pods/volumes.ts'

interface VolumePlace {
  readonly volumeName: string
  /** True for the spec of a volume in another object. */
  readonly isInline?: boolean
  /** The stored spec, of a change: wrong values in its terms are allowed still. */
  readonly old?: Place | undefined
}

export function checkVolumeSpec(
  spec: Place,
  { volumeName, isInline = false, old }: VolumePlace,
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
    const oldTerms = old?.in('nodeAffinity', 'required', 'nodeSelectorTerms')
    const areValuesFree = oldTerms !== undefined && hasWrongValue(oldTerms)
    if (required.isSet) checkNodeSelector(required, areValuesFree)
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
export const sourceChecks: Readonly<Record<string, Check>> = {
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
