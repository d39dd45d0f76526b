/** Reads what a Table needs from a stored protobuf message, and steps over the rest: plain objects come out, of the form that a
 *  pattern says (pattern.ts). That costs a fraction of a full decode. The functions that do so are compiled (pick-source.ts). */

import { NotExact } from '../not-exact.ts'
import type { PickedObject, CompiledPattern } from './pattern.ts'
import { readings } from './readings.ts'

/** The fields of the message in `bytes[start..end)`. */
export function pickFromProtobuf(
  pattern: CompiledPattern,
  bytes: Uint8Array,
  start: number,
  end: number,
): PickedObject | NotExact {
  readings.isMalformed = false
  const picked = pattern.pick(bytes, start, end)
  return readings.isMalformed ? malformed : picked
}

const malformed = new NotExact('object is malformed')
