/** The checks of kube-apiserver on a schema, beside that it is structural: known types, list types
 *  with their keys, the texts of rules. */

import { isObject } from '@watchglass/base'
import type { Place } from '../../validation/place.ts'
import { internalValue } from '../../validation/internal-types.ts'
import { checkRules, innerScope, type RuleScope } from '../cel/definition-checks.ts'
import { fieldPath } from '../cel/field-path.ts'

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string']

/** The place of a schema. */
export interface SchemaContext {
  readonly isRoot: boolean
  /** In the schema of metadata, whose defaults are the server's. */
  readonly isInsideMeta: boolean
  /** The reason why a default is refused here; empty if one is allowed. */
  readonly forbiddenDefaults: string
  /** The place of its rules; undefined where they cannot be compiled. */
  readonly rules: RuleScope | undefined
}

export const rootContext: SchemaContext = {
  isRoot: true,
  isInsideMeta: false,
  forbiddenDefaults: '',
  rules: undefined,
}

export function checkSchema(schema: Place, context: SchemaContext): void {
  if (schema.object === undefined) return
  const before = schema.errors.length
  checkKeywords(schema, context)
  if (schema.in('uniqueItems').isTrue) {
    schema
      .in('uniqueItems')
      .forbidden('uniqueItems cannot be set to true since the runtime complexity becomes quadratic')
  }
  checkInner(schema, { ...context, isRoot: false }, context.isRoot)
  checkExtensions(schema)
  checkListKeys(schema)
  const rules = schema.in('x-kubernetes-validations').items
  for (const rule of rules) checkRule(rule, schema, context.rules)
  // A schema with errors may have no types.
  const isRight = schema.errors.length === before
  if (rules.length > 0 && isRight && context.rules !== undefined) checkRules(schema, context.rules)
}

function checkKeywords(schema: Place, context: SchemaContext): void {
  const type = schema.in('type')
  type.textOneOf(types, 'fine')
  const reason = context.forbiddenDefaults
  if (schema.in('default').isSet && reason !== '') {
    schema.in('default').forbidden(`must not be set ${reason}`)
  }
  for (const name of ['id', 'additionalItems', 'patternProperties', 'definitions']) {
    const member = schema.in(name)
    if (name === 'additionalItems' ? member.isSet : member.size > 0) {
      member.forbidden(`${name} is not supported`)
    }
  }
  for (const name of ['dependencies', '$ref']) {
    if (schema.in(name).isSet) schema.in(name).forbidden(`${name} is not supported`)
  }
  if (type.text === 'null') {
    type.forbidden('type cannot be set to null, use nullable as an alternative')
  }
  if (schema.in('items').items.length > 0) {
    schema.in('items').forbidden('items must be a schema object and not an array')
  }
  const embedded = schema.in('x-kubernetes-embedded-resource')
  if (context.isInsideMeta && embedded.isTrue) {
    embedded.forbidden('must not be used inside of resource meta')
  }
}

const metaFields = ['metadata', 'kind', 'apiVersion']

function checkInner(schema: Place, context: SchemaContext, isRoot: boolean): void {
  const [additional, properties] = [schema.in('additionalProperties'), schema.in('properties')]
  if (additional.isSet) {
    if (properties.size > 0 && additional.value !== true) {
      additional.forbidden('additionalProperties and properties are mutual exclusive')
    }
    const words = 'inside additionalProperties applying to object metadata'
    const rules = innerScope(context.rules, context.rules?.schema['additionalProperties'])
    checkSchema(
      additional,
      context.isInsideMeta
        ? { ...context, rules, forbiddenDefaults: words }
        : { ...context, rules },
    )
  }
  const isOfObject = isRoot || schema.in('x-kubernetes-embedded-resource').isTrue
  for (const [name, property] of properties.entries) {
    const isMeta = isOfObject && metaFields.includes(name)
    const described = context.rules?.schema['properties']
    checkSchema(property, {
      rules: innerScope(context.rules, isObject(described) ? described[name] : undefined),
      isRoot: false,
      isInsideMeta: context.isInsideMeta || isMeta,
      forbiddenDefaults: isMeta && isRoot ? `in top-level ${name}` : context.forbiddenDefaults,
    })
  }
  const nested = { ...context, rules: undefined }
  checkSchema(schema.in('not'), nested)
  for (const name of ['allOf', 'oneOf', 'anyOf']) {
    for (const item of schema.in(name).items) checkSchema(item, nested)
  }
  for (const [, definition] of schema.in('definitions').entries) checkSchema(definition, nested)
  const isKeyed = schema.in('x-kubernetes-list-type').text === 'map'
  const rules = innerScope(
    context.rules,
    context.rules?.schema['items'],
    isKeyed ? undefined : schema.path,
  )
  for (const item of [schema.in('items'), ...schema.in('items').items]) {
    checkSchema(item, { ...context, rules })
  }
}

function checkExtensions(schema: Place): void {
  const [type, mapType, listType, preserves] = [
    schema.in('type'),
    schema.in('x-kubernetes-map-type'),
    schema.in('x-kubernetes-list-type'),
    schema.in('x-kubernetes-preserve-unknown-fields'),
  ]
  if (preserves.value === false) preserves.invalid('must be true or undefined')
  if (mapType.isSet) {
    checkTypeIs(type, 'object', 'must be object if x-kubernetes-map-type is specified')
    mapType.textOneOf(['atomic', 'granular'], 'unsupported')
  }
  if (!listType.isSet) return
  if (type.text !== 'array') {
    checkTypeIs(type, 'array', 'must be array if x-kubernetes-list-type is specified')
  } else if (listType.text === 'set') checkSetItems(schema.in('items'))
  listType.textOneOf(['atomic', 'set', 'map'], 'unsupported')
}

function checkTypeIs(type: Place, expected: string, detail: string): void {
  if (type.text === expected) return
  if (type.text === '') type.required(detail)
  else type.invalid(detail)
}

function checkSetItems(items: Place): void {
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set'
  const [listType, mapType] = [
    items.in('x-kubernetes-list-type'),
    items.in('x-kubernetes-map-type'),
  ]
  if (items.in('type').text === 'array' && listType.isSet && listType.text !== 'atomic') {
    listType.invalid(detail)
  }
  if (items.in('type').text === 'object' && mapType.text !== 'atomic') {
    mapType.invalid(detail, listType.value ?? null)
  }
}

function checkListKeys(schema: Place): void {
  const [listType, keys, items] = [
    schema.in('x-kubernetes-list-type'),
    schema.in('x-kubernetes-list-map-keys'),
    schema.in('items'),
  ]
  if (keys.size > 0 && listType.text !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty'
    if (listType.isSet) listType.invalid(detail)
    else listType.required(detail)
  }
  if (listType.text === 'map') {
    if (keys.size === 0) keys.required('must not be empty if x-kubernetes-list-type is map')
    if (!items.isSet) items.required('must have a schema if x-kubernetes-list-type is map')
    checkMapItems(keys, items)
  }
  if (items.object === undefined || !['set', 'map'].includes(listType.text)) return
  if (items.in('nullable').isTrue) {
    items
      .in('nullable')
      .forbidden(`cannot be nullable when x-kubernetes-list-type is ${listType.text}`)
  }
  if (listType.text === 'map') checkKeyProperties(keys, items)
}

function checkMapItems(keys: Place, items: Place): void {
  const type = items.in('type')
  if (!items.isSet) return
  if (items.object === undefined) {
    const detail = 'must only have a single schema if x-kubernetes-list-type is map'
    items.invalid(detail, internalValue('orarray', items.value))
    return
  }
  if (type.text !== 'object') {
    type.invalid("must be object if parent array's x-kubernetes-list-type is map", type.text)
    return
  }
  const properties = new Map(items.in('properties').entries)
  const seen = new Set<string>()
  for (const key of keys.texts) {
    const property = properties.get(key)
    if (property === undefined) keys.invalid('entries must all be names of item properties')
    else if (['array', 'object'].includes(property.in('type').text)) {
      property
        .in('type')
        .invalid("must be a scalar type if parent array's x-kubernetes-list-type is map", type.text)
    }
    if (seen.has(key)) keys.invalid('must not contain duplicate entries')
    seen.add(key)
  }
}

function checkKeyProperties(keys: Place, items: Place): void {
  const properties = new Map(items.in('properties').entries)
  const required = items.in('required').texts
  for (const key of keys.texts) {
    const property = properties.get(key)
    if (property === undefined) continue
    if (!required.includes(key) && !property.in('default').isSet) {
      property
        .in('default')
        .required(
          'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
        )
    }
    if (property.in('nullable').isTrue) {
      property
        .in('nullable')
        .forbidden('this property is in x-kubernetes-list-map-keys, so it cannot be nullable')
    }
  }
}

const reasons = [
  'FieldValueDuplicate',
  'FieldValueForbidden',
  'FieldValueInvalid',
  'FieldValueRequired',
]

/** The texts of a rule in CEL. */
function checkRule(rule: Place, schema: Place, scope: RuleScope | undefined): void {
  const [expression, message, messageExpression, reason, path] = [
    rule.in('rule'),
    rule.in('message'),
    rule.in('messageExpression'),
    rule.in('reason'),
    rule.in('fieldPath'),
  ]
  const isBlank = (place: Place): boolean => place.text !== '' && place.text.trim() === ''
  const hasBreak = (text: string): boolean => /[\r\n]/.test(text)
  if (expression.text.trim() === '') expression.required('rule is not specified')
  else if (isBlank(message)) message.invalid('must be non-empty if specified')
  else if (hasBreak(message.text.trim())) message.invalid('must not contain line breaks')
  else if (hasBreak(expression.text.trim()) && message.text.trim() === '') {
    message.required('message must be specified if rule contains line breaks')
  }
  if (isBlank(messageExpression)) {
    messageExpression.required('messageExpression must be non-empty if specified')
  }
  if (reason.isSet) reason.oneOf(reasons, 'unsupported')
  if (isBlank(path)) path.invalid('must be non-empty if specified')
  if (hasBreak(path.text)) path.invalid('must not contain line breaks')
  const isThere =
    scope === undefined
      ? schemaAt(schema, path.text) !== undefined
      : fieldPath(path.text, scope.schema) !== undefined
  if (path.text !== '' && !isThere) path.invalid('must be a valid path')
}

/** The schema at a path as `.spec.size`. */
export function schemaAt(schema: Place, path: string): Place | undefined {
  if (!path.startsWith('.')) return undefined
  let found: Place | undefined = schema
  for (const name of path.slice(1).split('.')) {
    if (found === undefined) return undefined
    const properties: ReadonlyMap<string, Place> = new Map(found.in('properties').entries)
    const additional: Place = found.in('additionalProperties')
    found = properties.get(name) ?? (additional.object === undefined ? undefined : additional)
  }
  return found
}
