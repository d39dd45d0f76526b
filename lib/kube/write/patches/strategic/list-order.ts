/** The order of merged lists: items of the patch in the order that it says, items that only the server has between them where they
 *  were. */

import { JsonNumber, type JsonObject, type JsonValue } from '../../../../codec/json/tree.ts'
import { badArgument, noMergeKey } from './failures.ts'

/** Items and the order that they are to have. */
export interface Ordered {
  readonly items: readonly JsonValue[]
  readonly order: readonly JsonValue[]
}

/** How items are told apart: by the member of that name, or by themselves. */
export type ItemKey = string | undefined

export function mergeOrders(patch: Ordered, server: Ordered, key: ItemKey): JsonValue[] {
  const right = sortBy(patch, key)
  const left = sortBy(server, key)
  const merged: JsonValue[] = []
  let i = 0
  let j = 0
  while (i < left.length || j < right.length) {
    const isLeft =
      j >= right.length ||
      (i < left.length && isBefore(server.order, left[i] as JsonValue, right[j] as JsonValue, key))
    merged.push((isLeft ? left[i++] : right[j++]) as JsonValue)
  }
  return merged
}

/** Items that are in the other list, and those that are not. */
export function partition(
  items: readonly JsonValue[],
  by: readonly JsonValue[],
  key: ItemKey,
): { readonly present: JsonValue[]; readonly absent: JsonValue[] } {
  const present: JsonValue[] = []
  const absent: JsonValue[] = []
  for (const item of items) {
    if (key !== undefined) {
      if (!(item instanceof Map)) throw badArgument('map', item)
      if (!item.has(key)) throw noMergeKey(item, key)
    }
    const isPresent = indexOfItem(by, item, key) >= 0
    if (isPresent) present.push(item)
    else absent.push(item)
  }
  return { present, absent }
}

/** The first item that is the same, by the key. */
export function indexOfItem(items: readonly JsonValue[], item: JsonValue, key: ItemKey): number {
  const value = keyOf(item, key)
  return items.findIndex(other => isSameScalar(keyOf(other, key), value))
}

/** What Go's `==` says of decoded scalars: an integer is never the same as a float. */
export function isSameScalar(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a instanceof JsonNumber && b instanceof JsonNumber) return a.text === b.text
  return a === b || ((a ?? null) === null && (b ?? null) === null)
}

function sortBy({ items, order }: Ordered, key: ItemKey): JsonValue[] {
  if (key !== undefined) {
    for (const item of [...items, ...order]) {
      if (item instanceof Map && !item.has(key)) throw noMergeKey(item as JsonObject, key)
    }
  }
  const places = new Map(items.map(item => [item, indexOfItem(order, item, key)]))
  const kept = items.filter(item => !isDeletion(item))
  const deleted = items.filter(isDeletion)
  return [...kept.sort((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0)), ...deleted]
}

function isDeletion(item: JsonValue): boolean {
  return item instanceof Map && item.get('$patch') === 'delete'
}

function isBefore(
  order: readonly JsonValue[],
  left: JsonValue,
  right: JsonValue,
  key: ItemKey,
): boolean {
  const l = indexOfItem(order, left, key)
  const r = indexOfItem(order, right, key)
  return l >= 0 && r >= 0 && l < r
}

function keyOf(item: JsonValue, key: ItemKey): JsonValue | undefined {
  if (key === undefined) return item
  return item instanceof Map ? item.get(key) : undefined
}
