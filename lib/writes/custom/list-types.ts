/** Lists of a custom resource that are sets or maps: their items must differ, or their keys
 *  must. */

import { isObject } from '@watchglass/base'
import { type JsonValue, textFromTree } from '@watchglass/go'
import type { Place } from '../validation/place.ts'
import { anywhereBelow } from './schema-parts.ts'

/** Checks all lists below a value by the schema that JSON.parse gave. */
export function checkListTypes(place: Place, schema: unknown): void {
  if (!isObject(schema) || !hasListTypes(schema)) return
  const { value } = place
  if (Array.isArray(value)) {
    if (schema['x-kubernetes-list-type'] === 'set') checkSet(place, value)
    if (schema['x-kubernetes-list-type'] === 'map') checkMap(place, value, keysOf(schema))
    if (!hasListTypes(schema['items'])) return
    for (const item of place.items) checkListTypes(item, schema['items'])
  } else if (value instanceof Map) {
    const { properties, additionalProperties } = schema
    const declared = isObject(properties) ? properties : {}
    if (isObject(additionalProperties)) {
      for (const [, member] of sorted(place.entries)) checkListTypes(member, additionalProperties)
    }
    for (const key of [...value.keys()].sort()) {
      if (Object.hasOwn(declared, key)) checkListTypes(place.in(key), declared[key])
    }
  }
}

const hasListTypes = anywhereBelow(schema =>
  ['set', 'map'].includes(String(schema['x-kubernetes-list-type'])),
)

/** Go's maps have no order; ours is that of the keys. */
function sorted(entries: readonly [string, Place][]): readonly [string, Place][] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** The keys of a list that is a map. */
export function keysOf(schema: Readonly<Record<string, unknown>>): readonly string[] {
  const keys = schema['x-kubernetes-list-map-keys']
  return Array.isArray(keys) ? keys.filter(key => typeof key === 'string') : []
}

function checkSet(place: Place, list: readonly JsonValue[]): void {
  for (const i of repeated(list.map(textFromTree))) place.item(i).duplicate()
}

function checkMap(place: Place, list: readonly JsonValue[], keys: readonly string[]): void {
  const wrong = list.findIndex(item => item !== null && !(item instanceof Map))
  if (wrong >= 0) {
    place.item(wrong).invalid('must be an object for an array of list-type map')
    return
  }
  const identities = list.map(item => identityOf(item, keys))
  for (const i of repeated(identities.map(textFromTree))) {
    place.item(i).duplicate(identities[i] ?? null)
  }
}

/** The identity of an item: the keys that it has. */
export function identityOf(item: JsonValue, keys: readonly string[]): JsonValue {
  const members = item instanceof Map ? [...item] : []
  const found = members.filter(([name]) => keys.includes(name))
  return new Map(found.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The second index of each text that occurs more than once. */
function repeated(texts: readonly string[]): number[] {
  const counts = new Map<string, number>()
  const places: number[] = []
  for (const [i, text] of texts.entries()) {
    const count = (counts.get(text) ?? 0) + 1
    counts.set(text, count)
    if (count === 2) places.push(i)
  }
  return places
}
