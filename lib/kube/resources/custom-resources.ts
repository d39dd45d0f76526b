/** Custom resources, from the CustomResourceDefinitions as they are stored: JSON of apiextensions.k8s.io/v1beta1, in which what
 *  all versions have in common stands at the top (a newer server may store v1, which this reads as well). */

import type { Subresource } from '../../codec/schema/schema.ts'
import { CacheError } from '../../base/errors.ts'
import type { KeyValue } from '../../store/event.ts'
import type { Conversion, CustomVersion, Resource, ResourceStorage } from './resource.ts'
import { metadataFields, selectableFields } from '../selectors/selectable-fields.ts'
import { printerColumns } from './printer-columns.ts'
import { compareVersions } from './versions.ts'
import {
  isObject,
  listOf,
  memberOf,
  objectOf,
  textOf,
  textsOf,
  type UntypedObject,
} from '../../base/untyped.ts'

/** What one definition brings. */
export interface CustomDefinition {
  readonly name: string
  readonly group: string
  /** The revision at which it was created: definitions are listed in this order. */
  readonly createdAt: number
  /** The keyspace of its objects. */
  readonly prefix: string
  /** The served versions, in the definition's order; none before the names are accepted. */
  readonly resources: readonly Resource[]
  /** Served in discovery, too. */
  readonly isEstablished: boolean
}

const readVerbs = ['get', 'patch', 'update']
const allVerbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']
const terminatingVerbs = ['delete', 'deletecollection', 'get', 'list', 'watch']

/** Reads a stored definition. Fails with `unsupported` on what is none: such an object may be encrypted, or from a version of
 *  Kubernetes that we do not know. */
export function customDefinition(entry: KeyValue, etcdPrefix: string): CustomDefinition {
  const stored = parseStored(entry)
  const spec = objectOf(stored['spec'])
  const names = acceptedNames(stored)
  const group = textOf(spec['group'])
  const plural = textOf(names['plural'])
  const name = textOf(objectOf(stored['metadata'])['name'])
  if (name === '' || group === '' || plural === '') {
    throw new CacheError('unsupported', 'stored CustomResourceDefinition lacks its names')
  }
  const isEstablished = hasCondition(stored, 'Established')
  const isServed = isEstablished || hasCondition(stored, 'NamesAccepted')
  const context: DefinitionContext = {
    stored,
    spec,
    names,
    name,
    versions: versionsOf(spec),
    prefix: `${etcdPrefix}/${group}/${plural}/`,
    definedAt: entry.modRevision,
    isTerminating: hasCondition(stored, 'Terminating'),
  }
  const served = context.versions.filter(version => version['served'] === true)
  return {
    name,
    group,
    createdAt: entry.createRevision,
    prefix: context.prefix,
    resources: isServed ? served.map(version => resourceOf(context, version)) : [],
    isEstablished,
  }
}

interface DefinitionContext {
  readonly stored: UntypedObject
  readonly spec: UntypedObject
  readonly names: UntypedObject
  readonly name: string
  readonly versions: readonly UntypedObject[]
  readonly prefix: string
  readonly definedAt: number
  readonly isTerminating: boolean
}

function parseStored(entry: KeyValue): UntypedObject {
  const { bytes, start, end } = entry
  let parsed: unknown
  try {
    parsed = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString())
  } catch (error) {
    throw new CacheError('unsupported', 'stored CustomResourceDefinition is not JSON', {
      cause: error,
    })
  }
  if (!isObject(parsed)) {
    throw new CacheError('unsupported', 'stored CustomResourceDefinition is not an object')
  }
  return parsed
}

/** The names in use are those of the status; the ones in the spec are wishes until they are accepted. */
function acceptedNames(stored: UntypedObject): UntypedObject {
  const accepted = objectOf(objectOf(stored['status'])['acceptedNames'])
  const wanted = objectOf(objectOf(stored['spec'])['names'])
  return textOf(accepted['plural']) === '' ? wanted : accepted
}

function hasCondition(stored: UntypedObject, type: string): boolean {
  return listOf(objectOf(stored['status'])['conditions'])
    .map(objectOf)
    .some(condition => condition['type'] === type && condition['status'] === 'True')
}

/** A definition of the oldest form has one version, and no list. */
function versionsOf(spec: UntypedObject): UntypedObject[] {
  const versions = listOf(spec['versions']).map(objectOf)
  if (versions.length > 0) return versions
  return [{ name: spec['version'], served: true, storage: true }]
}

function resourceOf(context: DefinitionContext, version: UntypedObject): Resource {
  const { spec, names } = context
  const group = textOf(spec['group'])
  const isNamespaced = spec['scope'] !== 'Cluster'
  const kind = textOf(names['kind'])
  const schema = schemaOf(spec, version)
  const selectable = selectableFields(
    version['selectableFields'] ?? spec['selectableFields'],
    schema,
  )
  return {
    group,
    version: textOf(version['name']),
    resource: textOf(names['plural']),
    singular: textOf(names['singular']) || kind.toLowerCase(),
    kind,
    listKind: textOf(names['listKind']) || `${kind}List`,
    isNamespaced,
    shortNames: textsOf(names['shortNames']),
    categories: textsOf(names['categories']),
    verbs: context.isTerminating ? terminatingVerbs : allVerbs,
    subresources: subresourcesOf(version['subresources'] ?? spec['subresources'], kind),
    storage: storageOf(context, group, kind),
    storageVersionHash: undefined,
    fields: [...metadataFields(isNamespaced), ...selectable.fields],
    unknownField: label => `field label not supported: ${label}`,
    isWatchCached: true,
    warnings: warningsOf(context, version),
    routing: 'custom',
    custom: customOf(context, version, schema, selectable.problems),
  }
}

function customOf(
  context: DefinitionContext,
  version: UntypedObject,
  schema: unknown,
  problems: readonly string[],
): CustomVersion {
  const { spec, name, definedAt, isTerminating } = context
  return {
    definition: name,
    definedAt,
    schema,
    preservesUnknownFields: preservesUnknownFields(context),
    columns: printerColumns(
      version['additionalPrinterColumns'] ?? spec['additionalPrinterColumns'],
    ),
    isTerminating,
    problems,
  }
}

/** In v1beta1 nothing was pruned unless the definition wanted it. */
function preservesUnknownFields({ stored, spec }: DefinitionContext): boolean {
  const isOldForm = stored['apiVersion'] === 'apiextensions.k8s.io/v1beta1'
  return (spec['preserveUnknownFields'] ?? isOldForm) === true
}

/** v1beta1 hoists what is the same for all versions, under the name `validation`. */
function schemaOf(spec: UntypedObject, version: UntypedObject): unknown {
  const holder = version['schema'] ?? spec['validation']
  return memberOf(holder, 'openAPIV3Schema')
}

function storageOf(context: DefinitionContext, group: string, kind: string): ResourceStorage {
  const { versions, spec, prefix } = context
  const storage = versions.find(version => version['storage'] === true) ?? versions[0] ?? {}
  return {
    prefix,
    group,
    version: textOf(storage['name']),
    kind,
    encoding: 'json',
    conversion: conversionOf(spec),
  }
}

/** Objects of one version may be stored under another one's apiVersion, from before the storage version changed. */
function conversionOf(spec: UntypedObject): Conversion {
  const strategy = textOf(objectOf(spec['conversion'])['strategy'])
  return strategy === '' || strategy === 'None' ? 'relabel' : 'webhook'
}

function subresourcesOf(declared: unknown, kind: string): Subresource[] {
  const found: Subresource[] = []
  if (isObject(memberOf(declared, 'status'))) {
    found.push({ name: 'status', kind, verbs: readVerbs })
  }
  if (isObject(memberOf(declared, 'scale'))) {
    found.push({
      name: 'scale',
      kind: 'Scale',
      verbs: readVerbs,
      group: 'autoscaling',
      version: 'v1',
    })
  }
  return found
}

/** What a client of a deprecated version is told: the definition's own words, or which version to use instead. */
function warningsOf(context: DefinitionContext, version: UntypedObject): string[] {
  if (version['deprecated'] !== true) return []
  const said = textOf(version['deprecationWarning'])
  if (said !== '') return [said]
  const group = textOf(context.spec['group'])
  const kind = textOf(context.names['kind'])
  const name = textOf(version['name'])
  const better = context.versions
    .filter(other => other['served'] === true && other['deprecated'] !== true)
    .map(other => textOf(other['name']))
    .filter(other => compareVersions(other, name) < 0)
    .sort(compareVersions)
  const advice = better.length === 0 ? '' : `; use ${group}/${better[0]} ${kind}`
  return [`${group}/${name} ${kind} is deprecated${advice}`]
}
