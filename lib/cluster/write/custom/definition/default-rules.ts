/** Defaults must be values that their schemas accept and prune nothing of. */

import { atOnce } from '../../../../base/slice.ts'
import { appendAll } from '../../lists.ts'
import {
  copyTree,
  type JsonObject,
  type JsonValue,
  sortTree,
  textFromTree,
} from '../../../../codec/json/tree.ts'
import { prune } from '../../../../codec/served/structural/apply.ts'
import { compileRoot } from '../../../../codec/served/structural/schema.ts'
import type { Place } from '../../validation/place.ts'
import { isObject } from '../../../../base/untyped.ts'
import { tooLarge } from '../../refusals.ts'
import type { FieldError } from '../../field-errors.ts'
import { RuleNode, RuleRun } from '../cel/run-rules.ts'
import { correlate } from '../correlate.ts'
import { checkEmbedded } from '../embedded-resources.ts'
import { openApiSchema } from '../open-api-schema.ts'
import { schemaErrors } from '../schema-check.ts'

const embeddedKey = 'x-kubernetes-embedded-resource'

export function checkDefaults(schema: Place, isInsideMeta = false): void {
  const value = schema.in('default')
  if (value.isSet && !isInsideMeta) checkDefault(schema, value)
  const isEmbedded = schema.in(embeddedKey).isTrue
  if (schema.in('items').object !== undefined) checkDefaults(schema.in('items'), isInsideMeta)
  const isObject = isEmbedded || schema.path.endsWith('openAPIV3Schema')
  for (const [name, property] of schema.in('properties').entries) {
    const isMeta = isObject && ['metadata', 'apiVersion', 'kind'].includes(name)
    checkDefaults(property, (isInsideMeta && !isEmbedded) || isMeta)
  }
}

function checkDefault(schema: Place, place: Place): void {
  const given = copyTree(place.value ?? null)
  const pruned = copyTree(given)
  // int-or-string is not checked.
  const parsed: unknown = JSON.parse(textFromTree(schema.value ?? null), (name, member: unknown) =>
    name === 'x-kubernetes-int-or-string' ? undefined : member,
  )
  // The schema of a value is compiled as that of a member.
  const root = compileRoot({ properties: { value: parsed } })
  prune(new Map([['value', pruned]]) as JsonObject, root)
  if (textFromTree(pruned) !== textFromTree(given)) {
    place.invalid('must not have unknown fields', sortTree(given))
  }
  const isRoot = schema.path.endsWith('openAPIV3Schema')
  const before = place.errors.length
  const embedded = isObject(parsed) && isRoot ? { ...parsed, [embeddedKey]: true } : parsed
  checkEmbedded(place, embedded)
  if (place.errors.length > before) return
  appendAll(place.errors, atOnce(schemaErrors(given, openApiSchema(parsed), place.path)))
  if (place.errors.length === before) checkByRules(place, given, schema)
}

const rulesKey = 'x-kubernetes-validations'

/** The characters of rules that are compiled for the defaults of a definition. */
const sourceMax = 300_000

/** The budget of one object, which the defaults of a definition share. */
interface Shared {
  readonly run: RuleRun
  length: number
}

const shared = new WeakMap<FieldError[], Shared>()

/** Runs the rules of the schema: on a default that stays as it is, and on one that is new. */
function checkByRules(place: Place, value: JsonValue, schema: Place): void {
  const isEmbedded = schema.in(embeddedKey).isTrue || schema.path.endsWith('openAPIV3Schema')
  const text = textFromTree(schema.value ?? null)
  // Most schemas have no rules, and one inside of the other would be parsed at each level.
  if (!text.includes(`"${rulesKey}"`)) return
  let length = 0
  const raw: unknown = JSON.parse(text, (name, member: unknown): unknown => {
    if (name === rulesKey) length += JSON.stringify(member).length
    return member
  })
  const node = RuleNode.of(raw, isEmbedded)
  if (node === undefined) return
  const ours = shared.get(place.errors) ?? { run: new RuleRun(), length: 0 }
  shared.set(place.errors, ours)
  ours.length += length
  if (ours.length > sourceMax) throw tooLarge('the rules for the defaults are too long')
  for (const old of [correlate(value, value, raw), undefined]) {
    const errors = ours.run.errorsAt(place.path, node, value, old)
    appendAll(place.errors, errors)
    if (errors.length > 0) return
  }
}
