/** The resources that kube-apiserver has built in, from the table of the schema. */

import { goQuote } from '@watchglass/go'
import type { BuiltInResource, Schema, SelectableField } from '@watchglass/codec'
import { defaultEtcdPrefix, type Resource } from './resource.ts'

/** The built-in resources that are on by default, under an etcd prefix (`/registry`, without a
 *  final slash), in the order of discovery. */
export function builtInResources(
  schema: Schema,
  etcdPrefix: string = defaultEtcdPrefix,
): Resource[] {
  return schema.resources
    .filter(row => row.defaultServed)
    .map(row => resourceFromRow(row, schema, etcdPrefix))
}

function resourceFromRow(row: BuiltInResource, schema: Schema, etcdPrefix: string): Resource {
  const { group, version, resource, storage } = row
  const path = `${group}/${version}/${resource}`
  const unknownField = row.fieldLabelError ?? 'field label not supported: {label}'
  return {
    group,
    version,
    resource,
    singular: row.singular,
    kind: row.kind,
    listKind: row.listKind ?? `${row.kind}List`,
    isNamespaced: row.namespaced,
    shortNames: row.shortNames,
    categories: row.categories,
    verbs: row.verbs,
    subresources: row.subresources.filter(
      ({ name }) => path !== '/v1/pods' || name !== 'resize' || schema.has('podResize'),
    ),
    storage:
      storage === null
        ? undefined
        : { ...storage, prefix: etcdPrefix + storage.prefix.slice(defaultEtcdPrefix.length) },
    storageVersionHash: row.storageVersionHash,
    fields: (row.fieldLabels ?? []).map(({ label, paths, default: fallback }): SelectableField => ({
      label,
      paths,
      fallback,
    })),
    unknownField: label =>
      unknownField.replaceAll('"{label}"', () => goQuote(label)).replaceAll('{label}', () => label),
    isWatchCached: resource !== 'events',
    warnings:
      path === '/v1/endpoints' && !schema.has('endpointsWarning') ? [] : (deprecations[path] ?? []),
    routing: 'installed',
    custom: undefined,
  }
}

/** Served by default and deprecated in this version. */
const deprecations: Readonly<Record<string, readonly string[]>> = {
  '/v1/componentstatuses': ['v1 ComponentStatus is deprecated in v1.19+'],
  '/v1/endpoints': ['v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'],
}
