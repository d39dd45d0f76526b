/** Environment variables of a container, and other uses of fields of the pod. */

import {
  configKey,
  dnsLabel,
  dnsSubdomain,
  environmentName,
  maskTrailingDash,
  qualifiedName,
} from '../formats.ts'
import type { Place } from '../place.ts'
import { checkNoBacksteps } from './paths.ts'

const environmentFields: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]

const resourceFields: readonly string[] = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
]

/** Labels that the server converts, beside those that the environment has. */
const convertedFields: ReadonlySet<string> = new Set([
  ...environmentFields,
  'metadata.annotations',
  'metadata.labels',
  'spec.restartPolicy',
  'spec.schedulerName',
  'spec.serviceAccount',
  'spec.hostNetwork',
  'status.phase',
  'status.nominatedNodeName',
  'spec.host',
])

export function checkEnvironment(variables: Place): void {
  for (const variable of variables.items) {
    const name = variable.in('name')
    if (name.text === '') name.required()
    else name.mustBe(environmentName)
    const source = variable.in('valueFrom')
    if (source.isSet) checkSource(source, variable.in('value').text)
  }
}

const sources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef']

function checkSource(source: Place, value: string): void {
  const [field, resource, configMap, secret, file] = sources.map(name => source.in(name)) as [
    Place,
    Place,
    Place,
    Place,
    Place,
  ]
  if (field.isSet) checkFieldReference(field, environmentFields)
  if (resource.isSet) checkResourceReference(resource, { isOfVolume: false })
  if (configMap.isSet) checkKeyReference(configMap)
  if (secret.isSet) checkKeyReference(secret)
  if (file.isSet) checkFileReference(file)
  const count = [field, resource, configMap, secret, file].filter(place => place.isSet).length
  if (count === 0) {
    source.invalid(
      'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      '',
    )
  } else if (value !== '') source.invalid('may not be specified when `value` is not empty', '')
  else if (count > 1) {
    source.invalid('may not have more than one field specified at a time', '')
  }
}

/** A field of the pod itself. */
export function checkFieldReference(reference: Place, fields: readonly string[]): void {
  const [version, path] = [reference.in('apiVersion'), reference.in('fieldPath')]
  if (version.text === '') {
    version.required()
    return
  }
  if (path.text === '') {
    path.required()
    return
  }
  const subscript = /^([^[\]]+)\['(.*)'\]$/s.exec(path.text)
  const name = subscript?.[1] ?? path.text
  const isConverted =
    version.text === 'v1' &&
    (subscript === null
      ? convertedFields.has(name)
      : name === 'metadata.annotations' || name === 'metadata.labels')
  if (!isConverted) {
    const reason =
      version.text === 'v1'
        ? subscript === null
          ? `field label not supported: ${path.text}`
          : `field label does not support subscript: ${path.text}`
        : `unsupported pod version: ${version.text}`
    path.invalid(`error converting fieldPath: ${reason}`)
    return
  }
  const internal = name === 'spec.host' ? 'spec.nodeName' : name
  if (subscript !== null) {
    const key = subscript[2] ?? ''
    const checked = name.endsWith('annotations') ? key.toLowerCase() : key
    reference.invalidFor(qualifiedName(checked), checked)
  } else if (!fields.includes(internal)) path.notSupported(fields, internal)
}

/** A resource of a container. */
export function checkResourceReference(
  reference: Place,
  { isOfVolume }: { readonly isOfVolume: boolean },
): void {
  const [container, resource] = [reference.in('containerName'), reference.in('resource')]
  const name = resource.text
  const isHugePages = name.startsWith('requests.hugepages-') || name.startsWith('limits.hugepages-')
  const isKnown = resourceFields.includes(name) || isHugePages
  if (isOfVolume && container.text === '') container.required()
  else if (name === '') resource.required()
  else if (!isKnown) resource.notSupported(resourceFields)
  if (isKnown) checkDivisor(reference.in('divisor'), name)
}

const divisors: ReadonlySet<string> = new Set(
  ['', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map(unit => `1${unit}`),
)
const divisorWords =
  "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the"

function checkDivisor(divisor: Place, name: string): void {
  const { text } = divisor
  if (text === '' || text === '0') return
  if (name.endsWith('.cpu')) {
    if (text !== '1m' && text !== '1') {
      divisor.invalid("only divisor's values 1m and 1 are supported with the cpu resource", name)
    }
    return
  }
  if (divisors.has(text)) return
  const what = name.endsWith('.memory')
    ? 'memory'
    : name.endsWith('.ephemeral-storage')
      ? 'local ephemeral storage'
      : 'hugepages'
  divisor.invalid(`${divisorWords} ${what} resource`, name)
}

/** A key of a ConfigMap or a Secret. */
export function checkKeyReference(reference: Place): void {
  const key = reference.in('key')
  reference.in('name').mustBe(dnsSubdomain)
  if (key.text === '') key.required()
  else key.mustBe(configKey)
}

function checkFileReference(reference: Place): void {
  const [key, volume, path] = [
    reference.in('key'),
    reference.in('volumeName'),
    reference.in('path'),
  ]
  if (key.text === '') key.required()
  else key.mustBe(environmentName)
  if (volume.text === '') volume.required()
  else volume.mustBe(dnsLabel)
  if (path.text === '') path.required()
  else checkNoBacksteps(path)
}

export function checkEnvironmentSources(list: Place): void {
  for (const item of list.items) {
    const prefix = item.in('prefix')
    if (prefix.text !== '') prefix.mustBe(environmentName)
    const references = [item.in('configMapRef'), item.in('secretRef')].filter(({ isSet }) => isSet)
    for (const reference of references) {
      const name = reference.in('name')
      if (name.text === '') name.required()
      else name.invalidFor(dnsSubdomain(maskTrailingDash(name.text)))
    }
    if (references.length === 0) {
      list.invalid('must specify one of: `configMapRef` or `secretRef`', '')
    } else if (references.length > 1) {
      list.invalid('may not have more than one field specified at a time', '')
    }
  }
}
