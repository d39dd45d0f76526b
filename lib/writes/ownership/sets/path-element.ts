/** One step of a path into an object: a member, a list's item by its keys or by its value, or an
 *  index. */

import {
  compareUtf8,
  goJsonString,
  type JsonObject,
  type JsonValue,
  parseTree,
  textFromTree,
} from '@watchglass/go'
import { compareValues, valueText } from './values.ts'

export type PathElement = MemberElement | KeysElement | ValueElement | IndexElement

interface MemberElement {
  readonly kind: 'member'
  /** The text of the element in FieldsV1, the same for equal elements: `f:spec`. */
  readonly id: string
  readonly name: string
}

interface KeysElement {
  readonly kind: 'keys'
  readonly id: string
  /** Sorted by name. */
  readonly keys: readonly KeyField[]
}

interface ValueElement {
  readonly kind: 'value'
  readonly id: string
  readonly value: JsonValue
}

interface IndexElement {
  readonly kind: 'index'
  readonly id: string
  readonly index: number
}

export type KeyField = readonly [name: string, value: JsonValue]

export type ElementPath = readonly PathElement[]

export function memberElement(name: string): PathElement {
  return { kind: 'member', id: `f:${name}`, name }
}

export function keysElement(fields: readonly KeyField[]): PathElement {
  const keys = [...fields].sort(([a], [b]) => compareUtf8(a, b))
  const members = keys.map(([name, value]) => `${goJsonString(name)}:${textFromTree(value)}`)
  return { kind: 'keys', id: `k:{${members.join(',')}}`, keys }
}

export function valueElement(value: JsonValue): PathElement {
  return { kind: 'value', id: `v:${textFromTree(value)}`, value }
}

/** The element that a member's name in FieldsV1 stands for; `unknown` if it begins with a letter
 *  that means nothing, which is to be skipped; undefined if it is malformed. */
export function elementFromText(text: string): PathElement | 'unknown' | undefined {
  if (text.length < 2 || text[1] !== ':') return undefined
  const rest = text.slice(2)
  switch (text.charAt(0)) {
    case 'f':
      return { kind: 'member', id: text, name: rest }
    case 'v': {
      const value = valueFromText(rest)
      return value === undefined ? undefined : valueElement(value)
    }
    case 'k': {
      const keys = valueFromText(rest)
      return keys instanceof Map ? keysElement([...(keys as JsonObject)]) : undefined
    }
    case 'i': {
      if (!/^[+-]?[0-9]+$/.test(rest)) return undefined
      const index = Number(rest)
      return { kind: 'index', id: `i:${String(index)}`, index }
    }
    default:
      return 'unknown'
  }
}

/** The order of elements in FieldsV1: members, then keys, values and indexes. */
export function compareElements(a: PathElement, b: PathElement): number {
  if (a.kind === 'member' && b.kind === 'member') return compareUtf8(a.name, b.name)
  if (a.kind === 'keys' && b.kind === 'keys') return compareKeys(a.keys, b.keys)
  if (a.kind === 'value' && b.kind === 'value') return compareValues(a.value, b.value)
  if (a.kind === 'index' && b.kind === 'index') return a.index - b.index
  return kindOrder[a.kind] - kindOrder[b.kind]
}

/** As messages show the element: `.spec`, `[name="web"]`, `[="a"]`, `[3]`. */
export function elementText(element: PathElement): string {
  switch (element.kind) {
    case 'member':
      return `.${element.name}`
    case 'keys':
      return `[${element.keys.map(([name, value]) => `${name}=${valueText(value)}`).join(',')}]`
    case 'value':
      return `[=${valueText(element.value)}]`
    case 'index':
      return `[${String(element.index)}]`
  }
}

export function pathText(path: ElementPath): string {
  return path.map(elementText).join('')
}

const kindOrder: Readonly<Record<PathElement['kind'], number>> = {
  member: 0,
  keys: 1,
  value: 2,
  index: 3,
}

function compareKeys(a: readonly KeyField[], b: readonly KeyField[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [leftName, left] = a[i] as KeyField
    const [rightName, right] = b[i] as KeyField
    const order = compareUtf8(leftName, rightName) || compareValues(left, right)
    if (order !== 0) return order
  }
  return a.length - b.length
}

function valueFromText(text: string): JsonValue | undefined {
  const bytes = Buffer.from(text)
  return parseTree(bytes, 0, bytes.length)
}
