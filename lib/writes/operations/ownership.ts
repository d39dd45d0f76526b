/** Updates the field managers of an object during a write. */

import { type JsonObject, memberOf, textFromTree } from '@watchglass/go'
import { CacheError, NotExact } from '@watchglass/base'
import { serverSideApply, updateManagedFields } from '../ownership/managed-fields.ts'
import type { ConvertedObject, OwnershipContext } from '../ownership/ownership-context.ts'
import { groupVersionText, notExactly, type Resource } from '@watchglass/kube'
import { setMeta, textOf } from '../metadata.ts'
import { tooLarge } from '../refusals.ts'
import { storedBytes } from '../stored-form.ts'
import {
  internalAutoscaler,
  internalAutoscalers,
  isOldAutoscaler,
} from '../kinds/autoscaling/horizontal-pod-autoscaler/old-version.ts'
import { managerOf, type WriteOptions } from '../write-options.ts'
import { writeKindOf } from '../write-kinds.ts'
import { entryOf, treeOf, type WriteSession } from './session.ts'

interface Owned {
  readonly live: JsonObject | undefined
  readonly object: JsonObject
  readonly options: WriteOptions
}

/** The object with its managers noted. */
export function owned(
  session: WriteSession,
  { live, object, options }: Owned,
): Promise<JsonObject> {
  return converting(session, memo =>
    session.slice.take(updateManagedFields(contextOf(session, options, memo), live, object)),
  )
}

/** The object after a server-side apply. */
export function applied(
  session: WriteSession,
  { live, object, options }: Owned,
): Promise<JsonObject> {
  const force = options.force === true
  return converting(session, memo =>
    session.slice.take(
      serverSideApply({ ...contextOf(session, options, memo), force }, live, object),
    ),
  )
}

/** Objects that a webhook has converted, by their text and the version that was wanted. */
type Memo = Map<string, JsonObject>

/** The webhook has to be asked before the work can go on. */
class ConversionWanted extends Error {
  readonly object: JsonObject
  readonly to: string

  constructor(object: JsonObject, to: string) {
    super(`an object is wanted as ${to}`)
    this.object = object
    this.to = to
  }
}

/** Versions times objects that are compared while the owners of one object are found out. */
const conversionsMax = 100

/** Does the work, which changes nothing else and cannot wait, from the beginning whenever it has
 *  come to an object that a webhook must convert: what is converted already is known then. */
async function converting<T>(session: WriteSession, work: (memo: Memo) => Promise<T>): Promise<T> {
  const { conversions, resource } = session
  const memo: Memo = new Map()
  for (;;) {
    try {
      return await work(memo)
    } catch (error) {
      if (!(error instanceof ConversionWanted) || conversions === undefined) throw error
      if (memo.size >= conversionsMax) throw tooLarge('the object has too many managers')
      const { object, to } = error
      const [made = object] = await conversions.trees(resource, [object], to)
      memo.set(memoName(object, to), made)
    }
  }
}

function memoName(object: JsonObject, to: string): string {
  return `${to} ${textFromTree(object)}`
}

function contextOf(session: WriteSession, options: WriteOptions, memo: Memo): OwnershipContext {
  return {
    kind: session.kind,
    manager: managerOf(options.fieldManager, session.userAgent),
    subresource: session.subresource,
    isCustomScale:
      session.resource.custom !== undefined &&
      session.kind.kind === 'Scale' &&
      session.kind.definition === undefined,
    now: session.now,
    convert: (object, apiVersion) =>
      isOfGroup(session, apiVersion) ? convert(session, { object, apiVersion }, memo) : undefined,
  }
}

/** kube-apiserver knows the fields of the versions of one group only: an event that is written
 *  through one of its two groups loses the managers of the other. */
function isOfGroup({ resource }: WriteSession, apiVersion: string): boolean {
  return groupVersionText(resource.group, apiVersion.replace(/^.*\//, '')) === apiVersion
}

/** An object of a built-in kind, of whatever version, in the version that is asked for. */
export function inVersion(
  session: WriteSession,
  object: JsonObject,
  apiVersion: string,
): JsonObject {
  const converted = convert(session, { object, apiVersion }, new Map())
  if (converted !== undefined) return converted.object
  throw notExactly(session.resource, new NotExact(`an object is wanted as ${apiVersion}`))
}

/** The object, of whatever version, in another version of its resource, through the bytes that
 *  are stored of it. */
function convert(
  session: WriteSession,
  { object, apiVersion }: { readonly object: JsonObject; readonly apiVersion: string },
  memo: Memo,
): ConvertedObject | undefined {
  const { kind, resource, state } = session
  const { schema } = state.registry
  const from = textOf(object.get('apiVersion'))
  if (apiVersion === from && from === kind.apiVersion) return { kind, object }
  const [source, target] = [versionOf(session, from) ?? resource, versionOf(session, apiVersion)]
  if (target === undefined) return undefined
  if (apiVersion === from) return { kind: writeKindOf(target, schema), object }
  if (session.conversions !== undefined) {
    const made = memo.get(memoName(object, apiVersion))
    if (made === undefined) throw new ConversionWanted(object, apiVersion)
    return { kind: writeKindOf(target, schema), object: made }
  }
  const encoder = state.encoderOf(target)
  if (encoder instanceof NotExact) return undefined
  const sourceKind = writeKindOf(source, schema)
  const isOld = isOldAutoscaler(sourceKind)
  const internal = isOld ? versionOf(session, internalAutoscalers) : undefined
  try {
    const value =
      internal === undefined
        ? storedBytes(source, sourceKind, object)
        : storedBytes(internal, writeKindOf(internal, schema), internalAutoscaler(object, schema))
    const entry = entryOf(session.keyOf('-'), value, 1)
    const converted = treeOf(encoder, target, entry)
    setMeta(converted, 'resourceVersion', memberOf(object.get('metadata'), 'resourceVersion'))
    return { kind: writeKindOf(target, schema), object: converted }
  } catch (error) {
    if (error instanceof CacheError) return undefined
    throw error
  }
}

/** The resource in another version; undefined if that version does not exist. */
function versionOf({ resource, state }: WriteSession, apiVersion: string): Resource | undefined {
  if (apiVersion === groupVersionText(resource.group, resource.version)) return resource
  const slash = apiVersion.indexOf('/')
  const group = slash < 0 ? '' : apiVersion.slice(0, slash)
  const other = state.registry.find(group, apiVersion.slice(slash + 1), resource.resource)
  return other?.storage?.prefix === resource.storage?.prefix ? other : undefined
}
