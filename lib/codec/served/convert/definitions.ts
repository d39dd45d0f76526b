/** A CustomResourceDefinition of apiextensions.k8s.io/v1beta1, as it is stored, in the shape of v1,
 *  which is served.
 *
 *  v1beta1 hoists to the top what is the same in all versions; v1 has it in each. Values of any
 *  type (defaults, examples, enums) go through Go maps on the way, and come out sorted. */

import { itemsOf, type JsonObject, type JsonValue, memberOf, sortTree } from '@watchglass/go'
import { definitionNames } from '../stored/computations.ts'

/** Changes the definition in place. It may be of v1 already; then only its values are put in
 *  order. */
export function upgradeDefinition(definition: JsonObject): void {
  const spec = definition.get('spec')
  if (!(spec instanceof Map)) return
  if (definition.get('apiVersion') === 'apiextensions.k8s.io/v1beta1') {
    applyDefaults(definition, spec)
    distribute(spec)
    upgradeConversion(spec)
    definition.set('apiVersion', 'apiextensions.k8s.io/v1')
  }
  sortDefinitionValues(definition)
}

/** Puts the values of any type in the schemas of a definition of v1 into the order of Go maps, in
 *  place. */
export function sortDefinitionValues(definition: JsonObject): void {
  for (const version of itemsOf(memberOf(definition.get('spec'), 'versions'))) {
    sortValues(memberOf(memberOf(version, 'schema'), 'openAPIV3Schema'))
  }
}

/** Defaults of v1beta1. What a kube-apiserver stored has them. */
function applyDefaults(definition: JsonObject, spec: JsonObject): void {
  if (isEmpty(spec.get('scope'))) spec.set('scope', 'Namespaced')
  if (isEmpty(spec.get('versions')) && !isEmpty(spec.get('version'))) {
    const name = spec.get('version') ?? ''
    const only = new Map<string, JsonValue>([
      ['name', name],
      ['served', true],
      ['storage', true],
    ])
    spec.set('versions', [only])
  }
  if (isEmpty(spec.get('preserveUnknownFields'))) spec.set('preserveUnknownFields', true)
  definitionNames(definition)
}

/** By name at the top of v1beta1, the name in a version of v1. */
export const hoisted: readonly (readonly [string, string])[] = [
  ['validation', 'schema'],
  ['subresources', 'subresources'],
  ['additionalPrinterColumns', 'additionalPrinterColumns'],
  ['selectableFields', 'selectableFields'],
]

/** Copies what is hoisted into each version. */
function distribute(spec: JsonObject): void {
  for (const [name, nameInVersion] of hoisted) {
    const value = spec.get(name) ?? null
    spec.delete(name)
    if (value === null) continue
    for (const version of itemsOf(spec.get('versions'))) {
      if (version instanceof Map) version.set(nameInVersion, value)
    }
  }
  spec.delete('version')
  for (const version of itemsOf(spec.get('versions'))) {
    const columns = itemsOf(memberOf(version, 'additionalPrinterColumns'))
    if (version instanceof Map && columns.length > 0) {
      version.set(
        'additionalPrinterColumns',
        columns.map(column => withRenamed(column, 'JSONPath', 'jsonPath')),
      )
    }
  }
}

/** A copy of an object in which a member has another name. */
export function withRenamed(object: JsonValue, from: string, to: string): JsonValue {
  if (!(object instanceof Map)) return object
  const renamed = new Map(object)
  const value = renamed.get(from)
  renamed.delete(from)
  if (value !== undefined) renamed.set(to, value)
  return renamed
}

/** The two members for webhooks become members of one object. */
function upgradeConversion(spec: JsonObject): void {
  const conversion = spec.get('conversion')
  if (!(conversion instanceof Map)) return
  const clientConfig = conversion.get('webhookClientConfig') ?? null
  const reviewVersions = conversion.get('conversionReviewVersions') ?? null
  conversion.delete('webhookClientConfig')
  conversion.delete('conversionReviewVersions')
  if (clientConfig === null && reviewVersions === null) return
  const webhook: JsonObject = new Map()
  if (clientConfig !== null) webhook.set('clientConfig', clientConfig)
  webhook.set('conversionReviewVersions', reviewVersions)
  conversion.set('webhook', webhook)
}

/** The members of a schema that hold schemas: as they are or in a list, and by name. */
const nested = [
  'items',
  'allOf',
  'oneOf',
  'anyOf',
  'not',
  'additionalProperties',
  'additionalItems',
]
const nestedByName = ['properties', 'patternProperties', 'dependencies', 'definitions']

/** Puts the values of any type in a schema into the order of Go maps. */
function sortValues(schema: JsonValue | undefined): void {
  if (Array.isArray(schema)) {
    for (const item of schema) sortValues(item)
    return
  }
  if (!(schema instanceof Map)) return
  for (const name of ['default', 'example', 'enum']) {
    const value = schema.get(name) ?? null
    if (value === null) schema.delete(name)
    else schema.set(name, sortTree(value))
  }
  for (const name of nested) sortValues(schema.get(name))
  for (const name of nestedByName) {
    const named = schema.get(name)
    if (named instanceof Map) for (const inner of named.values()) sortValues(inner)
  }
}

/** True for what Go's types cannot tell from nothing. */
function isEmpty(value: JsonValue | undefined): boolean {
  return (
    value === undefined ||
    value === null ||
    value === '' ||
    (Array.isArray(value) && value.length === 0)
  )
}
