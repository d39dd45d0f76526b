/** Writes one whole object as JSON by a compiled function, with what stands before its fields, and
 *  turns giving up into a result. */

import { assert, type ByteWriter, GiveUp, NotExact } from '@watchglass/base'
import type { MessageType } from '../../schema/schema.ts'
import { mergeRepeated } from './merge.ts'
import { DecodeState, type WriteValue } from './state.ts'

/** A message and where it lies. */
export interface ObjectSource {
  readonly bytes: Uint8Array
  readonly start: number
  readonly end: number
  readonly type: MessageType
}

export interface ObjectText {
  /** The function that writes the members of the message's type. */
  readonly write: WriteValue
  /** Members before all others, each with a comma before it. */
  readonly header: string
  /** Text behind the closing brace. */
  readonly trailer: string
  readonly resourceVersion: string
}

/** Appends the object. When that cannot be done exactly, nothing is appended, and the reason is
 *  returned. */
export function appendObject(
  out: ByteWriter,
  source: ObjectSource,
  text: ObjectText,
): NotExact | undefined {
  const refused = appendOnce(out, source, text)
  return refused === 'repeated' ? appendMerged(out, source, text) : refused
}

function appendOnce(
  out: ByteWriter,
  source: ObjectSource,
  text: ObjectText,
): NotExact | 'repeated' | undefined {
  state.borrow(out, source.bytes)
  try {
    writeObject(source, text)
    out.length = state.length
    return undefined
  } catch (error) {
    if (!(error instanceof GiveUp)) throw error
    return error.isRepeated ? 'repeated' : new NotExact(error.reason)
  } finally {
    state.giveBack(out)
  }
}

const state = new DecodeState(0)

function writeObject(
  source: ObjectSource,
  { write, header, trailer, resourceVersion }: ObjectText,
): void {
  state.resourceVersion = resourceVersion
  const from = state.length
  state.appendAscii(header)
  const to = write(state, source.start, source.end, state.length)
  state.length = to
  assert(state.depth === 0, 'every message that was entered was left')
  // Every member has a comma before it, and the first one's becomes the brace.
  if (to === from) state.appendAscii('{')
  else state.bytes[from] = 0x7b
  state.appendAscii(trailer)
}

/** Tries again with a message that repeats nothing. */
function appendMerged(
  out: ByteWriter,
  { bytes, start, end, type }: ObjectSource,
  text: ObjectText,
): NotExact | undefined {
  try {
    const merged = mergeRepeated(type, bytes.subarray(start, end))
    const again = appendOnce(out, { bytes: merged, start: 0, end: merged.length, type }, text)
    return again === 'repeated' ? new NotExact(`${type.name} repeats a message`) : again
  } catch (error) {
    if (!(error instanceof GiveUp)) throw error
    return new NotExact(error.reason)
  }
}
