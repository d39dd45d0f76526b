/** Defaults that a view applies while it writes, as data for the compiler: what a zero field
 *  becomes, and on what condition. For values that a kube-apiserver wrote they hardly ever matter,
 *  as it has filled them in before; other programs that write into etcd may not have. */

import type { MessageField, MessageType, Schema } from '../../schema/schema.ts'
import type { PresetValue, Scope } from '../../transcode/decode/decoders.ts'
import { isAppliedBy, isHere, rulesOf } from '../default-rules.ts'
import { conditionSource } from './conditions.ts'

/** The values of a field that is zero: the first whose condition holds. */
export function presetsOf(
  type: MessageType,
  field: MessageField,
  scope: Scope,
): readonly PresetValue[] {
  const found: PresetValue[] = rulesOf(type)
    .filter(
      rule =>
        rule.field === field.jsonName &&
        isAppliedBy(rule, 'view') &&
        isHere(rule, scope.root, scope.place),
    )
    .map(rule => ({ condition: conditionSource(type, rule), value: rule.value }))
  for (const { type: name, field: fieldName, whenEmpty } of type.schema.readFixups) {
    if (name === type.name && fieldName === field.jsonName && whenEmpty !== undefined) {
      found.push({ condition: 'true', value: whenEmpty })
    }
  }
  return found
}

/** True if defaults of the type depend on the field that it is in. */
export function dependsOnPlace(schema: Schema, typeName: string): boolean {
  const type = schema.findMessageType(typeName)
  return type !== undefined && rulesOf(type).some(({ path }) => path !== undefined)
}

/** True if defaults of the type itself depend on the kind of the object. */
export function dependsOnRoot(schema: Schema, typeName: string, root: string): boolean {
  const type = schema.findMessageType(typeName)
  return (
    type !== undefined &&
    rulesOf(type).some(rule => rule.root !== undefined && root.endsWith(` ${rule.root}`))
  )
}

/** JSON members that the API server adds to the elements of a list. */
export function prefixOf(type: MessageType, field: MessageField): string {
  const fixup = type.schema.readFixups.find(
    ({ type: name, field: fieldName, kind }) =>
      name === type.name && fieldName === field.jsonName && kind !== undefined,
  )
  return fixup === undefined
    ? ''
    : `,"kind":"${fixup.kind ?? ''}","apiVersion":"${fixup.apiVersion ?? ''}"`
}
