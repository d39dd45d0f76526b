/** The types that objects of a kind have in expressions whose types are checked: those of the
 *  schemas that are published, with what they refer to in its place. */

import { isObject, listOf, objectOf, textOf, type UntypedObject } from '@watchglass/base'
import { type Registry, SchemaSet } from '@watchglass/kube'
import { type CelType, declaredBy, typeOfDeclared } from '@watchglass/cel'

export interface TypedKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** The type of a kind, whose parts are named after `name`; undefined if it has no schema, `null` if
 *  its schema says nothing. */
export function typeOfKind(
  { schema, resources }: Pick<Registry, 'schema' | 'resources'>,
  { group, version, kind }: TypedKind,
  name: string,
): CelType | null | undefined {
  const custom = resources.find(
    one =>
      one.custom !== undefined &&
      one.group === group &&
      one.version === version &&
      one.kind === kind,
  )
  const set = new SchemaSet(schema, 3)
  const added = custom === undefined ? set.addBuiltIn(group, version, kind) : set.addKind(custom)
  if (added === undefined) return undefined
  const declared = declaredBy(resolved(set.reference(added), set, new Set()), true)
  return declared === undefined ? null : typeOfDeclared(declared, name)
}

const prefix = '#/components/schemas/'

/** The schema with what it refers to. One that contains itself is an object of which nothing is
 *  known. */
function resolved(schema: UntypedObject, set: SchemaSet, within: Set<string>): UntypedObject {
  const name = referenceIn(schema)
  if (name === undefined) return withParts(schema, set, within)
  if (within.has(name)) return { type: 'object' }
  within.add(name)
  const found = withParts(objectOf(set.schemas[name]), set, within)
  within.delete(name)
  return found
}

function withParts(schema: UntypedObject, set: SchemaSet, within: Set<string>): UntypedObject {
  const { properties, additionalProperties, items } = schema
  const inner = (part: unknown): UntypedObject => resolved(objectOf(part), set, within)
  return {
    ...schema,
    // Built-in types say it by their format.
    ...(schema['format'] === 'int-or-string' ? { 'x-kubernetes-int-or-string': true } : {}),
    ...(isObject(properties)
      ? {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, part]) => [name, inner(part)]),
          ),
        }
      : {}),
    ...(isObject(additionalProperties)
      ? { additionalProperties: inner(additionalProperties) }
      : {}),
    ...(isObject(items) ? { items: inner(items) } : {}),
  }
}

/** The name of the schema that this one refers to, also from within `allOf`. */
function referenceIn(schema: UntypedObject): string | undefined {
  const reference = textOf(schema['$ref'])
  if (reference !== '') return reference.slice(prefix.length)
  for (const part of listOf(schema['allOf'])) {
    const found = referenceIn(objectOf(part))
    if (found !== undefined) return found
  }
  return undefined
}
