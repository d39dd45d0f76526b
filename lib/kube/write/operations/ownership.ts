/** Who manages which fields, at the places of a write where that is noted. */

import type { JsonObject } from '../../../codec/json/tree.ts'
import { NotExact } from '../../../codec/not-exact.ts'
import { CacheError } from '../../../base/errors.ts'
import { serverSideApply, updateManagedFields } from '../ownership/managed-fields.ts'
import type { ConvertedObject, OwnershipContext } from '../ownership/ownership-context.ts'
import { managerOf, type WriteOptions } from '../write-options.ts'
import { writeKindOf } from '../write-kinds.ts'
import { entryOf, treeOf, type WriteSession } from './session.ts'

interface Owned {
  readonly live: JsonObject | undefined
  readonly object: JsonObject
  readonly options: WriteOptions
}

/** The object with its managers noted. */
export function owned(session: WriteSession, { live, object, options }: Owned): JsonObject {
  return updateManagedFields(contextOf(session, options), live, object)
}

/** What a server-side apply makes of an object. */
export function applied(session: WriteSession, { live, object, options }: Owned): JsonObject {
  const force = options.force === true
  return serverSideApply({ ...contextOf(session, options), force }, live, object)
}

function contextOf(session: WriteSession, options: WriteOptions): OwnershipContext {
  return {
    kind: session.kind,
    manager: managerOf(options.fieldManager, session.userAgent),
    subresource: session.subresource,
    now: session.now,
    convert: (object, apiVersion) => convert(session, object, apiVersion),
  }
}

/** The object in another version of its resource, through the bytes that are stored of it. */
function convert(
  session: WriteSession,
  object: JsonObject,
  apiVersion: string,
): ConvertedObject | undefined {
  const { kind, state, resource } = session
  if (apiVersion === kind.apiVersion) return { kind, object }
  const { registry } = state
  const slash = apiVersion.indexOf('/')
  const group = slash < 0 ? '' : apiVersion.slice(0, slash)
  const other = registry.find(group, apiVersion.slice(slash + 1), resource.resource)
  if (other === undefined || other.storage?.prefix !== resource.storage?.prefix) return undefined
  const encoder = state.encoderOf(other)
  if (encoder instanceof NotExact) return undefined
  try {
    const entry = entryOf(session.keyOf('-'), session.bytesOf(object), 1)
    return { kind: writeKindOf(other, registry.schema), object: treeOf(encoder, other, entry) }
  } catch (error) {
    if (error instanceof CacheError) return undefined
    throw error
  }
}
