/** Strategic merge patches: merge patches that merge lists, too, by the keys that the types
 *  declare. */

import {
  JsonNumber,
  type JsonObject,
  type JsonValue,
  copyTree,
} from '../../../../codec/json/tree.ts'
import { isInteger } from '../../ownership/sets/values.ts'
import { goTypeText } from '../../go-value-text.ts'
import {
  applyRetainKeys,
  deletions,
  directedList,
  directive,
  elementOrder,
  objectDirected,
  withoutDirectives,
  withoutNullMembers,
} from './directives.ts'
import { badArgument, noMergeKey } from './failures.ts'
import { checkOrder, mergeLists, typeOfItems } from './lists.ts'
import { mergeOrders, partition } from './list-order.ts'
import { type PatchField, type PatchType, lookUpMember } from './patch-schema.ts'

/** The object after the patch; changes neither. Throws `StrategicFailure`. */
export function strategicMerge(
  original: JsonObject,
  patch: JsonObject,
  type: PatchType,
): JsonObject {
  return mergeObjects(new Map(original), copyTree(patch) as JsonObject, type)
}

/** `patch` is a copy, and loses what has been merged; `original` is changed as far as its own
 *  members go. */
function mergeObjects(original: JsonObject, patch: JsonObject, type: PatchType): JsonObject {
  const directed = patch.get(directive)
  if (directed !== undefined) return objectDirected(directed, patch)
  applyRetainKeys(original, patch)
  mergeOrdered(original, patch, type)
  for (const [member, value] of patch) {
    const isDeletion = member.startsWith(deletions)
    const name = isDeletion ? directedList(member, deletions) : member
    if (value === null) {
      original.delete(name)
      continue
    }
    const current = original.get(name)
    if (current !== undefined && isSameGoType(current, value)) {
      setOrDelete(original, name, mergeMember({ name, current, value, isDeletion, type }))
    } else if (!isDeletion) {
      setOrDelete(original, name, withoutDirectives(withoutNullMembers(value)))
    }
  }
  return original
}

interface Member {
  readonly name: string
  readonly current: JsonValue
  readonly value: JsonValue
  readonly isDeletion: boolean
  readonly type: PatchType
}

function mergeMember({ name, current, value, isDeletion, type }: Member): JsonValue | undefined {
  if (value instanceof Map && current instanceof Map) {
    const field = lookUpMember(type, name)
    return field.strategy === 'replace' ? value : mergeObjects(new Map(current), value, field.type)
  }
  if (Array.isArray(value) && Array.isArray(current)) {
    const field = lookUpMember(type, name)
    return mergeListMember({ current, value, isDeletion }, field)
  }
  return withoutDirectives(value)
}

function mergeListMember(
  {
    current,
    value,
    isDeletion,
  }: {
    readonly current: readonly JsonValue[]
    readonly value: readonly JsonValue[]
    readonly isDeletion: boolean
  },
  { strategy, key, type }: PatchField,
): JsonValue[] {
  if (strategy !== 'merge' && !isDeletion) return [...value]
  const mergeItems = (original: JsonObject, patch: JsonObject): JsonObject =>
    mergeObjects(new Map(original), patch, type)
  return mergeLists(current, value, {
    key,
    isDeletion,
    mergeItems,
    typeName: type.kind,
  })
}

/** Merges lists of which the patch gives the order, and takes them out of the patch. */
function mergeOrdered(original: JsonObject, patch: JsonObject, type: PatchType): void {
  for (const [member, order] of patch) {
    if (!member.startsWith(elementOrder)) continue
    patch.delete(member)
    if (!Array.isArray(order)) throw badArgument('list', order)
    const name = directedList(member, elementOrder)
    const current = original.get(name)
    const value = patch.get(name)
    if (current !== undefined && !Array.isArray(current)) throw badArgument('list', current)
    if (value !== undefined && !Array.isArray(value)) throw badArgument('list', value)
    const field = lookUpMember(type, name)
    checkOrder(value ?? [], order, field.key)
    if (current === undefined && value === undefined) continue
    original.set(name, orderedList({ current, value, order }, field))
    patch.delete(name)
  }
}

function orderedList(
  {
    current,
    value,
    order,
  }: {
    readonly current: readonly JsonValue[] | undefined
    readonly value: readonly JsonValue[] | undefined
    readonly order: readonly JsonValue[]
  },
  field: PatchField,
): JsonValue[] {
  let merged: readonly JsonValue[]
  if (value === undefined) merged = current ?? []
  else if (current === undefined) merged = withoutDirectives([...value]) as JsonValue[]
  else merged = mergeListMember({ current, value, isDeletion: false }, field)
  const key = field.key === '' ? undefined : field.key
  const { present, absent } = partition(merged, order, key)
  const lists = [current ?? [], value ?? []]
  if (typeOfItems(...lists) === 'map' && key === undefined) {
    throw noMergeKey(lists.flat()[0] as JsonObject, '')
  }
  return mergeOrders({ items: present, order }, { items: absent, order: current ?? [] }, key)
}

function setOrDelete(object: JsonObject, name: string, value: JsonValue | undefined): void {
  if (value === undefined) object.delete(name)
  else object.set(name, value)
}

/** Go compares types before it merges: an integer and a float are two. */
function isSameGoType(a: JsonValue, b: JsonValue): boolean {
  if (a instanceof JsonNumber && b instanceof JsonNumber) return isInteger(a) === isInteger(b)
  return a !== null && goTypeText(a) === goTypeText(b)
}
