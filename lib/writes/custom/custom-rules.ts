/** The rules of a definition, by which kube-apiserver treats a custom resource that is written:
 *  prunes what the schema does not describe, fills in defaults, and checks what is left by the
 *  schema and by its rules in CEL. */

import { isObject, memberOf as untypedMember, sortedInSteps, type Steps } from '@watchglass/base'
import { appendAll } from '../lists.ts'
import { type JsonObject, type JsonValue, sortTreeInSteps } from '@watchglass/go'
import {
  compileRoot,
  defaultsInSteps,
  dropNullsInSteps,
  pruneInSteps,
  type StructuralNode,
  typeAndObjectMeta,
  unspecified,
} from '@watchglass/codec'
import { type FieldError, invalid } from '../field-errors.ts'
import { tooLarge } from '../refusals.ts'
import { dnsSubdomain } from '../validation/formats.ts'
import {
  checkCommonUpdate,
  checkObjectMeta,
  checkObjectMetaUpdate,
} from '../validation/object-meta.ts'
import { Place } from '../validation/place.ts'
import type { WriteDefinition, WriteKind } from '../write-kind.ts'
import { RuleNode, type RuleResult, runRules } from './cel/run-rules.ts'
import { coerceEmbedded, checkEmbedded, decodeMetadata } from './embedded-resources.ts'
import { correlate } from './correlate.ts'
import { checkListTypes } from './list-types.ts'
import { openApiSchema, type ValidationSchema } from './open-api-schema.ts'
import { checkScaleSpec, checkScaleStatus } from './scale-paths.ts'
import { type Correlated, schemaErrors } from './schema-check.ts'

export interface CustomRules {
  /** Decodes the metadata, and drops what the schema does not describe. Changes the object in
   *  place; returns the errors of a strict decoder. Throws `DecodeError`. */
  prune(object: JsonObject): Steps<string[]>
  /** Fills in defaults in place. Refuses more of them than are shown when they are read. */
  applyDefaults(object: JsonObject): Steps<void>
  /** The problems of an object: a new one if there is no `old` one. */
  validate(object: JsonObject, old: JsonObject | undefined, subresource: string): Steps<Findings>
}

/** Problems of an object, and those that it had before and has still. */
export interface Findings {
  readonly errors: readonly FieldError[]
  readonly warnings: readonly string[]
}

const rulesByDefinition = new WeakMap<WriteDefinition, CustomRules>()

/** The rules of a custom kind. They are made once for a definition. */
export function customRulesOf(kind: WriteKind): CustomRules {
  const { definition } = kind
  if (definition === undefined) throw new Error(`${kind.kind} is no custom kind`)
  let rules = rulesByDefinition.get(definition)
  if (rules === undefined) {
    rules = new DefinedRules(kind, definition)
    rulesByDefinition.set(definition, rules)
  }
  return rules
}

class DefinedRules implements CustomRules {
  readonly #kind: WriteKind
  readonly #definition: WriteDefinition
  readonly #node: StructuralNode | undefined
  readonly #schema: ValidationSchema | undefined
  readonly #statusSchema: ValidationSchema | undefined
  readonly #rules: RuleNode | undefined

  constructor(kind: WriteKind, definition: WriteDefinition) {
    this.#kind = kind
    this.#definition = definition
    const { schema } = definition
    if (!isObject(schema)) return
    this.#node = compileRoot(schema)
    this.#schema = openApiSchema(schema)
    const properties = untypedMember(schema, 'properties')
    const status = isObject(properties) ? properties['status'] : undefined
    this.#statusSchema = isObject(status) ? openApiSchema(status) : undefined
    this.#rules = RuleNode.of(schema)
  }

  *prune(object: JsonObject): Steps<string[]> {
    const unknown: string[] = []
    const given = object.get('metadata')
    if (given !== undefined) {
      const { metadata, unknownFields: names } = decodeMetadata(given, this.#kind.schema)
      object.set('metadata', metadata)
      for (const name of names) unknown.push(`metadata.${name}`)
    }
    if (!this.#definition.preservesUnknownFields) {
      appendAll(unknown, yield* this.#pruneRest(object))
    }
    const place = new Place(object, '', [])
    appendAll(unknown, coerceEmbedded(place, this.#definition.schema, this.#kind.schema).sort())
    return unknown.map(path => `unknown field "${path}"`)
  }

  *#pruneRest(object: JsonObject): Steps<string[]> {
    const rest = withoutMeta(object)
    // Only this version is known here.
    const isOfVersion = object.get('apiVersion') === this.#kind.apiVersion
    const node = (isOfVersion ? this.#node : undefined) ?? unspecified
    const removed: string[] = []
    yield* pruneInSteps(rest, node, { path: '', removed })
    yield* dropNullsInSteps(rest, node)
    putBack(object, rest)
    return yield* sortedInSteps(removed, compareUnits)
  }

  *applyDefaults(object: JsonObject): Steps<void> {
    if (this.#node === undefined || this.#definition.preservesUnknownFields) return
    const rest = withoutMeta(object)
    const tooMany = yield* defaultsInSteps(rest, this.#node)
    if (tooMany !== undefined) throw tooLarge(tooMany.reason)
    putBack(object, rest)
  }

  *validate(object: JsonObject, old: JsonObject | undefined, subresource: string): Steps<Findings> {
    const errors = yield* this.#check(object, old, subresource)
    const { warnings } = yield* this.#runRules(object, old, errors)
    return { errors, warnings }
  }

  *#check(
    object: JsonObject,
    old: JsonObject | undefined,
    subresource: string,
  ): Steps<FieldError[]> {
    const errors: FieldError[] = []
    // Errors show objects with their members in order.
    const place = new Place(yield* sortTreeInSteps(object), '', errors)
    const metadata = place.in('metadata')
    const { isNamespaced } = this.#kind
    const before = new Place(old?.get('metadata'), 'metadata', [])
    if (old !== undefined) checkCommonUpdate(metadata, before, isNamespaced)
    if (!this.#hasTypeMeta(place)) return errors
    if (old === undefined) checkObjectMeta(metadata, { isNamespaced, name: dnsSubdomain })
    else checkObjectMetaUpdate(metadata, before)
    if (subresource === 'status') {
      yield* this.#checkStatus(place, old)
      return errors
    }
    if (this.#schema !== undefined) {
      const correlated = this.#correlated(object, old)
      appendAll(errors, yield* schemaErrors(object, this.#schema, '', correlated))
    }
    const { scale, schema } = this.#definition
    if (scale !== undefined) {
      checkScaleSpec(place, scale)
      checkScaleStatus(place, scale)
    }
    checkEmbedded(place, schema)
    yield
    this.#checkLists(place, old)
    return errors
  }

  #hasTypeMeta(place: Place): boolean {
    const [kind, apiVersion] = [place.in('kind'), place.in('apiVersion')]
    const isKind = kind.text === this.#kind.kind
    const isVersion = apiVersion.text === this.#kind.apiVersion
    if (!isKind) kind.invalid(`must be ${this.#kind.kind}`)
    if (!isVersion) apiVersion.invalid(`must be ${this.#kind.apiVersion}`)
    return isKind && isVersion
  }

  *#checkStatus(place: Place, old: JsonObject | undefined): Steps<void> {
    const { errors } = place
    const status = place.in('status')
    if (status.value !== undefined && this.#statusSchema !== undefined) {
      const before = this.#correlated(place.object ?? new Map(), old)?.member('status')
      appendAll(errors, yield* schemaErrors(status.value, this.#statusSchema, 'status', before))
    }
    if (this.#definition.scale !== undefined) checkScaleStatus(place, this.#definition.scale)
    yield
    this.#checkLists(place, old)
  }

  /** Repeated items may stay where there were some before. */
  #checkLists(place: Place, old: JsonObject | undefined): void {
    const { schema } = this.#definition
    if (old !== undefined) {
      const before = new Place(old, '', [])
      checkListTypes(before, schema)
      if (before.errors.length > 0) return
    }
    checkListTypes(place, schema)
  }

  /** Rules in CEL do not run where an object has values of wrong types; an error says so. */
  *#runRules(
    object: JsonObject,
    old: JsonObject | undefined,
    errors: FieldError[],
  ): Steps<RuleResult> {
    if (this.#rules === undefined || !this.#isOfKind(object)) return noResult
    if (errors.some(({ reason }) => blocking.has(reason))) {
      errors.push(
        invalid(
          '',
          null,
          'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
        ),
      )
      return noResult
    }
    const result = yield* runRules(this.#rules, object, this.#correlated(object, old))
    appendAll(errors, result.errors)
    return result
  }

  #isOfKind(object: JsonObject): boolean {
    return (
      object.get('kind') === this.#kind.kind && object.get('apiVersion') === this.#kind.apiVersion
    )
  }

  #correlated(object: JsonObject, old: JsonObject | undefined): Correlated | undefined {
    if (old === undefined) return undefined
    return correlate(object, old, this.#definition.schema)
  }
}

const blocking: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])

const noResult: RuleResult = { errors: [], warnings: [] }

/** The object without apiVersion, kind and metadata, which no schema changes. */
function withoutMeta(object: JsonObject): JsonObject {
  const rest = new Map(object)
  for (const name of typeAndObjectMeta) rest.delete(name)
  return rest
}

function putBack(object: JsonObject, rest: JsonObject): void {
  const meta: [string, JsonValue][] = []
  for (const member of object) if (typeAndObjectMeta.includes(member[0])) meta.push(member)
  object.clear()
  for (const [name, value] of meta) object.set(name, value)
  for (const [name, value] of rest) object.set(name, value)
}

/** The order of texts by their UTF-16 units, as `sort` has it. */
function compareUnits(a: string, b: string): number {
  return a < b ? -1 : a === b ? 0 : 1
}
