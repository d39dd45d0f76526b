/** A CustomResourceDefinition's structural schema, compiled: only what the API server acts on when
 *  it reads an object. Types, formats and validations are checked on writes, and mean nothing here;
 *  neither does int-or-string. */

import { isObject } from '@watchglass/base'
import { JsonNumber, type JsonValue, textFromTree, treeMaxDepth } from '@watchglass/go'
import { VerifyNode } from '../../json/verify-node.ts'
import { embeddedMetadataNode } from './object-meta-node.ts'

/** One level of a schema. */
export interface StructuralNode {
  readonly properties: ReadonlyMap<string, StructuralNode>
  /** For members that are no property; undefined where the schema has no additionalProperties. */
  readonly additional: StructuralNode | undefined
  readonly items: StructuralNode | undefined
  /** x-kubernetes-preserve-unknown-fields */
  readonly isPreserving: boolean
  readonly isNullable: boolean
  /** x-kubernetes-embedded-resource: apiVersion, kind and metadata are an object's own. */
  readonly isEmbedded: boolean
  /** null stands for no default, as it does in Go. */
  readonly defaultValue: JsonValue
  /** The size of the default: its text, and for each value in it at least `valueMinBytes`. */
  readonly defaultBytes: number
  /** The properties that have defaults: an object is not compared with all that are declared. */
  readonly defaulted: readonly (readonly [name: string, property: StructuralNode])[]
}

/** The node where the schema says nothing: objects are emptied, nulls stay, nothing is a
 *  default. */
export const unspecified: StructuralNode = {
  properties: new Map(),
  additional: undefined,
  items: undefined,
  isPreserving: false,
  isNullable: true,
  isEmbedded: false,
  defaultValue: null,
  defaultBytes: 0,
  defaulted: [],
}

/** Compiles an openAPIV3Schema that was parsed with JSON.parse, for all of an object but its
 *  apiVersion, kind and metadata, which no schema changes. */
export function compileRoot(
  schema: unknown,
  { hasDefaults = true }: { readonly hasDefaults?: boolean } = {},
): StructuralNode {
  const node = compileNode(schema, { depth: 0, hasDefaults })
  const properties = new Map(node.properties)
  for (const name of typeAndObjectMeta) properties.delete(name)
  return { ...node, properties, defaulted: defaultedOf(properties), isEmbedded: false }
}

/** A structural schema as the verifier takes it, which proves objects unchanged by it. */
export function verifyNodeOf(node: StructuralNode, isProperty = false): VerifyNode {
  const members: Record<string, VerifyNode> = Object.create(null) as Record<string, VerifyNode>
  for (const [name, property] of node.properties) members[name] = verifyNodeOf(property, true)
  if (node.isEmbedded) {
    Object.assign(members, { apiVersion: text, kind: text, metadata: embeddedMetadataNode })
  }
  const hasDefault = node.defaultValue !== null
  return new VerifyNode({
    members,
    additional: node.additional === undefined ? undefined : verifyNodeOf(node.additional),
    items: node.items === undefined ? undefined : verifyNodeOf(node.items),
    isPreserving: node.isPreserving,
    isNullable: node.isNullable,
    isExpected: isProperty && hasDefault,
    hasDefault,
  })
}

const text = new VerifyNode({ form: 'text' })

/** The members that an embedded resource always has. */
export const typeAndObjectMeta: readonly string[] = ['apiVersion', 'kind', 'metadata']

interface CompileContext {
  readonly depth: number
  readonly hasDefaults: boolean
}

/** The node of a schema. One that lies deeper than objects may nest counts as unspecified. */
function compileNode(schema: unknown, { depth, hasDefaults }: CompileContext): StructuralNode {
  if (!isObject(schema) || depth > treeMaxDepth) return unspecified
  const inner = { depth: depth + 1, hasDefaults }
  const declared = isObject(schema['properties']) ? schema['properties'] : {}
  const properties = new Map(
    Object.entries(declared).map(([name, property]) => [name, compileNode(property, inner)]),
  )
  const { additionalProperties, items } = schema
  const defaultValue = hasDefaults ? valueFromParsed(schema['default']) : null
  return {
    properties,
    additional: isAbsent(additionalProperties)
      ? undefined
      : compileNode(additionalProperties, inner),
    items: isAbsent(items) ? undefined : compileNode(items, inner),
    isPreserving: schema['x-kubernetes-preserve-unknown-fields'] === true,
    isNullable: schema['nullable'] === true,
    isEmbedded: schema['x-kubernetes-embedded-resource'] === true,
    defaultValue,
    defaultBytes: defaultValue === null ? 0 : sizeOf(defaultValue),
    defaulted: defaultedOf(properties),
  }
}

/** To make a value takes as long as to write so many bytes. */
const valueMinBytes = 16

function sizeOf(value: JsonValue): number {
  return Math.max(Buffer.byteLength(textFromTree(value)), valueMinBytes * countOf(value))
}

function countOf(value: JsonValue): number {
  let count = 1
  if (value instanceof Map || Array.isArray(value)) {
    for (const member of value.values()) count += countOf(member)
  }
  return count
}

function defaultedOf(
  properties: ReadonlyMap<string, StructuralNode>,
): (readonly [string, StructuralNode])[] {
  return [...properties].filter(([, { defaultValue }]) => defaultValue !== null)
}

/** Defaults come out of JSON.parse, which has rounded integers above 2^53; nobody has such
 *  defaults. */
function valueFromParsed(value: unknown): JsonValue {
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return new JsonNumber(String(value))
  if (Array.isArray(value)) return value.map(valueFromParsed)
  if (!isObject(value)) return null
  return new Map(Object.entries(value).map(([key, member]) => [key, valueFromParsed(member)]))
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === false
}
