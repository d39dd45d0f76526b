/** Answers watches: first, where asked for, the state that there is, as ADDED events made from one snapshot; then what comes, from the
 *  hub. Events are encoded once for all watchers that see them alike. */

import type { Revision } from '../base/revision.ts'
import { CacheError } from '../base/errors.ts'
import { bookmarkFrame, errorFrame, eventFrame, frameWithColumns } from '../codec/frames.ts'
import type { Forms, Shown } from '../codec/forms.ts'
import { formName } from '../codec/list-body.ts'
import { type MediaType, watchContentType } from '../codec/negotiate.ts'
import { NotExact } from '../codec/not-exact.ts'
import { itemsOfRun, type ItemForm, type Run } from '../codec/segments.ts'
import { compileFilter, type Filter } from '../kube/filter.ts'
import { candidates, indexTerms, indexUses, watchedTerms } from '../kube/index-choice.ts'
import type { WatchPlan } from '../kube/read-plan.ts'
import { readFailure } from '../kube/read-failure.ts'
import { notExactly, statusFromError, statusObjectJson } from '../kube/status.ts'
import { watchEvent } from '../kube/watch-events.ts'
import type { KeyValue } from '../store/event.ts'
import type { Snapshot } from '../store/snapshot.ts'
import type { RequiredTerms, Selection } from '../watch/audience.ts'
import type { RequestContext } from './request-context.ts'
import { writable } from './respond.ts'
import { WatchConnection } from './watch-connection.ts'

/** What a watch is answered from. */
export interface WatchAnswer {
  readonly plan: WatchPlan
  readonly mediaType: MediaType
  readonly forms: Forms
  readonly shown: Shown
  /** Of the plan's freshness; of any state for a watch that begins at a revision. */
  readonly snapshot: Snapshot
}

/** Answers; refusals are thrown as long as nothing was sent. */
export async function answerWatch(context: RequestContext, answer: WatchAnswer): Promise<void> {
  const { plan, forms, shown, snapshot, mediaType } = answer
  const { reply, exchange, options, state } = context
  const filter = compileFilter(plan, state.makeReader)
  const first =
    plan.start.type === 'state' ? initialFrames(context, answer, filter) : [][Symbol.iterator]()
  const beginning = first.next()
  if (beginning.value instanceof NotExact && !isUnanswerable(shown)) {
    throw notExactly(plan.resource, beginning.value.reason)
  }
  const response = reply.response(200, watchContentType(mediaType.encoding))
  exchange.respond(response.status, response.headers)
  exchange.flush()
  const connection = new WatchConnection({
    exchange,
    first: frame => (shown.view === 'Table' ? frameWithColumns(frame, forms) : frame),
    expiredFrame: oldest => expiredFrame(answer, oldest),
    onRoom: ({ watcher }) => {
      if (watcher !== undefined) options.watches.source.hub(plan.keyspace).resume(watcher)
    },
  })
  if (!(await sendState(context, connection, { beginning, rest: first }))) return
  const position = plan.start.type === 'after' ? plan.start.revision : snapshot.revision
  sendEndBookmark(connection, answer, position)
  await follow(context, { answer, connection, position, filter })
}

/** Ends a watch before its first event: upstream says in the stream that its revision has expired, or is still to come. */
export function refuseWatch(
  { reply, exchange }: RequestContext,
  { encoding }: MediaType,
  failure: CacheError,
): void {
  const response = reply.response(200, watchContentType(encoding))
  exchange.respond(response.status, response.headers)
  exchange.end(errorFrame(statusObjectJson(statusFromError(failure)), { encoding }))
}

/** Lists of one event's object cannot be made: upstream ends such a stream at its first event. */
function isUnanswerable({ view }: Shown): boolean {
  return view === 'PartialObjectMetadataList'
}

interface Following {
  readonly answer: WatchAnswer
  readonly connection: WatchConnection
  readonly position: Revision
  readonly filter: Filter | undefined
}

async function follow(
  context: RequestContext,
  { answer, connection, position, filter }: Following,
): Promise<void> {
  const { plan, shown, forms } = answer
  const { watches } = context.options
  const { keyspace, timeoutSeconds } = plan
  const bookmark = (revision: Revision): Uint8Array | undefined => {
    const frame = bookmarkFrame(
      forms,
      { revision, endsInitialEvents: false },
      { shown, hasColumns: false },
    )
    return frame instanceof NotExact ? undefined : frame
  }
  try {
    if (watches.source.isOfOldEpoch(keyspace, position)) {
      throw new CacheError('expired', `revision ${position} is of an old epoch`, {
        oldest: answer.snapshot.revision,
      })
    }
    await watches.follow({
      connection,
      keyspace,
      selection: selectionOf(context, answer, filter),
      position,
      timeoutSeconds,
      bookmark: plan.allowBookmarks ? bookmark : undefined,
    })
  } catch (error) {
    const failure = CacheError.from(error, 'source_failed')
    if (failure.code !== 'expired') throw failure
    connection.expired((failure.details.oldest ?? 0) as Revision)
  }
}

/** The Status that ends a watch whose position is no longer kept. */
function expiredFrame({ plan, shown }: WatchAnswer, oldest: Revision): Uint8Array {
  const failure = new CacheError('expired', 'history has moved on', { oldest })
  return errorFrame(statusObjectJson(statusFromError(readFailure(plan, failure))), shown)
}

function sendEndBookmark(
  connection: WatchConnection,
  { plan, forms, shown }: WatchAnswer,
  revision: Revision,
): void {
  if (plan.start.type !== 'state' || !plan.start.hasEndBookmark) return
  const options = { shown, hasColumns: connection.isFirst }
  const frame = bookmarkFrame(forms, { revision, endsInitialEvents: true }, options)
  if (frame instanceof NotExact) return
  connection.begun()
  connection.exchange.write(frame)
}

type Frames = Iterator<Uint8Array | NotExact, void>

interface StateFrames {
  readonly beginning: IteratorResult<Uint8Array | NotExact, void>
  readonly rest: Frames
}

/** Our own code gives way after so long. */
const sliceMs = 4

/** Writes the initial events. False when the watch is over: the client has left or does not read, or an object is not exact. */
async function sendState(
  { exchange, options, signal }: RequestContext,
  connection: WatchConnection,
  { beginning, rest }: StateFrames,
): Promise<boolean> {
  const { clock } = options
  let sliceEndMs = clock.monotonicMs() + sliceMs
  for (let next = beginning; next.done !== true; next = rest.next()) {
    if (signal.aborted) return false
    if (next.value instanceof NotExact) {
      connection.end()
      return false
    }
    connection.begun()
    if (!exchange.write(next.value)) {
      if ((await writable(exchange, clock)) !== 'sent') return false
    } else if (clock.monotonicMs() >= sliceEndMs) await clock.yield()
    else continue
    sliceEndMs = clock.monotonicMs() + sliceMs
  }
  return !signal.aborted
}

/** So many selected objects make one piece. */
const runEntries = 64

/** The ADDED events of what is there, the first one with the columns of a Table. */
function* initialFrames(
  context: RequestContext,
  answer: WatchAnswer,
  filter: Filter | undefined,
): Generator<Uint8Array | NotExact, void> {
  const { forms, shown } = answer
  const form = addedForm(answer)
  let isFirst = shown.view === 'Table'
  for (const run of initialRuns(answer, filter)) {
    const frames = run instanceof NotExact ? run : itemsOfRun(run, form, context.options.segments)
    if (frames instanceof NotExact || !isFirst) yield frames
    else yield frameWithColumns(frames, forms)
    isFirst = false
  }
}

function* initialRuns(
  { plan, snapshot }: WatchAnswer,
  filter: Filter | undefined,
): Generator<Run | NotExact> {
  if (filter === undefined) {
    for (const { leaf, from, to } of snapshot.leaves(plan.range)) {
      yield { entries: leaf.entries, from, to, leaf }
    }
    return
  }
  let entries: KeyValue[] = []
  const few = candidates(snapshot, plan.range, indexUses(plan))
  for (const entry of few ?? snapshot.iterate(plan.range)) {
    const isSelected = filter(entry)
    if (isSelected instanceof NotExact) yield isSelected
    else if (isSelected) entries.push(entry)
    if (entries.length < runEntries) continue
    yield { entries, from: 0, to: entries.length, leaf: undefined }
    entries = []
  }
  if (entries.length > 0) yield { entries, from: 0, to: entries.length, leaf: undefined }
}

/** How initial events are written. Rows show ages, so they are never kept. */
function addedForm({ forms, shown }: WatchAnswer): ItemForm {
  const options = { shown, hasColumns: false }
  return {
    append(out, entry) {
      const frame = eventFrame(
        forms,
        { type: 'ADDED', entry, revision: entry.modRevision },
        options,
      )
      if (frame instanceof NotExact) return frame
      out.append(frame)
      return undefined
    },
    segmentName: shown.view === 'Table' ? undefined : `added ${formName(forms, shown)}`,
  }
}

function selectionOf(
  context: RequestContext,
  answer: WatchAnswer,
  filter: Filter | undefined,
): Selection {
  const { plan, forms, shown } = answer
  const { query } = context.target
  const { range } = plan
  const inexact = ({ reason }: NotExact): 'inexact' => {
    context.options.logger.warn('watches end at an object that cannot be shown exactly', {
      resource: plan.resource.resource,
      reason,
    })
    return 'inexact'
  }
  const frameOf: Selection['frameOf'] = (event, revision) => {
    const told = watchEvent(event, revision, filter)
    if (told === undefined) return undefined
    if (told instanceof NotExact) return inexact(told)
    const made = eventFrame(forms, told, {
      shown: { ...shown, now: context.options.clock.wallMs() },
      hasColumns: false,
    })
    return made instanceof NotExact ? inexact(made) : made
  }
  return {
    id: JSON.stringify([
      formName(forms, shown),
      shown.view,
      shown.includeObject,
      range.start,
      range.end,
      query.text('labelSelector'),
      query.text('fieldSelector'),
    ]),
    range,
    requires: requiredTerms(context, plan),
    frameOf,
  }
}

/** The first requirement of equality: what it leaves out costs this watch nothing. */
function requiredTerms({ state }: RequestContext, plan: WatchPlan): RequiredTerms | undefined {
  const [use] = indexUses(plan)
  if (use === undefined) return undefined
  const termsOf = indexTerms(use.name, plan.resource, state.makeReader)
  return termsOf === undefined ? undefined : { index: use.name, termsOf, terms: watchedTerms(use) }
}
