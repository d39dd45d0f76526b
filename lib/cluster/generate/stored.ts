/** Objects as kube-apiserver stores them: protobuf in its envelope. */

import { AssertionError } from '../../base/assert.ts'
import { NotExact } from '../../codec/not-exact.ts'
import { protobufFromJson } from '../../codec/transcode/transcode.ts'
import type { JsonObject } from './managed-fields.ts'

/** The stored bytes of a built-in object. */
export function storedBytes(object: JsonObject): Uint8Array {
  const stored = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (stored instanceof NotExact) throw new AssertionError(`generated object: ${stored.reason}`)
  return stored
}
