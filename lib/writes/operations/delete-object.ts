/** Deletes: at once, after a grace period, or when the last finalizer is gone. */

import type { KeyValue } from '@watchglass/store'
import {
  type JsonObject,
  memberOf,
  millisecondsFromText,
  textFromMilliseconds,
} from '@watchglass/go'
import { equalBytes } from '@watchglass/base'
import { objectNotFound } from '@watchglass/kube'
import { completeTree } from '../decode/complete-tree.ts'
import {
  finalizersOf,
  generationOf,
  metadataOf,
  metaText,
  number,
  numberOf,
  setGeneration,
  setMeta,
  textOf,
} from '../metadata.ts'
import { conflict } from '../refusals.ts'
import { kindServedAs } from '../kinds/index.ts'
import { strategyOf } from './strategy.ts'
import type { DeleteOptions } from '../write-options.ts'
import { groupOfObject, type WriteKind } from '../write-kind.ts'
import type { ValidateDelete } from './admission.ts'
import { removeStored } from './remove.ts'
import { entryOf, type Written, type WriteSession } from './session.ts'

/** Deletes the object of the session.
 *  @param validate whoever may refuse; nobody where the server itself deletes */
export async function deleteObject(
  session: WriteSession,
  options: DeleteOptions,
  validate?: ValidateDelete,
): Promise<Written> {
  session.warn(warningsOfDelete(session.kind, options))
  const key = session.keyOf(session.name)
  let entry = await session.store.get(key, session.signal)
  for (;;) {
    if (entry === undefined) throw objectNotFound(session.resource, session.name)
    const live = session.treeToDelete(entry)
    checkPreconditions(session, options, live)
    if (isNamespace(session.kind)) {
      if (metaText(live, 'deletionTimestamp') === '') await validate?.(live)
      const begun = beginTermination(session, live, options)
      if (begun === 'held') return { type: 'object', code: 200, entry }
      if (begun !== undefined) {
        const result = await change(session, { entry, object: begun, options })
        if (result.type === 'written') return result.written
        entry = result.current
        continue
      }
    }
    const plan = planDelete(session, live, options)
    if (plan.type === 'pending') return answered(session, live, entry)
    if (!isNamespace(session.kind)) await validate?.(live)
    if (plan.type === 'now') {
      return removed(session, { entry, live, options })
    }
    const result = await change(session, { entry, object: plan.object, options })
    if (result.type === 'changed') {
      entry = result.current
      continue
    }
    if (!plan.isLast) return result.written
    if (options.isDryRun || result.written.type !== 'object') return result.written
    // Who may refuse is asked once more, about the object that is marked.
    await validate?.(plan.object)
    return removed(session, { entry: result.written.entry, live: plan.object, options })
  }
}

export function warningsOfDelete(
  { group, resource }: WriteKind,
  { propagationPolicy, orphanDependents }: DeleteOptions,
): string[] {
  if (propagationPolicy !== undefined || orphanDependents !== undefined) return []
  const warning = kindServedAs(resource, group)?.warningOfDelete
  return warning === undefined ? [] : [warning]
}

/** Checks that the object is the one that the request is about. */
export function checkPreconditions(
  { kind, name }: WriteSession,
  { uid, resourceVersion }: DeleteOptions,
  live: JsonObject,
): void {
  const [liveUid, liveVersion] = [metaText(live, 'uid'), metaText(live, 'resourceVersion')]
  if (isNamespace(kind)) {
    for (const [what, asked, known] of [
      ['UID', uid, liveUid],
      ['ResourceVersion', resourceVersion, liveVersion],
    ] as const) {
      if (asked === undefined || asked === known) continue
      const reason = `Precondition failed: ${what} in precondition: ${asked}, ${what} in object meta: ${known}`
      throw conflict(kind, name, reason)
    }
    return
  }
  const of = { group: groupOfObject(kind), resource: kind.kind }
  if (uid !== undefined && uid !== liveUid) {
    throw conflict(
      of,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${liveUid}). The object might have been deleted and then recreated`,
    )
  }
  if (resourceVersion !== undefined && resourceVersion !== liveVersion) {
    throw conflict(
      of,
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${liveVersion}). The object might have been modified`,
    )
  }
}

function isNamespace({ group, resource }: WriteKind): boolean {
  return group === '' && resource === 'namespaces'
}

type DeletePlan =
  /** The object is being deleted already: nothing changes. */
  | { readonly type: 'pending' }
  | { readonly type: 'now' }
  /** The object is marked; `isLast`: and goes after that. */
  | { readonly type: 'marked'; readonly object: JsonObject; readonly isLast: boolean }

/** The plan of a delete. Does not change `live`. */
function planDelete(session: WriteSession, live: JsonObject, options: DeleteOptions): DeletePlan {
  const object: JsonObject = new Map(live)
  object.set('metadata', new Map(metadataOf(live)))
  const grace = shortenedGrace(session, object, options)
  if (grace === 'pending') return { type: 'pending' }
  const finalizers = finalizersFor(session, object, options)
  const known = finalizersOf(object)
  const isNew = finalizers.length !== known.length || finalizers.some(one => !known.includes(one))
  if (isNew) setMeta(object, 'finalizers', finalizers.length === 0 ? undefined : finalizers)
  const isHeld = finalizers.length > 0
  if (grace === undefined) {
    if (!isHeld) return { type: 'now' }
    markAsDeleting(session, object)
    return { type: 'marked', object, isLast: false }
  }
  return { type: 'marked', object, isLast: !isHeld && grace === 0 }
}

/** The grace period in seconds, noted in the object; undefined where there is none. */
function shortenedGrace(
  session: WriteSession,
  object: JsonObject,
  options: DeleteOptions,
): number | 'pending' | undefined {
  const asked = options.gracePeriodSeconds
  const requested = asked !== undefined && asked < 0 ? 1 : asked
  const wanted = podGrace(session, object, requested)
  if (wanted === undefined) return undefined
  const nowMs = session.services.clock.wallMs()
  const deletedAt = metaText(object, 'deletionTimestamp')
  if (deletedAt !== '') {
    const known = numberOf(metadataOf(object).get('deletionGracePeriodSeconds')) ?? 0
    if (known === 0) return undefined
    if (requested === undefined || requested >= known) return 'pending'
    const movedMs = (millisecondsFromText(deletedAt) ?? nowMs) + (requested - known) * 1000
    const isPast = movedMs < nowMs
    const period = isPast && requested !== 0 ? 1 : requested
    noteGrace(object, isPast ? nowMs : movedMs, period)
    return period
  }
  noteGrace(object, nowMs + wanted * 1000, wanted)
  if (generationOf(object) > 0) setGeneration(object, generationOf(object) + 1)
  return wanted
}

/** Only pods have a grace period: that of the request, or their own; none when they do not run. */
function podGrace(
  { kind }: WriteSession,
  object: JsonObject,
  requested: number | undefined,
): number | undefined {
  if (kind.group !== '' || kind.resource !== 'pods') return undefined
  const spec = object.get('spec')
  const phase = textOf(memberOf(object.get('status'), 'phase'))
  if (textOf(memberOf(spec, 'nodeName')) === '' || phase === 'Failed' || phase === 'Succeeded') {
    return 0
  }
  const own = numberOf(memberOf(spec, 'terminationGracePeriodSeconds')) ?? 0
  const period = requested ?? own
  return period < 0 ? 1 : period
}

function noteGrace(object: JsonObject, atMs: number, seconds: number): void {
  setMeta(object, 'deletionTimestamp', textFromMilliseconds(atMs))
  setMeta(object, 'deletionGracePeriodSeconds', number(seconds))
}

function markAsDeleting(session: WriteSession, object: JsonObject): void {
  const known = millisecondsFromText(metaText(object, 'deletionTimestamp')) ?? undefined
  if (known === undefined && generationOf(object) > 0) {
    setGeneration(object, generationOf(object) + 1)
  }
  const nowMs = session.services.clock.wallMs()
  if (known === undefined || known > nowMs) {
    setMeta(object, 'deletionTimestamp', textFromMilliseconds(nowMs))
  }
  setMeta(object, 'deletionGracePeriodSeconds', number(0))
}

const orphan = 'orphan'
const foreground = 'foregroundDeletion'

/** The finalizers with those that the propagation policy adds or takes away. */
function finalizersFor(
  { kind }: WriteSession,
  object: JsonObject,
  { orphanDependents, propagationPolicy }: DeleteOptions,
): string[] {
  const known = finalizersOf(object)
  const { collection } = strategyOf(kind, '')
  const named = known.find(one => one === orphan || one === foreground)
  let policy: string | undefined
  if (collection === 'unsupported') policy = undefined
  else if (orphanDependents !== undefined) policy = orphanDependents ? orphan : undefined
  else if (propagationPolicy !== undefined) {
    policy = { Orphan: orphan, Foreground: foreground, Background: undefined }[propagationPolicy]
  } else policy = named ?? (collection === 'orphan' ? orphan : undefined)
  const others = known.filter(one => one !== orphan && one !== foreground)
  return policy === undefined ? others : [...others, policy]
}

interface Marking {
  readonly entry: KeyValue
  readonly object: JsonObject
  readonly options: DeleteOptions
}

type Marked =
  | { readonly type: 'written'; readonly written: Written }
  | { readonly type: 'changed'; readonly current: KeyValue | undefined }

/** Stores the marked object. */
async function change(session: WriteSession, marking: Marking): Promise<Marked> {
  const { entry, object, options } = marking
  const { type } = session.kind
  const value = await session.stored(type === undefined ? object : completeTree(object, type))
  const { key, modRevision } = entry
  const isSame = equalBytes(entry.value, 0, entry.valueLength, value)
  if (isSame || options.isDryRun) {
    const shown = isSame ? entry : await session.written(key, value, modRevision)
    return { type: 'written', written: { type: 'object', code: codeOf(options), entry: shown } }
  }
  const commit = await session.store.commit(
    { key, expected: modRevision, value, ttlSeconds: 0 },
    session.signal,
  )
  if (commit.type === 'changed') return commit
  const shown = await session.written(key, value, commit.revision)
  return { type: 'written', written: { type: 'object', code: codeOf(options), entry: shown } }
}

/** With `orphanDependents: false`, the old option, an object that stays is answered with 202. */
function codeOf({ orphanDependents }: DeleteOptions): 200 | 202 {
  return orphanDependents === false ? 202 : 200
}

interface Removal {
  readonly entry: KeyValue
  readonly live: JsonObject
  readonly options: DeleteOptions
}

async function removed(session: WriteSession, { entry, live, options }: Removal): Promise<Written> {
  if (options.isDryRun) return answered(session, live, entry)
  const revision = await removeStored(session, entry)
  if (revision === undefined) throw objectNotFound(session.resource, session.name)
  return answered(session, live, entryOf(entry.key, entry.value, revision))
}

/** The object, or a Status that names it. */
function answered(session: WriteSession, live: JsonObject, entry: KeyValue): Written {
  const { kind, name } = session
  if (strategyOf(kind, '').returnsDeleted === true) return { type: 'object', code: 200, entry }
  const uid = metaText(live, 'uid')
  const details = { name, group: kind.group, kind: kind.resource, uid }
  return { type: 'success', code: 200, hasCode: false, details }
}

/** A namespace is marked first, and stays until its own finalizer is gone. Undefined: it may go. */
function beginTermination(
  session: WriteSession,
  live: JsonObject,
  options: DeleteOptions,
): JsonObject | 'held' | undefined {
  if (metaText(live, 'deletionTimestamp') === '') {
    const object: JsonObject = new Map(live)
    object.set('metadata', new Map(metadataOf(live)))
    setMeta(object, 'deletionTimestamp', session.now)
    const status = live.get('status')
    const terminating: JsonObject = status instanceof Map ? new Map(status) : new Map()
    terminating.set('phase', 'Terminating')
    object.set('status', terminating)
    const added = finalizersFor(session, object, options)
    setMeta(object, 'finalizers', added.length === 0 ? undefined : added)
    return object
  }
  const finalizers = memberOf(live.get('spec'), 'finalizers')
  return Array.isArray(finalizers) && finalizers.length > 0 ? 'held' : undefined
}
