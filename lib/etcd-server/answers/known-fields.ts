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
