/** Makes source of the conditions of defaults, for the compiled functions of a message type: what a
 *  field's being zero is, and the states that a rule asks of siblings. */

import type { MessageField, MessageType } from '../../schema/schema.ts'
import { scalarMember } from '../../transcode/decode/member-source.ts'
import { type DefaultCondition, type DefaultRule, defaultTextOf } from '../default-rules.ts'

/** Source that is true if the rule's conditions on siblings hold. */
export function conditionSource(type: MessageType, { conditions }: DefaultRule): string {
  const sources = conditions.map(condition => stateSource(type, condition))
  return sources.length === 0 ? 'true' : sources.map(source => `(${source})`).join(' && ')
}

function stateSource(type: MessageType, { path, isOfObject, state }: DefaultCondition): string {
  // What the rest of the object says is not known here: the rule could apply.
  if (isOfObject) return 'true'
  switch (state) {
    case 'absent':
      return path[0] === '*' ? 's === e' : zeroSource(type, path)
    case 'set':
      return `!(${zeroSource(type, path)})`
    case 'empty':
      // In protobuf, a list without items is absent.
      return 'false'
    case 'negative':
      return `a${numberAt(type, path)} !== -1 && isNegative64(O, a${numberAt(type, path)})`
    case 'true':
      return `a${numberAt(type, path)} !== -1 && isNonZero64(O, a${numberAt(type, path)})`
    default: {
      const isIn = textsSource(type, path, 'in' in state ? state.in : state.notIn)
      return 'in' in state ? isIn : `!(${isIn})`
    }
  }
}

/** Source that is true if the text says one of these; one that is absent says its default. */
function textsSource(type: MessageType, path: readonly string[], texts: readonly string[]): string {
  const number = numberAt(type, path)
  const stored = texts.map(text => `isText(O, a${number}, z${number}, ${JSON.stringify(text)})`)
  const isDefault = texts.includes(defaultTextOf(type, path[0]))
  return [...(isDefault ? [zeroSource(type, path)] : []), ...stored].join(' || ')
}

/** Source that is true if the field at the path is what Go takes for not given. */
export function zeroSource(type: MessageType, path: readonly string[]): string {
  const field = fieldOf(type, path[0] as string)
  const [a, z] = [`a${field.number}`, `z${field.number}`]
  if (path.length > 1) {
    const inside = numbersOf(type.schema.messageType(field.type), path.slice(1))
    return `!isSetAt(O, ${a}, ${z}, ${JSON.stringify(inside)})`
  }
  if (field.container !== 'single' || field.isPointer) return `${a} === -1`
  if (field.type === 'intorstring') return `isZeroIntOrString(O, ${a}, ${z})`
  const scalar = scalarMember(field)
  return scalar === undefined ? `${a} === -1` : `!(${scalar.isSet})`
}

/** The numbers of the fields along a path. */
export function numbersOf(type: MessageType, path: readonly string[]): readonly number[] {
  const [name, ...rest] = path
  if (name === undefined) return []
  const field = fieldOf(type, name)
  if (rest.length === 0) return [field.number]
  return [field.number, ...numbersOf(type.schema.messageType(field.type), rest)]
}

function numberAt(type: MessageType, path: readonly string[]): number {
  return fieldOf(type, path[0] as string).number
}

/** The field of that name, which a row of our own data gives. */
export function fieldOf(type: MessageType, jsonName: string): MessageField {
  const field = type.fields.find(candidate => candidate.jsonName === jsonName)
  if (field === undefined) throw new RangeError(`${type.name} has no field ${jsonName}`)
  return field
}
