/** Storage classes, CSI drivers, attachments and capacities. */

import { type JsonObject, type JsonValue, quantityNanos, textFromTree } from '@watchglass/go'
import { byteLength, dnsSubdomain, inRange, qualifiedName } from '../formats.ts'
import { internalValue } from '../internal-types.ts'
import type { KindRules } from '../kind-rules.ts'
import { checkImmutable, checkNewMeta, isSame } from '../object-meta.ts'
import type { Place } from '../place.ts'
import { checkDriverName } from '../pods/volumes.ts'
import { checkLabelSelector } from '../selectors.ts'
import { checkVolumeSpec } from './volumes.ts'

export const storageRules: Readonly<Record<string, KindRules>> = {
  'StorageClass.storage.k8s.io': {
    isCheckedAsNew: true,
    create: checkStorageClass,
    update: (object, old) => {
      checkStorageClass(object)
      for (const name of ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode']) {
        checkImmutable(object.in(name), old.in(name))
      }
    },
  },
  'VolumeAttributesClass.storage.k8s.io': {
    create: checkAttributesClass,
    update: (object, old) => {
      for (const name of ['driverName', 'parameters']) checkKept(object, old, name)
      checkNewMeta(object, false)
      checkAttributesClass(object)
    },
  },
  'VolumeAttachment.storage.k8s.io': {
    create: checkAttachment,
    update: checkAttachmentUpdate,
    hasFreeUpdate: true,
    hasFreeStatusMetadata: true,
    subresources: { status: checkAttachmentUpdate },
  },
  'CSINode.storage.k8s.io': {
    hasFreeUpdate: true,
    create: object => checkNodeDrivers(object.in('spec', 'drivers')),
    update: checkNodeUpdate,
  },
  'CSIDriver.storage.k8s.io': {
    create: object => checkDriver(object.in('spec')),
    update: (object, old) => {
      checkDriver(object.in('spec'))
      for (const [name, path] of [
        ['attachRequired', 'attachedRequired'],
        ['volumeLifecycleModes', 'volumeLifecycleModes'],
      ] as const) {
        const place = object.in('spec', name)
        if (isSame(place.value, old.in('spec', name).value)) continue
        place.as(`spec.${path}`).invalid('field is immutable', place.shown)
      }
    },
  },
  'CSIStorageCapacity.storage.k8s.io': {
    create: checkStorageCapacity,
    isCheckedAsNew: true,
    update: (object, old) => {
      checkStorageCapacity(object)
      for (const name of ['nodeTopology', 'storageClassName']) {
        const place = object.in(name)
        const was = old.in(name)
        const isThere = name === 'storageClassName' || place.isSet === was.isSet
        if (isThere && isSame(place.value, was.value)) continue
        const empty = name === 'nodeTopology' ? null : ''
        place.invalid('field is immutable', place.value ?? empty)
      }
    },
  },
}

function checkStorageClass(object: Place): void {
  checkProvisioner(object.in('provisioner'))
  checkParameters(object.in('parameters'))
  object.in('reclaimPolicy').oneOf(['Delete', 'Retain'], 'fine')
  object.in('volumeBindingMode').oneOf(['Immediate', 'WaitForFirstConsumer'], 'unsupported')
  checkTopologies(object.in('allowedTopologies'))
}

function checkKept(object: Place, old: Place, name: string): void {
  const [now, was] = [object.in(name), old.in(name)]
  const isKept = isSame(now.value, was.value) && now.size === was.size
  if (isKept) return
  object.in(name).forbidden(`updates to ${name} are forbidden.`)
}

function checkProvisioner(provisioner: Place): void {
  const name = provisioner.text.toLowerCase()
  if (name === '') provisioner.required()
  else provisioner.invalidFor(qualifiedName(name), name)
}

const mostBytes = 256 * 1024

function checkParameters(parameters: Place): void {
  if (parameters.size > 512) {
    parameters.tooLong(512)
    return
  }
  let bytes = 0
  for (const [key, value] of parameters.entries) {
    if (key === '') parameters.invalid('field can not be empty.', '')
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value.text)
  }
  if (bytes > mostBytes) parameters.tooLong(mostBytes)
}

function checkAttributesClass(object: Place): void {
  checkProvisioner(object.in('driverName'))
  const parameters = object.in('parameters')
  checkParameters(parameters)
  if (parameters.size === 0) parameters.required('must contain at least one key/value pair')
}

function checkTopologies(terms: Place): void {
  // The server begins with as many empty ones.
  const seen = terms.items.map(() => '{}')
  for (const term of terms.items) {
    const keys = new Set<string>()
    for (const item of term.in('matchLabelExpressions').items) {
      const [key, values] = [item.in('key'), item.in('values')]
      if (values.size === 0) values.required()
      const known = new Set<string>()
      for (const value of values.items) {
        if (known.has(value.text)) value.duplicate()
        known.add(value.text)
      }
      key.mustBe(qualifiedName)
      if (keys.has(key.text)) key.duplicate()
      keys.add(key.text)
    }
    const expressions = term.in('matchLabelExpressions')
    const text = textOfTerm(expressions)
    for (const other of seen) if (other === text) expressions.duplicate('')
    seen.push(text)
  }
}

/** Which values a term asks for, whatever the order and how often; of a repeated key the last. */
function textOfTerm(expressions: Place): string {
  const members = expressions.items.map((item): [string, JsonValue] => {
    return [item.in('key').text, [...new Set(item.in('values').texts)].sort()]
  })
  return textFromTree(new Map(members.sort(([a], [b]) => (a < b ? -1 : 1))))
}

function checkAttachment(object: Place): void {
  const spec = object.in('spec')
  const [attacher, source, node] = [spec.in('attacher'), spec.in('source'), spec.in('nodeName')]
  if (attacher.text === '') attacher.required()
  const [inline, volume] = [source.in('inlineVolumeSpec'), source.in('persistentVolumeName')]
  const words = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'
  if (inline.isSet && volume.isSet) source.forbidden(words)
  else if (inline.isSet) checkVolumeSpec(inline, { volumeName: '', isInline: true })
  else if (!volume.isSet) source.required(words)
  else if (volume.text === '') volume.required('must specify non empty persistentVolumeName')
  node.mustBe(dnsSubdomain)
  const metadata = object.in('status', 'attachmentMetadata')
  const bytes = metadata.entries.reduce(
    (sum, [key, { text }]) => sum + byteLength(key) + byteLength(text),
    0,
  )
  if (bytes > mostBytes) metadata.tooLong(mostBytes)
  for (const name of ['attachError', 'detachError']) {
    const error = object.in('status', name)
    if (byteLength(error.in('message').text) > 1024) error.in('message').tooLong(mostBytes)
    const code = error.in('errorCode')
    code.invalidFor(inRange(code.number, 0, 2147483647))
  }
  if (attacher.text !== '') checkDriverName(attacher)
  if (volume.isSet) volume.mustBe(dnsSubdomain)
}

function checkAttachmentUpdate(object: Place, old: Place): void {
  checkNewMeta(object, false)
  checkAttachment(object)
  const [spec, before] = [object.in('spec'), old.in('spec')]
  if (isSame(spec.value, before.value)) return
  const inline = spec.in('source', 'inlineVolumeSpec').value ?? null
  const source = new Map<string, JsonValue>([
    ['PersistentVolumeName', spec.in('source', 'persistentVolumeName').value ?? null],
    ['InlineVolumeSpec', inline],
  ])
  const shown = new Map<string, JsonValue>([
    ['Attacher', spec.in('attacher').text],
    ['Source', source],
    ['NodeName', spec.in('nodeName').text],
  ])
  spec.invalid('field is immutable', shown)
}

function checkNodeDrivers(drivers: Place): void {
  const names = new Set<string>()
  for (const driver of drivers.items) {
    const [name, id] = [driver.in('name'), driver.in('nodeID')]
    checkDriverName(name)
    if (id.text === '') id.required()
    if (byteLength(id.text) > 256) id.invalid('must be 256 characters or less')
    driver.in('allocatable', 'count').notNegative()
    if (names.has(name.text)) name.duplicate(name.text)
    names.add(name.text)
    const keys = new Set<string>()
    for (const key of driver.in('topologyKeys').texts) {
      if (key === '') driver.required()
      if (keys.has(key)) driver.duplicate(key)
      keys.add(key)
      driver.invalidFor(qualifiedName(key), key)
    }
  }
}

function checkNodeUpdate(object: Place, old: Place): void {
  checkNewMeta(object, false)
  const [drivers, before] = [object.in('spec', 'drivers'), old.in('spec', 'drivers')]
  checkNodeDrivers(drivers)
  for (const was of before.items) {
    for (const driver of drivers.items) {
      if (driver.in('name').text !== was.in('name').text) continue
      if (isSame(withoutCount(driver), withoutCount(was))) continue
      drivers.invalid('field is immutable', internalValue('CSINodeDriver', withoutCount(driver)))
    }
  }
}

function withoutCount({ object }: Place): JsonObject {
  return new Map([...(object ?? [])].filter(([name]) => name !== 'allocatable'))
}

function checkDriver(spec: Place): void {
  for (const [name, path] of [
    ['attachRequired', 'attachedRequired'],
    ['podInfoOnMount', 'podInfoOnMount'],
    ['storageCapacity', 'storageCapacity'],
  ] as const) {
    if (!spec.in(name).isSet) spec.as(`${spec.path}.${path}`).required()
  }
  const policy = spec.in('fsGroupPolicy')
  if (policy.isSet) policy.oneOf(['File', 'None', 'ReadWriteOnceWithFSType'], 'unsupported')
  checkTokenRequests(spec.in('tokenRequests'))
  const modes = spec.in('volumeLifecycleModes')
  for (const mode of modes.texts) {
    if (mode === 'Persistent' || mode === 'Ephemeral') continue
    modes.notSupported(['Persistent', 'Ephemeral'], mode)
  }
  if (!spec.in('seLinuxMount').isSet) spec.in('seLinuxMount').required()
  const period = spec.in('nodeAllocatableUpdatePeriodSeconds')
  if (period.isSet && period.number < 10) {
    period.invalid('must be greater than or equal to 10 seconds')
  }
  const inSecrets = spec.in('serviceAccountTokenInSecrets')
  if (inSecrets.isSet && spec.in('tokenRequests').size === 0) {
    inSecrets.invalid('serviceAccountTokenInSecrets is set but no tokenRequests are specified')
  }
}

function checkTokenRequests(requests: Place): void {
  const audiences = new Set<string>()
  for (const request of requests.items) {
    const [audience, seconds] = [request.in('audience'), request.in('expirationSeconds')]
    if (audiences.has(audience.text)) {
      audience.duplicate(audience.text)
      continue
    }
    audiences.add(audience.text)
    if (!seconds.isSet) continue
    if (seconds.number < 600) seconds.invalid('may not specify a duration less than 10 minutes')
    if (seconds.number > 2 ** 32) {
      seconds.invalid('may not specify a duration larger than 2^32 seconds')
    }
  }
}

function checkStorageCapacity(object: Place): void {
  checkLabelSelector(object.in('nodeTopology'))
  const storageClass = object.in('storageClassName')
  storageClass.mustBe(dnsSubdomain)
  const capacity = object.in('capacity')
  if (capacity.isSet && quantityNanos(capacity.text) < 0n) {
    capacity.invalid('must be greater than or equal to 0')
  }
}
