/** The defaults that the API server applies to what it decodes, on a tree of values: rules made of
 *  the rows of the data files (default-rules.ts). What a kube-apiserver wrote has them already;
 *  this is for what was written by others, and for what comes in a request. */

import {
  objectIn,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  copyTree,
  memberAt,
  memberOf,
  roundedToThousandths,
} from '@watchglass/go'
import { giveUp } from '@watchglass/base'
import { type MessageField, type MessageType, perSchema } from '../../schema/schema.ts'
import {
  type DefaultCondition,
  type DefaultRule,
  defaultTextOf,
  isAppliedBy,
  isHere,
  isRounded,
  rulesOf,
} from '../default-rules.ts'
import { isText, messageComputations, valueComputations } from './computations.ts'
import { membersOf } from './typed-json.ts'

/** The place of a message: the object and its kind, and the member that the message is in. */
interface MessagePlace {
  readonly object: JsonObject
  /** As `batch/v1 Job`. */
  readonly root: string
  readonly member: string
  readonly applier: 'stored' | 'request'
}

/** Fills in what is absent in the object of a kind, at any depth. */
export function applyReadDefaults(object: JsonObject, type: MessageType, root: string): void {
  applyTo(object, type, { object, root, member: '', applier: 'stored' })
}

/** Fills in what is absent in an object that comes in a request: without what is filled in only
 *  when an object is read. */
export function applyDecodeDefaults(object: JsonObject, type: MessageType, root: string): void {
  applyTo(object, type, { object, root, member: '', applier: 'request' })
}

function applyTo(message: JsonObject, type: MessageType, place: MessagePlace): void {
  applyRules(message, type, place)
  for (const field of type.fields) {
    if (isRounded(field, type)) roundInside(message.get(field.jsonName))
    if (!field.type.includes('.')) continue
    const inner = type.schema.messageType(field.type)
    if (inner.form !== 'object' || !hasDefaults(inner)) continue
    if (field.isInline) applyTo(message, inner, place)
    else applyInside(message, field, inner, place)
  }
}

function roundInside(quantities: JsonValue | undefined): void {
  if (!(quantities instanceof Map)) return
  for (const [name, text] of quantities) {
    if (typeof text === 'string') quantities.set(name, roundedToThousandths(text))
  }
}

/** Messages that are no pointers are there even when they are not. */
function applyInside(
  object: JsonObject,
  field: MessageField,
  message: MessageType,
  outer: MessagePlace,
): void {
  const place = { ...outer, member: field.jsonName }
  let value = object.get(field.jsonName) ?? null
  if (value === null && field.container === 'single' && !field.isPointer) {
    value = new Map()
    object.set(field.jsonName, value)
  }
  const values = Array.isArray(value)
    ? value
    : field.container === 'map' && value instanceof Map
      ? [...value.values()]
      : [value]
  for (const item of values) if (item instanceof Map) applyTo(item, message, place)
}

/** Conditions are on what is stored, so all are asked before anything is filled in. */
function applyRules(message: JsonObject, type: MessageType, place: MessagePlace): void {
  const rules = rulesOf(type)
  if (rules.length === 0) return
  const due = rules.filter(
    rule =>
      isAppliedBy(rule, place.applier) &&
      isHere(rule, place.root, place.member) &&
      rule.conditions.every(condition => isTrue(condition, message, type, place)),
  )
  if (place.applier === 'stored') {
    for (const { emptyIsSet, field } of rules) {
      if (emptyIsSet === true && field !== undefined) refuseEmpty(message, field)
    }
  }
  for (const rule of due) applyRule(message, type, rule, place)
}

/** A member that is there and empty gets no default in Go, and is lost in protobuf. */
function refuseEmpty(object: JsonObject, name: string): void {
  if (isEmpty(object.get(name))) giveUp(`${name} is empty, which is not the same as absent`)
}

function isTrue(
  { path, isOfObject, state }: DefaultCondition,
  message: JsonObject,
  type: MessageType,
  { object }: MessagePlace,
): boolean {
  const value = memberAt(isOfObject ? object : message, path)
  switch (state) {
    case 'absent':
      return path[0] === '*'
        ? type.fields.every(({ jsonName }) => (message.get(jsonName) ?? null) === null)
        : isZeroAt(message, path, type)
    case 'set':
      return !isZeroAt(message, path, type)
    case 'empty':
      return isEmpty(value)
    case 'negative':
      return value instanceof JsonNumber && value.text.startsWith('-')
    case 'true':
      return value === true
    default: {
      const text = isText(value) ? value : isOfObject ? '' : defaultTextOf(type, path[0])
      return 'in' in state ? state.in.includes(text) : !state.notIn.includes(text)
    }
  }
}

function applyRule(
  message: JsonObject,
  type: MessageType,
  rule: DefaultRule,
  { applier }: MessagePlace,
): void {
  const { compute, fieldPath, fromPath, firstOf, keysPath, mirrors, value } = rule
  if (fieldPath.length === 0) {
    if (compute !== undefined) messageComputations[compute]?.(message, applier === 'stored')
  } else if (keysPath.length > 0) {
    fillKeys(message, fieldPath, memberAt(message, keysPath))
  } else if (mirrors !== undefined) {
    mirror(message, fieldPath[0] as string, mirrors)
  } else if (firstOf !== undefined) {
    mirrorFirst(message, rule, firstOf)
  } else if (rule.hasOwnCondition || isZeroAt(message, fieldPath, type, rule.emptyIsSet)) {
    const sibling = memberAt(message, fromPath)
    if (compute !== undefined) setAt(message, fieldPath, valueComputations[compute]?.(sibling))
    else if (fromPath.length === 0) setAt(message, fieldPath, treeOf(value))
    else if (!isZeroAt(message, fromPath, type)) {
      const isShared = rule.isShared === true
      setAt(message, fieldPath, isShared ? sibling : copyTree(sibling ?? null))
    }
  }
}

/** Sets the member at the path, and takes it away if the value is null. */
function setAt(message: JsonObject, path: readonly string[], value: JsonValue | undefined): void {
  const name = path.at(-1) as string
  const parent = path.slice(0, -1).reduce(objectIn, message)
  if (value === null || value === undefined) parent.delete(name)
  else parent.set(name, value)
}

function fillKeys(
  message: JsonObject,
  path: readonly string[],
  values: JsonValue | undefined,
): void {
  if (!(values instanceof Map) || values.size === 0) return
  const filled = path.reduce(objectIn, message)
  for (const [name, value] of values) if (!filled.has(name)) filled.set(name, value)
}

function mirror(message: JsonObject, field: string, winner: string): void {
  const [own, other] = [message.get(winner), message.get(field)]
  if (isText(own)) message.set(field, own)
  else if (isText(other)) message.set(winner, other)
}

function mirrorFirst(message: JsonObject, { fieldPath, member }: DefaultRule, one: string): void {
  const list = fieldPath[0] as string
  const item = memberAt(message, [one])
  const items = message.get(list)
  const head = Array.isArray(items) ? items[0] : undefined
  const first = member === undefined ? head : memberOf(head, member)
  if (!isText(item)) {
    if (isText(first)) message.set(one, first)
  } else if (item !== first) {
    message.set(list, [member === undefined ? item : new Map([[member, item]])])
  }
}

/** True if the member at the path is what Go takes for not given. */
function isZeroAt(
  message: JsonObject,
  path: readonly string[],
  type: MessageType,
  emptyIsSet = false,
): boolean {
  const value = memberAt(message, path)
  if (value === undefined || value === null) return true
  const field = path.length === 1 ? membersOf(type).get(path[0] as string) : undefined
  if (Array.isArray(value) || (value instanceof Map && field?.container !== 'single')) {
    return isEmpty(value) && !emptyIsSet
  }
  if (value === '') return field?.isPointer !== true
  if (field === undefined || field.isPointer) return false
  return value === false || (value instanceof JsonNumber && value.text === '0')
}

function isEmpty(value: JsonValue | undefined): boolean {
  if (value instanceof Map) return value.size === 0
  return Array.isArray(value) && value.length === 0
}

/** A default as a tree. */
export function treeOf(value: unknown): JsonValue {
  if (typeof value === 'number') return new JsonNumber(String(value))
  if (Array.isArray(value)) return value.map(treeOf)
  if (typeof value !== 'object' || value === null) return value as string | boolean | null
  return new Map(Object.entries(value).map(([name, member]) => [name, treeOf(member)]))
}

const reachOf = perSchema(() => new Map<string, boolean>())

function isOfTrees(rule: DefaultRule): boolean {
  return isAppliedBy(rule, 'stored') || isAppliedBy(rule, 'request')
}

/** True if something inside messages of the type may be filled in, or rounded. */
function hasDefaults(type: MessageType): boolean {
  const known = reachOf(type.schema)
  let has = known.get(type.name)
  if (has === undefined) {
    const names = [type.name, ...type.schema.containedTypes(type.name)]
    has = names.some(name => {
      const inner = type.schema.findMessageType(name)
      return name.startsWith('core/v1.') || (inner !== undefined && rulesOf(inner).some(isOfTrees))
    })
    known.set(type.name, has)
  }
  return has
}
