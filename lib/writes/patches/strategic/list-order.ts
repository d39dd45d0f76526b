/** The order of merged lists: items of the patch in the order that it says, items that only the
 *  server has between them where they were. */

import { JsonNumber, type JsonObject, type JsonValue } from '@watchglass/go'
import { badArgument, noMergeKey } from './failures.ts'

/** Items and the order that they are to have. */
export interface Ordered {
  readonly items: readonly JsonValue[]
  readonly order: readonly JsonValue[]
}

/** The key that tells items apart: by the member of that name, or by themselves. */
export type ItemKey = string | undefined

export function mergeOrders(patch: Ordered, server: Ordered, key: ItemKey): JsonValue[] {
  const right = sortBy(patch, key)
  const left = sortBy(server, key)
  const place = placesIn(server.order, key)
  const isBefore = (a: JsonValue, b: JsonValue): boolean => {
    const [placeOfA, placeOfB] = [place(a), place(b)]
    return placeOfA >= 0 && placeOfB >= 0 && placeOfA < placeOfB
  }
  const merged: JsonValue[] = []
  let i = 0
  let j = 0
  while (i < left.length || j < right.length) {
    const isLeft =
      j >= right.length ||
      (i < left.length && isBefore(left[i] as JsonValue, right[j] as JsonValue))
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
  const place = placesIn(by, key)
  for (const item of items) {
    if (key !== undefined) {
      if (!(item instanceof Map)) throw badArgument('map', item)
      if (!item.has(key)) throw noMergeKey(item, key)
    }
    if (place(item) >= 0) present.push(item)
    else absent.push(item)
  }
  return { present, absent }
}

/** Finds the place of the first item that is the same, by the key; below zero if there is none. */
export function placesIn(items: readonly JsonValue[], key: ItemKey): (item: JsonValue) => number {
  const places = new Map<unknown, number>()
  for (const [i, item] of items.entries()) {
    const identity = identityOf(keyOf(item, key))
    if (!places.has(identity)) places.set(identity, i)
  }
  return item => places.get(identityOf(keyOf(item, key))) ?? -1
}

/** The value that `isSameScalar` compares, in one: a number by its text. */
export function identityOf(value: JsonValue | undefined): unknown {
  if (value instanceof JsonNumber) return `number ${value.text}`
  return typeof value === 'string' ? `text ${value}` : (value ?? null)
}

/** True where Go's `==` is, of decoded scalars: an integer is never the same as a float. */
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
  const place = placesIn(order, key)
  const kept = items.filter(item => !isDeletion(item))
  const deleted = items.filter(isDeletion)
  return [...kept.sort((a, b) => place(a) - place(b)), ...deleted]
}

function isDeletion(item: JsonValue): boolean {
  return item instanceof Map && item.get('$patch') === 'delete'
}

function keyOf(item: JsonValue, key: ItemKey): JsonValue | undefined {
  if (key === undefined) return item
  return item instanceof Map ? item.get(key) : undefined
}
