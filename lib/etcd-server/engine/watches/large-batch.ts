/** A batch of many events, or of many bytes: a transaction may delete a hundred thousand keys. What
 *  watchers are told of it is found, measured, encoded and sent in steps, and shared by all who are
 *  told the same. */

import type { Key, KeyRange, Revision } from '@watchglass/base'
import type { Batch, Event } from '@watchglass/store'
import { changesAtOnce } from '../at-once.ts'
import { type EventChoice, EventSelection, type EventSpan } from './event-selection.ts'
import type { KeptChunks } from './kept-chunks.ts'

/** Bytes of values that are encoded in one step: more than those of any single event. */
const bytesAtOnce = 4 * 1024 * 1024

export class LargeBatch {
  readonly revision: Revision
  readonly events: readonly Event[]
  readonly #kept: KeptChunks
  /** The beginnings of runs within which keys ascend: a delete of a range is one. */
  readonly #runs: number[] = [0]
  #lookedAt = 1
  /** The selections that are being sent, by what was asked for. */
  readonly #selections = new Map<string, EventSelection>()

  constructor({ revision, events }: Batch, kept: KeptChunks) {
    this.revision = revision
    this.events = events
    this.#kept = kept
  }

  /** The number of searches in which the events of a range are found. */
  get runs(): number {
    return this.#runs.length
  }

  /** Looks through up to so many events more. False while there are any left: nothing can be found
   *  before. */
  prepare(maxEvents: number): boolean {
    const { events } = this
    const end = Math.min(events.length, this.#lookedAt + maxEvents)
    for (let i = this.#lookedAt; i < end; i++) {
      if (events[i]!.key < events[i - 1]!.key) this.#runs.push(i)
    }
    this.#lookedAt = end
    return end === events.length
  }

  /** The places of the events of a range. */
  spansOf({ start, end }: KeyRange): EventSpan[] {
    const spans: EventSpan[] = []
    for (const [i, first] of this.#runs.entries()) {
      const last = this.#runs[i + 1] ?? this.events.length
      const from = this.#firstNotBelow(start, first, last)
      const to = end === undefined ? last : this.#firstNotBelow(end, from, last)
      if (from < to) spans.push({ from, to })
    }
    return spans
  }

  /** The events that were chosen, shared by all who choose the same at a time. Whoever takes them
   *  gives them back. */
  take(choice: EventChoice, spans: readonly EventSpan[]): EventSelection {
    const name = nameOf(choice)
    let selection = this.#selections.get(name)
    if (selection === undefined) {
      selection = new EventSelection(this, choice, spans, this.#kept)
      this.#selections.set(name, selection)
    }
    selection.users++
    return selection
  }

  give(selection: EventSelection): void {
    selection.users--
    if (selection.users > 0) return
    selection.forget()
    this.#selections.delete(nameOf(selection.choice))
  }

  #firstNotBelow(key: Key, from: number, to: number): number {
    let low = from
    let high = to
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.events[middle]!.key < key) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Whether a batch is more than one step tells all watchers of. */
export function isLarge({ events }: Batch): boolean {
  if (events.length === 1) return false
  if (events.length > changesAtOnce) return true
  let bytes = 0
  for (const { before, after } of events) {
    bytes += (before?.valueLength ?? 0) + (after?.valueLength ?? 0)
  }
  return bytes > bytesAtOnce
}

function nameOf({ range, ...rest }: EventChoice): string {
  return JSON.stringify([range.start, range.end ?? null, Object.values(rest)])
}
