/** Defaults must be values that their schemas accept and prune nothing of. */

import { atOnce, memberOf, type UntypedObject } from '@watchglass/base'
import { copyTree, type JsonObject, type JsonValue, sortTree, textFromTree } from '@watchglass/go'
import {
  compileRoot,
  prune,
  schemaOf,
  type StructuralNode,
  typeAndObjectMeta,
  unspecified,
} from '@watchglass/codec'
import { type FieldError, summary } from '../../field-errors.ts'
import { appendAll } from '../../lists.ts'
import { tooLarge } from '../../refusals.ts'
import { Place } from '../../validation/place.ts'
import { RuleNode, RuleRun } from '../cel/run-rules.ts'
import { correlate } from '../correlate.ts'
import { checkEmbedded, coerceEmbedded, NoMetadata } from '../embedded-resources.ts'
import { type ValidationSchema, openApiSchema } from '../open-api-schema.ts'
import { schemaErrors } from '../schema-check.ts'

const embeddedKey = 'x-kubernetes-embedded-resource'
const rulesKey = 'x-kubernetes-validations'

/** A schema inside of a schema, in the forms that checks need. They are parts of what was made of
 *  the whole schema once: a default may lie inside of a default, and so on. */
interface Level {
  readonly schema: Place
  /** As JSON.parse gives it. */
  readonly raw: unknown
  readonly structural: StructuralNode
  readonly openApi: ValidationSchema
  readonly rules: RuleNode | undefined
  /** The schema of the resource that it lies in. */
  readonly resource: unknown
  /** The schema describes the apiVersion, kind or metadata of that resource. */
  readonly isInsideMeta: boolean
  /** A resource that has nothing but a value at this level. */
  readonly around: (value: JsonValue) => JsonObject
}

/** Checks all defaults in the schema of a version. */
export function checkDefaults(schema: Place): void {
  const text = textFromTree(schema.value ?? null)
  if (!text.includes('"default":')) return
  const raw = { ...(JSON.parse(text) as UntypedObject), [embeddedKey]: true }
  // The schema of a value is compiled as that of a member.
  const structural = compileRoot({ properties: { value: raw } }).properties.get('value')
  checkLevel({
    schema,
    raw,
    structural: structural ?? unspecified,
    openApi: openApiSchema(JSON.parse(text, withoutIntOrString)),
    rules: text.includes(`"${rulesKey}"`) ? RuleNode.of(raw) : undefined,
    resource: raw,
    isInsideMeta: false,
    around: ofResource,
  })
}

/** Leaves out int-or-string, which defaults are not checked for. */
function withoutIntOrString(name: string, member: unknown): unknown {
  return name === 'x-kubernetes-int-or-string' ? undefined : member
}

function checkLevel(level: Level): void {
  const { schema, isInsideMeta } = level
  const value = schema.in('default')
  if (value.isSet && isInsideMeta) checkInsideMeta(level, value)
  else if (value.isSet) checkDefault(level, value)
  const items = schema.in('items')
  if (items.object !== undefined) checkLevel(itemOf(level, items))
  for (const [name, property] of schema.in('properties').entries) {
    checkLevel(propertyOf(level, name, property))
  }
}

function itemOf(level: Level, schema: Place): Level {
  return asResource({
    ...level,
    schema,
    raw: memberOf(level.raw, 'items'),
    structural: level.structural.items ?? unspecified,
    openApi: level.openApi.items ?? nothingSaid,
    rules: level.rules?.items,
    around: value => level.around([value]),
  })
}

function propertyOf(level: Level, name: string, schema: Place): Level {
  const isMeta = level.structural.isEmbedded && typeAndObjectMeta.includes(name)
  return asResource({
    ...level,
    schema,
    raw: memberOf(memberOf(level.raw, 'properties'), name),
    structural: level.structural.properties.get(name) ?? unspecified,
    openApi: level.openApi.properties.get(name) ?? nothingSaid,
    rules: level.rules?.properties.get(name),
    isInsideMeta: level.isInsideMeta || isMeta,
    around: value => level.around(new Map([[name, value]])),
  })
}

const nothingSaid = openApiSchema({})

/** The level as it is where a resource begins with it. */
function asResource(level: Level): Level {
  if (!level.structural.isEmbedded) return level
  return { ...level, resource: level.raw, isInsideMeta: false, around: ofResource }
}

function ofResource(value: JsonValue): JsonObject {
  const members = value instanceof Map ? value : []
  return new Map<string, JsonValue>([
    ['kind', 'Validation'],
    ['apiVersion', 'validation/v1'],
    ...members,
  ])
}

function checkDefault(level: Level, place: Place): void {
  const given = copyTree(place.value ?? null)
  const pruned = copyTree(given)
  prune(pruned, level.structural)
  if (textFromTree(pruned) !== textFromTree(given)) {
    place.invalid('must not have unknown fields', sortTree(given))
  }
  const before = place.errors.length
  const coerced = place.as(place.path, given)
  const problem = coercionProblem(coerced, level.raw)
  if (problem !== undefined) place.errors.push(problem)
  else checkEmbedded(coerced, level.raw)
  if (place.errors.length === before) checkValue(level, coerced)
}

/** Checks a default of what the metadata, apiVersion or kind of a resource has: the resource must
 *  be right with it. */
function checkInsideMeta(level: Level, place: Place): void {
  const errors: FieldError[] = []
  const around = new Place(level.around(copyTree(place.value ?? null)), '', errors)
  const problem = coercionProblem(around, level.resource)
  if (problem !== undefined) errors.push(problem)
  else checkEmbedded(around, level.resource)
  if (errors.length === 0) return checkValue(level, place)
  place.invalid(`must result in valid metadata: ${summary(errors)}`, sortTree(place.value ?? null))
}

function coercionProblem(place: Place, schema: unknown): FieldError | undefined {
  try {
    coerceEmbedded(place, schema, schemaOf())
    return undefined
  } catch (error) {
    if (error instanceof NoMetadata) return error.error
    throw error
  }
}

function checkValue(level: Level, place: Place): void {
  const value = place.value ?? null
  const errors = atOnce(schemaErrors(value, level.openApi, place.path))
  appendAll(place.errors, errors)
  if (errors.length === 0 && level.rules !== undefined) checkByRules(level.rules, level.raw, place)
}

/** The characters of rules that are compiled for the defaults of a definition. */
const sourceMax = 300_000

/** The budget of one object, which the defaults of a definition share. */
interface Shared {
  readonly run: RuleRun
  /** The schemas whose rules are counted. */
  readonly counted: Set<unknown>
  length: number
}

const shared = new WeakMap<FieldError[], Shared>()

/** Runs the rules of the schema: on a default that stays as it is, and on one that is new. */
function checkByRules(rules: RuleNode, schema: unknown, place: Place): void {
  const ours = shared.get(place.errors) ?? { run: new RuleRun(), counted: new Set(), length: 0 }
  shared.set(place.errors, ours)
  ours.length += lengthOfRules(schema, ours.counted)
  if (ours.length > sourceMax) throw tooLarge('the rules for the defaults are too long')
  const value = place.value ?? null
  for (const old of [correlate(value, value, schema), undefined]) {
    const errors = ours.run.errorsAt(place.path, rules, value, old)
    appendAll(place.errors, errors)
    if (errors.length > 0) return
  }
}

/** The length of the rules that have not been counted. */
function lengthOfRules(schema: unknown, counted: Set<unknown>): number {
  if (typeof schema !== 'object' || schema === null || counted.has(schema)) return 0
  counted.add(schema)
  let length = 0
  for (const [name, inner] of Object.entries(schema)) {
    length += name === rulesKey ? JSON.stringify(inner).length : lengthOfRules(inner, counted)
  }
  return length
}
