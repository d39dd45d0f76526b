/** Writes of the subresource `scale`: a Scale is made of the object, changed like any object,
 *  and its number goes back. */

import { NotExact } from '@watchglass/base'
import { scaleJson, scaleOf as scaleOfObject } from '@watchglass/codec'
import {
  copyTree,
  JsonNumber,
  type JsonObject,
  memberAt,
  memberOf,
  parseTree,
} from '@watchglass/go'
import { badRequest, groupVersionText, notExactly, StatusError } from '@watchglass/kube'
import { bodyFormOf, decodeBuiltIn } from '../decode/body.ts'
import { typedText } from '../decode/complete-tree.ts'
import { invalidObject } from '../field-errors.ts'
import { metadataOf, metaText, number, numberOf, setMeta } from '../metadata.ts'
import {
  parentManagedFields,
  type ReplicasPaths,
  scaleManagedFields,
} from '../ownership/scale-managers.ts'
import { conflict } from '../refusals.ts'
import { dnsSubdomain } from '../validation/formats.ts'
import { checkObjectMeta } from '../validation/object-meta.ts'
import { Place } from '../validation/place.ts'
import { parseWriteOptions, type WriteOptions } from '../write-options.ts'
import { admissionOf, type AdmittedWrite } from './admission.ts'
import { subresourceKind } from './binding.ts'
import { checkName, checkNamespace } from './checks.ts'
import { owned } from './ownership.ts'
import { patchMaker } from './patch.ts'
import type { Written, WriteSession } from './session.ts'
import { updateObject } from './store-object.ts'
import type { WriteBody } from './write.ts'

/** Makes the new Scale of the present one. */
type MakeScale = (scale: JsonObject) => Promise<JsonObject>

/** The answer to a Scale of a custom resource that cannot be decoded, whatever is wrong with it. */
const unknownScale =
  'no kind is registered for the type v1.Scale in scheme "k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781"'

/** PUT of a Scale. */
export async function updateScale(session: WriteSession, sent: WriteBody): Promise<Written> {
  const scaling = session.as(subresourceKind(session, 'autoscaling/v1', 'Scale'))
  const kind = subresourceKind(session, 'autoscaling/v1', 'Scale')
  const options = parseWriteOptions(sent.query, 'UpdateOptions')
  const form = bodyFormOf(sent.contentType, kind)
  const { fieldValidation } = options
  const request = { body: sent.body, form, fieldValidation }
  const decoded = await decodeBuiltIn(kind, request, session.slice).catch((error: unknown) => {
    const isUnknown = error instanceof StatusError && session.kind.definition !== undefined
    throw isUnknown ? badRequest(unknownScale) : error
  })
  session.warn(decoded.warnings)
  checkNamespace(decoded.object, session)
  checkName(decoded.object, session)
  const make: MakeScale = async live =>
    owned(scaling, { live, object: copyTree(decoded.object) as JsonObject, options })
  return store(session, make, { options, uid: metaText(decoded.object, 'uid') })
}

/** PATCH of a Scale. */
export async function patchScale(session: WriteSession, sent: WriteBody): Promise<Written> {
  const scaling = session.as(subresourceKind(session, 'autoscaling/v1', 'Scale'))
  const { make, options } = patchMaker(scaling, sent)
  const changed: MakeScale = async live => {
    const scale = await make(live)
    checkNamespace(scale, session)
    checkName(scale, session)
    return scale
  }
  try {
    return await store(session, changed, { options, uid: '' })
  } finally {
    session.warn(scaling.warnings)
  }
}

async function store(
  session: WriteSession,
  make: MakeScale,
  { options, uid }: { readonly options: WriteOptions; readonly uid: string },
): Promise<Written> {
  const admission = admissionOf(session, options)
  const parent = session.to(session.resource, session.name)
  const written = await updateObject(parent, {
    uid,
    mayCreate: false,
    admission: { isDryRun: options.isDryRun },
    make: async live => scaled(session, live ?? new Map(), { make, admission }),
  })
  session.warn(parent.warnings)
  return written.type === 'object' ? { ...written, type: 'scale' } : written
}

/** The marker of a Scale whose object has no number of replicas. */
const noReplicas = -2_147_483_648

interface Scaling {
  readonly make: MakeScale
  readonly admission: AdmittedWrite
}

async function scaled(
  session: WriteSession,
  live: JsonObject,
  { make, admission }: Scaling,
): Promise<JsonObject> {
  const { resource, kind, name } = session
  const path = pathIn(resource.subresources.find(known => known.name === 'scale')?.scale)
  const paths = pathsOf(session)
  const object = copyTree(live) as JsonObject
  if (valueAt(object, path) === undefined) setAt(object, path, noReplicas)
  const before = scaleOf(session, object)
  const { managedFields } = Object.fromEntries(metadataOf(live))
  setMeta(before, 'managedFields', scaleManagedFields(managedFields, paths))
  const scale = await make(before)
  await admission.mutate(scale, before)
  // The number is checked as that of the custom resource.
  if (kind.definition === undefined) checkScale(scale)
  await admission.validate(withoutManagers(scale), withoutManagers(before))
  const uid = metaText(scale, 'uid')
  if (uid !== '' && uid !== metaText(live, 'uid')) {
    const reason = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metaText(live, 'uid')}`
    throw conflict({ group: kind.group, resource: `${kind.resource}/scale` }, name, reason)
  }
  const replicas = numberOf(memberOf(scale.get('spec'), 'replicas')) ?? 0
  if (replicas === noReplicas) {
    throw badRequest(`the spec replicas field ".${path.join('.')}" cannot be empty`)
  }
  setAt(object, path, replicas)
  const version = metaText(scale, 'resourceVersion')
  if (version !== '' || kind.definition === undefined) {
    setMeta(object, 'resourceVersion', version === '' ? undefined : version)
  }
  const after = metadataOf(scale).get('managedFields')
  const { apiVersion } = kind
  setMeta(object, 'managedFields', parentManagedFields(managedFields, after, { paths, apiVersion }))
  return object
}

/** A Scale as whoever admits it sees it. */
function withoutManagers(scale: JsonObject): JsonObject {
  const metadata = new Map(metadataOf(scale))
  metadata.delete('managedFields')
  return new Map(scale).set('metadata', metadata)
}

function scaleOf({ resource }: WriteSession, object: JsonObject): JsonObject {
  const { scale } = resource.subresources.find(({ name }) => name === 'scale') ?? {}
  const made = scaleOfObject(Buffer.from(typedText(object)), scale)
  if (made instanceof NotExact) throw notExactly(resource, made)
  const bytes = Buffer.from(scaleJson(made))
  return parseTree(bytes, 0, bytes.length) as JsonObject
}

function checkScale(scale: JsonObject): void {
  const place = new Place(scale, '', [])
  checkObjectMeta(place.in('metadata'), { isNamespaced: true, name: dnsSubdomain })
  const replicas = place.in('spec').in('replicas')
  if (replicas.number < 0 && replicas.number !== noReplicas) {
    replicas.invalid('must be greater than or equal to 0')
  }
  if (place.errors.length > 0) {
    throw invalidObject(
      { group: 'autoscaling', kind: 'Scale' },
      metaText(scale, 'name'),
      place.errors,
    )
  }
}

function pathIn(scale: { readonly specReplicas: string } | undefined): readonly string[] {
  return (scale?.specReplicas ?? '.spec.replicas').split('.').slice(1)
}

/** The path of each version's number of replicas. */
function pathsOf({ state, resource }: WriteSession): ReplicasPaths {
  const paths = new Map<string, readonly string[] | undefined>()
  for (const other of state.registry.resources) {
    if (other.group !== resource.group || other.resource !== resource.resource) continue
    const scale = other.subresources.find(({ name }) => name === 'scale')
    const apiVersion = groupVersionText(other.group, other.version)
    paths.set(apiVersion, scale === undefined ? undefined : pathIn(scale.scale))
  }
  return paths
}

function valueAt(object: JsonObject, path: readonly string[]): JsonNumber | undefined {
  const value = memberAt(object, path)
  return value instanceof JsonNumber ? value : undefined
}

function setAt(object: JsonObject, path: readonly string[], replicas: number): void {
  let inner = object
  for (const name of path.slice(0, -1)) {
    const known = inner.get(name)
    const next: JsonObject = known instanceof Map ? known : new Map()
    inner.set(name, next)
    inner = next
  }
  inner.set(path.at(-1) ?? '', number(replicas))
}
