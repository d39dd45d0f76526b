/** The object of a request in the version that a hook or a policy is about: as it is shown to it,
 *  and what its changes make of the object. */

import { atOnce, NotExact } from '@watchglass/base'
import {
  copyTree,
  goQuote,
  type JsonObject,
  memberOf,
  parseTree,
  textFromTree,
} from '@watchglass/go'
import { groupVersionText, type Resource } from '@watchglass/kube'
import { customRulesOf } from '../custom/custom-rules.ts'
import { completeBuiltIn } from '../decode/body.ts'
import { completeTree } from '../decode/complete-tree.ts'
import { treeDocument } from '../decode/documents.ts'
import { DecodeError, decodeTyped } from '../decode/typed-decoder.ts'
import { isEqual, metadataOf, metaText, setMeta, textOf } from '../metadata.ts'
import { sortedMembers } from '../sorted-members.ts'
import { entryOf, treeOf } from '../operations/session.ts'
import { storedBytes } from '../stored-form.ts'
import { writeKindOf } from '../write-kinds.ts'
import type { WriteKind } from '../write-kind.ts'
import type { AdmissionAttributes } from './plugin.ts'
import { internalError } from '../refusals.ts'

/** The objects of a request in the version of a resource. */
export interface ReviewedObjects {
  readonly kind: WriteKind
  readonly requestKind: WriteKind
  readonly resource: Resource
  readonly object: JsonObject | undefined
  readonly old: JsonObject | undefined
}

/** The forms of the objects of requests that are validated. Nothing changes these any more, so all
 *  hooks and policies share them, however many there are. */
const kept = new WeakMap<AdmissionAttributes, Map<Resource, Promise<ReviewedObjects>>>()

/** The objects as a hook or a policy sees them that has named this resource, with their members in
 *  the order in which a server writes them. Nobody may change them. */
export function reviewedAs(
  attributes: AdmissionAttributes,
  resource: Resource,
): Promise<ReviewedObjects> {
  if (attributes.phase !== 'validate') return reviewedNow(attributes, resource)
  const forms = kept.get(attributes) ?? new Map<Resource, Promise<ReviewedObjects>>()
  kept.set(attributes, forms)
  const reviewed = forms.get(resource) ?? reviewedNow(attributes, resource)
  forms.set(resource, reviewed)
  return reviewed
}

async function reviewedNow(
  attributes: AdmissionAttributes,
  resource: Resource,
): Promise<ReviewedObjects> {
  const { session, object, old } = attributes
  const isSame = resource === session.resource
  const kind = isSame ? kindOf(attributes) : writeKindOf(resource, session.state.registry.schema)
  const shown = async (one: JsonObject | undefined): Promise<JsonObject | undefined> => {
    if (one === undefined) return undefined
    return isSame ? ordered(kind, one) : converted(attributes, one, resource)
  }
  return {
    kind,
    requestKind: kindOf(attributes),
    resource,
    object: await shown(object),
    old: await shown(old),
  }
}

/** The objects of the request as they are. */
export function reviewedPlainly(attributes: AdmissionAttributes): ReviewedObjects {
  const { session, object, old } = attributes
  const kind = kindOf(attributes)
  return { kind, requestKind: kind, resource: session.resource, object, old }
}

/** The kind of the object, which is another one than that of the resource for some subresources:
 *  a Scale, an Eviction, a Binding. */
function kindOf({ session, object, old }: AdmissionAttributes): WriteKind {
  const { kind } = session
  const shown = object ?? old
  const [apiVersion, name] = ['apiVersion', 'kind'].map(member => textOf(shown?.get(member)))
  const isOwn = apiVersion === kind.apiVersion && name === kind.kind
  if (session.subresource === '' || isOwn || apiVersion === undefined || name === undefined) {
    return kind
  }
  const found = kind.schema.findKind(apiVersion, name)
  if (found === undefined) return kind
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  return {
    ...kind,
    group,
    version,
    apiVersion,
    kind: name,
    type: found.type,
    definition: undefined,
  }
}

/** The members in the order in which a server writes them. */
function ordered({ type }: WriteKind, object: JsonObject): JsonObject {
  if (type !== undefined) {
    const complete = completeTree(copyTree(object) as JsonObject, type)
    if (!complete.has('metadata')) return complete
    // The server has added some at the end.
    for (const name of ['labels', 'annotations']) {
      const texts = metadataOf(complete).get(name)
      if (texts instanceof Map) setMeta(complete, name, new Map(sortedMembers(texts)))
    }
    return complete
  }
  const sorted = Buffer.from(textFromTree(object))
  return parseTree(sorted, 0, sorted.length) as JsonObject
}

/** The object in another version of its resource: by its webhook, or through the bytes that are
 *  stored of it. */
async function converted(
  attributes: AdmissionAttributes,
  object: JsonObject,
  to: Resource,
): Promise<JsonObject> {
  const { session } = attributes
  if (session.conversions !== undefined) return inVersion(session, object, to)
  const encoder = session.state.encoderOf(to)
  if (encoder instanceof NotExact) throw internalError(encoder.reason)
  const value = storedBytes(session.resource, session.kind, object)
  const made = treeOf(encoder, to, entryOf(session.keyOf('-'), value, 1))
  setMeta(made, 'resourceVersion', memberOf(object.get('metadata'), 'resourceVersion'))
  return made
}

async function inVersion(
  { conversions, resource }: AdmissionAttributes['session'],
  object: JsonObject,
  { group, version }: Resource,
): Promise<JsonObject> {
  const to = groupVersionText(group, version)
  const [made = object] = (await conversions?.trees(resource, [object], to)) ?? []
  return made
}

/** Puts a changed object, which is of the kind that was shown, in the place of the one of the
 *  request: with defaults. Returns true if it is another one. With `isStrict` it is refused where
 *  it has members that its kind does not know. */
export async function takeChanged(
  attributes: AdmissionAttributes,
  { resource, kind }: Pick<ReviewedObjects, 'resource' | 'kind'>,
  changed: JsonObject,
  isStrict = false,
): Promise<boolean> {
  const { object, session } = attributes
  if (object === undefined) return false
  const decodedObject = decoded(kind, changed, isStrict)
  const isSame = resource === session.resource
  const made = isSame ? decodedObject : await back(attributes, decodedObject, resource)
  const version = metadataOf(object).get('resourceVersion')
  const isChanged = !isEqual(made, object)
  object.clear()
  for (const [name, value] of made) object.set(name, value)
  if (version !== undefined && metaText(object, 'resourceVersion') === '') {
    setMeta(object, 'resourceVersion', version)
  }
  return isChanged
}

/** An object that was changed in another version, in the version of the request again. */
async function back(
  attributes: AdmissionAttributes,
  object: JsonObject,
  from: Resource,
): Promise<JsonObject> {
  const { session } = attributes
  if (session.conversions !== undefined) return inVersion(session, object, session.resource)
  const { schema } = session.state.registry
  const value = storedBytes(from, writeKindOf(from, schema), object)
  const made = session.treeOf(entryOf(session.keyOf('-'), value, 1))
  setMeta(made, 'resourceVersion', metadataOf(object).get('resourceVersion'))
  return made
}

/** The type that a changed object names, which may be another one than before. */
function namedType(kind: WriteKind, value: JsonObject): WriteKind['type'] {
  const apiVersion = textOf(value.get('apiVersion')) || kind.apiVersion
  const name = textOf(value.get('kind')) || kind.kind
  const found = kind.schema.findKind(apiVersion, name)
  if (found !== undefined) return found.type
  throw internalError(
    `no kind ${goQuote(name)} is registered for version ${goQuote(apiVersion)} in scheme "pkg/api/legacyscheme/scheme.go:30"`,
  )
}

function decoded(kind: WriteKind, value: JsonObject, isStrict: boolean): JsonObject {
  const { type } = kind
  try {
    if (type !== undefined) {
      const named = namedType(kind, value) ?? type
      const { object, strictErrors } = decodeTyped(treeDocument(value), named)
      if (isStrict && strictErrors.length > 0) {
        throw internalError(`strict decoding error: ${strictErrors.join(', ')}`)
      }
      return completeBuiltIn(object, { ...kind, type })
    }
  } catch (error) {
    if (error instanceof DecodeError) throw internalError(error.message)
    throw error
  }
  const copy = copyTree(value) as JsonObject
  const rules = customRulesOf(kind)
  atOnce(rules.prune(copy))
  atOnce(rules.applyDefaults(copy))
  return copy
}
