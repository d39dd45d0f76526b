/** The resources that kube-apiserver has built in, from the generated table. */

import { builtInRows, kubernetesVersion } from './data/resources.ts'
import type { FieldLabel, Resource, ResourceStorage, Subresource } from './resource.ts'

/** A row of the generated table. */
export interface BuiltInRow {
  readonly gvr: readonly [group: string, version: string, resource: string]
  readonly kind: string
  readonly listKind?: string | undefined
  readonly singular: string
  readonly namespaced: boolean
  /** Served unless an option says otherwise: alpha and beta versions are not. */
  readonly served: boolean
  readonly short: readonly string[]
  readonly categories: readonly string[]
  /** Between spaces. */
  readonly verbs: string
  readonly sub: readonly Subresource[]
  readonly hash?: string | undefined
  /** The prefix lacks the root. */
  readonly storage?:
    readonly [string, string, string, string, encoding: string, conversion: string] | undefined
  /** A label alone is its own path. */
  readonly fields: readonly (
    readonly [string] | readonly [string, paths: readonly string[], fallback: string]
  )[]
  readonly fieldError: string
}

/** Where kube-apiserver keeps everything unless told otherwise. */
export const defaultEtcdPrefix = '/registry'

/** Which of the built-in resources are served: those that are on by default, or what the upstream's discovery lists. */
export type IsServed = (group: string, version: string, resource: string) => boolean

/** The built-in resources under an etcd prefix (`/registry`, without a final slash), in the order of discovery. */
export function builtInResources(
  etcdPrefix: string = defaultEtcdPrefix,
  isServed?: IsServed,
): Resource[] {
  const rows = JSON.parse(builtInRows) as readonly BuiltInRow[]
  return rows
    .filter(row => isServed?.(...row.gvr) ?? row.served)
    .map(row => resourceFromRow(row, etcdPrefix))
}

function resourceFromRow(row: BuiltInRow, etcdPrefix: string): Resource {
  const [group, version, resource] = row.gvr
  return {
    group,
    version,
    resource,
    singular: row.singular,
    kind: row.kind,
    listKind: row.listKind ?? `${row.kind}List`,
    isNamespaced: row.namespaced,
    shortNames: row.short,
    categories: row.categories,
    verbs: row.verbs.split(' '),
    subresources: row.sub,
    storage: storageFromRow(row, etcdPrefix),
    storageVersionHash: row.hash,
    fields: row.fields.map(fieldFromRow),
    unknownField: label => row.fieldError.replaceAll('{label}', () => label),
    isWatchCached: resource !== 'events',
    warnings: deprecations[`${group}/${version}/${resource}`] ?? [],
    routing: 'installed',
    custom: undefined,
  }
}

/** Served by default and deprecated in this version. */
const deprecations: Readonly<Record<string, readonly string[]>> = {
  '/v1/componentstatuses': ['v1 ComponentStatus is deprecated in v1.19+'],
  '/v1/endpoints': ['v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'],
}

function storageFromRow(row: BuiltInRow, etcdPrefix: string): ResourceStorage | undefined {
  if (row.storage === undefined) return undefined
  const [prefix, group, version, kind, encoding, conversion] = row.storage
  return {
    prefix: `${etcdPrefix}/${prefix}`,
    group,
    version,
    kind,
    encoding: encoding as ResourceStorage['encoding'],
    conversion: conversion as ResourceStorage['conversion'],
  }
}

function fieldFromRow([label, paths, fallback]: BuiltInRow['fields'][number]): FieldLabel {
  return { label, paths: paths ?? [label], fallback: fallback ?? '' }
}

/** The version of Kubernetes that the built-in data describes. */
export const builtInVersion: string = kubernetesVersion
