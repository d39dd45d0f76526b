/** The numbers and the selector that the scale of a custom resource is made of. */

import { goFloat, JsonNumber, type JsonValue } from '@watchglass/go'
import type { ScalePaths } from '@watchglass/codec'
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
  const { value, problem } = valueAt(object, labelSelector)
  const place = object.as(labelSelector)
  if (problem !== undefined) place.invalid(problem, '')
  else if (value !== undefined && typeof value !== 'string') {
    const words = wordsOf(namesOf(labelSelector), value)
    place.invalid(`${words} is of the type ${goType(value)}, expected string`, '')
  }
}

function checkReplicas(object: Place, path: string): void {
  const { value, problem } = valueAt(object, path)
  const place = object.as(path)
  if (problem !== undefined) place.invalid(problem, 0)
  else if (value === undefined) return
  else if (!(value instanceof JsonNumber) || !isInteger(value)) {
    const words = wordsOf(namesOf(path), value)
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
}

function valueAt(object: Place, path: string): Found {
  const names = namesOf(path)
  let value: JsonValue = object.value ?? null
  for (const [i, name] of names.entries()) {
    if (value === null) return {}
    if (!(value instanceof Map)) {
      const way = wordsOf(names.slice(0, i + 1), value)
      return { problem: `${way} is of the type ${goType(value)}, expected map[string]interface{}` }
    }
    const member = value.get(name)
    if (member === undefined) return {}
    value = member
  }
  return { value }
}

function namesOf(path: string): readonly string[] {
  return path.replace(/^\./, '').split('.')
}

/** The beginning of messages about a value, which show it: written only where there is one, since a
 *  path may lead through hundreds of objects, each of which shows all that is in it. */
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
