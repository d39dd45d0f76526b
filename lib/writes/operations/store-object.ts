/** Creating and updating: the steps of kube-apiserver's generic registry, in its order, ended by
 *  one transaction that compares the revision. When the object has changed meanwhile, the update
 *  begins again with the new object. */

import type { KeyValue } from '@watchglass/store'
import { goParseUint, type JsonObject, parseTree } from '@watchglass/go'
import { type CacheError, equalBytes, NotExact } from '@watchglass/base'
import { jsonFromProtobuf } from '@watchglass/codec'
import { forbidden, objectNotFound, plainError } from '@watchglass/kube'
import { completeTree } from '../decode/complete-tree.ts'
import { copyWritten } from '../decode/written-empties.ts'
import { invalid, invalidObject } from '../field-errors.ts'
import {
  finalizersOf,
  generationOf,
  metadataOf,
  metaText,
  numberOf,
  setGeneration,
  setMeta,
} from '../metadata.ts'
import { alreadyExists, conflict, modifiedReason } from '../refusals.ts'
import { type Strategy, strategyOf } from './strategy.ts'
import type { Admitted } from './admission.ts'
import { checkNamespace } from './checks.ts'
import { removeStored } from './remove.ts'
import { validateCreate, validateUpdate } from './validation.ts'
import { withoutNewTimestamps } from '../ownership/managed-fields.ts'
import { internalForm } from './internal-form.ts'
import { keyInErrors, type Written, type WriteSession } from './session.ts'

/** Generated names that are taken are made anew so often. */
const generatedNamesMax = 8

/** Stores a new object, which has been decoded and admitted. */
export async function createObject(
  session: WriteSession,
  object: JsonObject,
  admission: Admitted,
): Promise<Written> {
  const { isDryRun } = admission
  const isGenerated = metaText(object, 'name') === '' && metaText(object, 'generateName') !== ''
  const form = internalForm(session, admission)
  for (let attempt = 1; ; attempt++) {
    const copy = copyObject(form.of(object))
    const prepared = await prepareNew(form.session, copy, form.admission)
    const { key } = prepared
    const current = isDryRun ? await session.store.get(key, session.signal) : undefined
    if (current === undefined) {
      if (isDryRun) {
        // What a client says is shown again, since nothing has been stored.
        const said = Number(metaText(copy, 'resourceVersion'))
        const revision = Number.isSafeInteger(said) ? said : 0
        const entry = await session.written(key, prepared.value, revision)
        return { type: 'object', code: 201, entry }
      }
      // A text that is no number counts as none, as in kube-apiserver.
      if ((goParseUint(metaText(copy, 'resourceVersion')).value ?? 0n) !== 0n) {
        throw plainError('resourceVersion should not be set on objects to be created')
      }
      const change = { key, expected: 0, value: prepared.value, ttlSeconds: ttlOf(session) }
      const commit = await session.store.commit(change, session.signal)
      if (commit.type === 'done') {
        const entry = await session.written(key, prepared.value, commit.revision)
        return { type: 'object', code: 201, entry }
      }
      if (isGenerated && attempt < generatedNamesMax) continue
      throw takenName(session, copy, commit.current)
    }
    throw takenName(session, copy, current)
  }
}

/** A name beside a generateName counts as one that the server has made up. */
function takenName(
  session: WriteSession,
  object: JsonObject,
  current: KeyValue | undefined,
): CacheError {
  const isBeingDeleted =
    current !== undefined && metaText(session.treeOf(current), 'deletionTimestamp') !== ''
  const isGenerated = metaText(object, 'generateName') !== ''
  return alreadyExists(session.resource, metaText(object, 'name'), { isBeingDeleted, isGenerated })
}

function ttlOf({ kind }: WriteSession): number {
  return strategyOf(kind, '').ttlSeconds ?? 0
}

interface Prepared {
  readonly key: ReturnType<WriteSession['keyOf']>
  readonly name: string
  readonly value: Uint8Array
}

/** Fills in and checks what a new object needs, in place. */
async function prepareNew(
  session: WriteSession,
  object: JsonObject,
  { validate }: Admitted,
): Promise<Prepared> {
  await session.slice.giveWay()
  setMeta(object, 'creationTimestamp', session.now)
  setMeta(object, 'uid', session.services.uid())
  const strategy = strategyOf(session.kind, '')
  const prefix = metaText(object, 'generateName')
  if (metaText(object, 'name') === '' && prefix !== '') {
    const made = (): string => prefix.slice(0, 58) + session.services.nameSuffix()
    setMeta(object, 'name', strategy.namedByPrefix === true ? prefix : made())
  }
  checkNamespace(object, session)
  strategy.onCreate(object, session)
  const complete = completed(session, object)
  await session.slice.giveWay()
  refuseTaken(session, complete, undefined)
  await validateCreate(session, complete)
  await validate?.(complete, undefined)
  await session.slice.giveWay()
  const name = metaText(complete, 'name')
  return { key: session.keyOf(name), name, value: await session.stored(complete) }
}

function refuseTaken(
  session: WriteSession,
  object: JsonObject,
  live: JsonObject | undefined,
): void {
  const errors = strategyOf(session.kind, '').refuseTaken?.(object, live, session) ?? []
  if (errors.length === 0) return
  const { group, kind } = session.kind
  throw invalidObject({ group, kind }, metaText(object, 'name'), errors)
}

/** The object in the order of its type. */
function completed({ kind }: WriteSession, object: JsonObject): JsonObject {
  return kind.type === undefined ? object : completeTree(object, kind.type)
}

function copyObject(object: JsonObject): JsonObject {
  const copy = copyWritten(object)
  copy.set('metadata', new Map(metadataOf(object)))
  return copy
}

/** Makes the new object out of the present one. */
export type MakeUpdated = (live: JsonObject | undefined) => Promise<JsonObject>

export interface UpdateRequest {
  readonly make: MakeUpdated
  /** The uid that the object must have; empty for any. */
  readonly uid: string
  /** Create it if it is not there, whatever the resource says. */
  readonly mayCreate: boolean
  readonly admission: Admitted
}

/** Changes an object. */
export async function updateObject(
  session: WriteSession,
  request: UpdateRequest,
): Promise<Written> {
  const { store, signal, name } = session
  const strategy = strategyOf(session.kind, session.subresource)
  const key = session.keyOf(name)
  let entry = await store.get(key, signal)
  for (;;) {
    const mayCreate = request.mayCreate || strategy.createsOnUpdate === true
    if (entry === undefined && !mayCreate) throw objectNotFound(session.resource, name)
    const live = entry && liveTree(session, entry, strategy)
    checkUid(session, request, live)
    const made = await request.make(live)
    if (entry === undefined || live === undefined) {
      revisionOf(made)
      metadataOf(made).delete('resourceVersion')
      return createObject(session, made, permittedCreate(session, request.admission))
    }
    const form = internalForm(session, request.admission)
    const object = form.of(made)
    const change = await prepareChange(form.session, {
      object,
      live: form.live(entry, live),
      strategy,
      admission: form.admission,
    })
    if (change === 'delete') {
      const value = await form.session.stored(object)
      const shown = await session.written(key, value, entry.modRevision)
      if (!request.admission.isDryRun) await removeStored(session, entry)
      return { type: 'object', code: 200, entry: shown }
    }
    if (equalBytes(entry.value, 0, entry.valueLength, change)) {
      return { type: 'object', code: 200, entry }
    }
    if (request.admission.isDryRun) {
      const shown = await session.written(key, change, entry.modRevision)
      return { type: 'object', code: 200, entry: shown }
    }
    const commit = await store.commit(
      { key, expected: entry.modRevision, value: change, ttlSeconds: ttlOf(session) },
      signal,
    )
    if (commit.type === 'done') {
      const shown = await session.written(key, change, commit.revision)
      return { type: 'object', code: 200, entry: shown }
    }
    entry = commit.current
  }
}

/** The admission of an update that creates: whoever may update may not create by that alone. It is
 *  asked for where a kube-apiserver does, of an object that is valid. */
function permittedCreate(session: WriteSession, admission: Admitted): Admitted {
  const { services, user, kind, subresource, namespace, name } = session
  const { group, version, resource } = kind
  const asked = { verb: 'create', group, version, resource, subresource, namespace, name }
  return {
    ...admission,
    validate: async (object, old) => {
      const decision = services.access?.authorize(user, { ...asked, fields: [], labels: [] })
      if (decision?.isAllowed === false) {
        throw forbidden({ ...asked, user: user.user, reason: decision.reason })
      }
      await admission.validate?.(object, old)
    },
  }
}

/** The object as it is stored: reads may leave out something. */
function liveTree(session: WriteSession, entry: KeyValue, strategy: Strategy): JsonObject {
  const live = session.treeOf(entry)
  strategy.restore?.(live, () => {
    const json = jsonFromProtobuf(entry.bytes, entry.start, entry.end, session.kind.schema)
    return json instanceof NotExact ? undefined : parseTree(json, 0, json.length)
  })
  return live
}

function checkUid(
  session: WriteSession,
  { uid, admission }: UpdateRequest,
  live: JsonObject | undefined,
): void {
  const known = live === undefined ? '' : metaText(live, 'uid')
  if (uid === '' || uid === known) return
  const key = keyInErrors(session, admission.isDryRun)
  const reason = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${known}`
  throw conflict(
    session.resource,
    session.name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${reason}`,
  )
}

interface Change {
  readonly object: JsonObject
  readonly live: JsonObject
  readonly strategy: Strategy
  readonly admission: Admitted
}

/** The bytes of the changed object, or `delete` if nothing holds it any more. Changes `object`. */
async function prepareChange(
  session: WriteSession,
  { object, live, strategy, admission }: Change,
): Promise<Uint8Array | 'delete'> {
  await session.slice.giveWay()
  checkVersion(session, { object, live, strategy })
  checkNamespace(object, session)
  setGeneration(object, generationOf(live))
  strategy.onUpdate(object, live, session)
  keepSystemFields(object, live)
  const complete = completed(session, object)
  await session.slice.giveWay()
  if (session.subresource === '') refuseTaken(session, complete, live)
  await validateUpdate(session, complete, live)
  await admission.validate?.(complete, live)
  await session.slice.giveWay()
  const final = withoutNewTimestamps(live, complete)
  await session.slice.giveWay()
  if (isToBeDeleted(session, final, live)) {
    // It may be the same map.
    const members = [...final]
    object.clear()
    for (const [name, value] of members) object.set(name, value)
    return 'delete'
  }
  return session.stored(final)
}

/** The object has the present resourceVersion, or none where that is allowed. */
function checkVersion(
  { resource, name }: WriteSession,
  { object, live, strategy }: Omit<Change, 'admission'>,
): void {
  const revision = revisionOf(object)
  const current = metaText(live, 'resourceVersion')
  if (revision === 0n) {
    if (strategy.needsVersion !== true) {
      setMeta(object, 'resourceVersion', current)
      return
    }
    const { group, resource: kind } = resource
    throw invalidObject({ group, kind }, name, [
      invalid('metadata.resourceVersion', 0, 'must be specified for an update'),
    ])
  }
  if (String(revision) !== current) throw conflict(resource, name, modifiedReason)
}

/** The resourceVersion that is wanted; 0 if there is none. */
function revisionOf(object: JsonObject): bigint {
  const text = metaText(object, 'resourceVersion')
  if (text === '') return 0n
  const { value, error } = goParseUint(text)
  if (error !== undefined) throw plainError(error)
  return value
}

/** Restores the fields that no update changes. */
function keepSystemFields(object: JsonObject, live: JsonObject): void {
  const metadata = metadataOf(object)
  const known = metadataOf(live)
  if (metaText(object, 'uid') === '') setMeta(object, 'uid', known.get('uid'))
  if (metaText(live, 'creationTimestamp') !== '') {
    setMeta(object, 'creationTimestamp', known.get('creationTimestamp'))
  }
  if (metaText(live, 'deletionTimestamp') !== '') {
    setMeta(object, 'deletionTimestamp', known.get('deletionTimestamp'))
  }
  const grace = known.get('deletionGracePeriodSeconds')
  if (grace !== undefined && (metadata.get('deletionGracePeriodSeconds') ?? null) === null) {
    setMeta(object, 'deletionGracePeriodSeconds', grace)
  }
}

/** An object that is being deleted goes when its last finalizer does. */
function isToBeDeleted({ kind }: WriteSession, object: JsonObject, live: JsonObject): boolean {
  if (finalizersOf(object).length > 0 || metaText(live, 'deletionTimestamp') === '') return false
  const grace = numberOf(metadataOf(live).get('deletionGracePeriodSeconds')) ?? 0
  if (grace !== 0) return false
  if (kind.group !== '' || kind.resource !== 'namespaces') return true
  const spec = object.get('spec')
  const finalizers = spec instanceof Map ? spec.get('finalizers') : undefined
  return !Array.isArray(finalizers) || finalizers.length === 0
}
