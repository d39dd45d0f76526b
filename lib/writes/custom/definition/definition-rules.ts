/** Validates CustomResourceDefinitions, in the shape in which they are stored, where what all
 *  versions share stands at the top: upstream validates that shape, and its errors name the
 *  fields of it. */

import { appendAll } from '../../lists.ts'
import { type JsonObject, textFromTree } from '@watchglass/go'
import { NamedText } from '../../field-errors.ts'
import { downgradeDefinition } from './downgrade-definition.ts'
import { dns1035Label, dnsSubdomain } from '../../validation/formats.ts'
import { internalValue } from '../../validation/internal-types.ts'
import {
  checkImmutable,
  checkObjectMeta,
  checkObjectMetaUpdate,
} from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { rootScope } from '../cel/definition-checks.ts'
import { checkConversion } from './conversion-rules.ts'
import { checkDefaults } from './default-rules.ts'
import { isEstablished } from './established.ts'
import { checkColumn, checkScale, checkSelectableFields } from './path-rules.ts'
import { checkSchema, rootContext } from './schema-rules.ts'
import { structuralErrors, unsupportedKeyword } from './structural-rules.ts'

/** The rules of a new definition. */
export function checkNewDefinition(place: Place): void {
  const object = downgraded(place)
  const [spec, metadata] = [object.in('spec'), object.in('metadata')]
  const expected = `${spec.in('names', 'plural').text}.${spec.in('group').text}`
  checkObjectMeta(metadata, {
    isNamespaced: false,
    name: text => [
      ...dnsSubdomain(text),
      ...(text === expected ? [] : ['must be spec.names.plural+"."+spec.group']),
    ],
  })
  checkDefinition(object)
}

/** The rules of a changed definition. */
export function checkChangedDefinition(place: Place, before: Place): void {
  const [object, old] = [downgraded(place), downgraded(before)]
  checkOwnMetaUpdate(object, old)
  checkDefinition(object, old)
}

/** The rules of a definition whose status changes. */
export function checkDefinitionStatus(place: Place, before: Place): void {
  checkOwnMetaUpdate(place, before)
  checkNames(place.in('status', 'acceptedNames'))
}

function downgraded(place: Place): Place {
  return place.as('', downgradeDefinition(new Map(place.object)))
}

function checkOwnMetaUpdate(object: Place, old: Place): void {
  checkObjectMetaUpdate(object.in('metadata'), old.in('metadata'))
}

function checkDefinition(object: Place, old?: Place): void {
  const [spec, status] = [object.in('spec'), object.in('status')]
  checkSpec(spec, old)
  if (old !== undefined) checkSpecUpdate(spec, old)
  checkNames(status.in('acceptedNames'))
  checkStoredVersions(status.in('storedVersions'), spec.in('versions'))
  checkApproval(object, old)
  const preserves = spec.in('preserveUnknownFields')
  if (preserves.isTrue && old?.in('spec', 'preserveUnknownFields').isTrue !== true) {
    preserves.invalid(
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    )
  }
}

function checkSpec(spec: Place, old: Place | undefined): void {
  const group = spec.in('group')
  const groupErrors = dnsSubdomain(group.text)
  if (group.text === '') group.required()
  else if (groupErrors.length > 0) group.invalid(groupErrors.join(','))
  else if (!group.text.includes('.')) group.invalid('should be a domain with at least one dot')
  spec.in('scope').textOneOf(['Cluster', 'Namespaced'], 'required')
  const versions = spec.in('versions')
  const common = spec.in('validation', 'openAPIV3Schema')
  if (!common.isSet) {
    for (const version of versions.items) {
      const schema = version.in('schema', 'openAPIV3Schema')
      if (!schema.isSet) schema.required()
    }
  }
  const isPerVersion = versions.items.some(version => version.in('subresources').isSet)
  for (const version of versions.items) {
    checkVersion(version, (isPerVersion ? version : spec).in('subresources'))
  }
  checkVersions(spec)
  const names = spec.in('names')
  for (const name of ['plural', 'singular', 'kind', 'listKind']) {
    if (names.in(name).text === '') names.in(name).required()
  }
  checkNames(names)
  const hasStatus = [spec, ...versions.items].some(at => at.in('subresources', 'status').isSet)
  checkValidation(spec.in('validation'), hasStatus)
  checkScale(spec.in('subresources', 'scale'))
  for (const column of spec.in('additionalPrinterColumns').items) checkColumn(column)
  checkSelectableFields(spec.in('selectableFields'), common)
  checkConversion(spec, old)
}

function checkVersion(version: Place, subresources: Place): void {
  const name = version.in('name')
  const errors = dns1035Label(name.text)
  if (errors.length > 0) name.invalid(errors.join(','), name.text)
  checkDeprecation(version)
  checkValidation(version.in('schema'), subresources.in('status').isSet)
  checkScale(version.in('subresources', 'scale'))
  for (const column of version.in('additionalPrinterColumns').items) checkColumn(column)
  checkSelectableFields(version.in('selectableFields'), version.in('schema', 'openAPIV3Schema'))
}

function checkDeprecation(version: Place): void {
  const warning = version.in('deprecationWarning')
  if (!warning.isSet) return
  const shown = new NamedText(warning.text)
  if (!version.in('deprecated').isTrue) {
    warning.invalid('can only be set for deprecated versions', shown)
    return
  }
  if (Buffer.byteLength(warning.text) > 256) {
    warning.invalid('must be <= 256 characters long', shown)
  }
  if (warning.text === '') warning.invalid('must not be an empty string', shown)
  const at = warning.text.search(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u)
  if (at >= 0) {
    const bytes = Buffer.byteLength(warning.text.slice(0, at))
    warning.invalid(
      `must only contain printable UTF-8 characters; non-printable character found at index ${bytes}`,
      shown,
    )
  }
}

function checkVersions(spec: Place): void {
  const versions = spec.in('versions')
  const names = versions.items.map(version => version.in('name').text)
  const shown = internalValue('[]CustomResourceDefinitionVersion', versions.value)
  if (new Set(names).size < names.length) {
    versions.invalid('must contain unique version names', shown)
  }
  const stored = versions.items.filter(version => version.in('storage').isTrue)
  if (stored.length !== 1) {
    versions.invalid('must have exactly one version marked as storage version', shown)
  }
  const version = spec.in('version')
  const errors = dns1035Label(version.text)
  if (version.text !== '' && errors.length > 0) version.invalid(errors.join(','))
}

const mixedCase = 'may have mixed case, but should otherwise match: '

function checkNames(names: Place): void {
  for (const name of ['plural', 'singular', 'kind', 'listKind']) {
    const place = names.in(name)
    const isKind = name === 'kind' || name === 'listKind'
    const errors = dns1035Label(isKind ? place.text.toLowerCase() : place.text)
    if (place.text === '' || errors.length === 0) continue
    place.invalid((isKind ? mixedCase : '') + errors.join(','))
  }
  const checkEach = (list: Place): void => {
    for (const item of list.items) {
      const errors = dns1035Label(item.text)
      if (errors.length > 0) item.invalid(errors.join(','))
    }
  }
  checkEach(names.in('shortNames'))
  const listKind = names.in('listKind')
  if (listKind.text !== '' && names.in('kind').text === listKind.text) {
    listKind.invalid('kind and listKind may not be the same')
  }
  checkEach(names.in('categories'))
}

/** Keywords that the root of a schema may have beside a status. */
const allowedAtRoot =
  'Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations'

function checkValidation(validation: Place, hasStatus: boolean): void {
  const schema = validation.in('openAPIV3Schema')
  if (schema.object === undefined) return
  if (hasStatus) checkRootOfStatus(schema)
  if (schema.in('nullable').isTrue) {
    schema.in('nullable').forbidden('nullable cannot be true at the root')
  }
  const before = schema.errors.length
  const problem = unsupportedKeyword(schema)
  if (problem === undefined) {
    const errors = structuralErrors(schema)
    appendAll(schema.errors, errors)
    if (errors.length === 0) checkDefaults(schema)
  }
  const isCompiled = schema.errors.length === before && problem === undefined
  const rules = isCompiled ? rootScope(rawOf(schema)) : undefined
  checkSchema(schema, { ...rootContext, rules })
  if (rules !== undefined) {
    rules.totals.finish(schema)
    appendAll(schema.errors, rules.totals.errors)
  }
  if (schema.errors.length === before && problem !== undefined) schema.invalid(problem, '')
}

/** The schema as JSON.parse gives it. */
function rawOf(schema: Place): unknown {
  return JSON.parse(textFromTree(schema.value ?? null))
}

function checkRootOfStatus(schema: Place): void {
  const allowed = new Set(allowedAtRoot.split(' '))
  for (const [name, value] of internalValue('JSONSchemaProps', schema.value) as JsonObject) {
    if (value === null || value === '' || value === false) continue
    if (name === 'Type') {
      if (value === 'object') continue
      schema
        .in('type')
        .invalid(
          'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
        )
      return
    }
    if (allowed.has(name)) continue
    schema.invalid(
      `only [${allowedAtRoot}] fields are allowed at the root of the schema if the status subresource is enabled`,
      internalValue('JSONSchemaProps', schema.value),
    )
    return
  }
}

function checkSpecUpdate(spec: Place, old: Place): void {
  const before = old.in('spec')
  if (isEstablished(old)) {
    checkImmutable(spec.in('scope'), before.in('scope'))
    checkImmutable(spec.in('names', 'kind'), before.in('names', 'kind'))
  }
  checkImmutable(spec.in('group'), before.in('group'))
  checkImmutable(spec.in('names', 'plural'), before.in('names', 'plural'))
}

function checkStoredVersions(stored: Place, versions: Place): void {
  if (stored.size === 0) {
    stored.invalid('must have at least one stored version', stored.value ?? null)
    return
  }
  const names = new Set(versions.items.map(version => version.in('name').text))
  const storedNames = new Set(stored.texts)
  for (const version of versions.items) {
    const name = version.in('name').text
    if (version.in('storage').isTrue && !storedNames.has(name)) {
      stored.invalid(`must have the storage version ${name}`)
    }
  }
  for (const item of stored.items) {
    if (names.has(item.text)) continue
    item.invalid(
      `missing from spec.versions; ${item.text} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${item.text} and removes ${item.text} from status.storedVersions`,
    )
  }
}

const approvalName = 'api-approved.kubernetes.io'

/** Groups of the Kubernetes project need an approval. */
function checkApproval(object: Place, old: Place | undefined): void {
  const group = object.in('spec', 'group').text
  const isProtected =
    group === 'k8s.io' || group === 'kubernetes.io' || /\.(?:k8s|kubernetes)\.io$/.test(group)
  if (!isProtected || group === 'x-k8s.io') return
  const state = approvalOf(object)
  if (old !== undefined && approvalOf(old).type === state.type) return
  const place = object
    .in('metadata', 'annotations', approvalName)
    .as(`metadata.annotations[${approvalName}]`)
  if (state.type === 'missing') place.required(state.reason)
  else if (state.type === 'invalid') place.invalid(state.reason)
}

function approvalOf(object: Place): { readonly type: string; readonly reason: string } {
  const annotation = object.in('metadata', 'annotations', approvalName)
  const pointer = 'see https://github.com/kubernetes/enhancements/pull/1111'
  if (!annotation.isSet || annotation.text === '') {
    return {
      type: 'missing',
      reason: `protected groups must have approval annotation "${approvalName}", ${pointer}`,
    }
  }
  if (annotation.text.startsWith('unapproved')) return { type: 'bypassed', reason: '' }
  if (/^https?:\/\/[^/]+\/.+/.test(annotation.text)) return { type: 'approved', reason: '' }
  return {
    type: 'invalid',
    reason: `protected groups must have approval annotation "${approvalName}" with either a URL or a reason starting with "unapproved", ${pointer}`,
  }
}
