/** Values as templates have them: those of JSON, and none. */

import { isObject, type UntypedObject } from '@watchglass/base'
import { TemplateProblem } from './problem.ts'

/** Undefined is what a map does not have. */
export type TemplateValue = unknown

export function isTrue(value: TemplateValue): boolean {
  if (Array.isArray(value)) return value.length > 0
  if (isObject(value)) return Object.keys(value).length > 0
  return Boolean(value)
}

export function mapOf(value: TemplateValue): UntypedObject {
  if (value === undefined || value === null) return {}
  if (isObject(value)) return value
  throw new TemplateProblem(`wrong type for value; expected map; got ${kindOf(value)}`)
}

export function listOf(value: TemplateValue): readonly TemplateValue[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value
  throw new TemplateProblem(`wrong type for value; expected list; got ${kindOf(value)}`)
}

export function numberOf(value: TemplateValue): number {
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  // As sprig's cast: what is no number is zero.
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : 0
  return Number.isNaN(number) ? 0 : number
}

export function kindOf(value: TemplateValue): string {
  if (value === undefined || value === null) return 'nil'
  if (Array.isArray(value)) return 'slice'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float64'
  if (typeof value === 'boolean') return 'bool'
  return isObject(value) ? 'map' : 'string'
}

/** As Go's `%v` prints it. */
export function textOf(value: TemplateValue): string {
  if (value === undefined) return '<no value>'
  if (value === null) return '<nil>'
  if (Array.isArray(value)) return `[${value.map(textOf).join(' ')}]`
  if (isObject(value)) {
    const members = Object.keys(value)
      .toSorted()
      .map(name => `${name}:${textOf(value[name])}`)
    return `map[${members.join(' ')}]`
  }
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}

export function fieldOf(value: TemplateValue, name: string): TemplateValue {
  if (value === undefined) return undefined
  if (value === null) throw new TemplateProblem(`nil pointer evaluating interface {}.${name}`)
  if (isObject(value)) return Object.hasOwn(value, name) ? value[name] : undefined
  throw new TemplateProblem(`can't evaluate field ${name} in type ${kindOf(value)}`)
}

export function itemAt(of: TemplateValue, key: TemplateValue): TemplateValue {
  if (of === undefined || of === null) throw new TemplateProblem('index of untyped nil')
  if (Array.isArray(of)) {
    const at = numberOf(key)
    if (at < 0 || at >= of.length) throw new TemplateProblem(`index out of range: ${String(at)}`)
    return of[at] as TemplateValue
  }
  if (isObject(of)) return fieldOf(of, textOf(key))
  throw new TemplateProblem(`can't index item of type ${kindOf(of)}`)
}

/** The largest value that a template may work with: characters, members and items, and levels. A
 *  map that holds another one twice, and so on, doubles with each step. */
const sizeMax = 1024 * 1024
const depthMax = 1_000

/** Characters, members and items of a value. Fails for one that is too large to be used. */
export function sizeOf(value: TemplateValue): number {
  let size = 0
  const visit = (one: TemplateValue, depth: number): void => {
    size += typeof one === 'string' ? one.length : 1
    if (size > sizeMax || depth > depthMax) throw new TemplateProblem('a value is too large')
    if (Array.isArray(one)) {
      for (const item of one as readonly TemplateValue[]) visit(item, depth + 1)
    } else if (isObject(one)) {
      for (const name of Object.keys(one)) {
        size += name.length
        visit(one[name], depth + 1)
      }
    }
  }
  visit(value, 0)
  return size
}

/** True if two values are the same; nothing is equal to what is not there. */
export function areEqual(a: TemplateValue, b: TemplateValue): boolean {
  const [one, other] = [a ?? undefined, b ?? undefined]
  if (one === undefined || other === undefined) return one === other
  if (typeof one !== typeof other || typeof one === 'object') {
    throw new TemplateProblem('incompatible types for comparison')
  }
  return one === other
}

export function isLess(a: TemplateValue, b: TemplateValue): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a < b
  if (typeof a === 'string' && typeof b === 'string') return a < b
  throw new TemplateProblem('incompatible types for comparison')
}
