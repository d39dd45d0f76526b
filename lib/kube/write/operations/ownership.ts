/** Who manages which fields, at the places of a write where that is noted. */

import type { JsonObject } from '../../../codec/json/tree.ts'
import type { WriteOptions } from '../write-options.ts'
import type { WriteSession } from './session.ts'

export function withoutNewTimestamps(live: JsonObject, updated: JsonObject): JsonObject {
  void live
  return updated
}

export function owned(
  session: WriteSession,
  {
    live,
    object,
    options,
  }: { live: JsonObject | undefined; object: JsonObject; options: WriteOptions },
): JsonObject {
  void [session, live, options]
  return object
}
