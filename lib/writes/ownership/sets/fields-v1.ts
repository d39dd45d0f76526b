/** FieldsV1, the JSON form of a set: a member for each element, `.` for a node that is itself in
 *  the set beside what lies below. */

import { isStepDue, sortedIfShort, sortedInSteps, type Steps } from '@watchglass/base'
import type { JsonObject, JsonValue } from '@watchglass/go'
import { FieldSet } from './field-set.ts'
import { compareElements, elementFromText } from './path-element.ts'

/** The set as a tree, its members in the order that the server writes, made in steps. */
export function fieldsFromSet(set: FieldSet): Steps<JsonObject> {
  return objectOf(set, false)
}

/** The set that a FieldsV1 describes; undefined if it is malformed. */
export function setFromFields(fields: JsonValue): FieldSet | undefined {
  if (fields === null) return new FieldSet()
  if (!(fields instanceof Map)) return undefined
  return readNode(fields)?.set
}

function* objectOf(set: FieldSet, isItselfIn: boolean): Steps<JsonObject> {
  const object: JsonObject = new Map()
  if (isItselfIn) object.set('.', new Map())
  const elements = set.elements()
  const ordered = sortedIfShort(elements, compareElements)
  for (const element of ordered ?? (yield* sortedInSteps(elements, compareElements))) {
    if (isStepDue()) yield
    const below = set.below(element)
    const isIn = set.hasMember(element) && below?.isBare === false
    object.set(element.id, below === undefined ? new Map() : yield* objectOf(below, isIn))
  }
  return object
}

interface ReadNode {
  readonly set: FieldSet
  readonly hasContents: boolean
  readonly isMember: boolean
}

function readNode(fields: JsonObject): ReadNode | undefined {
  const set = new FieldSet()
  let isMember = false
  let hasContents = false
  for (const [text, value] of fields) {
    if (text === '.') {
      isMember = true
      continue
    }
    const element = elementFromText(text)
    if (element === undefined) return undefined
    if (element === 'unknown') continue
    if (value !== null && !(value instanceof Map)) return undefined
    const inner = value === null || value.size === 0 ? emptyNode() : readNode(value)
    if (inner === undefined) return undefined
    hasContents = true
    if (inner.isMember) set.insert([element])
    if (inner.hasContents) set.insertBelow(element, inner.set)
  }
  return { set, hasContents, isMember: isMember || !hasContents }
}

function emptyNode(): ReadNode {
  return { set: new FieldSet(), hasContents: false, isMember: true }
}
