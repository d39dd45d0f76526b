/** Compiles patterns (pattern.ts) for the message types of the schema, defaults on read
 *  included. */

import { CacheError } from '@watchglass/base'
import type { MessageField, MessageType } from '../schema/schema.ts'
import type { Fields, Pattern, CompiledPattern, Slot, SlotMark } from './pattern.ts'
import { pickFromJson } from './pick-json.ts'
import { compilePick } from './pick-source.ts'

export interface PatternOptions {
  /** The kind of the object: some defaults apply to some kinds only. */
  readonly root: string
  /** False for objects that the server makes itself, such as those of bookmarks: nothing is filled
   *  in there. */
  readonly hasDefaults: boolean
}

/** Compiles a pattern. Throws `unsupported` for a field that the type does not have. */
export function compilePattern(
  fields: Fields,
  type: MessageType,
  options: PatternOptions,
): CompiledPattern {
  const zero: Record<string, unknown> = {}
  const slots: (Slot | undefined)[] = []
  for (const [name, pattern] of Object.entries(fields)) {
    const field = type.fields.find(({ jsonName }) => jsonName === name)
    if (field === undefined) {
      throw new CacheError('unsupported', `${type.name} has no field ${name}`)
    }
    const slot = compileSlot(field, pattern, { ...options, type })
    slots[field.number] = slot
    zero[name] = zeroOf(slot, typeof pattern === 'string' && pattern.endsWith('?'))
  }
  // A dense array: holes would make every look-up slow.
  const dense = Array.from(slots)
  return { zero, slots: dense, pick: compilePick(zero, dense) }
}

function compileSlot(
  field: MessageField,
  pattern: Pattern,
  { type, ...options }: PatternOptions & { readonly type: MessageType },
): Slot {
  const { jsonName: name, type: fieldType, isPointer } = field
  const base = { name, type: fieldType, isPointer }
  const fallback = options.hasDefaults ? defaultOf(type, name, options.root) : undefined
  if (typeof pattern === 'string') {
    const mark = pattern.replace(/\?$/, '') as SlotMark
    const isPlain = typeof fallback !== 'object' || mark === 'texts'
    return { ...base, mark, nested: undefined, fallback: isPlain ? fallback : undefined }
  }
  const nested = compilePattern(nestedFields(pattern), type.schema.messageType(fieldType), options)
  const mark = Array.isArray(pattern) ? 'messages' : 'message'
  const isList = mark === 'messages' && Array.isArray(fallback)
  const items = isList ? fallback.map(item => pickFromJson(nested, item)) : undefined
  return { ...base, mark, nested, fallback: items }
}

function nestedFields(pattern: Exclude<Pattern, string>): Fields {
  if (Array.isArray(pattern)) return (pattern as readonly [Fields])[0]
  return '?' in pattern ? (pattern['?'] as Fields) : (pattern as Fields)
}

function zeroOf(slot: Slot, isOptional: boolean): unknown {
  if (slot.fallback !== undefined) return slot.fallback
  switch (slot.mark) {
    case 'text':
    case 'choice':
      return isOptional ? undefined : ''
    case 'integer':
    case 'count':
    case 'size':
      return isOptional ? undefined : 0
    case 'long':
      return 0n
    case 'flag':
      return isOptional ? undefined : false
    case 'isSet':
      return false
    case 'time':
      return isOptional ? undefined : null
    case 'texts':
    case 'names':
    case 'pairs':
    case 'messages':
      return []
    case 'message':
      return slot.isPointer ? undefined : slot.nested?.zero
  }
}

/** The default that the server fills in, if it always does. */
function defaultOf(type: MessageType, field: string, root: string): unknown {
  return type.schema.readDefaults.find(
    rule =>
      rule.type === type.name &&
      rule.field === field &&
      rule.when === undefined &&
      rule.path === undefined &&
      (rule.root === undefined || rule.root === root),
  )?.value
}
