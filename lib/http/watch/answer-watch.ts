/** Answers watches: first, if requested, the current state as ADDED events from one snapshot; then
 *  the changes, from the hub. Each event is encoded once for all watchers that get the same
 *  bytes. */

import type { Clock } from '../../base/clock.ts'
import type { CacheError } from '../../base/errors.ts'
import { Slice } from '../../base/slice.ts'
import { errorFrame, eventFrame } from '../../codec/output/frames.ts'
import type { Shown } from '../../codec/output/object-encoder.ts'
import { type MediaType, watchContentType } from '../../codec/negotiate/negotiate.ts'
import { NotExact } from '../../codec/not-exact.ts'
import {
  itemsOfRun,
  type ItemEncoder,
  type Run,
  type Segment,
} from '../../codec/output/segments.ts'
import type { PassReason } from '../../kube/decide.ts'
import { compileFilter, type MakeReader } from '../../kube/selectors/filter.ts'
import { selectedEntries } from '../../kube/selectors/selected-entries.ts'
import type { WatchPlan } from '../../kube/read-plan.ts'
import { listScopeOf } from '../../kube/request/reported.ts'
import { statusFromError, statusObjectJson } from '../../kube/status.ts'
import type { KeyValue } from '../../store/event.ts'
import type { SegmentCache } from '../../store/segments.ts'
import type { Snapshot } from '../../store/snapshot.ts'
import { notShown, problemIn } from '../exchange/not-shown.ts'
import type { RequestContext } from '../exchange/request-context.ts'
import type { Fairness } from '../limits/fairness.ts'
import { gated, type ShownAs, shownAs } from '../exchange/shown.ts'
import { holdWatch } from '../limits/fair-share.ts'
import { writable } from '../server/respond.ts'
import { WatchResponse } from './watch-response.ts'
import { framingOf } from './watch-framing.ts'
import { audienceSpecOf, type FrameServices } from './audience-spec.ts'

/** Services that a watch is answered with. */
export interface WatchServices extends FrameServices {
  readonly segments: SegmentCache<Segment>
  readonly fairness?: Fairness | undefined
}

/** Sources of a watch's answer: its plan and a snapshot. */
export interface WatchAnswer {
  readonly plan: WatchPlan
  readonly mediaType: MediaType
  /** As fresh as the plan requires; any state for a watch that begins at a revision. */
  readonly snapshot: Snapshot
  /** The work on it yields on this clock between slices. */
  readonly pace: Clock
}

type ShownWatch = Omit<WatchAnswer, 'pace'> & ShownAs

/** Answers until the watch follows the hub; after that nothing of the request is held. Refusals are
 *  thrown as long as nothing was sent. */
export async function answerWatch(
  context: RequestContext,
  { plan, mediaType, snapshot, pace }: WatchAnswer,
  services: WatchServices,
): Promise<PassReason | undefined> {
  const { reply, exchange, state, signal } = context
  const { watches, clock, upstream } = services
  const plain = shownAs(context, plan, mediaType, services)
  const form = upstream === undefined ? plain : gated(plain, plan.resource, upstream)
  if (typeof form === 'string') return form
  const { encoder, shown } = form
  await encoder.prepare(shown, pace)
  const { keyspace, start, timeoutSeconds, allowBookmarks } = plan
  const filter = compileFilter(plan, state.makeReader)
  const hasState = start.type === 'state'
  // Thousands of watches may begin at once, so each waits for its turn.
  if (hasState) await clock.yield()
  const objection = objectionTo(plan, snapshot, services)
  if (objection !== undefined) return objection
  const answer = { plan, mediaType, snapshot, encoder, shown }
  const initial = new InitialState(answer, state.makeReader, services)
  // With an upstream, objects that cannot be shown exactly are found before anything is sent.
  const isChecked = hasState && upstream !== undefined && !isUnanswerable(shown)
  const problem = isChecked ? await problemIn(context, initial.frames(), clock) : undefined
  if (problem !== undefined) return notShown(plan.resource, problem, upstream)
  if (signal.aborted) return undefined
  const frames = hasState ? initial.frames() : [][Symbol.iterator]()
  const beginning = await firstOf(frames, clock)
  if (beginning.value instanceof NotExact && !isUnanswerable(shown)) {
    return notShown(plan.resource, beginning.value, upstream)
  }
  holdWatch(context, context.target, services.fairness)
  const response = reply.response(200, watchContentType(mediaType.encoding))
  exchange.respond(response.status, response.headers)
  exchange.flush()
  const framing = framingOf(plan.resource, encoder, shown)
  const events = watches.reports?.of(plan.resource)
  const connection = new WatchResponse(exchange, framing, watches.outbox, events)
  const letGo = context.grant?.watch(() => connection.end())
  if (letGo !== undefined) exchange.onClose(letGo)
  const current = { connection, beginning, rest: frames, initial }
  if (!(await sendState(context, current, clock))) {
    return undefined
  }
  if (hasState && start.hasEndBookmark) {
    const frame = framing.bookmark(snapshot.revision, true)
    if (!(frame instanceof NotExact)) connection.bookmarkNow(frame)
    const tookMs = clock.monotonicMs() - context.startMs
    watches.reports?.listed(plan.resource, listScopeOf(plan), tookMs)
  }
  watches.follow(connection, {
    keyspace,
    audience: audienceSpecOf(context, { plan, framing, filter }, services),
    position: start.type === 'after' ? start.revision : snapshot.revision,
    timeoutSeconds,
    allowBookmarks: allowBookmarks && context.faults?.dropsBookmarks() !== true,
    sink: context.faults?.sink(connection),
  })
  return undefined
}

/** Why the mirror could not continue the watch, and the upstream may. */
function objectionTo(
  plan: WatchPlan,
  snapshot: Snapshot,
  { upstream, watches }: WatchServices,
): PassReason | undefined {
  if (upstream === undefined) return undefined
  const { start, keyspace } = plan
  const isExpired = start.type === 'after' && start.revision < watches.source.hub(keyspace).oldest
  return upstream.objectionToWatch(plan, snapshot) ?? (isExpired ? 'revision-not-kept' : undefined)
}

/** Ends a watch before its first event: upstream reports in the stream that the revision has
 *  expired, or is in the future. */
export function refuseWatch(
  { reply, exchange }: RequestContext,
  { encoding }: MediaType,
  failure: CacheError,
): void {
  const response = reply.response(200, watchContentType(encoding))
  exchange.respond(response.status, response.headers)
  exchange.end(errorFrame(statusObjectJson(statusFromError(failure)), { encoding }))
}

/** The object of an event cannot be written as a list of metadata: upstream ends such a stream at
 *  its first event. */
function isUnanswerable({ rendering }: Shown): boolean {
  return rendering === 'PartialObjectMetadataList'
}

type Frames = Iterator<Uint8Array | NotExact, void>

interface StateFrames {
  readonly connection: WatchResponse
  readonly beginning: IteratorResult<Uint8Array | NotExact, void>
  readonly rest: Frames
  readonly initial: InitialState
}

/** Writes the initial events. False when the watch is over: the client has left or does not read,
 *  or an object is not exact. */
async function sendState(
  { exchange, signal }: RequestContext,
  { connection, beginning, rest, initial }: StateFrames,
  clock: Clock,
): Promise<boolean> {
  const slice = new Slice(clock)
  for (let next = beginning; next.done !== true; next = rest.next()) {
    if (signal.aborted || !connection.isOpen) return false
    if (next.value instanceof NotExact) {
      connection.end()
      return false
    }
    const isFull = next.value.length > 0 && !connection.writeNow(next.value, initial.lastEvents)
    if (isFull && (await writable(exchange, clock)) !== 'sent') return false
    // A thousand sockets may drain at once, so each continues in its turn.
    if (isFull || slice.isOver) await slice.next()
  }
  return !signal.aborted && connection.isOpen
}

/** The first frame that is not empty. */
async function firstOf(frames: Frames, clock: Clock): Promise<StateFrames['beginning']> {
  const slice = new Slice(clock)
  for (;;) {
    const next = frames.next()
    const isEmpty = next.value instanceof Uint8Array && next.value.length === 0
    if (!isEmpty) return next
    if (slice.isOver) await slice.next()
  }
}

/** This many selected objects are written as one piece. */
const runEntries = 64
/** After so many objects that are not selected comes an empty piece, so that the work can give
 *  way. */
const lookedAtMax = 256
/** Up to so many selected objects are remembered, so that they are looked for once. */
const rememberedMax = 500

const emptyPiece = new Uint8Array(0)

/** The ADDED events of the current objects, which may be asked for twice: to check them, and to
 *  send them. */
class InitialState {
  readonly #answer: ShownWatch
  readonly #makeReader: MakeReader
  readonly #segments: WatchServices['segments']
  /** Entries that were selected, once all objects were looked at and if there were not many. */
  #selected: readonly KeyValue[] | undefined
  /** The number of events in the last piece. */
  lastEvents = 0

  constructor(answer: ShownWatch, makeReader: MakeReader, { segments }: WatchServices) {
    this.#answer = answer
    this.#makeReader = makeReader
    this.#segments = segments
  }

  *frames(): Generator<Uint8Array | NotExact, void> {
    const encoder = addedItemEncoder(this.#answer)
    for (const run of this.#runs()) {
      this.lastEvents = run === undefined || run instanceof NotExact ? 0 : run.to - run.from
      if (run === undefined) yield emptyPiece
      else yield run instanceof NotExact ? run : itemsOfRun(run, encoder, { cache: this.#segments })
    }
  }

  /** Undefined where nothing was selected for a while. */
  *#runs(): Generator<Run | NotExact | undefined> {
    const { plan, snapshot } = this.#answer
    const isAll = plan.labels.isEmpty && plan.fields.isEmpty && plan.shards === undefined
    if (isAll) yield* snapshot.leaves(plan.range)
    else if (this.#selected === undefined) yield* this.#select()
    else yield* runsOf(this.#selected)
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
        yield* runsOf(entries)
        entries = []
      } else if (++lookedAt % lookedAtMax === 0) yield undefined
    }
    yield* runsOf(entries)
    if (selected.length <= rememberedMax) this.#selected = selected
  }
}

function* runsOf(entries: readonly KeyValue[]): Generator<Run> {
  for (let from = 0; from < entries.length; from += runEntries) {
    const to = Math.min(from + runEntries, entries.length)
    yield { entries, from, to, leaf: undefined }
  }
}

/** Encoder of initial events. Rows show ages, so they are never kept. */
function addedItemEncoder({ encoder, shown }: ShownWatch): ItemEncoder {
  const options = { shown, hasColumns: false }
  return {
    append(out, entry) {
      const frame = eventFrame(
        encoder,
        { type: 'ADDED', entry, revision: entry.modRevision },
        options,
      )
      if (frame instanceof NotExact) return frame
      out.append(frame)
      return undefined
    },
    segmentName: shown.rendering === 'Table' ? undefined : `added ${encoder.segmentName(shown)}`,
  }
}
