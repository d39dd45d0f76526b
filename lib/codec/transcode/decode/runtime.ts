/** The functions that compiled ones call by name, and the questions of their compiler to the
 *  schema. */

import type { MessageType } from '../../schema/schema.ts'
import { giveUp, giveUpOnRepetition, WireReader } from '@watchglass/base'
import { writeAscii, writeBase64, writeText } from './json-text.ts'
import { seekTag, writeQuotedText } from './maps.ts'
import * as numbers from './numbers.ts'
import { writeIntOrString, writeJson, writeQuantity, writeRawExtension } from './specials.ts'
import { type DecodeState, type WriteValue, maxDepth } from './state.ts'
import { isZeroTime, writeMicroTime, writeTime } from './times.ts'

/** The writers of a map's values that are no messages. */
export const mapValueWriters: Readonly<Record<string, WriteValue>> = {
  string: writeQuotedText,
  bytes: (out, start, end, position) => {
    out.bytes[position] = 0x22
    const to = writeBase64(out, start, end, position + 1)
    out.bytes[to] = 0x22
    return to + 1
  },
  quantity: writeQuantity,
  time: writeTime,
  microtime: writeMicroTime,
  intorstring: writeIntOrString,
  fieldsv1: writeJson,
  json: writeJson,
  rawextension: writeRawExtension,
}

/** Everything that the compiled source calls by name. */
export const runtime: Readonly<Record<string, unknown>> = {
  ...numbers,
  writeText,
  writeBase64,
  writeQuantity,
  writeIntOrString,
  writeJson,
  writeRawExtension,
  writeTime,
  writeMicroTime,
  isZeroTime,
  seekTag,
  writeAscii,
  maxDepth,
  repeated: giveUpOnRepetition,
  malformed: (type: string): never => giveUp(`${type} is malformed`),
  tooDeep: (): never => giveUp('messages are nested too deep'),
  unknownField,
}

/** Explains why a field was not expected. */
function unknownField(
  { name, numbers }: { readonly name: string; readonly numbers: readonly number[] },
  out: DecodeState,
  at: number,
  end: number,
): never {
  const reader = new WireReader()
  reader.reset(out.input, at, end)
  if (!reader.nextField()) return giveUp(`${name} is malformed`)
  const { field, wire } = reader
  return giveUp(
    numbers.includes(field)
      ? `${name} has field ${field} with wire type ${wire}`
      : `${name} has field ${field}, which the schema does not know`,
  )
}

/** True if a message of the type can lie inside another of the type. */
export function isRecursive({ name, schema }: MessageType): boolean {
  return schema.containedTypes(name).has(name)
}
