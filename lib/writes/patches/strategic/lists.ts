/** Lists that a strategic merge patch merges: items with keys one by one, scalars as sets. */

import type { JsonObject, JsonValue } from '@watchglass/go'
import { goTypeText, goValueText } from '../../go-value-text.ts'
import { tooLarge } from '../../refusals.ts'
import { directive, elementOrder } from './directives.ts'
import {
  StrategicFailure,
  badArgument,
  badPatchType,
  noListOfLists,
  noMergeKey,
} from './failures.ts'
import { identityOf, isSameScalar, mergeOrders, partition, placesIn } from './list-order.ts'

export interface ListMerging {
  /** The member that tells items apart; empty if none is declared. */
  readonly key: string
  /** The patch lists scalars that are to go. */
  readonly isDeletion: boolean
  readonly mergeItems: (original: JsonObject, patch: JsonObject) => JsonObject
  /** Type of the items, for messages. */
  readonly typeName: string
}

export function mergeLists(
  current: readonly JsonValue[],
  patch: readonly JsonValue[],
  merging: ListMerging,
): JsonValue[] {
  if (current.length === 0 && patch.length === 0) return []
  if (typeOfItems(current, patch) !== 'map') return mergeScalars(current, patch, merging)
  const { key } = merging
  if (key === '') {
    throw new StrategicFailure(`cannot merge lists without merge key for ${merging.typeName}`)
  }
  const directed = applyItemDirectives(current, patch, key)
  const merged = mergeItems(directed.current, directed.patch, merging)
  const { present, absent } = partition(merged, directed.patch, key)
  return mergeOrders(
    { items: present, order: directed.patch },
    { items: absent, order: directed.current },
    key,
  )
}

/** Refuses lists of which the items are of several types, or are lists. */
export function typeOfItems(...lists: readonly (readonly JsonValue[])[]): 'map' | 'scalar' {
  const items = lists.flat()
  const [first] = items
  if (first === undefined) throw new StrategicFailure('no elements in any of the given slices')
  if (Array.isArray(first)) throw noListOfLists()
  const type = goTypeText(first)
  if (items.some(item => goTypeText(item) !== type)) {
    const texts = `[${lists.map(list => goValueText([...list])).join(' ')}]`
    throw new StrategicFailure(`list element types are not identical: ${texts}`)
  }
  return first instanceof Map ? 'map' : 'scalar'
}

/** Refuses a patch of which the items are not in the order that `$setElementOrder` gives. */
export function checkOrder(
  patch: readonly JsonValue[],
  order: readonly JsonValue[],
  key: string,
): void {
  if (patch.length === 0 || order.length === 0) return
  const items = key === '' ? patch : patch.filter(item => !isDeletedItem(item))
  let i = 0
  let j = 0
  while (i < items.length && j < order.length) {
    const item = items[i] as JsonValue
    if (item instanceof Map && item.has(directive)) {
      i++
      continue
    }
    if (isSameItem(item, order[j] as JsonValue, key)) i++
    j++
  }
  if (i < items.length && j >= order.length) {
    throw new StrategicFailure(
      `The order in patch list:\n${goValueText([...patch])}\n doesn't match ${elementOrder} list:\n${goValueText([...order])}\n`,
    )
  }
}

function isDeletedItem(item: JsonValue): boolean {
  if (!(item instanceof Map)) throw badArgument('map', item)
  return item.get(directive) === 'delete'
}

function isSameItem(left: JsonValue, right: JsonValue, key: string): boolean {
  if (key === '') return isSameScalar(left, right)
  const [a, b] = [left, right].map(item => {
    if (!(item instanceof Map)) throw badArgument('map', item)
    const value = item.get(key)
    if (value === undefined) throw noMergeKey(item, key)
    return value
  })
  return isSameScalar(a, b)
}

function mergeScalars(
  current: readonly JsonValue[],
  patch: readonly JsonValue[],
  { isDeletion, key }: ListMerging,
): JsonValue[] {
  if (isDeletion) {
    const place = placesIn(patch, undefined)
    return current.filter(item => place(item) < 0)
  }
  const merged = withoutRepeated([...current, ...patch])
  const by = key === '' ? undefined : key
  const { present, absent } = partition(merged, patch, by)
  return mergeOrders({ items: present, order: patch }, { items: absent, order: current }, by)
}

/** Repeated items are looked for among all pairs. Only finalizers are merged like this, and an
 *  object has a few. */
const scalarsMax = 5_000

/** As the server does it: the last item takes the place of each that is repeated. */
function withoutRepeated(items: JsonValue[]): JsonValue[] {
  if (items.length > scalarsMax) {
    throw tooLarge(`lists of ${items.length} items cannot be merged, the limit is ${scalarsMax}`)
  }
  for (let i = 0; i < items.length - 1; i++) {
    for (let j = i + 1; j < items.length; j++) {
      if (!isSameScalar(items[i], items[j])) continue
      items[j] = items.at(-1) as JsonValue
      items.pop()
      j--
    }
  }
  return items
}

/** Items of the patch that are directives: delete the item with this key, or replace the list. */
function applyItemDirectives(
  current: readonly JsonValue[],
  patch: readonly JsonValue[],
  key: string,
): { readonly current: readonly JsonValue[]; readonly patch: readonly JsonValue[] } {
  const deleted = new Set<unknown>()
  let isReplaced = false
  const rest: JsonValue[] = []
  for (const item of patch as readonly JsonObject[]) {
    const value = item.get(directive)
    if (value === undefined) rest.push(item)
    else if (value === 'replace') isReplaced = true
    else if (value === 'delete') {
      if (!item.has(key)) throw noMergeKey(item, key)
      deleted.add(identityOf(item.get(key)))
    } else if (value === 'merge') {
      throw new StrategicFailure('merging lists cannot yet be specified in the patch')
    } else throw badPatchType(value, item)
  }
  if (isReplaced) return { current: rest, patch: [] }
  const left = current.filter(item => {
    const identity = keyed(item as JsonObject, key)
    return identity === undefined || !deleted.has(identity)
  })
  return { current: left, patch: rest }
}

function mergeItems(
  current: readonly JsonValue[],
  patch: readonly JsonValue[],
  { key, mergeItems: merge }: ListMerging,
): JsonValue[] {
  const merged = [...current]
  const places = new Map<unknown, number>()
  for (const [i, item] of merged.entries()) {
    const identity = keyed(item as JsonObject, key)
    if (identity !== undefined && !places.has(identity)) places.set(identity, i)
  }
  for (const item of patch as readonly JsonObject[]) {
    const identity = keyed(item, key)
    if (identity === undefined) throw noMergeKey(item, key)
    const place = places.get(identity)
    if (place === undefined) places.set(identity, merged.push(item) - 1)
    else merged[place] = merge(merged[place] as JsonObject, item)
  }
  return merged
}

/** The key of an item; undefined where it has none. */
function keyed(item: JsonObject, key: string): unknown {
  const value = item.get(key)
  return value === undefined ? undefined : identityOf(value)
}
