/** An Event of the core group as events.k8s.io/v1 serves it: the same messages under other
 *  numbers. */

import { appendVarint, type ByteWriter, NotExact, WireReader } from '@watchglass/base'
import type { StoredValue } from '../../stored-value.ts'

/** By number in core/v1.Event, the number in events.k8s.io/v1: message becomes note, involvedObject
 *  regarding, reportingComponent reportingController; source, both timestamps and count are
 *  deprecated there. */
const servedNumbers: Readonly<Record<number, number>> = {
  1: 1, // metadata
  2: 8, // regarding
  3: 7, // reason
  4: 10, // note
  5: 12, // deprecatedSource
  6: 13, // deprecatedFirstTimestamp
  7: 14, // deprecatedLastTimestamp
  8: 15, // deprecatedCount
  9: 11, // type
  10: 2, // eventTime
  11: 3, // series
  12: 6, // action
  13: 9, // related
  14: 4, // reportingController
  15: 5, // reportingInstance
}

interface Piece {
  readonly number: number
  readonly wire: number
  /** The value, with its length if it has one. */
  readonly start: number
  readonly end: number
}

const reader = new WireReader()

/** Appends the message of events.k8s.io/v1 that the core message in `bytes[start..end)` becomes. */
export function appendServedEvent(
  out: ByteWriter,
  bytes: Uint8Array,
  start: number,
  end: number,
): NotExact | undefined {
  return appendRenumbered(out, { bytes, start, end }, servedNumbers)
}

/** The way back: for events that were stored as events.k8s.io. */
export function appendCoreEvent(
  out: ByteWriter,
  bytes: Uint8Array,
  start: number,
  end: number,
): NotExact | undefined {
  return appendRenumbered(out, { bytes, start, end }, coreNumbers)
}

const coreNumbers: Readonly<Record<number, number>> = Object.fromEntries(
  Object.entries(servedNumbers).map(([core, served]) => [served, Number(core)]),
)

function appendRenumbered(
  out: ByteWriter,
  { bytes, start, end }: StoredValue,
  numbers: Readonly<Record<number, number>>,
): NotExact | undefined {
  const pieces: Piece[] = []
  reader.reset(bytes, start, end)
  while (reader.nextField()) {
    const number = numbers[reader.field]
    if (number === undefined) return new NotExact(`an Event has no field ${reader.field}`)
    const { wire, at } = reader
    reader.skip()
    pieces.push({ number, wire, start: at, end: reader.at })
  }
  if (reader.isMalformed) return new NotExact('an Event is malformed')
  // Fields stand in the order of their numbers; sorting keeps the order of those that come twice.
  pieces.sort((a, b) => a.number - b.number)
  for (const piece of pieces) {
    appendVarint(out, piece.number * 8 + piece.wire)
    out.append(bytes, piece.start, piece.end)
  }
  return undefined
}
