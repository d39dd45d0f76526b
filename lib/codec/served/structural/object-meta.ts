/** Metadata of custom resources as Go's typed ObjectMeta leaves it: unknown fields and empty values
 *  go, members have their type. The slow way beside object-meta-node.ts, for metadata that a
 *  kube-apiserver would not have stored so. */

import { isCanonicalTime, JsonNumber, type JsonObject, type JsonValue } from '@watchglass/go'
import { NotExact } from '@watchglass/base'

/** The value that the typed field has, or that we cannot tell; undefined where it is empty, and so
 *  left out. */
type Normalise = (value: JsonValue) => JsonValue | NotExact | undefined

/** Replaces the member `metadata` of `owner`. Metadata of the wrong type, which the server takes
 *  apart field by field, is not exact. The outermost metadata always has a generation. */
export function normaliseObjectMeta(
  owner: JsonObject,
  { isRoot }: { readonly isRoot: boolean },
): NotExact | undefined {
  const metadata = objectMeta(owner.get('metadata') ?? null)
  if (metadata instanceof NotExact) return metadata
  const normalised: JsonObject = metadata instanceof Map ? metadata : new Map()
  if (isRoot && !normalised.has('generation')) normalised.set('generation', new JsonNumber('1'))
  owner.set('metadata', normalised)
  return undefined
}

const wrongType = new NotExact('metadata has a field of the wrong type')
const unusualTime = new NotExact('metadata has a time that is not in its usual form')

const text: Normalise = value => {
  if (value === null || value === '') return undefined
  return typeof value === 'string' ? value : wrongType
}
/** Text that is written even when it is empty. */
const fullText: Normalise = value => text(value) ?? ''
const boolean: Normalise = value => {
  if (value === null) return undefined
  return typeof value === 'boolean' ? value : wrongType
}
const integer: Normalise = value => {
  if (value === null) return undefined
  return value instanceof JsonNumber && /^-?\d{1,15}$/.test(value.text) ? value : wrongType
}
const nonZeroInteger: Normalise = value => {
  const number = integer(value)
  return number instanceof JsonNumber && number.text === '0' ? undefined : number
}
const time: Normalise = value => {
  if (value === null) return undefined
  if (typeof value !== 'string') return wrongType
  const bytes = Buffer.from(value)
  return isCanonicalTime(bytes, 0, bytes.length) ? value : unusualTime
}
const anything: Normalise = value => value ?? undefined

const objectMeta: Normalise = object({
  name: text,
  generateName: text,
  namespace: text,
  selfLink: text,
  uid: text,
  resourceVersion: text,
  generation: nonZeroInteger,
  creationTimestamp: time,
  deletionTimestamp: time,
  deletionGracePeriodSeconds: integer,
  labels: mapOf(fullText),
  annotations: mapOf(fullText),
  ownerReferences: listOf(
    object(
      {
        apiVersion: fullText,
        kind: fullText,
        name: fullText,
        uid: fullText,
        controller: boolean,
        blockOwnerDeletion: boolean,
      },
      ['apiVersion', 'kind', 'name', 'uid'],
    ),
  ),
  finalizers: listOf(fullText),
  managedFields: listOf(
    object({
      manager: text,
      operation: text,
      apiVersion: text,
      time,
      fieldsType: text,
      fieldsV1: anything,
      subresource: text,
    }),
  ),
})

/** A struct of these fields; those in `always` are written even when they are empty. */
function object(
  fields: Readonly<Record<string, Normalise>>,
  always: readonly string[] = [],
): Normalise {
  return value => {
    if (value !== null && !(value instanceof Map)) return wrongType
    const result: JsonObject = new Map(always.map(name => [name, '']))
    for (const [key, member] of value ?? []) {
      const normalise = Object.hasOwn(fields, key) ? fields[key] : undefined
      const normalised = normalise?.(member)
      if (normalised instanceof NotExact) return normalised
      if (normalised !== undefined) result.set(key, normalised)
    }
    return result
  }
}

function mapOf(normalise: Normalise): Normalise {
  return value => {
    if (value !== null && !(value instanceof Map)) return wrongType
    const result: JsonObject = new Map()
    for (const [key, member] of value ?? []) {
      const normalised = normalise(member) ?? ''
      if (normalised instanceof NotExact) return normalised
      result.set(key, normalised)
    }
    return result.size === 0 ? undefined : result
  }
}

function listOf(normalise: Normalise): Normalise {
  return value => {
    if (value !== null && !Array.isArray(value)) return wrongType
    const result: JsonValue[] = []
    for (const item of value ?? []) {
      const normalised = normalise(item) ?? null
      if (normalised instanceof NotExact) return normalised
      result.push(normalised)
    }
    return result.length === 0 ? undefined : result
  }
}
