/** Configured resources: those of an aggregated API server, which has its objects in its own etcd
 *  without any description of them. One declaration describes one resource in one version:
 *
 *  ```
 *  group: wardle.example.com, version: v1, resource: flunders, kind: Flunder, scope: Namespaced
 *  prefix: /registry/wardle.example.com/flunders        etcd
 *  selectableFields: [{ jsonPath: .spec.reference }]    at most 8, under the rules of CustomResourceDefinitions
 *  printerColumns: [{ name: Reference, type: string, jsonPath: .spec.reference }]
 *  ``` */

import { CacheError, objectOf, textOf, textsOf, type UntypedObject } from '@watchglass/base'
import {
  anySchema,
  metadataFields,
  printerColumns,
  type Resource,
  selectableFields,
  undefinedVersion,
} from '@watchglass/kube'

/** Names in paths and in keys: no slash, no percent sign, no dot segment. */
const pathName = /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/

/** Reads one declaration. Fails with `invalid_request` on one that cannot work. */
export function configuredResource(declared: unknown): Resource {
  const row = objectOf(declared)
  const group = requiredName(row, 'group')
  const version = requiredName(row, 'version')
  const resource = requiredName(row, 'resource')
  const kind = textOf(row['kind'])
  if (!/^[A-Za-z][A-Za-z0-9]*$/.test(kind)) throw invalid(resource, `kind ${kind} is not a name`)
  const isNamespaced = isNamespacedScope(resource, row['scope'])
  const selectable = selectableFields(row['selectableFields'], anySchema)
  if (selectable.problems.length > 0) throw invalid(resource, selectable.problems.join('; '))
  return {
    group,
    version,
    resource,
    singular: textOf(row['singular']) || kind.toLowerCase(),
    kind,
    listKind: textOf(row['listKind']) || `${kind}List`,
    isNamespaced,
    shortNames: textsOf(row['shortNames']),
    categories: textsOf(row['categories']),
    verbs: ['get', 'list', 'watch'],
    subresources: [],
    storage: {
      prefix: prefixOf(row, resource),
      group,
      version: textOf(row['storageVersion']) || version,
      kind,
      encoding: 'json',
      conversion: 'same',
    },
    storageVersionHash: undefined,
    fields: [...metadataFields(true), ...selectable.fields],
    unknownField: label => `field label not supported: ${label}`,
    isWatchCached: true,
    warnings: [],
    routing: 'installed',
    custom: undefinedVersion(printerColumns(row['printerColumns'])),
  }
}

function requiredName(row: UntypedObject, name: string): string {
  const text = textOf(row[name])
  if (!pathName.test(text)) {
    throw new CacheError(
      'invalid_request',
      `configured resource: ${name} "${text}" is not a lower-case name`,
    )
  }
  return text
}

function isNamespacedScope(resource: string, scope: unknown): boolean {
  if (scope !== 'Namespaced' && scope !== 'Cluster') {
    throw invalid(resource, `scope "${textOf(scope)}" is neither Namespaced nor Cluster`)
  }
  return scope === 'Namespaced'
}

/** The prefix with a final slash, even if none was written: without it, the prefix would include
 *  its neighbours. */
function prefixOf(row: UntypedObject, resource: string): string {
  const prefix = textOf(row['prefix']).replace(/\/+$/, '')
  if (prefix === '') throw invalid(resource, 'prefix is missing')
  return `${prefix}/`
}

function invalid(resource: string, what: string): CacheError {
  return new CacheError('invalid_request', `configured resource ${resource}: ${what}`)
}
