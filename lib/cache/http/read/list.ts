/** Answers lists, and writes them, whatever they are read from: the contents, the first part of the
 *  body, the response.
 *
 *  An object that cannot be shown exactly ends a list. As long as nothing was sent, the answer is a
 *  Status; for this reason the first part of every list is made before it is sent. Later the
 *  connection is cut, so that no client takes the list for complete. */

import { type Clock, NotExact, Slice } from '@watchglass/base'
import {
  contentType,
  joinedRuns,
  listBody,
  type ListMeta,
  type MediaType,
  pause,
  type Run,
  runsOfEntries,
  type Segment,
  type SharedSegments,
} from '@watchglass/codec'
import {
  listMeta,
  type ListPlan,
  notExactly,
  type Page,
  type PassReason,
  type Resource,
  selectedPage,
  type TokenEncryption,
  wholePage,
} from '@watchglass/kube'
import type { SegmentCache, Snapshot } from '@watchglass/store'
import { notShown, problemIn } from '../request/not-shown.ts'
import type { UpstreamSide } from '../request/upstream-side.ts'
import type { Fairness } from '../limits/fairness.ts'
import { gated, type AnswerForm, answerForm } from '../request/answer-form.ts'
import { holdFor } from '../limits/fair-share.ts'
import type { Pieces } from '../server/respond.ts'
import type { RequestContext } from '../request/request-context.ts'

/** A page of the mirror to be answered. */
export interface PageAnswer {
  readonly plan: ListPlan
  readonly snapshot: Snapshot
  readonly mediaType: MediaType
  readonly pace: Clock
}

/** Answers a list from the mirror. */
export async function answerList(
  context: RequestContext,
  { plan, snapshot, mediaType, pace }: PageAnswer,
  services: ListServices & {
    readonly clock: Clock
    readonly tokenEncryption?: TokenEncryption | undefined
  },
): Promise<PassReason | undefined> {
  const { resource } = plan
  const { upstream } = services
  const page = await readPage(context, { plan, snapshot, pace })
  if (page === undefined) return undefined
  const plain = answerForm(context, plan, mediaType, services)
  const answer = upstream === undefined ? plain : gated(plain, resource, upstream)
  if (typeof answer === 'string') return answer
  await answer.encoder.prepare(answer.form, pace)
  const meta = listMeta(plan, page, services.tokenEncryption)
  const items = page.content.type === 'slices' && plan.limit === 0 ? snapshot.count(plan.range) : 0
  const contents = { meta, runs: runsOf(page, plan), isMirrored: true, items }
  const list: ListAnswer = { ...answer, resource, mediaType, contents, pace }
  return sendList(context, list, await beginList(context, list, services), services)
}

interface Walk {
  readonly plan: ListPlan
  readonly snapshot: Snapshot
  readonly pace: Clock
}

/** The page of a list, made in slices. Undefined if the client has left meanwhile. */
export async function readPage(
  context: RequestContext,
  { plan, snapshot, pace }: Walk,
): Promise<Page | undefined> {
  const options = { plan, snapshot, makeReader: context.state.makeReader }
  const whole = wholePage(options)
  if (whole !== undefined) return whole
  const walk = selectedPage(options, sliceEntries)
  const slice = new Slice(pace)
  for (let step = walk.next(); ; step = walk.next()) {
    if (step.done !== true) {
      if (context.isOver) return undefined
      if (slice.isOver) await slice.next()
    } else if (step.value instanceof NotExact) throw notExactly(plan.resource, step.value)
    else return step.value
  }
}

/** The clock is read once for this many entries. */
const sliceEntries = 64

/** Selected lists up to this size are kept encoded: clients often repeat the same selection, such
 *  as the pods of their node. */
const keptEntriesMax = 500
function runsOf({ content }: Page, { shards }: Pick<ListPlan, 'shards'>): Iterable<Run> {
  if (content.type === 'slices') return content.slices
  const { entries } = content
  if (entries.length <= keptEntriesMax) {
    return [{ entries, from: 0, to: entries.length, leaf: undefined, isKept: true }]
  }
  return shards === undefined ? runsOfEntries(entries) : joinedRuns(entries)
}

/** Contents of a list that is written. */
export interface ListContents {
  readonly meta: ListMeta
  /** Iterated once for each body that is made. */
  readonly runs: Iterable<Run>
  /** The items are the mirror's: their encoded segments are kept with them. */
  readonly isMirrored: boolean
  /** Number of items, where it is known. */
  readonly items?: number | undefined
  /** Waits for more items, after an empty run; undefined if all are at hand. */
  readonly more?: (() => Promise<void>) | undefined
  /** Stops reading: no more items are needed. */
  readonly end?: (() => Promise<void>) | undefined
}

export interface ListServices {
  readonly segments: SegmentCache<Segment>
  /** Segments that all threads of the process share, if it has several. */
  readonly sharedSegments?: SharedSegments | undefined
  readonly fairness?: Fairness | undefined
  readonly upstream?: UpstreamSide | undefined
}

/** A list to be written. */
export interface ListAnswer extends AnswerForm {
  readonly resource: Resource
  readonly mediaType: MediaType
  readonly contents: ListContents
  /** The work on it yields on this clock between slices. */
  readonly pace: Clock
}

type Body = ReturnType<typeof listBody>

/** A list whose first part is made. */
export interface ListBeginning {
  readonly pieces: readonly Uint8Array[]
  readonly bytes: number
  readonly isWhole: boolean
  readonly problem: NotExact | undefined
  /** The rest of the body, which is not made yet. */
  readonly rest: Body
}

/** This much of a list is made before any of it is sent. */
const beginningMaxBytes = 1024 * 1024
/** A list up to this size is sent in one write, with its length. */
const writtenAtOnceMaxBytes = 256 * 1024

/** Makes the first part of a list. */
export async function beginList(
  context: RequestContext,
  list: ListAnswer,
  services: ListServices,
): Promise<ListBeginning> {
  const { more } = list.contents
  const rest = bodyOf(context, list, services)
  const pieces: Uint8Array[] = []
  let bytes = 0
  const slice = new Slice(list.pace)
  while (bytes < beginningMaxBytes && !context.isOver) {
    const next = rest.next()
    if (next.done === true) return { pieces, bytes, isWhole: true, problem: next.value, rest }
    if (next.value.length > 0) pieces.push(next.value)
    else if (next.value !== pause) await more?.()
    bytes += next.value.length
    if (slice.isOver) await slice.next()
  }
  return { pieces, bytes, isWhole: false, problem: undefined, rest }
}

/** Answers with a list that was begun. */
export async function sendList(
  context: RequestContext,
  list: ListAnswer,
  beginning: ListBeginning,
  services: ListServices,
): Promise<PassReason | undefined> {
  const { reply } = context
  const { resource, mediaType, pace } = list
  const { pieces, bytes, isWhole, rest } = beginning
  // With an upstream, one object that cannot be shown exactly passes the whole list.
  const isSentAsMade = isWhole || services.upstream === undefined
  const problem = isSentAsMade ? beginning.problem : await problemIn(context, rest, pace)
  if (context.isOver) return undefined
  if (problem !== undefined) return notShown(resource, problem, services.upstream)
  holdFor(context, services.fairness, { bytes, kind: 'list' })
  const response = reply.response(200, contentType(mediaType.encoding))
  if (isWhole && bytes <= writtenAtOnceMaxBytes) await reply.body(response, ...pieces)
  else if (isSentAsMade) await reply.pieces(response, continued(list, pieces, rest), pace)
  else await reply.pieces(response, continued(list, [], bodyOf(context, list, services)), pace)
  return undefined
}

function bodyOf(
  { reply }: RequestContext,
  { contents, encoder, form, mediaType }: ListAnswer,
  { segments, sharedSegments }: ListServices,
): Body {
  const { meta, runs, isMirrored, items } = contents
  return listBody(encoder, {
    form,
    isPretty: mediaType.isPretty,
    meta,
    runs,
    items,
    segments: isMirrored ? segments : undefined,
    shared: isMirrored ? sharedSegments : undefined,
    isZipped: reply.takesGzip,
  })
}

/** The pieces that are made already, then the rest. */
function continued(
  { resource, contents: { more } }: ListAnswer,
  pieces: readonly Uint8Array[],
  rest: Body,
): Pieces {
  return more === undefined
    ? made(resource, pieces, rest)
    : arriving({ resource, more }, pieces, rest)
}

function* made(
  resource: Resource,
  pieces: readonly Uint8Array[],
  rest: Body,
): Generator<Uint8Array, void, undefined> {
  yield* pieces
  for (let next = rest.next(); ; next = rest.next()) {
    if (next.done !== true) yield next.value
    else if (next.value !== undefined) throw notExactly(resource, next.value)
    else return
  }
}

async function* arriving(
  { resource, more }: { readonly resource: Resource; readonly more: () => Promise<void> },
  pieces: readonly Uint8Array[],
  rest: Body,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const piece of made(resource, pieces, rest)) {
    if (piece.length > 0 || piece === pause) yield piece
    else await more()
  }
}
