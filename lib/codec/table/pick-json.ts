/** Reads the same objects as pick.ts from parsed JSON: for the few built-in kinds that are stored
 *  as JSON. */

import { millisecondsFromText } from '@watchglass/go'
import type { PickedObject, CompiledPattern, Slot } from './pattern.ts'

/** The fields of an object that was parsed from JSON. */
export function pickFromJson(pattern: CompiledPattern, object: unknown): PickedObject {
  const picked: Record<string, unknown> = { ...pattern.zero }
  const source = (typeof object === 'object' && object !== null ? object : {}) as PickedObject
  for (const slot of pattern.slots) {
    if (slot === undefined) continue
    const value = source[slot.name]
    // Go writes a pointer to its zero time as null.
    if (value === undefined || (value === null && slot.type !== 'time')) continue
    if (slot.fallback !== undefined && !slot.isPointer && isZero(value)) continue
    picked[slot.name] = valueFromJson(slot, value)
  }
  return picked
}

function valueFromJson(slot: Slot, value: unknown): unknown {
  switch (slot.mark) {
    case 'message':
      return pickFromJson(slot.nested as CompiledPattern, value)
    case 'messages':
      return (value as readonly unknown[]).map(item =>
        pickFromJson(slot.nested as CompiledPattern, item),
      )
    case 'time':
      return value === null ? null : millisecondsFromText(value as string)
    case 'long':
      return BigInt(value as number)
    case 'choice':
      return String(value)
    case 'count':
      return Object.keys(value as object).length
    case 'size':
      return Buffer.from(value as string, 'base64').length
    case 'isSet':
      return true
    case 'names':
      return Object.keys(value as object)
    case 'pairs':
      return Object.entries(value as Record<string, string>).sort(([a], [b]) => (a < b ? -1 : 1))
    case 'text':
    case 'texts':
    case 'integer':
    case 'flag':
      return value
  }
}

/** Values that the server takes for not given, where it fills something in. */
function isZero(value: unknown): boolean {
  return value === 0 || value === '' || value === false
}
