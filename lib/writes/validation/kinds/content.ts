/** ConfigMaps, Secrets, Namespaces and ServiceAccounts. */

import { GoJsonError, parseGoJson } from '@watchglass/go'
import { byteLength, configKey, dnsLabel, qualifiedName } from '../formats.ts'
import type { KindRules } from '../kind-rules.ts'
import { checkFinalizerDomain, checkImmutable, checkNewMeta, isSame } from '../object-meta.ts'
import type { Place } from '../place.ts'

/** All values of a ConfigMap or a Secret together. */
const contentMaxBytes = 1024 * 1024

export const contentRules: Readonly<Record<string, KindRules>> = {
  ConfigMap: {
    create: checkConfigMap,
    update: (object, old) => {
      checkImmutableContent(object, old, ['data', 'binaryData'])
      checkNewMeta(object)
      checkConfigMap(object)
    },
  },
  Secret: {
    create: checkSecret,
    update: (object, old) => {
      checkImmutable(object.in('type'), old.in('type'))
      checkImmutableContent(object, old, ['data'])
      checkNewMeta(object)
      checkSecret(object)
    },
  },
  Namespace: {
    name: dnsLabel,
    isCheckedAsNew: true,
    create: object => {
      for (const { text } of object.in('spec', 'finalizers').items) {
        checkFinalizer(object.in('spec', 'finalizers'), text)
      }
    },
    subresources: {
      status: checkNamespaceStatus,
      finalize: object => {
        for (const item of object.in('spec', 'finalizers').items) checkFinalizer(item, item.text)
      },
    },
  },
  ServiceAccount: { update: object => checkNewMeta(object) },
}

function checkConfigMap(object: Place): void {
  const [data, binaryData] = [object.in('data'), object.in('binaryData')]
  let size = 0
  for (const [key, value] of data.entries) {
    value.invalidFor(configKey(key), key)
    if (binaryData.object?.has(key) === true) {
      value.invalid('duplicate of key present in binaryData', key)
    }
    size += byteLength(value.text)
  }
  for (const [key, value] of binaryData.entries) {
    value.invalidFor(configKey(key), key)
    size += decodedLength(value.text)
  }
  if (size > contentMaxBytes) object.as('[]').tooLong(contentMaxBytes)
}

function checkSecret(object: Place): void {
  const data = object.in('data')
  let size = 0
  for (const [key, value] of data.entries) {
    value.invalidFor(configKey(key), key)
    size += decodedLength(value.text)
  }
  if (size > contentMaxBytes) data.tooLong(contentMaxBytes)
  const type = object.in('type').text
  if (Object.hasOwn(contentByType, type)) contentByType[type]?.(object, data)
}

/** The contents that secrets of some types must have. */
const contentByType: Readonly<Record<string, (object: Place, data: Place) => void>> = {
  'kubernetes.io/service-account-token': object => {
    const annotations = object.in('metadata', 'annotations')
    const name = 'kubernetes.io/service-account.name'
    if (annotations.in(name).text === '') keyIn(annotations, name).required()
  },
  'kubernetes.io/dockercfg': (_object, data) => checkDockerConfig(data, '.dockercfg'),
  'kubernetes.io/dockerconfigjson': (_object, data) => {
    checkDockerConfig(data, '.dockerconfigjson')
  },
  'kubernetes.io/basic-auth': (_object, data) => {
    if (has(data, 'username') || has(data, 'password')) return
    keyIn(data, 'username').required()
    keyIn(data, 'password').required()
  },
  'kubernetes.io/ssh-auth': (_object, data) => {
    if (data.in('ssh-privatekey').text === '') keyIn(data, 'ssh-privatekey').required()
  },
  'kubernetes.io/tls': (_object, data) => {
    for (const key of ['tls.crt', 'tls.key']) if (!has(data, key)) keyIn(data, key).required()
  },
}

function keyIn(place: Place, key: string): Place {
  return place.as(`${place.path}[${key}]`, place.in(key).value)
}

function has(place: Place, key: string): boolean {
  return place.object?.has(key) === true
}

function checkDockerConfig(data: Place, key: string): void {
  const config = keyIn(data, key)
  if (!has(data, key)) {
    config.required()
    return
  }
  const problem = jsonProblem(Buffer.from(config.text, 'base64'))
  if (problem !== undefined) config.invalid(problem, '<secret contents redacted>')
}

/** Go's words for bytes that are no JSON object. */
function jsonProblem(bytes: Buffer): string | undefined {
  try {
    const { kind } = parseGoJson(bytes)
    if (kind === 'null' || kind === 'object') return undefined
    return `json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`
  } catch (error) {
    if (error instanceof GoJsonError) return error.message
    throw error
  }
}

function decodedLength(base64: string): number {
  return Buffer.byteLength(base64, 'base64')
}

function checkImmutableContent(object: Place, old: Place, names: readonly string[]): void {
  if (!old.in('immutable').isTrue) return
  const detail = 'field is immutable when `immutable` is set'
  if (!object.in('immutable').isTrue) object.in('immutable').forbidden(detail)
  for (const name of names) {
    const place = object.in(name)
    if (!isSame(place.value, old.in(name).value) || isEmptied(object, name)) place.forbidden(detail)
  }
}

/** True for a map that is written as an empty one, which is a change here of one that is not
 *  there: what is stored has none that are empty. A ConfigMap's data are there by default. */
function isEmptied(object: Place, name: string): boolean {
  const place = object.in(name)
  const hasDefault = name === 'data' && object.in('kind').text === 'ConfigMap'
  return !place.isSet && place.isWritten && !hasDefault
}

/** Checks a finalizer of a namespace. */
function checkFinalizer(place: Place, name: string): void {
  place.invalidFor(qualifiedName(name), name)
  checkFinalizerDomain(place.as(place.path, name))
}

function checkNamespaceStatus(object: Place): void {
  const phase = object.in('status', 'phase')
  const isDeleted = object.in('metadata', 'deletionTimestamp').isSet
  const expected = isDeleted ? 'Terminating' : 'Active'
  if (phase.text === expected) return
  const when = isDeleted ? 'is not empty' : 'is empty'
  object
    .as('status.Phase', phase.text)
    .invalid(`may only be '${expected}' if \`deletionTimestamp\` ${when}`)
}
