/** The API server's changes to a custom resource on read, on parsed objects, as its documentation
 *  describes it: the oracle for the compiled one. */

export type Parsed = null | boolean | string | number | Parsed[] | { [key: string]: Parsed }

export interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | true
  readonly items?: Schema
  readonly nullable?: boolean
  readonly default?: Parsed
  readonly 'x-kubernetes-preserve-unknown-fields'?: true
}

const preserve = 'x-kubernetes-preserve-unknown-fields'

/** The value as it is decoded from etcd in its own version, and then converted to the served one,
 *  which may be the same. */
export function readValue(value: Parsed, stored: Schema, served: Schema = stored): Parsed {
  const decoded = withDefaults(withoutNulls(pruned(value, stored), stored), stored)
  return withoutNulls(pruned(decoded, served), served)
}

function isObject(value: Parsed): value is { [key: string]: Parsed } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The schema of a member: undefined where there is none, `true` where anything is a member but
 *  nothing is described. */
function memberSchema(schema: Schema | undefined, key: string): Schema | true | undefined {
  const { properties, additionalProperties } = schema ?? {}
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key]
  return additionalProperties
}

function described(schema: Schema | true | undefined): Schema | undefined {
  return schema === true ? undefined : schema
}

function pruned(value: Parsed, schema: Schema | undefined, isKept = false): Parsed {
  const keeps = isKept || schema?.[preserve] === true
  if (Array.isArray(value)) {
    if (schema?.items === undefined && keeps) return value
    return value.map(item => pruned(item, schema?.items, keeps))
  }
  if (!isObject(value)) return value
  const result: { [key: string]: Parsed } = {}
  for (const [key, member] of Object.entries(value)) {
    const inner = memberSchema(schema, key)
    if (inner !== undefined) result[key] = pruned(member, described(inner))
    else if (keeps) result[key] = member
  }
  return result
}

function withoutNulls(value: Parsed, schema: Schema | undefined): Parsed {
  if (Array.isArray(value)) return value.map(item => withoutNulls(item, schema?.items))
  if (!isObject(value)) return value
  const result: { [key: string]: Parsed } = {}
  for (const [key, member] of Object.entries(value)) {
    const inner = described(memberSchema(schema, key))
    const isForbidden = inner !== undefined && inner.nullable !== true && !hasDefault(inner)
    if (member !== null || !isForbidden) result[key] = withoutNulls(member, inner)
  }
  return result
}

function hasDefault(schema: Schema): boolean {
  return schema.default !== undefined && schema.default !== null
}

function withDefaults(value: Parsed, schema: Schema | undefined): Parsed {
  if (schema === undefined) return value
  const replaced = (item: Parsed, inner: Schema | undefined): Parsed =>
    item === null && inner !== undefined && inner.nullable !== true ? (inner.default ?? null) : item
  if (Array.isArray(value)) {
    return value.map(item => withDefaults(replaced(item, schema.items), schema.items))
  }
  if (!isObject(value)) return value
  const result = { ...value }
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (!hasDefault(property)) continue
    if (!Object.hasOwn(result, key)) result[key] = property.default as Parsed
    else result[key] = replaced(result[key] as Parsed, property)
  }
  for (const [key, member] of Object.entries(result)) {
    const inner = described(memberSchema(schema, key))
    const isProperty = Object.hasOwn(schema.properties ?? {}, key)
    result[key] = withDefaults(isProperty ? member : replaced(member, inner), inner)
  }
  return result
}
