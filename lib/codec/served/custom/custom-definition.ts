/** A stored CustomResourceDefinition: JSON of apiextensions.k8s.io/v1beta1, in which what all
 *  versions have in common stands at the top, or of v1, in which every version has its own. Both
 *  come out alike. */

import { type ConvertedBy, type CustomDefinitionParts, CustomKind } from './custom.ts'
import {
  isObject,
  listOf,
  memberOf,
  NotExact,
  objectOf,
  textOf,
  type UntypedObject,
} from '@watchglass/base'
import type { StoredValue } from '../../stored-value.ts'

/** The contents of a definition. Strings that are missing are empty. */
export interface StoredDefinition {
  readonly name: string
  readonly group: string
  readonly isNamespaced: boolean
  /** The accepted names, which are in the status; until they are accepted, those of the spec. */
  readonly names: UntypedObject
  readonly versions: readonly StoredDefinitionVersion[]
  /** Nothing is pruned. In v1beta1 nothing was unless the definition wanted it. */
  readonly preservesUnknownFields: boolean
  readonly conversion: CustomDefinitionParts['conversion']
  /** The conditions that hold: `Established` and others. */
  readonly conditions: ReadonlySet<string>
}

export interface StoredDefinitionVersion {
  readonly name: string
  readonly isServed: boolean
  readonly isStorage: boolean
  /** The text of a warning, or '' for the usual one; undefined unless the version is deprecated. */
  readonly deprecation: string | undefined
  /** The openAPIV3Schema; undefined if there is none. */
  readonly schema: unknown
  readonly subresources: unknown
  readonly selectableFields: unknown
  readonly columns: unknown
}

/** Reads a stored definition. Such an object may be encrypted, or from a version of Kubernetes that
 *  we do not know. */
export function readDefinition({ bytes, start, end }: StoredValue): StoredDefinition | NotExact {
  let stored: unknown
  try {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString()
    stored = JSON.parse(text)
  } catch {
    return new NotExact('stored CustomResourceDefinition is not JSON')
  }
  if (!isObject(stored)) return new NotExact('stored CustomResourceDefinition is not an object')
  const spec = objectOf(stored['spec'])
  const isOldForm = stored['apiVersion'] === 'apiextensions.k8s.io/v1beta1'
  const strategy = textOf(memberOf(spec['conversion'], 'strategy'))
  return {
    name: textOf(memberOf(stored['metadata'], 'name')),
    group: textOf(spec['group']),
    isNamespaced: spec['scope'] !== 'Cluster',
    names: namesInUse(stored),
    versions: versionsOf(spec),
    preservesUnknownFields: (spec['preserveUnknownFields'] ?? isOldForm) === true,
    conversion: strategy === '' || strategy === 'None' ? 'none' : 'webhook',
    conditions: conditionsOf(stored),
  }
}

/** The reader of the objects that the definition in `value` declares. Costs about as much as
 *  hundreds of objects, so keep it as long as the definition stays the same. */
export function customKindOf(value: StoredValue, converted?: ConvertedBy): CustomKind | NotExact {
  const definition = readDefinition(value)
  if (definition instanceof NotExact) return definition
  const { group, names, versions, preservesUnknownFields, conversion } = definition
  const kind = textOf(names['kind'])
  if (group === '' || kind === '' || versions.some(({ name }) => name === '')) {
    return new NotExact('stored definition lacks its group, kind or versions')
  }
  const isConverted = conversion === 'webhook'
  return new CustomKind({
    group,
    kind,
    versions,
    preservesUnknownFields,
    conversion,
    converted: isConverted ? converted : undefined,
  })
}

function namesInUse(stored: UntypedObject): UntypedObject {
  const accepted = objectOf(memberOf(stored['status'], 'acceptedNames'))
  const wanted = objectOf(memberOf(stored['spec'], 'names'))
  return textOf(accepted['plural']) === '' ? wanted : accepted
}

function conditionsOf(stored: UntypedObject): ReadonlySet<string> {
  const conditions = listOf(memberOf(stored['status'], 'conditions')).map(objectOf)
  const holding = conditions.filter(condition => condition['status'] === 'True')
  return new Set(holding.map(condition => textOf(condition['type'])))
}

/** A definition of the oldest form has one version, and no list. */
function versionsOf(spec: UntypedObject): StoredDefinitionVersion[] {
  const listed = listOf(spec['versions']).map(objectOf)
  const versions =
    listed.length > 0 ? listed : [{ name: spec['version'], served: true, storage: true }]
  return versions.map(version => versionOf(spec, version))
}

function versionOf(spec: UntypedObject, version: UntypedObject): StoredDefinitionVersion {
  const either = (name: string): unknown => version[name] ?? spec[name]
  const schema = memberOf(version['schema'] ?? spec['validation'], 'openAPIV3Schema')
  return {
    name: textOf(version['name']),
    isServed: version['served'] === true,
    isStorage: version['storage'] === true,
    deprecation: version['deprecated'] === true ? textOf(version['deprecationWarning']) : undefined,
    schema: schema ?? undefined,
    subresources: either('subresources'),
    selectableFields: either('selectableFields'),
    columns: either('additionalPrinterColumns'),
  }
}
