/** Tells whether a message has only fields that we know. One with others asks for something that
 *  we could not answer exactly. */

import { WireReader } from '@watchglass/base'

/** True when every field of the message has a number up to this; false also for what is no
 *  message. */
export function hasOnlyFields(bytes: Buffer, lastField: number): boolean {
  const reader = new WireReader()
  reader.reset(bytes, 0, bytes.length)
  while (reader.nextField()) {
    if (reader.field > lastField) return false
    reader.skip()
  }
  return !reader.isMalformed
}

/** True if a watch request has only fields that we know. */
export function isKnownWatchRequest(bytes: Buffer): boolean {
  if (!hasOnlyFields(bytes, lastRequestField)) return false
  const reader = new WireReader()
  reader.reset(bytes, 0, bytes.length)
  while (reader.nextField()) {
    if (!reader.readWindow()) return false
    const inner = bytes.subarray(reader.start, reader.at)
    if (reader.field === createField && !hasOnlyFields(inner, lastCreateField)) return false
  }
  return !reader.isMalformed
}

/** The fields of a watch request: create, cancel, progress. */
const createField = 1
const lastRequestField = 3
const lastCreateField = 8
