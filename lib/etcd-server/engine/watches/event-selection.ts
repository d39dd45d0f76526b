/** The events of a large batch that some watchers are told, in chunks of which each is encoded once
 *  for those who are sent it at about the same time. */

import { assert, type KeyRange, type Steps } from '@watchglass/base'
import { eventLength, type WatchEvent, ProtoWriter } from '@watchglass/etcd'
import type { Batch } from '@watchglass/store'
import { changesAtOnce } from '../at-once.ts'
import { FragmentCuts, isSentWhole } from '../fragments.ts'
import type { KeptChunks } from './kept-chunks.ts'
import { writeField } from './kept-event.ts'

/** The events of a batch that a watcher wants, and how. */
export interface EventChoice {
  readonly range: KeyRange
  readonly wantsPuts: boolean
  readonly wantsDeletes: boolean
  readonly hasPrevious: boolean
  /** The bytes of the response beside its events, if it is to be cut into fragments; else
   *  undefined. */
  readonly cutsWith: number | undefined
}

/** Some of a batch's events, one after the other. */
export interface EventSpan {
  readonly from: number
  readonly to: number
}

/** The events of one response: a fragment, or all of them. */
export interface SelectedResponse {
  readonly chunks: EventChunk[]
  bytes: number
}

/** Chunks are at most about this large: as much as a client's window mostly has room for. */
const chunkBytes = 64 * 1024

type ChangedBatch = Pick<Batch, 'revision' | 'events'>

export class EventSelection {
  readonly #batch: ChangedBatch
  readonly choice: EventChoice
  /** Number of responses in which it is being sent. */
  users = 0
  readonly #kept: KeptChunks
  readonly #responses: SelectedResponse[] = []
  readonly #steps: Steps<undefined>
  #isMeasured = false

  constructor(
    batch: ChangedBatch,
    choice: EventChoice,
    spans: readonly EventSpan[],
    kept: KeptChunks,
  ) {
    this.#batch = batch
    this.choice = choice
    this.#kept = kept
    this.#steps = this.#measure(spans)
  }

  /** Measures some of the events. The responses in which they are sent, once all are measured; none
   *  if nothing was chosen. */
  measured(): readonly SelectedResponse[] | undefined {
    this.#isMeasured ||= this.#steps.next().done === true
    return this.#isMeasured ? this.#responses : undefined
  }

  /** The bytes of a chunk, which are kept for the others. Never write to them. */
  bytesOf(chunk: EventChunk): Buffer {
    const kept = this.#kept.get(chunk)
    if (kept !== undefined) return kept
    const bytes = chunk.encode()
    if (this.users > 1) this.#kept.set(chunk, bytes)
    return bytes
  }

  /** An event as those who chose it are told of it. */
  eventAt(i: number): WatchEvent {
    const { key, before, after } = this.#batch.events[i]!
    const previous = this.choice.hasPrevious ? before : undefined
    return { key, revision: this.#batch.revision, after, previous }
  }

  /** Keeps nothing any more: nobody sends it. */
  forget(): void {
    for (const { chunks } of this.#responses) for (const one of chunks) this.#kept.delete(one)
  }

  *#measure(spans: readonly EventSpan[]): Steps<undefined> {
    const { cutsWith } = this.choice
    const cuts = cutsWith === undefined ? undefined : new FragmentCuts(cutsWith)
    let response: SelectedResponse | undefined
    let chunk: EventChunk | undefined
    let looked = 0
    for (const { from, to } of spans) {
      for (let i = from; i < to; i++) {
        if (++looked % changesAtOnce === 0) yield
        if (!this.#isWanted(i)) continue
        const length = eventLength(this.eventAt(i))
        const isCut = cuts?.isCutBefore(length) === true
        if (response === undefined || isCut) {
          response = { chunks: [], bytes: 0 }
          this.#responses.push(response)
          chunk = undefined
        }
        if (chunk?.hasRoomFor(length) !== true) {
          chunk = new EventChunk(this)
          response.chunks.push(chunk)
        }
        chunk.add(i, length)
        response.bytes += length
      }
    }
    this.#joinIfWhole(cutsWith)
    return undefined
  }

  /** A response of which only the mark of a fragment exceeds the limit needs none. */
  #joinIfWhole(cutsWith: number | undefined): void {
    const bytes = this.#responses.reduce((sum, response) => sum + response.bytes, 0)
    if (cutsWith === undefined || !isSentWhole(cutsWith, bytes)) return
    const chunks = this.#responses.flatMap(response => response.chunks)
    this.#responses.splice(0, Infinity, { chunks, bytes })
  }

  #isWanted(i: number): boolean {
    const { wantsPuts, wantsDeletes } = this.choice
    return this.#batch.events[i]!.after === undefined ? wantsDeletes : wantsPuts
  }
}

export class EventChunk {
  readonly #selection: EventSelection
  #bytes = 0
  #count = 0
  readonly #spans: { from: number; to: number }[] = []

  constructor(selection: EventSelection) {
    this.#selection = selection
  }

  hasRoomFor(length: number): boolean {
    return this.#count < changesAtOnce && this.#bytes + length <= chunkBytes
  }

  add(i: number, length: number): void {
    const last = this.#spans.at(-1)
    if (last?.to === i) last.to++
    else this.#spans.push({ from: i, to: i + 1 })
    this.#count++
    this.#bytes += length
  }

  events(): WatchEvent[] {
    const events: WatchEvent[] = []
    for (const { from, to } of this.#spans) {
      for (let i = from; i < to; i++) events.push(this.#selection.eventAt(i))
    }
    return events
  }

  /** The events as fields of a watch response. */
  encode(): Buffer {
    const writer = new ProtoWriter(this.#bytes)
    for (const event of this.events().reverse()) writeField(writer, event)
    assert(writer.length === this.#bytes, 'events are as long as they were measured')
    return writer.finish()
  }
}
