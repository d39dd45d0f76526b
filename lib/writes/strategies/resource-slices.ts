/** ResourceSlices: what is behind gates that are closed by default is left out, unless the object
 *  had it before. */

import { itemsOf, type JsonObject, type JsonValue, memberAt } from '@watchglass/go'
import type { StrategyRow } from './row.ts'

export const resourceSlices: StrategyRow = {
  counted: ['spec'],
  countsDropped: true,
  returnsDeleted: true,
  prepareCreate: object => dropGated(object, undefined),
  prepareUpdate: dropGated,
}

const lists = ['ints', 'bools', 'strings', 'versions']
const mappings = 'nodeAllocatableResourceMappings'

function dropGated(object: JsonObject, old: JsonObject | undefined): void {
  const [devices, known] = [devicesOf(object), old === undefined ? [] : devicesOf(old)]
  if (!known.some(device => device.has(mappings))) {
    for (const device of devices) device.delete(mappings)
  }
  const hadLists = known
    .flatMap(attributesOf)
    .some(attribute => lists.some(name => attribute.has(name)))
  if (hadLists) return
  for (const attribute of devices.flatMap(attributesOf)) {
    for (const name of lists) attribute.delete(name)
  }
}

function devicesOf(slice: JsonObject): JsonObject[] {
  return itemsOf(memberAt(slice, ['spec', 'devices'])).filter(isObject)
}

function attributesOf(device: JsonObject): JsonObject[] {
  const attributes = device.get('attributes')
  return attributes instanceof Map ? [...attributes.values()].filter(isObject) : []
}

function isObject(value: JsonValue): value is JsonObject {
  return value instanceof Map
}
