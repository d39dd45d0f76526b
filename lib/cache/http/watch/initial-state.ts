/** The current state as ADDED events: what a watch begins with that does not start at a revision.
 *  They may be asked for twice: to check them, and to send them. */

import {
  eventFrame,
  isWhole,
  type ItemEncoder,
  itemsJoined,
  itemsOfPicked,
  itemsOfRun,
  noteKept,
  partsOfRun,
  type Run,
  type Segment,
} from '@watchglass/codec'
import { NotExact } from '@watchglass/base'
import { type MakeReader, selectedEntries, type WatchPlan, wholeShard } from '@watchglass/kube'
import type { KeyValue, SegmentCache, Snapshot } from '@watchglass/store'
import type { AnswerForm } from '../request/answer-form.ts'
import { type Carriage, carried } from './watch-framing.ts'

export interface StateServices {
  readonly segments: SegmentCache<Segment>
}

/** A snapshot, and the form in which its objects are shown. */
export interface StateAnswer extends AnswerForm {
  readonly plan: WatchPlan
  readonly snapshot: Snapshot
  /** The pieces will be compressed: those that are kept are noted for that. */
  readonly isZipped: boolean
  readonly carriage: Carriage
}

/** Pieces of whole events; empty where nothing was selected for a while. */
export type Frames = Iterator<Uint8Array | NotExact, void>

/** This many selected objects are written as one piece. */
const runEntries = 64
/** After so many objects that are not selected comes an empty piece, so that the work can give
 *  way. */
const lookedAtMax = 256
/** Up to so many selected objects are remembered, so that they are looked for once. */
const rememberedMax = 500

const emptyPiece = new Uint8Array(0)

export class InitialState {
  readonly #answer: StateAnswer
  readonly #makeReader: MakeReader
  readonly #segments: SegmentCache<Segment>
  readonly #encoder: ItemEncoder
  /** Entries that were selected, once all objects were looked at and if there were not many. */
  #selected: readonly KeyValue[] | undefined
  /** The number of events in the last piece. */
  lastEvents = 0

  constructor(answer: StateAnswer, makeReader: MakeReader, { segments }: StateServices) {
    this.#answer = answer
    this.#makeReader = makeReader
    this.#segments = segments
    this.#encoder = addedItemEncoder(answer)
  }

  *frames(): Generator<Uint8Array | NotExact, void> {
    for (const run of this.#runs()) {
      this.lastEvents = 0
      if (run === undefined) yield emptyPiece
      else if (run instanceof NotExact) yield run
      else {
        for (const part of partsOfRun(run, this.#encoder.segmentName, this.#segments)) {
          this.lastEvents = part.to - part.from
          yield* this.#framesOf(part)
        }
      }
    }
  }

  *#framesOf(run: Run): Generator<Uint8Array | NotExact, void> {
    const { isZipped } = this.#answer
    if (run.from === run.to) {
      yield emptyPiece
      return
    }
    if (run.isKept !== true) {
      const isJoined = run.isJoined === true && this.#isNoted
      const [items = emptyPiece] = isJoined
        ? itemsJoined(run, this.#encoder, this.#segments)
        : [itemsOfRun(run, this.#encoder, { cache: this.#segments })]
      const isNoted = isZipped && this.#isNoted && (isJoined || isWhole(run))
      if (isNoted && !(items instanceof NotExact)) noteKept(items)
      yield items
      return
    }
    const pieces = [...itemsOfPicked(run, this.#encoder, this.#segments)]
    const [first] = pieces
    const last = pieces.at(-1)
    if (first === undefined || last instanceof NotExact) {
      yield last ?? emptyPiece
      return
    }
    // It is in one piece if others have asked for the same.
    const isJoined = pieces.length === 1 && !(first instanceof NotExact)
    if (isJoined) noteKept(first)
    yield isJoined ? first : Buffer.concat(pieces as readonly Uint8Array[])
  }

  get #isNoted(): boolean {
    return this.#encoder.segmentName !== undefined
  }

  /** Undefined where nothing was selected for a while. */
  *#runs(): Generator<Run | NotExact | undefined> {
    const { plan, snapshot } = this.#answer
    const isAll = plan.labels.isEmpty && plan.fields.isEmpty && plan.shards === undefined
    if (isAll) yield* snapshot.leaves(plan.range)
    else if (this.#selected === undefined) {
      yield* wholeShard(snapshot, plan, this.#makeReader) ?? this.#select()
    } else yield* this.#runsOf(this.#selected)
  }

  *#select(): Generator<Run | NotExact | undefined> {
    const { plan, snapshot } = this.#answer
    const { filter, entries: scanned } = selectedEntries(
      snapshot,
      plan.range,
      plan,
      this.#makeReader,
    )
    const selected: KeyValue[] = []
    let entries: KeyValue[] = []
    let lookedAt = 0
    for (const entry of scanned) {
      if (entry !== undefined) {
        const isSelected = filter === undefined || filter(entry)
        if (isSelected instanceof NotExact) yield isSelected
        else if (isSelected) {
          entries.push(entry)
          if (selected.length <= rememberedMax) selected.push(entry)
        }
      }
      if (entries.length === runEntries) {
        yield* this.#runsOf(entries, selected.length <= rememberedMax)
        entries = []
      } else if (++lookedAt % lookedAtMax === 0) yield undefined
    }
    yield* this.#runsOf(entries, selected.length <= rememberedMax)
    if (selected.length <= rememberedMax) this.#selected = selected
  }

  /** Few that are compressed are kept: many ask for the same, such as the pods of a namespace with
   *  a label. */
  *#runsOf(entries: readonly KeyValue[], areFew: boolean = true): Generator<Run> {
    const isKept = areFew && this.#answer.isZipped && this.#isNoted
    for (let from = 0; from < entries.length; from += runEntries) {
      const to = Math.min(from + runEntries, entries.length)
      yield { entries, from, to, leaf: undefined, isKept }
    }
  }
}

/** Encoder of initial events. Rows show ages, so they are never kept; nor is what stands for
 *  objects that cannot be shown, which would be found under the name of single objects. */
function addedItemEncoder({ encoder, form, carriage }: StateAnswer): ItemEncoder {
  const options = { form, hasColumns: false }
  const isKept = form.rendering !== 'Table' && form.rendering !== 'PartialObjectMetadataList'
  return {
    append(out, entry) {
      const frame = eventFrame(
        encoder,
        { type: 'ADDED', entry, revision: entry.modRevision },
        options,
      )
      if (frame instanceof NotExact) return frame
      out.append(carried(frame, form, carriage))
      return undefined
    },
    segmentName: isKept ? `added ${carriage} ${encoder.segmentName(form)}` : undefined,
  }
}
