/** Objects as kube-apiserver stores them: protobuf in its envelope. */

import { AssertionError, NotExact } from '@watchglass/base'
import { protobufFromJson } from '@watchglass/codec'
import type { MadeObject } from './managed-fields.ts'

/** The stored bytes of a built-in object. */
export function storedBytes(object: MadeObject): Uint8Array {
  const stored = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (stored instanceof NotExact) throw new AssertionError(`generated object: ${stored.reason}`)
  return stored
}
