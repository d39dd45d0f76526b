/** The defaults that the API server applies to what it decodes, on a tree of values: the rules of
 *  read-defaults.json, and those that it has in words (special-defaults.ts). What a kube-apiserver
 *  wrote has them already; this is for what was written by others. */

import {
  JsonNumber,
  type JsonObject,
  type JsonValue,
  memberOf,
  roundedToThousandths,
} from '@watchglass/go'
import { type Field, type MessageType, type ReadDefault, perSchema } from '../../schema/schema.ts'
import { type MessagePlace, applySpecialDefaults } from './special-defaults.ts'
import { membersOf } from './typed-json.ts'

/** Fills in what is absent in the object of a kind, at any depth. */
export function applyReadDefaults(object: JsonObject, type: MessageType, root: string): void {
  applyTo(object, type, { root, member: '', isRead: true })
}

/** The same for an object that comes in a request: without what is filled in only when an object is
 *  read. */
export function applyDecodeDefaults(object: JsonObject, type: MessageType, root: string): void {
  applyTo(object, type, { root, member: '', isRead: false })
}

function applyTo(object: JsonObject, type: MessageType, place: MessagePlace): void {
  applySpecialDefaults(object, type, place)
  for (const rule of rulesOf(type.schema).get(type.name) ?? []) applyRule(object, type, rule, place)
  for (const field of type.fields) {
    if (isResourceList(field, type)) roundInside(object.get(field.jsonName))
    if (!field.type.includes('.')) continue
    const message = type.schema.messageType(field.type)
    if (message.form !== 'object' || !hasDefaults(message)) continue
    if (field.isInline) applyTo(object, message, place)
    else applyInside(object, field, message, place)
  }
}

/** Quantities by names of resources: SetDefaults_ResourceList rounds each to thousandths. */
function isResourceList({ container, type }: Field, { name }: MessageType): boolean {
  return container === 'map' && type === 'quantity' && name.startsWith('core/v1.')
}

function roundInside(quantities: JsonValue | undefined): void {
  if (!(quantities instanceof Map)) return
  for (const [name, text] of quantities) {
    if (typeof text === 'string') quantities.set(name, roundedToThousandths(text))
  }
}

/** Messages that are no pointers are there even when they are not. */
function applyInside(
  object: JsonObject,
  field: Field,
  message: MessageType,
  outer: MessagePlace,
): void {
  const place = { ...outer, member: field.jsonName }
  let value = object.get(field.jsonName) ?? null
  if (value === null && field.container === 'single' && !field.isPointer) {
    value = new Map()
    object.set(field.jsonName, value)
  }
  const values = Array.isArray(value)
    ? value
    : field.container === 'map' && value instanceof Map
      ? [...value.values()]
      : [value]
  for (const item of values) if (item instanceof Map) applyTo(item, message, place)
}

const rulesOf = perSchema(schema => {
  const rules = new Map<string, ReadDefault[]>()
  for (const rule of schema.readDefaults) {
    const known = rules.get(rule.type)
    if (known === undefined) rules.set(rule.type, [rule])
    else known.push(rule)
  }
  return rules
})

function applyRule(
  object: JsonObject,
  type: MessageType,
  { field, value, when, root, path }: ReadDefault,
  place: MessagePlace,
): void {
  if (root !== undefined && !place.root.endsWith(` ${root}`)) return
  if (path !== undefined && !path.endsWith(`.${place.member}`)) return
  if (when !== undefined && textOf(memberOf(object, when[0])) !== String(when[1])) return
  const known = membersOf(type).get(field)
  // Policies that a client writes are its own even where there are none of them.
  const isOwn =
    !place.isRead && type.name === 'autoscaling/v2.HPAScalingRules' && field === 'policies'
  if (isOwn && Array.isArray(object.get(field))) return
  if (known !== undefined && isZero(object.get(field), known)) object.set(field, treeOf(value))
}

/** True if the member is what Go takes for not given. */
function isZero(value: JsonValue | undefined, field: Field): boolean {
  if (value === undefined || value === null) return true
  if (Array.isArray(value)) return value.length === 0
  if (field.isPointer) return false
  return value === '' || value === false || (value instanceof JsonNumber && value.text === '0')
}

/** A default as a tree. */
export function treeOf(value: unknown): JsonValue {
  if (typeof value === 'number') return new JsonNumber(String(value))
  if (Array.isArray(value)) return value.map(treeOf)
  if (typeof value !== 'object' || value === null) return value as string | boolean | null
  return new Map(Object.entries(value).map(([name, member]) => [name, treeOf(member)]))
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

const reachOf = perSchema(() => new Map<string, boolean>())

/** True if something inside messages of the type may be filled in. */
function hasDefaults(type: MessageType): boolean {
  const known = reachOf(type.schema)
  let has = known.get(type.name)
  if (has === undefined) {
    const names = [type.name, ...type.schema.containedTypes(type.name)]
    has = names.some(
      name =>
        rulesOf(type.schema).has(name) || name.startsWith('core/v1.') || name === 'rbac/v1.Subject',
    )
    known.set(type.name, has)
  }
  return has
}
