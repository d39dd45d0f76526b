/** The parts of a pod that plugins look at. */

import { itemsOf, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { metadataOf, textOf } from '../metadata.ts'

/** The member as an object, which is empty where it is missing; nothing is added. */
export function partOf(parent: JsonValue | undefined, name: string): JsonObject {
  const known = memberOf(parent, name)
  return known instanceof Map ? known : new Map()
}

/** The objects of a list. */
export function partsOf(parent: JsonValue | undefined, name: string): JsonObject[] {
  return itemsOf(memberOf(parent, name)).filter(item => item instanceof Map)
}

export function nameIn(part: JsonObject): string {
  return textOf(part.get('name'))
}

/** The annotations of an object, for reading. */
export function annotationsOf(object: JsonObject): JsonObject {
  return partOf(object.get('metadata'), 'annotations')
}

/** The labels of an object, for reading. */
export function labelsOf(object: JsonObject | undefined): JsonObject {
  return partOf(object?.get('metadata'), 'labels')
}

/** Sets members of a map in the metadata, such as its labels. */
export function addToMeta(
  object: JsonObject,
  name: 'annotations' | 'labels',
  added: Iterable<readonly [string, string]>,
): void {
  const metadata = metadataOf(object)
  const known = metadata.get(name)
  const changed: JsonObject = known instanceof Map ? new Map(known) : new Map()
  for (const [key, value] of added) changed.set(key, value)
  if (changed.size > 0) metadata.set(name, changed)
}

/** True where a member is set, to whatever. */
export function isSet(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null
}
