/** The numbers and the selector that the scale of a custom resource is made of. */

import { goFloat } from '../../../go/float.ts'
import { JsonNumber, type JsonValue } from '../../../codec/json/tree.ts'
import type { ScalePaths } from '../../../codec/schema/schema.ts'
import { isInteger } from './schema-numbers.ts'
import type { Place } from '../validation/place.ts'

const int32Max = 2147483647

export function checkScaleSpec(object: Place, { specReplicas }: ScalePaths): void {
  checkReplicas(object, specReplicas)
}

export function checkScaleStatus(
  object: Place,
  { statusReplicas, labelSelector }: ScalePaths,
): void {
  checkReplicas(object, statusReplicas)
  if (labelSelector === '') return
  const selector = valueAt(object, labelSelector)
  const place = object.as(labelSelector)
  if (selector.problem !== undefined) place.invalid(selector.problem, '')
  else if (selector.value !== undefined && typeof selector.value !== 'string') {
    place.invalid(`${selector.words} is of the type ${goType(selector.value)}, expected string`, '')
  }
}

function checkReplicas(object: Place, path: string): void {
  const { value, problem, words } = valueAt(object, path)
  const place = object.as(path)
  if (problem !== undefined) place.invalid(problem, 0)
  else if (value === undefined) return
  else if (!(value instanceof JsonNumber) || !isInteger(value)) {
    place.invalid(`${words} is of the type ${goType(value)}, expected int64`, 0)
  } else if (Number(value.text) < 0) place.invalid('should be a non-negative integer', value)
  else if (Number(value.text) > int32Max) {
    place.invalid(`should be less than or equal to ${int32Max}`, value)
  }
}

interface Found {
  /** Undefined where there is none. */
  readonly value?: JsonValue | undefined
  /** A value on the way is not an object. */
  readonly problem?: string
  /** The beginning of messages about the value. */
  readonly words: string
}

function valueAt(object: Place, path: string): Found {
  const names = path.replace(/^\./, '').split('.')
  let value: JsonValue = object.value ?? null
  let words = ''
  for (const [i, name] of names.entries()) {
    if (value === null) return { words }
    if (!(value instanceof Map)) {
      const way = wordsOf(names.slice(0, i + 1), value)
      return {
        problem: `${way} is of the type ${goType(value)}, expected map[string]interface{}`,
        words,
      }
    }
    const member = value.get(name)
    if (member === undefined) return { words }
    value = member
    words = wordsOf(names, value)
  }
  return { value, words }
}

function wordsOf(names: readonly string[], value: JsonValue): string {
  return `.${names.join('.')} accessor error: ${goText(value)}`
}

/** `%T` of a decoded value. */
function goType(value: JsonValue): string {
  if (value === null) return '<nil>'
  if (value instanceof JsonNumber) return isInteger(value) ? 'int64' : 'float64'
  if (Array.isArray(value)) return '[]interface {}'
  if (value instanceof Map) return 'map[string]interface {}'
  return typeof value === 'boolean' ? 'bool' : 'string'
}

/** `%v` of a decoded value. */
function goText(value: JsonValue): string {
  if (value === null) return '<nil>'
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`
  if (value instanceof JsonNumber) {
    return isInteger(value) ? value.text : goFloat(Number(value.source))
  }
  if (!(value instanceof Map)) return String(value)
  const members = [...value].sort(([a], [b]) => (a < b ? -1 : 1))
  return `map[${members.map(([name, member]) => `${name}:${goText(member)}`).join(' ')}]`
}
