/** Strategic merge patches: merge patches that merge lists, too, by the keys that the types
 *  declare. */

import { copyTree, JsonNumber, type JsonObject, type JsonValue } from '@watchglass/go'
import { isInteger } from '../../ownership/sets/values.ts'
import { tooLarge } from '../../refusals.ts'
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
  return mergeObjects(original, copyTree(patch) as JsonObject, { type, work: { left: itemsMax } })
}

/** Items and members that all merges of a patch may go over. Each is merged once, or a few times
 *  where the patch says the order; but a patch may name an item with a long list in it ten thousand
 *  times. */
const itemsMax = 300_000

/** Items and members that a patch may still go over. */
interface Work {
  left: number
}

function take(work: Work, items: number): void {
  work.left -= items
  if (work.left < 0) throw tooLarge('the patch merges too many items of lists')
}

interface Merging {
  readonly type: PatchType
  readonly work: Work
}

/** `patch` is a copy, and loses what has been merged. */
function mergeObjects(current: JsonObject, patch: JsonObject, merging: Merging): JsonObject {
  take(merging.work, current.size)
  const original = new Map(current)
  const directed = patch.get(directive)
  if (directed !== undefined) return objectDirected(directed, patch)
  applyRetainKeys(original, patch)
  mergeOrdered(original, patch, merging)
  for (const [member, value] of patch) {
    const isDeletion = member.startsWith(deletions)
    const name = isDeletion ? directedList(member, deletions) : member
    if (value === null) {
      original.delete(name)
      continue
    }
    const current = original.get(name)
    if (current !== undefined && isSameGoType(current, value)) {
      setOrDelete(original, name, mergeMember({ name, current, value, isDeletion }, merging))
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
}

function mergeMember(
  { name, current, value, isDeletion }: Member,
  { type, work }: Merging,
): JsonValue | undefined {
  if (value instanceof Map && current instanceof Map) {
    const field = lookUpMember(type, name)
    if (field.strategy === 'replace') return value
    return mergeObjects(current, value, { type: field.type, work })
  }
  if (Array.isArray(value) && Array.isArray(current)) {
    const field = lookUpMember(type, name)
    return mergeListMember({ current, value, isDeletion }, field, work)
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
  work: Work,
): JsonValue[] {
  if (strategy !== 'merge' && !isDeletion) return [...value]
  take(work, current.length + value.length)
  const mergeItems = (original: JsonObject, patch: JsonObject): JsonObject =>
    mergeObjects(original, patch, { type, work })
  return mergeLists(current, value, {
    key,
    isDeletion,
    mergeItems,
    typeName: type.kind,
  })
}

/** Merges lists of which the patch gives the order, and takes them out of the patch. */
function mergeOrdered(original: JsonObject, patch: JsonObject, { type, work }: Merging): void {
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
    take(work, (current?.length ?? 0) + order.length)
    original.set(name, orderedList({ current, value, order }, field, work))
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
  work: Work,
): JsonValue[] {
  let merged: readonly JsonValue[]
  if (value === undefined) merged = current ?? []
  else if (current === undefined) merged = withoutDirectives([...value]) as JsonValue[]
  else merged = mergeListMember({ current, value, isDeletion: false }, field, work)
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
