/** Sources that volumes of pods and volumes of a cluster have alike. */

import { byteLength, dnsLabel, inRange } from '../formats.ts'
import type { Place } from '../place.ts'

export function requireText(place: Place, name: string): void {
  if (place.in(name).text === '') place.in(name).required()
}

/** A partition of a disk. The whole disk has the number zero, whatever the message says. */
export function checkPartition(partition: Place): void {
  const { number } = partition
  if (number < 0 || number > 255) partition.invalid('must be between 1 and 255, inclusive')
}

export function checkFlexVolume(source: Place): void {
  requireText(source, 'driver')
  for (const [key, option] of source.in('options').entries) {
    const slash = key.indexOf('/')
    const namespace = slash < 0 ? key : key.slice(0, slash)
    if (!/\.(?:kubernetes|k8s)\.io$/.test(`.${namespace.toLowerCase()}`)) continue
    option.invalid('kubernetes.io and k8s.io namespaces are reserved', key)
  }
}

const iqn = /iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)$/
const eui = /^eui.[a-zA-Z0-9]{16}$/
const naa = /^naa.[a-zA-Z0-9]{32}$/

/** The problem of the name of a target or an initiator of iSCSI. */
function problemOfName(name: string, otherwise: string): string | undefined {
  const pattern = [iqn, eui, naa].find((_, i) => name.startsWith(['iqn', 'eui', 'naa'][i]!))
  if (pattern === undefined) return otherwise
  return pattern.test(name) ? undefined : 'must be valid format'
}

const anyPrefix = 'must be valid format starting with iqn, eui, or naa'

/** @param volumeName of a volume of the cluster */
/** Checks that a portal is not too long after the name of its volume. The error is told of `place`
 *  with what it shows. */
export function checkPortalLength(source: Place, place: Place, volumeName: string): void {
  const isLong = byteLength(`${volumeName}:${source.in('targetPortal').text}`) > 64
  if (!source.in('initiatorName').isSet || !isLong) return
  place.invalid(
    'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
    place.text,
  )
}

export function checkIscsi(source: Place, volumeName?: string): void {
  requireText(source, 'targetPortal')
  const otherwise = volumeName === undefined ? anyPrefix : 'must be valid format'
  const [portal, name, lun, secret, initiator] = [
    source.in('targetPortal'),
    source.in('iqn'),
    source.in('lun'),
    source.in('secretRef'),
    source.in('initiatorName').as(`${source.path}.initiatorname`),
  ]
  if (volumeName !== undefined) {
    checkPortalLength(source, portal.as(`${source.path}.targetportal`), volumeName)
  }
  if (name.text === '') name.required()
  else {
    const problem = problemOfName(name.text, otherwise)
    if (problem !== undefined) name.invalid(problem)
  }
  lun.invalidFor(inRange(lun.number, 0, 255), lun.number)
  const needsSecret = source.in('chapAuthDiscovery').isTrue || source.in('chapAuthSession').isTrue
  if (needsSecret && !secret.isSet) secret.required()
  if (volumeName !== undefined && secret.isSet) requireText(secret, 'name')
  if (!initiator.isSet) return
  const problem = problemOfName(initiator.text, otherwise)
  if (problem !== undefined) initiator.invalid(problem)
}

export function checkFibreChannel(source: Place): void {
  const [names, ids, lun] = [source.in('targetWWNs'), source.in('wwids'), source.in('lun')]
  if (names.size === 0 && ids.size === 0) {
    names.required('must specify either targetWWNs or wwids, but not both')
  }
  if (names.size === 0) return
  if (ids.size > 0) names.invalid('targetWWNs and wwids can not be specified simultaneously')
  if (lun.isSet) lun.invalidFor(inRange(lun.number, 0, 255), lun.number)
  else lun.required('lun is required if targetWWNs is specified')
}

export function checkFlocker(source: Place): void {
  const [name, id] = [source.in('datasetName'), source.in('datasetUUID')]
  if (name.text === '' && id.text === '') {
    source.required('one of datasetName and datasetUUID is required')
  }
  if (name.text !== '' && id.text !== '') {
    source.invalid('datasetName and datasetUUID can not be specified simultaneously', 'resource')
  }
  if (name.text.includes('/')) name.invalid("must not contain '/'")
}

const hostPort = 'must be a host:port pair or multiple pairs separated by commas'

export function checkQuobyte(source: Place): void {
  const [registry, tenant] = [source.in('registry'), source.in('tenant')]
  if (registry.text === '') registry.required(hostPort)
  else if (byteLength(tenant.text) >= 65) {
    tenant.required('must be a UUID and may not exceed a length of 64 characters')
  } else {
    for (const pair of registry.text.split(',')) {
      if (!isHostPort(pair)) registry.invalid(hostPort)
    }
  }
  requireText(source, 'volume')
}

/** True for a host with a port as net.SplitHostPort reads them. */
function isHostPort(pair: string): boolean {
  return /^(?:\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(pair)
}

const managedUri =
  '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}'
const blobUri = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd'

export function checkAzureDisk(source: Place): void {
  const [uri, caching, kind] = [source.in('diskURI'), source.in('cachingMode'), source.in('kind')]
  requireText(source, 'diskName')
  requireText(source, 'diskURI')
  if (caching.isSet) caching.oneOf(['None', 'ReadOnly', 'ReadWrite'], 'unsupported')
  if (!kind.isSet) return
  kind.oneOf(['Dedicated', 'Managed', 'Shared'], 'unsupported')
  const [prefix, form] =
    kind.text === 'Managed' ? ['/subscriptions/', managedUri] : ['https://', blobUri]
  if (!uri.text.startsWith(prefix)) uri.notSupported([form], uri.text)
}

export function checkStorageOs(source: Place, isOfCluster = false): void {
  const [name, namespace, secret] = [
    source.in('volumeName'),
    source.in('volumeNamespace'),
    source.in('secretRef'),
  ]
  if (name.text === '') name.required()
  else name.mustBe(dnsLabel)
  if (namespace.text !== '') namespace.mustBe(dnsLabel)
  if (!secret.isSet) return
  requireText(secret, 'name')
  if (isOfCluster) requireText(secret, 'namespace')
}
