/** The work of kube-apiserver's own controllers on CustomResourceDefinitions, done right after the
 *  write that calls for it: names are accepted, definitions established, and the objects of a
 *  deleted one deleted before it goes itself. Each step is an update of its own, as clients that
 *  watch definitions expect. */

import { CacheError, keyAfter, keyFromText, prefixRange } from '@watchglass/base'
import type { KeyValue } from '@watchglass/store'
import { type JsonObject, memberOf } from '@watchglass/go'
import { type CustomDefinition, objectNotFound, type Resource } from '@watchglass/kube'
import {
  areNamesSettled,
  type DefinitionCondition,
  hasCondition,
  type TakenNames,
  withCondition,
  withNames,
} from '../custom/definition/conditions.ts'
import { finalizersOf, metadataOf, metaText, setMeta } from '../metadata.ts'
import { conflict } from '../refusals.ts'
import type { DeleteOptions } from '../write-options.ts'
import type { ValidateDelete } from './admission.ts'
import { deleteObject } from './delete-object.ts'
import { owned } from './ownership.ts'
import { updateObject } from './store-object.ts'
import { entryOf, type Written, WriteSession } from './session.ts'

const finalizer = 'customresourcecleanup.apiextensions.k8s.io'

export function isDefinition({ kind }: WriteSession): boolean {
  return kind.group === 'apiextensions.k8s.io' && kind.resource === 'customresourcedefinitions'
}

/** DELETE of a definition: the first one marks it, and holds it until its objects are gone. */
export async function deleteDefinition(
  session: WriteSession,
  options: DeleteOptions,
  validate?: ValidateDelete,
): Promise<Written> {
  const key = session.keyOf(session.name)
  let entry = await session.store.get(key, session.signal)
  for (;;) {
    if (entry === undefined) throw objectNotFound(session.resource, session.name)
    const live = session.treeOf(entry)
    if (metaText(live, 'deletionTimestamp') !== '') {
      return deleteObject(session, options, validate)
    }
    checkPreconditions(session, options, live)
    await validate?.(live)
    const marked = session.bytesOf(asMarked(live, session.now))
    if (options.isDryRun) {
      return { type: 'object', code: 200, entry: entryOf(key, marked, entry.modRevision) }
    }
    const change = { key, expected: entry.modRevision, value: marked, ttlSeconds: 0 }
    const commit = await session.store.commit(change, session.signal)
    if (commit.type === 'done') {
      return { type: 'object', code: 200, entry: entryOf(key, marked, commit.revision) }
    }
    entry = commit.current
  }
}

function checkPreconditions(
  { resource, name }: WriteSession,
  { uid, resourceVersion }: DeleteOptions,
  live: JsonObject,
): void {
  const check = (what: string, wanted: string | undefined, is: string): void => {
    if (wanted === undefined || wanted === is) return
    const words = `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${is}`
    throw conflict(resource, name, words)
  }
  check('UID', uid, metaText(live, 'uid'))
  check('ResourceVersion', resourceVersion, metaText(live, 'resourceVersion'))
}

function asMarked(live: JsonObject, now: string): JsonObject {
  const object: JsonObject = new Map(live)
  object.set('metadata', new Map(metadataOf(live)))
  setMeta(object, 'deletionTimestamp', now)
  const finalizers = finalizersOf(live)
  if (!finalizers.includes(finalizer)) setMeta(object, 'finalizers', [...finalizers, finalizer])
  const pending: DefinitionCondition = {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionPending',
    message:
      'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  }
  object.set('status', withCondition(statusOf(object), pending, now))
  return object
}

function statusOf(definition: JsonObject): JsonObject {
  const status = definition.get('status')
  return status instanceof Map ? status : new Map()
}

/** After a write of a definition: whatever is to be done next, until there is nothing. */
export async function settleDefinition(session: WriteSession, name: string): Promise<void> {
  const server = serverSession(session, name)
  if (server === undefined) return
  await changeStatus(server, definition => {
    if (areNamesSettled(definition)) return undefined
    const taken = takenNames(session, definition)
    return { status: withNames(definition, taken, server.now) }
  })
  await changeStatus(server, definition => {
    const isReady = hasCondition(definition, 'NamesAccepted')
    if (!isReady || hasCondition(definition, 'Established')) return undefined
    const established: DefinitionCondition = {
      type: 'Established',
      status: 'True',
      reason: 'InitialNamesAccepted',
      message: 'the initial names have been accepted',
    }
    return { status: withCondition(statusOf(definition), established, server.now) }
  })
  await clearInstances(server)
}

/** After an object of a custom kind has gone: its definition may have waited for it. */
export async function settleOwner(session: WriteSession): Promise<void> {
  const { custom } = session.resource
  const name = custom?.definition
  if (custom?.isTerminating === true && name !== undefined) await settleDefinition(session, name)
}

/** The server's own writes of the status of a definition. */
function serverSession(session: WriteSession, name: string): WriteSession | undefined {
  const { registry } = session.state
  const resource = registry.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions')
  return resource && session.byServer(resource, '', name)
}

const noOptions = {
  isDryRun: false,
  fieldManager: '',
  fieldValidation: 'Ignore',
  force: undefined,
} as const

interface StatusChange {
  readonly status: JsonObject
  readonly finalizers?: readonly string[]
}

/** Changes the status of the definition as `change` says; undefined is no change. */
async function changeStatus(
  server: WriteSession,
  change: (definition: JsonObject) => StatusChange | undefined,
): Promise<void> {
  const entry = await server.store.get(server.keyOf(server.name), server.signal)
  if (entry === undefined || change(server.treeOf(entry)) === undefined) return
  await updateObject(server, {
    uid: '',
    mayCreate: false,
    admission: { isDryRun: false },
    make: async live => {
      const known = live ?? new Map()
      const made = change(known)
      const object: JsonObject = new Map(known)
      object.set('metadata', new Map(metadataOf(known)))
      if (made === undefined) return object
      object.set('status', made.status)
      const { finalizers } = made
      if (finalizers !== undefined) {
        setMeta(object, 'finalizers', finalizers.length === 0 ? undefined : [...finalizers])
      }
      return owned(server, { live, object, options: noOptions })
    },
  })
}

/** Names that other definitions of the group have. */
function takenNames(session: WriteSession, definition: JsonObject): TakenNames {
  const group = memberOf(definition.get('spec'), 'group')
  const name = metaText(definition, 'name')
  const others = session.state.registry.definitions
    .filter(other => other.group === group && other.name !== name)
    .flatMap(({ resources }) => resources)
  return {
    resources: new Set(
      others.flatMap(({ resource, singular, shortNames }) => [resource, singular, ...shortNames]),
    ),
    kinds: new Set(others.flatMap(({ kind, listKind }) => [kind, listKind ?? ''])),
  }
}

/** Deletes the objects of a definition that is being deleted; when none are left, it goes. */
async function clearInstances(server: WriteSession): Promise<void> {
  const entry = await server.store.get(server.keyOf(server.name), server.signal)
  if (entry === undefined) return
  const definition = server.treeOf(entry)
  const isWaiting = finalizersOf(definition).includes(finalizer)
  if (metaText(definition, 'deletionTimestamp') === '' || !isWaiting) return
  await changeStatus(server, current => ({
    status: withCondition(
      statusOf(current),
      {
        type: 'Terminating',
        status: 'True',
        reason: 'InstanceDeletionInProgress',
        message: 'CustomResource deletion is in progress',
      },
      server.now,
    ),
  }))
  const isEstablished = hasCondition(definition, 'Established')
  const declared = server.state.registry.definitions.find(({ name }) => name === server.name)
  if (isEstablished && declared !== undefined) {
    const left = await deleteInstances(server, declared)
    if (left > 0) return
  }
  const done: DefinitionCondition = {
    type: 'Terminating',
    status: 'False',
    reason: isEstablished ? 'InstanceDeletionCompleted' : 'NeverEstablished',
    message: isEstablished ? 'removed all instances' : 'resource was never established',
  }
  await changeStatus(server, current => ({
    status: withCondition(statusOf(current), done, server.now),
    finalizers: finalizersOf(current).filter(other => other !== finalizer),
  }))
}

const pageSize = 500

/** Returns how many objects are left, held by finalizers. */
async function deleteInstances(server: WriteSession, declared: CustomDefinition): Promise<number> {
  const [resource] = declared.resources
  if (resource === undefined) return 0
  const range = prefixRange(keyFromText(declared.prefix))
  let start = range.start
  let left = 0
  for (;;) {
    const page = await server.store.list({ ...range, start }, { limit: pageSize }, server.signal)
    for (const entry of page.entries) {
      await deleteInstance(server, resource, entry)
      const remaining = await server.store.get(entry.key, server.signal)
      if (remaining !== undefined) left++
    }
    const last = page.entries.at(-1)
    if (!page.more || last === undefined) return left
    start = keyAfter(last.key)
  }
}

async function deleteInstance(
  server: WriteSession,
  resource: Resource,
  entry: KeyValue,
): Promise<void> {
  const path = entry.key.slice((resource.storage?.prefix ?? '').length).split('/')
  const name = path.at(-1) ?? ''
  const namespace = resource.isNamespaced ? (path[0] ?? '') : ''
  const session = new WriteSession(
    {
      state: server.state,
      resource,
      namespace,
      name,
      subresource: '',
      userAgent: server.userAgent,
      user: server.user,
      signal: server.signal,
    },
    server.services,
  )
  try {
    await deleteObject(session, noDeleteOptions)
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

const noDeleteOptions: DeleteOptions = {
  isDryRun: false,
  gracePeriodSeconds: undefined,
  propagationPolicy: undefined,
  orphanDependents: undefined,
  uid: undefined,
  resourceVersion: undefined,
}

function isGone(error: unknown): boolean {
  return error instanceof CacheError && error.code === 'not_found'
}
