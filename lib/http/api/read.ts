/** Answers gets and lists from the mirror: negotiates, plans, waits for contents that are fresh enough, and streams what they hold.
 *
 *  An object that cannot be shown exactly ends a list. As long as nothing was sent that is a clear Status; for this reason the first
 *  part of every list is made before it is sent. Later the connection is cut, so that nobody takes the list for complete. */

import type { Freshness } from '../../base/freshness.ts'
import { CacheError } from '../../base/errors.ts'
import { type Key, type KeyRange, singleKey } from '../../base/keys.ts'
import { Slice } from '../../base/slice.ts'
import {
  includedObject,
  type ObjectEncoder,
  type Shown,
} from '../../codec/served/object-encoder.ts'
import { listBody } from '../../codec/output/list-body.ts'
import {
  contentType,
  type MediaType,
  negotiate,
  negotiateWatch,
} from '../../codec/negotiate/negotiate.ts'
import { NotExact } from '../../codec/not-exact.ts'
import {
  invalidIncludeObject,
  keptObjectBody,
  renderingMismatch,
} from '../../codec/output/object-body.ts'
import { type Run, runsOfEntries } from '../../codec/output/segments.ts'
import { listMeta, type Page, PageWalk } from '../../kube/list.ts'
import { requestTimeoutMs } from '../../kube/request/list-options.ts'
import { readFailure } from '../../kube/read-failure.ts'
import {
  type GetPlan,
  isWatchRequest,
  type ListPlan,
  planRead,
  type ReadPlan,
  type WatchPlan,
} from '../../kube/read-plan.ts'
import type { Resource } from '../../kube/resources/resource.ts'
import type { ResourceRoute } from '../../kube/request/routes.ts'
import {
  badRequest,
  notAcceptable,
  notExactly,
  objectNotFound,
  requestTimeoutBody,
} from '../../kube/status.ts'
import { Snapshot } from '../../store/snapshot.ts'
import type { DirectSource, ReadRequest } from '../../kube/reads.ts'
import { withDeadline } from './deadline.ts'
import { DirectList, directSnapshot } from './direct-read.ts'
import { offerOf } from './offers.ts'
import { holdFor, inTurn, noteGet } from '../limits/fair-share.ts'
import { checkLearned, refusalOf } from '../../kube/learned-reads.ts'
import { problemIn } from './inexact.ts'
import type { RequestContext } from './request-context.ts'
import { answerWatch, refuseWatch } from '../watch/answer-watch.ts'

/** Answers; refusals are thrown. */
export async function answerRead(context: RequestContext, route: ResourceRoute): Promise<void> {
  try {
    await answerPlanned(context, route)
  } catch (error) {
    throw refusalOf(route.resource, error)
  }
}

async function answerPlanned(context: RequestContext, route: ResourceRoute): Promise<void> {
  const { reply, target, options } = context
  const { resource } = route
  const isWatch = isWatchRequest(route, target.query)
  const timeoutMs = isWatch ? undefined : requestTimeoutMs(target.query)
  const isObject = route.verb === 'get'
  reply.offer = offerOf(resource, !isObject, options.hasCbor)
  reply.warnings = resource.warnings
  const mediaType = (isWatch ? negotiateWatch : negotiate)(reply.preference, reply.offer)
  if ('refusal' in mediaType) throw notAcceptable(mediaType.refusal, mediaType.hasDetails)
  const plan = planRead(route, target.query, options.tokenEncryption)
  checkLearned(resource, { mediaType, plan, query: target.query })
  context.facts = {
    ...context.facts,
    verb: plan.type,
    source: 'mirror',
    hasLabelSelector: target.query.text('labelSelector') !== '',
    hasFieldSelector: target.query.text('fieldSelector') !== '',
  }
  const found = await contentsFor(context, plan, timeoutMs).catch((error: unknown) => {
    if (plan.type !== 'watch' || !isToldInStream(error)) throw error
    refuseWatch(context, mediaType, error)
  })
  if (found === undefined) return
  if (found === 'timed out') {
    reply.text(504, requestTimeoutBody, {})
    return
  }
  if (found instanceof Snapshot) await answerFrom(context, { plan, snapshot: found, mediaType })
  else await answerDirectly(context, { plan, source: found, mediaType, timeoutMs })
}

async function answerFrom(
  context: RequestContext,
  { plan, snapshot, mediaType }: Answer<ReadPlan>,
): Promise<void> {
  noteRevision(context, snapshot)
  if (plan.type === 'get') {
    noteGet(context)
    await answerGet(context, { plan, snapshot, mediaType })
  } else if (plan.type === 'list') {
    await inTurn(context, { plan, snapshot }, () =>
      answerList(context, { plan, snapshot, mediaType }),
    )
  } else {
    const shown = encoderFor(context, plan, mediaType)
    await inTurn(context, { plan, snapshot }, () =>
      answerWatch(context, { plan, snapshot, mediaType, ...shown }),
    )
  }
}

/** Answers what only the source itself can. */
async function answerDirectly(
  context: RequestContext,
  { plan, source, mediaType, timeoutMs }: DirectAnswer,
): Promise<void> {
  const { reply } = context
  context.facts = { ...context.facts, source: 'etcd' }
  const isList = plan.type === 'list'
  const encoder = isList ? encoderFor(context, plan, mediaType) : undefined
  const begun = await withDeadline<DirectList | Snapshot>(context, timeoutMs, signal =>
    isList && encoder !== undefined
      ? DirectList.begin({ context, plan, source, signal }, { ...mediaType, ...encoder })
      : directSnapshot({ context, plan, source, signal }, rangeOf(plan)),
  )
  if (begun === 'timed out') reply.text(504, requestTimeoutBody, {})
  else if (begun instanceof Snapshot) {
    await answerFrom(context, { plan, snapshot: begun, mediaType })
  } else await begun.send(reply.response(200, contentType(mediaType.encoding)))
}

/** Where there is an upstream, every answer says who has made it. */
function noteRevision({ reply, options }: RequestContext, { revision }: Snapshot): void {
  if (options.proxy !== undefined) reply.origin = `mirror; revision=${revision}`
}

function isToldInStream(error: unknown): error is CacheError {
  return (
    error instanceof CacheError && (error.code === 'expired' || error.code === 'future_revision')
  )
}

/** Contents that are as fresh as the plan wants, or where to read them, unless the request's own time limit passes first. */
async function contentsFor(
  context: RequestContext,
  plan: ReadPlan,
  timeoutMs: number | undefined,
): Promise<Snapshot | DirectSource | 'timed out'> {
  const { reads, tokenEncryption } = context.options
  try {
    // The mirror has a limit of its own, far below that of requests.
    if (timeoutMs === undefined) return await reads.read(new PlannedRead(plan, context))
    return await withDeadline(context, timeoutMs, signal =>
      reads.read(new PlannedRead(plan, { signal })),
    )
  } catch (error) {
    throw readFailure(plan, CacheError.from(error, 'source_failed'), tokenEncryption)
  }
}

/** What has to be read for a plan. */
class PlannedRead implements ReadRequest {
  readonly keyspace: Key
  readonly range: KeyRange
  readonly freshness: Freshness
  readonly #reader: { readonly signal: AbortSignal }

  constructor(plan: ReadPlan, reader: { readonly signal: AbortSignal }) {
    this.keyspace = plan.keyspace
    this.range = rangeOf(plan)
    this.freshness = plan.type === 'watch' ? freshnessOfStart(plan) : plan.freshness
    this.#reader = reader
  }

  get signal(): AbortSignal {
    return this.#reader.signal
  }
}

function rangeOf(plan: ReadPlan): KeyRange {
  return plan.type === 'get' ? singleKey(plan.key) : plan.range
}

/** A watch from a revision needs no state, only that there is one. */
function freshnessOfStart({ start }: WatchPlan): Freshness {
  return start.type === 'after' ? { type: 'any' } : start.freshness
}

interface Answer<Plan> {
  readonly plan: Plan
  readonly snapshot: Snapshot
  readonly mediaType: MediaType
}

interface DirectAnswer {
  readonly plan: ReadPlan
  readonly source: DirectSource
  readonly mediaType: MediaType
  readonly timeoutMs: number | undefined
}

async function answerGet(
  context: RequestContext,
  { plan, snapshot, mediaType }: Answer<GetPlan>,
): Promise<void> {
  const { resource, key, name } = plan
  const entry = snapshot.get(key)
  if (entry === undefined) throw objectNotFound(resource, name)
  const { encoder, shown } = encoderFor(context, plan, mediaType)
  const { isPretty } = mediaType
  const { segments } = context.options
  const body = keptObjectBody(encoder, entry, { shown, isPretty }, segments)
  if (body instanceof NotExact) throw notExactly(resource, body.reason)
  const { reply } = context
  holdFor(context, body.length)
  await reply.body(reply.response(200, contentType(mediaType.encoding)), body)
}

async function answerList(
  context: RequestContext,
  { plan, snapshot, mediaType }: Answer<ListPlan>,
): Promise<void> {
  const { options, reply } = context
  const { resource } = plan
  options.onList(plan, context.state)
  const page = await readPage(context, plan, snapshot)
  if (page === undefined) return
  const { encoder, shown } = encoderFor(context, plan, mediaType)
  const { isPretty, encoding } = mediaType
  const meta = listMeta(plan, page, options.tokenEncryption)
  const { segments } = options
  const isZipped = reply.takesGzip
  const makeBody = (): Body =>
    listBody(encoder, { shown, isPretty, meta, runs: runsOf(page), segments, isZipped })
  const body = makeBody()
  const start = await beginning(body, context)
  // The upstream answers the whole list if there is one object that we cannot show.
  const isSentAsMade = start.isWhole || options.proxy === undefined
  const problem = isSentAsMade ? start.problem : await problemIn(body, context)
  if (context.isOver) return
  if (problem !== undefined) throw notExactly(resource, problem.reason)
  holdFor(context, start.bytes, 'list')
  const response = reply.response(200, contentType(encoding))
  if (start.isWhole && start.bytes <= writtenAtOnceMaxBytes) {
    await reply.body(response, ...start.pieces)
    return
  }
  const [first, rest] = isSentAsMade ? [start.pieces, body] : [[], makeBody()]
  await reply.pieces(response, continued(first, rest, resource))
}

/** What is shown, and how. Refuses renderings that do not go with what was asked for. */
function encoderFor(
  { state, target, options }: RequestContext,
  { resource, type }: ReadPlan,
  mediaType: MediaType,
): { encoder: ObjectEncoder; shown: Shown } {
  const isList = type === 'list'
  const encoder = state.encoderOf(resource)
  if (encoder instanceof NotExact) throw notExactly(resource, encoder.reason)
  const mismatch = type === 'watch' ? undefined : renderingMismatch(encoder.kind, mediaType, isList)
  if (mismatch !== undefined) throw notAcceptable(mismatch, false)
  const asked = target.query.text('includeObject')
  const includeObject = includedObject(asked)
  if (includeObject === undefined && mediaType.rendering === 'Table') {
    throw badRequest(invalidIncludeObject(asked))
  }
  const now = options.clock.wallMs()
  return { encoder, shown: { ...mediaType, includeObject: includeObject ?? 'Metadata', now } }
}

/** The page of a list, made in slices. Undefined if the client has left meanwhile. */
async function readPage(
  context: RequestContext,
  plan: ListPlan,
  snapshot: Snapshot,
): Promise<Page | undefined> {
  const { state } = context
  const walk = new PageWalk({ plan, snapshot, makeReader: state.makeReader })
  const slice = new Slice(context.reply.clock)
  while (!walk.advance(sliceEntries)) {
    if (context.isOver) return undefined
    if (slice.isOver) await slice.next()
  }
  const { page } = walk
  if (page instanceof NotExact) throw notExactly(plan.resource, page.reason)
  return page
}

/** Our own code looks at the clock after so many entries. */
const sliceEntries = 64

/** So few are kept: what one client selects again and again, such as the pods of its node. */
const keptEntriesMax = 500

function runsOf({ content }: Page): Iterable<Run> {
  if (content.type === 'slices') return content.slices
  const { entries } = content
  if (entries.length <= keptEntriesMax) {
    return [{ entries, from: 0, to: entries.length, leaf: undefined, isKept: true }]
  }
  return runsOfEntries(entries)
}

type Body = ReturnType<typeof listBody>

interface Beginning {
  readonly pieces: Uint8Array[]
  readonly bytes: number
  readonly isWhole: boolean
  readonly problem: NotExact | undefined
}

/** So much of a list is made before any of it is sent. */
const beginningMaxBytes = 1024 * 1024
/** A list up to this goes out in one write, with its length. */
const writtenAtOnceMaxBytes = 256 * 1024

async function beginning(body: Body, context: RequestContext): Promise<Beginning> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  const slice = new Slice(context.reply.clock)
  while (bytes < beginningMaxBytes && !context.isOver) {
    const next = body.next()
    if (next.done === true) return { pieces, bytes, isWhole: true, problem: next.value }
    if (next.value.length > 0) pieces.push(next.value)
    bytes += next.value.length
    if (slice.isOver) await slice.next()
  }
  return { pieces, bytes, isWhole: false, problem: undefined }
}

/** What was made already, and then the rest. */
function* continued(
  pieces: readonly Uint8Array[],
  body: Body,
  resource: Resource,
): Generator<Uint8Array, void, undefined> {
  yield* pieces
  for (let next = body.next(); ; next = body.next()) {
    if (next.done === true) {
      if (next.value !== undefined) throw notExactly(resource, next.value.reason)
      return
    }
    yield next.value
  }
}
