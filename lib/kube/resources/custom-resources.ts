/** Custom resources, from the CustomResourceDefinitions as they are stored. */

import {
  readDefinition,
  type StoredDefinition,
  type StoredDefinitionVersion,
  type Subresource,
} from '@watchglass/codec'
import { CacheError, isObject, memberOf, NotExact, textOf, textsOf } from '@watchglass/base'
import type { KeyValue } from '@watchglass/store'
import type { CustomVersion, Resource, ResourceStorage } from './resource.ts'
import { metadataFields, selectableFields } from './selectable-fields.ts'
import { printerColumns } from './printer-columns.ts'
import { declareAlike } from './same-declaration.ts'
import { compareVersions } from './versions.ts'

/** The resources that one definition declares. */
export interface CustomDefinition {
  readonly name: string
  readonly group: string
  /** The revision at which it was created: definitions are listed in this order. */
  readonly createdAt: number
  /** The keyspace of its objects. */
  readonly prefix: string
  /** The served versions, in the definition's order; none before the names are accepted. */
  readonly resources: readonly Resource[]
  /** Also listed in discovery. */
  readonly isEstablished: boolean
  /** The revision since which it declares what it declares. */
  readonly definedAt: number
  /** The conditions of the definition on which its serving depends, as a text to compare. */
  readonly standing: string
}

/** An older entry of the same key, and its reading. */
export interface DefinitionBefore {
  readonly entry: KeyValue
  readonly parsed: CustomDefinition
}

const conditionsThatCount = ['Established', 'NamesAccepted', 'Terminating']

const readVerbs = ['get', 'patch', 'update']
const allVerbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']
const terminatingVerbs = ['delete', 'deletecollection', 'get', 'list', 'watch']

/** Reads a stored definition. Fails with `unsupported` if it is not one: it may be encrypted, or
 *  from an unknown version of Kubernetes. What was read before, of an older entry, stays in use as
 *  long as it means the same. */
export function customDefinition(
  entry: KeyValue,
  etcdPrefix: string,
  before?: DefinitionBefore,
): CustomDefinition {
  const stored = readDefinition(entry)
  if (stored instanceof NotExact) throw new CacheError('unsupported', stored.reason)
  const { name, group, conditions } = stored
  const plural = textOf(stored.names['plural'])
  if (name === '' || group === '' || plural === '') {
    throw new CacheError('unsupported', 'stored CustomResourceDefinition lacks its names')
  }
  const isEstablished = conditions.has('Established')
  const isServed = isEstablished || conditions.has('NamesAccepted')
  const standing = conditionsThatCount.filter(condition => conditions.has(condition)).join(' ')
  const isAlike = before !== undefined && declareAlike(before.entry, entry)
  if (isAlike && before.parsed.standing === standing) return before.parsed
  const definedAt = isAlike ? before.parsed.definedAt : entry.modRevision
  const prefix = `${etcdPrefix}/${group}/${plural}/`
  const context: DefinitionContext = { stored, prefix, definedAt }
  const served = stored.versions.filter(version => version.isServed)
  return {
    name,
    group,
    createdAt: entry.createRevision,
    prefix,
    resources: isServed ? served.map(version => resourceOf(context, version)) : [],
    isEstablished,
    definedAt,
    standing,
  }
}

interface DefinitionContext {
  readonly stored: StoredDefinition
  readonly prefix: string
  readonly definedAt: number
}

function resourceOf(context: DefinitionContext, version: StoredDefinitionVersion): Resource {
  const { group, names, isNamespaced, conditions } = context.stored
  const kind = textOf(names['kind'])
  const selectable = selectableFields(version.selectableFields, version.schema)
  return {
    group,
    version: version.name,
    resource: textOf(names['plural']),
    singular: textOf(names['singular']) || kind.toLowerCase(),
    kind,
    listKind: textOf(names['listKind']) || `${kind}List`,
    isNamespaced,
    shortNames: textsOf(names['shortNames']),
    categories: textsOf(names['categories']),
    verbs: conditions.has('Terminating') ? terminatingVerbs : allVerbs,
    subresources: subresourcesOf(version.subresources, kind),
    storage: storageOf(context, kind),
    storageVersionHash: undefined,
    fields: [...metadataFields(isNamespaced), ...selectable.fields],
    unknownField: label => `field label not supported: ${label}`,
    isWatchCached: true,
    warnings: warningsOf(context.stored, version),
    routing: 'custom',
    custom: customOf(context, version, selectable.problems),
  }
}

function customOf(
  { stored, definedAt }: DefinitionContext,
  version: StoredDefinitionVersion,
  problems: readonly string[],
): CustomVersion {
  return {
    definition: stored.name,
    definedAt,
    schema: version.schema,
    preservesUnknownFields: stored.preservesUnknownFields,
    columns: printerColumns(version.columns),
    isTerminating: stored.conditions.has('Terminating'),
    problems,
  }
}

/** Objects of one version may be stored under another one's apiVersion, from before the storage
 *  version changed. */
function storageOf({ stored, prefix }: DefinitionContext, kind: string): ResourceStorage {
  const { group, versions, conversion } = stored
  const storage = versions.find(version => version.isStorage) ?? versions[0]
  return {
    prefix,
    group,
    version: storage?.name ?? '',
    kind,
    encoding: 'json',
    conversion: conversion === 'none' ? 'relabel' : 'webhook',
  }
}

function subresourcesOf(declared: unknown, kind: string): Subresource[] {
  const found: Subresource[] = []
  if (isObject(memberOf(declared, 'status'))) {
    found.push({ name: 'status', kind, verbs: readVerbs })
  }
  const scale = memberOf(declared, 'scale')
  if (isObject(scale)) {
    found.push({
      scale: {
        specReplicas: textOf(scale['specReplicasPath']),
        statusReplicas: textOf(scale['statusReplicasPath']),
        labelSelector: textOf(scale['labelSelectorPath']),
      },
      name: 'scale',
      kind: 'Scale',
      verbs: readVerbs,
      group: 'autoscaling',
      version: 'v1',
    })
  }
  return found
}

/** The warning of a deprecated version: the definition's own text, or which version to use
 *  instead. */
function warningsOf(
  { group, names, versions }: StoredDefinition,
  { name, deprecation }: StoredDefinitionVersion,
): string[] {
  if (deprecation === undefined) return []
  if (deprecation !== '') return [deprecation]
  const kind = textOf(names['kind'])
  const better = versions
    .filter(other => other.isServed && other.deprecation === undefined)
    .map(other => other.name)
    .filter(other => compareVersions(other, name) < 0)
    .sort(compareVersions)
  const advice = better.length === 0 ? '' : `; use ${group}/${better[0]} ${kind}`
  return [`${group}/${name} ${kind} is deprecated${advice}`]
}
