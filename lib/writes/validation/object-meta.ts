/** Validation of metadata. */

import { goQuote, type JsonValue, textFromTree } from '@watchglass/go'
import {
  byteLength,
  dnsLabel,
  dnsSubdomain,
  type TextFormat,
  labelValue,
  maskTrailingDash,
  pathSegment,
  qualifiedName,
} from './formats.ts'
import { unprintableIn } from '../write-options.ts'
import type { Place } from './place.ts'
import { amountText, hasAmounts, isAmount } from '../amounts.ts'

/** The rules for an object's metadata. */
export interface MetadataRules {
  readonly isNamespaced: boolean
  /** The format of its name. */
  readonly name: TextFormat
  /** The prefix of a made-up name is not checked, but what came of it. */
  readonly hasFreePrefix?: boolean | undefined
}

/** All annotations of an object together, with their keys. */
const annotationsMaxBytes = 256 * 1024

/** Checks the metadata of an object that existed before, of any kind, before the rules of its
 *  kind: as that of a new object and as that of a changed one. */
export function checkCommonUpdate(metadata: Place, old: Place, isNamespaced: boolean): void {
  checkObjectMeta(metadata, { isNamespaced, name: pathSegment })
  checkObjectMetaUpdate(metadata, old)
}

/** Metadata of a new object, or of a template. */
export function checkObjectMeta(
  metadata: Place,
  { isNamespaced, name, hasFreePrefix }: MetadataRules,
): void {
  const generateName = metadata.in('generateName')
  if (generateName.text !== '' && hasFreePrefix !== true) {
    generateName.invalidFor(name(maskTrailingDash(generateName.text)))
  }
  const given = metadata.in('name')
  if (given.text === '') given.required('name or generateName is required')
  else given.invalidFor(name(given.text))
  const namespace = metadata.in('namespace')
  if (!isNamespaced) {
    if (namespace.text !== '') namespace.forbidden('not allowed on this type')
  } else if (namespace.text === '') {
    namespace.required()
  } else {
    namespace.invalidFor(dnsLabel(namespace.text))
  }
  metadata.in('generation').notNegative()
  checkLabels(metadata.in('labels'))
  checkAnnotations(metadata.in('annotations'))
  checkOwners(metadata.in('ownerReferences'))
  checkFinalizers(metadata.in('finalizers'))
  checkManagedFields(metadata.in('managedFields'))
}

/** Metadata of an object whose name is a DNS subdomain: most kinds check it as new on every
 *  update. */
export function checkNewMeta(object: Place, isNamespaced = true): void {
  checkFreeMeta(object, isNamespaced)
  checkFinalizerDomains(object.in('metadata'))
}

/** Metadata of an object whose name is a DNS subdomain, and whose finalizers need no domain. */
export function checkFreeMeta(object: Place, isNamespaced = true): void {
  checkObjectMeta(object.in('metadata'), { isNamespaced, name: dnsSubdomain })
}

const immutable = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const

/** Metadata of an object that existed before, of a kind whose finalizers have a domain. */
export function checkChangedMeta(object: Place, old: Place): void {
  checkObjectMetaUpdate(object.in('metadata'), old.in('metadata'))
  checkFinalizerDomains(object.in('metadata'))
}

/** The finalizers of most built-in kinds have a domain, or are the server's own. */
export function checkFinalizerDomains(metadata: Place): void {
  for (const finalizer of metadata.in('finalizers').items) checkFinalizerDomain(finalizer)
}

export function checkFinalizerDomain(finalizer: Place): void {
  const name = finalizer.text
  if (name.includes('/') || ['kubernetes', 'orphan', 'foregroundDeletion'].includes(name)) return
  finalizer.invalid('name is neither a standard finalizer name nor is it fully qualified', name)
}

/** Metadata of an object that existed before. */
export function checkObjectMetaUpdate(metadata: Place, old: Place): void {
  if (old.in('deletionTimestamp').isSet) checkNoNewFinalizers(metadata.in('finalizers'), old)
  const resourceVersion = metadata.in('resourceVersion')
  if (resourceVersion.text === '') resourceVersion.invalid('must be specified for an update', '')
  const generation = metadata.in('generation')
  if (generation.number < old.in('generation').number) generation.invalid('must not be decremented')
  for (const name of immutable) checkImmutable(metadata.in(name), old.in(name))
  checkLabels(metadata.in('labels'))
  checkAnnotations(metadata.in('annotations'))
  checkOwners(metadata.in('ownerReferences'))
  checkManagedFields(metadata.in('managedFields'))
}

/** Metadata that only objects have, in the order in which the server looks at it. */
const notOfTemplates: readonly string[] = [
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'ownerReferences',
  'finalizers',
  'managedFields',
]

/** Metadata of a template of claims: what is made of it gets labels and annotations. */
export function checkTemplateObjectMeta(metadata: Place): void {
  checkAnnotations(metadata.in('annotations'))
  checkLabels(metadata.in('labels'))
  for (const name of notOfTemplates) {
    const place = metadata.in(name)
    const isEmpty = place.value === '' || (name === 'generation' && place.number === 0)
    if (!place.isWritten || isEmpty) continue
    place.as(metadata.in(name === 'uid' ? 'uID' : name).path).forbidden('cannot be set')
  }
}

/** A field that must not change. */
export function checkImmutable(place: Place, old: Place, detail = 'field is immutable'): void {
  if (!isSame(place.value, old.value)) place.invalid(detail, place.written ?? emptyLike(old.value))
}

/** Equal as Go's semantic equality has it: what is absent is empty. */
export function isSame(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return textOfSame(a) === textOfSame(b)
}

/** A text that is equal for values that are semantically equal. */
export function textOfSame(value: JsonValue | undefined): string {
  return textFromTree(filled(value === '' ? null : value))
}

/** The value without empty lists, and with amounts in one form. An object or a text that is empty
 *  and still there in a complete object is one behind a pointer, and something. */
function filled(value: JsonValue | undefined): JsonValue {
  if (value === undefined || value === null) return null
  if (Array.isArray(value)) return value.length === 0 ? null : value.map(filled)
  if (!(value instanceof Map)) return value
  const members = [...value].map(([key, member]) => [key, filled(inOneForm(key, member))] as const)
  const kept = members.filter(([, member]) => member !== null)
  return new Map(kept)
}

/** The value under a key, where it has amounts of resources in one form. */
function inOneForm(key: string, value: JsonValue): JsonValue {
  if (isAmount(key)) return amountText(value)
  if (!hasAmounts(key) || !(value instanceof Map)) return value
  return new Map([...value].map(([name, amount]) => [name, amountText(amount)]))
}

function emptyLike(value: JsonValue | undefined): JsonValue {
  return typeof value === 'string' ? '' : null
}

function checkNoNewFinalizers(finalizers: Place, old: Place): void {
  const known = new Set(old.in('finalizers').texts)
  const added = [...new Set(finalizers.texts)].filter(name => !known.has(name)).sort()
  if (added.length > 0) {
    finalizers.forbidden(
      `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map(goQuote).join(', ')}}`,
    )
  }
}

/** Errors of labels name the whole map. */
export function checkLabels(labels: Place): void {
  for (const [key, value] of labels.entries) {
    labels.invalidFor(qualifiedName(key), key)
    labels.invalidFor(labelValue(value.text), value.text)
  }
}

export function checkAnnotations(annotations: Place): void {
  let size = 0
  for (const [key, value] of annotations.entries) {
    annotations.invalidFor(qualifiedName(key.toLowerCase()), key)
    size += byteLength(key) + byteLength(value.text)
  }
  if (size > annotationsMaxBytes) annotations.tooLong(annotationsMaxBytes)
}

function checkOwners(owners: Place): void {
  let controller = ''
  for (const { value } of owners.items) {
    const owner = owners.as(owners.path, value)
    checkOwner(owner)
    if (!owner.in('controller').isTrue) continue
    const name = `${owner.in('kind').text}/${owner.in('name').text}`
    if (controller === '') controller = name
    else {
      owners.invalid(
        `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`,
      )
    }
  }
}

function checkOwner(owner: Place): void {
  const apiVersion = owner.in('apiVersion')
  const parts = apiVersion.text.split('/')
  const version = parts.length > 2 ? '' : (parts.at(-1) ?? '')
  if (version === '') apiVersion.invalid('version must not be empty', apiVersion.text)
  for (const name of ['kind', 'name', 'uid']) {
    const member = owner.in(name)
    if (member.text === '') member.invalid('must not be empty', '')
  }
  if (/^\/?v1$/.test(apiVersion.text) && owner.in('kind').text === 'Event') {
    owner.invalid('/v1, Kind=Event is disallowed from being an owner')
  }
}

function checkFinalizers(finalizers: Place): void {
  const names = finalizers.texts
  for (const name of names) finalizers.invalidFor(qualifiedName(name), name)
  if (names.includes('orphan') && names.includes('foregroundDeletion')) {
    finalizers.invalid('finalizer orphan and foregroundDeletion cannot be both set')
  }
}

function checkManagedFields(managedFields: Place): void {
  for (const entry of managedFields.items) {
    const operation = entry.in('operation')
    if (!['Apply', 'Update'].includes(operation.text)) {
      operation.invalid('must be `Apply` or `Update`', operation.text)
    }
    const type = entry.in('fieldsType')
    if (type.text !== '' && type.text !== 'FieldsV1') type.invalid('must be `FieldsV1`')
    const manager = entry.in('manager')
    if (byteLength(manager.text) > 128) manager.tooLong(128)
    manager.invalidFor(unprintableIn(manager.text), manager.text)
    const subresource = entry.in('subresource')
    if (byteLength(subresource.text) > 256) subresource.tooLong(256)
  }
}
