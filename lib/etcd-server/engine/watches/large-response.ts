/** Large responses in parts: what a watcher is told of a large batch, in one response or in the
 *  fragments of one, and what etcd has sent for it. */

import { type WatchEvent, watchResponseCodec, type WatchResponseMessage } from '@watchglass/etcd'
import { headBytesOf } from '../fragments.ts'
import type { EventChoice, EventSpan } from './event-selection.ts'
import { fieldOf } from './kept-event.ts'
import type { LargeBatch } from './large-batch.ts'
import type { ResponseParts } from './response-part.ts'
import { isToldPrevious, type StreamWatcher } from './stream-watcher.ts'

export interface LargeAnswer {
  readonly batch: LargeBatch
  readonly choice: EventChoice
  readonly spans: readonly EventSpan[]
  /** The response without its events. */
  readonly response: WatchResponseMessage
}

/** The answer to a watcher that wants to know of a batch; undefined if no key of its range has
 *  changed. `response` is without events. */
export function answerTo(
  watcher: StreamWatcher,
  batch: LargeBatch,
  { response, compactRevision }: Pick<LargeAnswer, 'response'> & { compactRevision: number },
): LargeAnswer | undefined {
  const { range, wantsPuts, wantsDeletes, request } = watcher
  const spans = batch.spansOf(range)
  if (spans.length === 0) return undefined
  const hasPrevious = isToldPrevious(watcher, batch.revision, compactRevision)
  const cutsWith = request.fragment ? headBytesOf(response) : undefined
  return {
    batch,
    spans,
    response,
    choice: { range, wantsPuts, wantsDeletes, hasPrevious, cutsWith },
  }
}

/** The parts of an answer, each made when it is its turn. */
export function* partsOf({ batch, choice, spans, response }: LargeAnswer): ResponseParts {
  const selection = batch.take(choice, spans)
  try {
    let responses = selection.measured()
    for (; responses === undefined; responses = selection.measured()) yield undefined
    for (const [i, { chunks, bytes }] of responses.entries()) {
      const fragment = i < responses.length - 1
      for (const [j, chunk] of chunks.entries()) {
        yield {
          response: { ...response, fragment },
          eventBytes: bytes,
          isFirst: j === 0,
          isLast: j === chunks.length - 1,
          heldBytes: 0,
          events: () => chunk.events(),
          bytes: () => selection.bytesOf(chunk),
        }
      }
    }
  } finally {
    batch.give(selection)
  }
}

/** The parts of a response that etcd has sent: its first events, and the bytes of all others, which
 *  pass as they are. */
export function* passedParts(
  response: WatchResponseMessage,
  pieces: readonly Buffer[],
): ResponseParts {
  const all = [Buffer.concat(response.events.map(fieldOf)), ...pieces]
  const eventBytes = all.reduce((sum, { length }) => sum + length, 0)
  let heldBytes = eventBytes
  for (const [i, bytes] of all.entries()) {
    heldBytes -= bytes.length
    yield {
      response: { ...response, events: [] },
      eventBytes,
      isFirst: i === 0,
      isLast: i === all.length - 1,
      heldBytes,
      events: () => eventsOf(bytes),
      bytes: () => bytes,
    }
  }
}

/** The events of a piece of a response. */
export function eventsOf(piece: Buffer): readonly WatchEvent[] {
  return watchResponseCodec.decode(piece).events
}
