/** Secrets: up to 1 MiB of data, with the members that their type asks for. */

import { GoJsonError, type JsonObject, parseGoJson } from '@watchglass/go'
import { copyMember, textOf } from '../../metadata.ts'
import { configKey } from '../../validation/formats.ts'
import { checkImmutable, checkNewMeta } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind, type WarningContext } from '../kind.ts'
import { checkImmutableContent, contentMaxBytes, decodedLength } from './shared/content.ts'

export const secret: BuiltInKind = kind({
  group: '',
  kind: 'Secret',
  plural: 'secrets',
  prepareUpdate: keepType,
  validateCreate: checkSecret,
  validateUpdate: (object, old) => {
    checkImmutable(object.in('type'), old.in('type'))
    checkImmutableContent(object, old, ['data'])
    checkNewMeta(object)
    checkSecret(object)
  },
  warn: ofKeyPair,
})

/** A Secret without a type keeps the one that it has. */
function keepType(object: JsonObject, old: JsonObject): void {
  if (textOf(object.get('type')) === '') copyMember(object, old, 'type')
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

/** A Secret of the type `kubernetes.io/tls` whose certificate is not one of its key. */
function ofKeyPair(object: Place, _old: Place | undefined, context: WarningContext): string[] {
  if (object.in('type').text !== 'kubernetes.io/tls') return []
  const [certificate = '', key = ''] = ['tls.crt', 'tls.key'].map(name =>
    Buffer.from(object.in('data', name).text, 'base64').toString('latin1'),
  )
  const problem = context.keyPairProblem?.(certificate, key)
  return problem === undefined ? [] : [problem]
}
