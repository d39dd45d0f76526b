/** Answers watches: first, if requested, the current state as ADDED events from one snapshot; then
 *  the changes, from the hub. Each event is encoded once for all watchers that get the same
 *  bytes. */

import { type CacheError, type Clock, NotExact, Slice } from '@watchglass/base'
import { type MediaType, watchContentType } from '@watchglass/codec'
import {
  compileFilter,
  type Handshake,
  listScopeOf,
  type PassReason,
  type WatchPlan,
} from '@watchglass/kube'
import type { Snapshot } from '@watchglass/store'
import { notShown, problemIn } from '../request/not-shown.ts'
import { zippedResponse } from '../request/reply.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { Fairness } from '../limits/fairness.ts'
import { gated, answerForm } from '../request/answer-form.ts'
import { type HeldBytes, holdWatch, tooMuchHeld } from '../limits/fair-share.ts'
import type { ResponseStream } from '../server/http-request.ts'
import { answerMaxMs, writable } from '../server/respond.ts'
import { type Frames, InitialState, type StateServices } from './initial-state.ts'
import { WatchResponse } from './watch-response.ts'
import { type Carriage, carried, failureFrame, framingOf } from './watch-framing.ts'
import { handshakeOf, openWebSocket, refuseHandshake } from './upgrade-watch.ts'
import { zippedMember } from './zipped-frames.ts'
import { audienceSpecOf, type FrameServices } from './audience-spec.ts'

/** Services that a watch is answered with. */
export interface WatchServices extends FrameServices, StateServices {
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

/** Answers until the watch follows the hub; after that nothing of the request is held. Refusals are
 *  thrown as long as nothing was sent. */
export async function answerWatch(
  context: RequestContext,
  { plan, mediaType, snapshot, pace }: WatchAnswer,
  services: WatchServices,
): Promise<PassReason | undefined> {
  const { signal } = context
  const { watches, clock, upstream } = services
  const handshake = handshakeOf(context)
  if (handshake !== undefined && 'refusal' in handshake) {
    return refuseHandshake(context, handshake, clock)
  }
  const plain = answerForm(context, plan, mediaType, services)
  const answer = upstream === undefined ? plain : gated(plain, plan.resource, upstream)
  if (typeof answer === 'string') return answer
  const { encoder, form } = answer
  await encoder.prepare(form, pace)
  const { keyspace, start, timeoutSeconds, allowBookmarks } = plan
  const filter = compileFilter(plan, context.state.makeReader)
  const hasState = start.type === 'state'
  // Thousands of watches may begin at once, so each waits for its turn.
  if (hasState) await clock.yield()
  const objection = objectionTo(plan, snapshot, services)
  if (objection !== undefined) return objection
  const isZipped = isCompressed(context, { plan, mediaType }, services)
  const carriage = carriageOf(handshake)
  const stateAnswer = { plan, snapshot, encoder, form, isZipped, carriage }
  const initial = new InitialState(stateAnswer, context.state.makeReader, services)
  const framing = framingOf(plan.resource, encoder, form, carriage)
  // With an upstream, objects that cannot be shown exactly are found before anything is sent.
  const isChecked = hasState && upstream !== undefined && !framing.isUnanswerable
  const problem = isChecked ? await problemIn(context, initial.frames(), clock) : undefined
  if (problem !== undefined) return notShown(plan.resource, problem, upstream)
  if (signal.aborted) return undefined
  const frames = hasState ? initial.frames() : [][Symbol.iterator]()
  const beginning = await firstOf(frames, clock)
  if (beginning.value instanceof NotExact && !framing.isUnanswerable) {
    return notShown(plan.resource, beginning.value, upstream)
  }
  const held = holdWatch(context, context.target, services.fairness)
  const firstBytes = beginning.value instanceof Uint8Array ? beginning.value.length : 0
  if (held?.atLeast(firstBytes) === false) throw tooMuchHeld()
  const stream = respondTo(context, { mediaType, isZipped, handshake }, clock)
  const { outbox } = watches
  // kube-apiserver counts no events that it sends over WebSockets.
  const reports = handshake === undefined ? watches.reports : undefined
  const events = reports?.of(plan.resource)
  const connection = new WatchResponse(stream, framing, { outbox, events, held, isZipped })
  const letGo = context.grant?.watch(() => connection.end())
  if (letGo !== undefined) stream.onClose(letGo)
  const bookmark =
    hasState && start.hasEndBookmark ? framing.bookmark(snapshot.revision, true) : undefined
  const state = { connection, held, beginning, rest: frames, initial, bookmark }
  if (!(await sendState(context, state, clock))) return undefined
  if (bookmark !== undefined) {
    reports?.listed(plan.resource, listScopeOf(plan), clock.monotonicMs() - context.startMs)
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

type PlannedWatch = Pick<WatchAnswer, 'plan' | 'mediaType'>

/** Whether a watch is compressed: a streaming list, as servers of the version do for clients that
 *  accept it. */
function isCompressed(
  { reply, state, request: { takeover } }: RequestContext,
  { plan: { start, resource }, mediaType }: PlannedWatch,
  { watches, upstream }: Pick<WatchServices, 'watches' | 'upstream'>,
): boolean {
  if (takeover !== undefined || !watches.mayCompress) return false
  if (start.type !== 'state' || !start.hasEndBookmark || !reply.takesGzip) return false
  const isOfVersion = state.registry.schema.has('zippedStreams')
  return upstream?.zipsStreams(resource, mediaType, isOfVersion) ?? isOfVersion
}

function carriageOf(handshake: Handshake | undefined): Carriage {
  return handshake === undefined ? 'response' : 'messages'
}

interface Beginning {
  readonly mediaType: MediaType
  readonly isZipped: boolean
  /** Undefined over plain HTTP. */
  readonly handshake: Handshake | undefined
}

/** Begins the response, or the WebSocket. */
function respondTo(
  context: RequestContext,
  { mediaType: { encoding }, isZipped, handshake }: Beginning,
  clock: Clock,
): ResponseStream {
  const { reply, request, faults } = context
  if (handshake !== undefined) {
    const stream = openWebSocket(context, handshake, clock)
    return faults?.applyToMessages(stream, clock) ?? stream
  }
  const plain = reply.response(200, watchContentType(encoding))
  const { status, headers } = isZipped ? zippedResponse(plain) : plain
  request.respond(status, headers)
  request.flush()
  return request
}

/** Ends a watch before its first event: upstream reports in the stream that the revision has
 *  expired, or is in the future. */
export function refuseWatch(
  context: RequestContext,
  { plan, mediaType }: PlannedWatch,
  failure: CacheError,
  services: Pick<WatchServices, 'upstream' | 'clock' | 'watches'>,
): void {
  const { clock } = services
  const handshake = handshakeOf(context)
  if (handshake !== undefined && 'refusal' in handshake) {
    return refuseHandshake(context, handshake, clock)
  }
  const isZipped = isCompressed(context, { plan, mediaType }, services)
  const stream = respondTo(context, { mediaType, isZipped, handshake }, clock)
  const frame = carried(failureFrame(failure, mediaType), mediaType, carriageOf(handshake))
  stream.end(isZipped ? zippedMember([frame]) : frame)
}

interface StateFrames {
  readonly connection: WatchResponse
  readonly held: HeldBytes | undefined
  readonly beginning: IteratorResult<Uint8Array | NotExact, void>
  readonly rest: Frames
  readonly initial: InitialState
  /** The bookmark behind them. */
  readonly bookmark: Uint8Array | NotExact | undefined
}

/** Writes the initial events. False when the watch is over: the client has left or does not read,
 *  or an object is not exact. */
async function sendState(
  { signal, reply }: RequestContext,
  state: StateFrames,
  clock: Clock,
): Promise<boolean> {
  const { connection, held } = state
  const stream = connection.request
  const slice = new Slice(clock)
  // As long as it goes on, it keeps all objects as they were.
  const endMs = clock.monotonicMs() + answerMaxMs
  const outcome = { isWhole: false }
  const frames = countedFrames(state, slice, outcome)
  for await (const piece of connection.isZipped ? reply.zip(frames) : frames) {
    if (signal.aborted || !connection.isOpen) return false
    if (held?.atLeast(piece.length) === false) break
    const isFull = !stream.write(piece)
    if (isFull && (await writable(stream, clock, endMs)) !== 'sent') return false
    // A thousand sockets may drain at once, so each continues in its turn.
    if (isFull || slice.isOver) await slice.next()
  }
  held?.release()
  if (!outcome.isWhole) connection.end()
  return outcome.isWhole && !signal.aborted && connection.isOpen
}

/** The pieces of the initial events. */
async function* countedFrames(
  { connection, beginning, rest, initial, bookmark }: StateFrames,
  slice: Slice,
  outcome: { isWhole: boolean },
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let next = beginning; next.done !== true; next = rest.next()) {
    if (next.value instanceof NotExact) return
    if (next.value.length > 0) yield connection.begin(next.value, initial.lastEvents)
    else if (slice.isOver) await slice.next()
  }
  if (bookmark !== undefined && !(bookmark instanceof NotExact)) yield connection.begin(bookmark)
  outcome.isWhole = true
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
