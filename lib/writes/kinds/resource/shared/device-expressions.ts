/** The expressions in CEL by which claims and classes choose devices. */

import { boolType, CelType, mapOf, opaqueOf, type Range, stringType } from '@watchglass/cel'
import { deviceLanguage } from '../../../custom/cel/language.ts'
import type { FieldError } from '../../../field-errors.ts'
import { tooLarge } from '../../../refusals.ts'
import { byteLength } from '../../../validation/formats.ts'
import type { Place } from '../../../validation/place.ts'

const expressionMaxBytes = 10_240
const costMax = 1_000_000
/** Characters of all expressions of an object: compiling a thousand takes a millisecond. */
const sourceMax = 300_000

/** The type of an attribute, which nobody knows before it is read. */
const anyType = new CelType('dyn', 'any')

const deviceType = new CelType(
  'struct',
  'kubernetes.DRADevice',
  [],
  new Map([
    ['driver', stringType],
    ['attributes', mapOf(stringType, mapOf(stringType, anyType))],
    ['capacity', mapOf(stringType, mapOf(stringType, opaqueOf('kubernetes.Quantity')))],
    ['allowMultipleAllocations', boolType],
  ]),
)
const variables = new Map([['device', deviceType]])

/** The characters that were compiled, by the errors of their object. */
const lengths = new WeakMap<FieldError[], number>()

export function checkDeviceExpression(place: Place): void {
  const { text, errors } = place
  if (byteLength(text) > expressionMaxBytes) {
    place.tooLong(expressionMaxBytes)
    return
  }
  const length = (lengths.get(errors) ?? 0) + text.length
  if (length > sourceMax) throw tooLarge('the expressions of the object are too long')
  lengths.set(errors, length)
  const { expression, problems } = deviceLanguage().compile(text, variables)
  if (expression === undefined) {
    place.invalid(`compilation failed: ${problems}`, text)
  } else if (expression.type.kind !== 'bool' && expression.type.name !== 'any') {
    const detail = `must evaluate to bool or the unknown type, not ${expression.type.runtimeText}`
    place.invalid(detail, text)
  } else if (expression.constantError !== undefined) {
    place.failed(`program instantiation failed: ${expression.constantError}`)
  } else if (expression.estimate(sizeAt).max > costMax) {
    place.forbidden('too complex, exceeds cost limit')
  }
}

/** The greatest sizes of what a device has. */
interface Sizes {
  readonly max: number
  readonly keys?: number
  /** The sizes of a map's values, whatever their names. */
  readonly values?: Sizes
  /** Values are found by their names, too. */
  readonly hasNames?: true
}

const attributes: Sizes = {
  max: 32,
  keys: 63,
  values: { max: 32, keys: 32, values: { max: 64 }, hasNames: true },
}
const capacity: Sizes = { max: 32, keys: 63, values: { max: 32, keys: 32 } }
const members: ReadonlyMap<string, Sizes> = new Map([
  ['driver', { max: 63 }],
  ['attributes', attributes],
  ['capacity', capacity],
  ['allowMultipleAllocations', { max: 1 }],
])

function sizeAt([, first, ...rest]: readonly string[]): Range | undefined {
  let at = members.get(first ?? '')
  for (const step of rest) {
    const { keys, values, hasNames }: Partial<Sizes> = at ?? {}
    if (step === '@keys') at = keys === undefined ? undefined : { max: keys }
    else at = step === '@items' || step === '@values' || hasNames === true ? values : undefined
  }
  return at === undefined ? undefined : { min: 0, max: at.max }
}
