/** A CustomResourceDefinition of v1 in the shape of apiextensions.k8s.io/v1beta1, in which it is
 *  stored: what all versions have in common stands at the top, and only there. */

import { itemsOf, type JsonObject, type JsonValue, memberOf, textFromTree } from '@watchglass/go'
import { hoisted, sortDefinitionValues, withRenamed } from '@watchglass/codec'

/** A new tree; members are in no order yet. */
export function downgradeDefinition(definition: JsonObject): JsonObject {
  sortDefinitionValues(definition)
  const downgraded: JsonObject = new Map(definition)
  downgraded.set('apiVersion', 'apiextensions.k8s.io/v1beta1')
  const known = definition.get('spec')
  const spec: JsonObject = known instanceof Map ? new Map(known) : new Map()
  downgraded.set('spec', spec)
  if (spec.get('preserveUnknownFields') !== true) spec.set('preserveUnknownFields', false)
  downgradeConversion(spec)
  const versions = itemsOf(spec.get('versions')).map(downgradeVersion)
  if (versions.length === 0) return downgraded
  spec.set('versions', versions)
  spec.set('version', versions[0]?.get('name') ?? '')
  for (const [name, nameInVersion] of hoisted) {
    const values = versions.map(version => version.get(nameInVersion) ?? null)
    const [first = null] = values
    const isCommon = values.every(value => isSame(value, first))
    if (!isCommon) continue
    if (first !== null) spec.set(name, first)
    for (const version of versions) version.delete(nameInVersion)
  }
  return downgraded
}

function isSame(a: JsonValue, b: JsonValue): boolean {
  return textFromTree(a) === textFromTree(b)
}

function downgradeVersion(version: JsonValue): JsonObject {
  const downgraded: JsonObject = version instanceof Map ? new Map(version) : new Map()
  const columns = downgraded.get('additionalPrinterColumns')
  if (Array.isArray(columns)) {
    downgraded.set(
      'additionalPrinterColumns',
      columns.map(column => withRenamed(column, 'jsonPath', 'JSONPath')),
    )
  }
  return downgraded
}

/** Splits the object for webhooks into the two members that v1beta1 has. */
function downgradeConversion(spec: JsonObject): void {
  const known = spec.get('conversion')
  if (!(known instanceof Map)) return
  const conversion = new Map(known)
  const webhook = conversion.get('webhook')
  conversion.delete('webhook')
  const clientConfig = memberOf(webhook, 'clientConfig') ?? null
  const reviewVersions = memberOf(webhook, 'conversionReviewVersions') ?? null
  if (clientConfig !== null) conversion.set('webhookClientConfig', clientConfig)
  if (reviewVersions !== null) conversion.set('conversionReviewVersions', reviewVersions)
  spec.set('conversion', conversion)
}
