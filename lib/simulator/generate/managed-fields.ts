/** `metadata.managedFields` as the server writes them: which manager set which field, in the
 *  FieldsV1 form. They are a third of a real object's bytes, so benches with generated objects
 *  without them would give figures that are too good. */

/** Any JSON value that a builder makes. */
export type MadeJson =
  | null
  | boolean
  | number
  | string
  | readonly MadeJson[]
  | { readonly [name: string]: MadeJson | undefined }
export type MadeObject = { readonly [name: string]: MadeJson | undefined }

/** The key fields of list items, in the order in which they are tried: Kubernetes' types declare
 *  such lists as maps. */
const itemKeys: readonly (readonly string[])[] = [
  ['containerPort', 'protocol'],
  ['port', 'protocol'],
  ['type'],
  ['name'],
  ['ip'],
  ['uid'],
  ['mountPath'],
]

export interface Manager {
  readonly manager: string
  readonly operation: 'Update' | 'Apply'
  readonly apiVersion: string
  readonly time: string
  readonly subresource?: string
}

/** An entry that says that the manager set `fields`, which `fieldsOf` makes from values. */
export function managedBy(
  { manager, operation, apiVersion, time, subresource }: Manager,
  fields: MadeObject,
): MadeObject {
  return {
    manager,
    operation,
    apiVersion,
    time,
    fieldsType: 'FieldsV1',
    fieldsV1: fields,
    ...(subresource === undefined ? {} : { subresource }),
  }
}

/** Every field of a value, in the FieldsV1 form. */
export function fieldsOf(value: MadeObject): MadeObject {
  const fields: Record<string, MadeJson> = {}
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) fields[`f:${name}`] = fieldsOfValue(member)
  }
  return fields
}

function fieldsOfValue(value: MadeJson): MadeJson {
  if (isList(value)) return fieldsOfList(value)
  return isObject(value) ? fieldsOf(value) : {}
}

/** A list of keyed objects has an entry for each item; any other list is one field. */
function fieldsOfList(items: readonly MadeJson[]): MadeJson {
  const fields: Record<string, MadeJson> = {}
  for (const item of items) {
    if (!isObject(item)) return {}
    const keys = itemKeys.find(names => names.every(name => item[name] !== undefined))
    if (keys === undefined) return {}
    const key = Object.fromEntries(keys.map(name => [name, item[name]]))
    fields[`k:${JSON.stringify(key)}`] = { '.': {}, ...fieldsOf(item) }
  }
  return Object.keys(fields).length === 0 ? {} : { '.': {}, ...fields }
}

function isList(value: MadeJson): value is readonly MadeJson[] {
  return Array.isArray(value)
}

function isObject(value: MadeJson): value is MadeObject {
  return typeof value === 'object' && value !== null && !isList(value)
}
