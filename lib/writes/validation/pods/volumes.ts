/** The volumes of a pod. */

import { byteLength, dnsLabel, dnsSubdomain } from '../formats.ts'
import type { Place } from '../place.ts'
import { goQuote, quantityNanos } from '@watchglass/go'
import { checkClaimTemplate } from './claims.ts'
import { checkFieldReference, checkResourceReference } from './environment.ts'
import { checkDescending, checkNoBacksteps, checkUnreserved } from './paths.ts'
import { checkTrustBundle } from './trust-bundles.ts'
import {
  checkAzureDisk,
  checkFibreChannel,
  checkFlexVolume,
  checkFlocker,
  checkIscsi,
  checkPartition,
  checkPortalLength,
  checkQuobyte,
  checkStorageOs,
  requireText,
} from './volume-sources.ts'

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
]
const volumeFields = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
]
const badMode = 'must be a number between 0 and 0777 (octal), both inclusive'

/** A pod, or a template of pods, which has no name. */
interface Owner {
  readonly podName: string
  readonly isPod: boolean
}

/** Checks all volumes. Returns the sources of those without errors, by name. */
export function checkVolumes(volumes: Place, owner: Owner): ReadonlyMap<string, Place> {
  const { podName } = owner
  const right = new Map<string, Place>()
  const made = new Set(
    volumes.items
      .filter(volume => volume.in('ephemeral').isSet)
      .map(volume => `${podName}-${volume.in('name').text}`),
  )
  for (const volume of volumes.items) {
    const before = volume.errors.length
    checkVolumeSource(volume, owner)
    const name = volume.in('name')
    if (name.text === '') name.required()
    else name.mustBe(dnsLabel)
    if (right.has(name.text)) name.duplicate(name.text)
    if (volume.errors.length === before) right.set(name.text, volume)
    const claim = volume.in('persistentVolumeClaim', 'claimName')
    if (podName !== '' && claim.text !== '' && made.has(claim.text)) {
      claim.invalid('must not reference a PVC that gets created for an ephemeral volume')
    }
  }
  return right
}

type Check = (source: Place) => void

/** By the name of the source, in the order in which they are looked at. */
const sourceChecks: Readonly<Record<string, Check>> = {
  emptyDir: source => {
    const limit = source.in('sizeLimit')
    if (limit.isSet && quantityNanos(limit.text) < 0n) {
      limit.forbidden('SizeLimit field must be a valid resource quantity')
    }
  },
  hostPath: checkHostPath,
  gitRepo: source => {
    requireText(source, 'repository')
    checkDescending(source.in('directory'))
  },
  gcePersistentDisk: source => {
    const disk = source.as(parentOf(source, 'persistentDisk'))
    requireText(disk, 'pdName')
    checkPartition(disk.in('partition'))
  },
  awsElasticBlockStore: source => {
    requireText(source, 'volumeID')
    checkPartition(source.in('partition'))
  },
  secret: source => checkKeys(source, 'secretName'),
  nfs: checkNfs,
  iscsi: checkIscsi,
  glusterfs: source => {
    for (const name of ['endpoints', 'path']) requireText(source, name)
  },
  flocker: checkFlocker,
  persistentVolumeClaim: source => requireText(source, 'claimName'),
  rbd: source => {
    if (source.in('monitors').size === 0) source.in('monitors').required()
    requireText(source, 'image')
  },
  cinder: source => requireText(source, 'volumeID'),
  cephfs: source => {
    if (source.in('monitors').size === 0) source.in('monitors').required()
  },
  quobyte: checkQuobyte,
  downwardAPI: checkDownward,
  fc: checkFibreChannel,
  flexVolume: checkFlexVolume,
  configMap: source => checkKeys(source, 'name'),
  azureFile: source => {
    for (const name of ['secretName', 'shareName']) requireText(source, name)
  },
  vsphereVolume: source => requireText(source, 'volumePath'),
  photonPersistentDisk: source => requireText(source, 'pdID'),
  portworxVolume: source => requireText(source, 'volumeID'),
  azureDisk: checkAzureDisk,
  storageos: source => checkStorageOs(source),
  projected: checkProjected,
  scaleIO: source => {
    for (const name of ['gateway', 'system', 'volumeName']) requireText(source, name)
  },
  csi: checkCsi,
  ephemeral: source => {
    const template = source.in('volumeClaimTemplate')
    if (template.isSet) checkClaimTemplate(template)
    else template.required()
  },
  image: source => {
    source.in('pullPolicy').oneOf(['Always', 'IfNotPresent', 'Never'], 'required')
  },
}

/** Names that the server spells in another way where a second source is refused. */
const misspelt: ReadonlyMap<string, string> = new Map([
  ['cephfs', 'cephFS'],
  ['downwardAPI', 'downwarAPI'],
])

/** Checks the one source; a volume without any has an empty directory by its defaults. */
function checkVolumeSource(volume: Place, { podName, isPod }: Owner): void {
  const volumeName = volume.in('name')
  let count = 0
  for (const [name, check] of Object.entries(sourceChecks)) {
    const source = volume.in(name)
    if (!source.isSet) continue
    if (count++ === 0) {
      // A template may leave the image to who makes pods of it.
      if (name === 'image' && isPod) requireText(source, 'reference')
      check(source)
      if (name === 'ephemeral' && podName !== '') checkClaimName(volumeName, podName)
    } else {
      const place = source.as(`${volume.path}.${misspelt.get(name) ?? name}`)
      place.forbidden('may not specify more than 1 volume type')
    }
    if (name === 'iscsi') checkPortalLength(source, volumeName, volumeName.text)
  }
}

/** The name of the claim that is made with the pod. */
function checkClaimName(volumeName: Place, podName: string): void {
  if (volumeName.text === '') return
  const claim = `${podName}-${volumeName.text}`
  for (const problem of dnsSubdomain(claim)) {
    volumeName.invalid(`PVC name ${goQuote(claim)}: ${problem}`)
  }
}

function parentOf(place: Place, name: string): string {
  return place.path.slice(0, place.path.lastIndexOf('.') + 1) + name
}

export function checkHostPath(source: Place): void {
  requireText(source, 'path')
  if (source.in('path').text === '') return
  checkNoBacksteps(source.in('path'))
  const type = source.in('type')
  if (type.isSet) type.oneOf(hostPathTypes, 'unsupported')
}

export function checkNfs(source: Place): void {
  requireText(source, 'server')
  requireText(source, 'path')
  const path = source.in('path')
  if (!path.text.startsWith('/')) path.invalid('must be an absolute path', path.text)
}

function checkMode(mode: Place): void {
  if (mode.isSet && (mode.number > 0o777 || mode.number < 0)) mode.invalid(badMode)
}

/** A ConfigMap or a Secret as files. */
function checkKeys(source: Place, name: string): void {
  requireText(source, name)
  checkMode(source.in('defaultMode'))
  for (const item of source.in('items').items) checkKey(item)
}

function checkKey(item: Place): void {
  requireText(item, 'key')
  requireText(item, 'path')
  checkUnreserved(item.in('path'))
  checkMode(item.in('mode'))
}

function checkDownward(source: Place): void {
  checkMode(source.in('defaultMode'))
  // Errors of files name the volume.
  for (const { value } of source.in('items').items) checkDownwardFile(source.as(source.path, value))
}

function checkDownwardFile(file: Place): void {
  requireText(file, 'path')
  checkUnreserved(file.in('path'))
  const [field, resource] = [file.in('fieldRef'), file.in('resourceFieldRef')]
  if (field.isSet) {
    checkFieldReference(field, volumeFields)
    if (resource.isSet) {
      file.invalid('fieldRef and resourceFieldRef can not be specified simultaneously', 'resource')
    }
  } else if (resource.isSet) checkResourceReference(resource, { isOfVolume: true })
  else file.required('one of fieldRef and resourceFieldRef is required')
  checkMode(file.in('mode'))
}

function checkProjected(source: Place): void {
  checkMode(source.in('defaultMode'))
  const paths = new Set<string>()
  const take = (path: string, shown: string): void => {
    if (path === '') return
    if (paths.has(path)) source.invalid('conflicting duplicate paths', shown)
    paths.add(path)
  }
  for (const part of source.in('sources').items) checkProjectedPart(part, source, take)
}

type Take = (path: string, shown: string) => void

function checkProjectedPart(part: Place, source: Place, take: Take): void {
  let count = 0
  for (const name of ['secret', 'configMap']) {
    const content = part.in(name)
    if (!content.isSet) continue
    count++
    requireText(content, 'name')
    for (const item of content.in('items').items) {
      checkKey(item)
      take(item.in('path').text, content.in('name').text)
    }
  }
  const downward = part.in('downwardAPI')
  if (downward.isSet) {
    count++
    for (const { value } of downward.in('items').items) {
      const file = downward.as(downward.path, value)
      checkDownwardFile(file)
      take(file.in('path').text, file.in('path').text)
    }
  }
  const token = part.in('serviceAccountToken')
  if (token.isSet) {
    count++
    checkToken(token, source)
  }
  const bundle = part.in('clusterTrustBundle')
  if (bundle.isSet) {
    count++
    checkTrustBundle(bundle)
    take(bundle.in('path').text, bundle.in('path').text)
  }
  if (part.in('podCertificate').isSet) count++
  if (count > 1) part.forbidden('may not specify more than 1 volume type per source')
}

function checkToken(token: Place, source: Place): void {
  const seconds = token.in('expirationSeconds')
  if (seconds.number < 600) {
    seconds.invalid('may not specify a duration less than 10 minutes', seconds.number)
  }
  if (seconds.number > 2 ** 32) {
    seconds.invalid('may not specify a duration larger than 2^32 seconds')
  }
  // Errors of the path name the volume.
  const path = token.in('path').as(`${source.path}.path`)
  if (path.text === '') path.required()
  else checkUnreserved(path)
}

export function checkDriverName(driver: Place): void {
  if (driver.text === '') {
    driver.required()
    return
  }
  if (byteLength(driver.text) > 63) driver.tooLong(63)
  driver.invalidFor(dnsSubdomain(driver.text.toLowerCase()), driver.text)
}

function checkCsi(source: Place): void {
  checkDriverName(source.in('driver'))
  const secret = source.in('nodePublishSecretRef')
  if (!secret.isSet) return
  const name = secret.in('name')
  if (name.text === '') name.required()
  else name.as(`${source.path}.name`).mustBe(dnsSubdomain)
}

/** A Fibre Channel volume: by its targets and its number there, or by its own names. */
