/** Answers gets, lists and watches from the mirror. The steps of a read: negotiate, plan, wait for contents that are fresh enough, walk them,
 *  write. All steps are called from here. */

import type { Clock } from '../../base/clock.ts'
import { Slice } from '../../base/slice.ts'
import { contentType, type MediaType, negotiate } from '../../codec/negotiate/negotiate.ts'
import { NotExact } from '../../codec/not-exact.ts'
import {
  invalidIncludeObject,
  keptObjectBody,
  renderingMismatch,
} from '../../codec/output/object-body.ts'
import type { OutputKind } from '../../codec/output/output-kind.ts'
import { includedObject, type Shown } from '../../codec/served/object-encoder.ts'
import { type Run, runsOfEntries } from '../../codec/output/segments.ts'
import { checkUncovered, uncoveredRefusal } from '../../front/evidence/uncovered-reads.ts'
import { listMeta, type Page, PageWalk } from '../../kube/list.ts'
import { checkLearned, refusalOf } from '../../kube/learned-reads.ts'
import { notShown, PassInstead } from '../../kube/pass-instead.ts'
import { planAsked } from '../../kube/request/asked-read.ts'
import type { GetPlan, ListPlan, ReadPlan, WatchPlan } from '../../kube/read-plan.ts'
import type { DirectSource } from '../../kube/reads.ts'
import { scaleBody, scaleRefusal } from '../../kube/scale.ts'
import { requestTimeoutMs } from '../../kube/request/list-options.ts'
import type { ResourceRoute } from '../../kube/request/routes.ts'
import {
  badRequest,
  notAcceptable,
  notExactly,
  objectNotFound,
  plainError,
  requestTimeoutBody,
} from '../../kube/status.ts'
import type { KeyValue } from '../../store/event.ts'
import { Snapshot } from '../../store/snapshot.ts'
import { holdFor, noteGet, takeTurn } from '../limits/fair-share.ts'
import { answerWatch } from '../watch/answer-watch.ts'
import type { ApiOptions } from '../handler/api.ts'
import { withDeadline } from '../exchange/deadline.ts'
import { directList, directSnapshot } from './direct-contents.ts'
import { beginList, type ListAnswer, type ListBeginning, sendList, type ShownAs } from './list.ts'
import type { Reply } from '../exchange/reply.ts'
import type { RequestContext } from '../exchange/request-context.ts'
import {
  findContents,
  type Found,
  indexedContents,
  rangeOf,
  type WantedBy,
} from './planned-read.ts'

/** What answering reads needs. */
export type ReadServices = Pick<
  ApiOptions,
  | 'reads'
  | 'watches'
  | 'segments'
  | 'sharedSegments'
  | 'tokenEncryption'
  | 'onList'
  | 'fairness'
  | 'proxy'
  | 'clock'
  | 'logger'
>

/** Answers, at once if nothing has to be waited for; refusals are thrown. */
export function answerRead(
  context: RequestContext,
  route: ResourceRoute,
  services: ReadServices,
): void | Promise<void> {
  const refuse = (error: unknown): never => {
    const isCovered = services.proxy?.isCovered?.(route.resource) ?? true
    const refusal = refusalOf(route.resource, isCovered ? error : uncoveredRefusal(error))
    const isScaleProxied = services.proxy !== undefined && route.subresource === 'scale'
    throw isScaleProxied ? scaleRefusal(refusal) : refusal
  }
  try {
    return answerPlanned(context, route, services)?.catch(refuse)
  } catch (error) {
    return refuse(error)
  }
}

function answerPlanned(
  context: RequestContext,
  route: ResourceRoute,
  services: ReadServices,
): void | Promise<void> {
  const { reply, target, isWatch } = context
  const timeoutMs = isWatch ? undefined : requestTimeoutMs(target.query)
  const negotiated = negotiate(reply.preference, reply.offer)
  // The router refuses before anything adds warnings.
  const isRouterRefusal = 'refusal' in negotiated && negotiated.hasDetails
  if (!isRouterRefusal) reply.warnings = route.resource.warnings
  const asked = {
    query: target.query,
    isWatch,
    preference: reply.preference,
    offer: reply.offer,
    encryption: services.tokenEncryption,
  }
  if (services.proxy?.mixed?.()?.areReadAlike(route, asked) === false) {
    throw new PassInstead('versions-differ')
  }
  const { plan, mediaType } = planAsked(route, asked, negotiated)
  checkLearned(route.resource, { mediaType, plan, query: target.query })
  if (services.proxy?.isCovered?.(route.resource) === false) checkUncovered(plan, target.query)
  const { group, version, resource } = context.facts
  context.facts = {
    verb: plan.type,
    group,
    version,
    resource,
    source: 'mirror',
    hasLabelSelector: target.query.text('labelSelector') !== '',
    hasFieldSelector: target.query.text('fieldSelector') !== '',
  }
  const wanted = { plan, timeoutMs, mediaType }
  const found = findContents(context, wanted, services)
  return found instanceof Promise
    ? found.then(contents => answerFound(context, wanted, contents, services))
    : answerFound(context, wanted, found, services)
}

function answerFound(
  context: RequestContext,
  { plan, mediaType, timeoutMs }: WantedBy,
  found: Found,
  services: ReadServices,
): void | Promise<void> {
  if (found === 'answered') return undefined
  if (found === 'timed out') return refuseLate(context.reply)
  return found instanceof Snapshot
    ? answerFrom(context, { plan, snapshot: found, mediaType }, services)
    : answerDirectly(context, { plan, source: found, mediaType, timeoutMs }, services)
}

interface Answer<Plan> {
  readonly plan: Plan
  readonly snapshot: Snapshot
  readonly mediaType: MediaType
}

function answerFrom(
  context: RequestContext,
  { plan, snapshot, mediaType }: Answer<ReadPlan>,
  services: ReadServices,
): void | Promise<void> {
  const { fairness, proxy } = services
  // With an upstream, every answer says who has made it.
  if (proxy !== undefined) context.reply.origin = `mirror; revision=${snapshot.revision}`
  if (plan.type !== 'get') return answerInTurn(context, { plan, snapshot, mediaType }, services)
  noteGet(context, fairness)
  return answerGet(context, { plan, snapshot, mediaType }, services)
}

async function answerInTurn(
  context: RequestContext,
  { plan, snapshot: first, mediaType }: Answer<ListPlan | WatchPlan>,
  services: ReadServices,
): Promise<void> {
  const waitsFromMs = services.clock.monotonicMs()
  const wanted = { plan, mediaType, timeoutMs: undefined }
  const newer = await indexedContents(context, wanted, services)
  if (newer !== undefined && !(newer instanceof Snapshot)) {
    return answerFound(context, wanted, newer, services)
  }
  const snapshot = newer ?? first
  const turn = await takeTurn(context, services, { plan, snapshot })
  context.turnMs = services.clock.monotonicMs() - waitsFromMs
  try {
    if (context.isOver) return
    if (plan.type === 'list') {
      await answerList(context, { plan, snapshot, mediaType, pace: turn.pace }, services)
    } else {
      const shown = shownAs(context, plan, mediaType, services)
      await shown.encoder.prepare(shown.shown, turn.pace)
      await answerWatch(context, { plan, snapshot, mediaType, ...shown }, services)
    }
  } finally {
    turn.end()
  }
}

interface DirectAnswer {
  readonly plan: ReadPlan
  readonly source: DirectSource
  readonly mediaType: MediaType
  readonly timeoutMs: number | undefined
}

/** Answers from etcd itself. */
async function answerDirectly(
  context: RequestContext,
  { plan, source, mediaType, timeoutMs }: DirectAnswer,
  services: ReadServices,
): Promise<void> {
  const { reply } = context
  const { clock, tokenEncryption } = services
  const deadline = { clock, timeoutMs }
  context.facts = { ...context.facts, source: 'etcd' }
  const { makeReader } = context.state
  if (plan.type !== 'list') {
    const snapshot = await withDeadline(context, deadline, signal =>
      directSnapshot({ plan, source, signal, makeReader, tokenEncryption }, rangeOf(plan)),
    )
    if (snapshot === 'timed out') refuseLate(reply)
    else await answerFrom(context, { plan, snapshot, mediaType }, services)
    return
  }
  const { resource } = plan
  const shown = shownAs(context, plan, mediaType, services)
  await shown.encoder.prepare(shown.shown, clock)
  let list: ListAnswer | undefined
  try {
    const begun = await withDeadline(context, deadline, async (signal): Promise<ListBeginning> => {
      const read = { plan, source, signal, makeReader, tokenEncryption }
      list = { ...shown, resource, mediaType, contents: await directList(read), pace: clock }
      return beginList(context, list, services)
    })
    if (begun === 'timed out') refuseLate(reply)
    else if (list !== undefined) await sendList(context, list, begun, services)
  } finally {
    await list?.contents.end?.()
  }
}

function answerGet(
  context: RequestContext,
  { plan, snapshot, mediaType }: Answer<GetPlan>,
  services: ReadServices,
): void | Promise<void> {
  const entry = snapshot.get(plan.key)
  if (entry === undefined) throw objectNotFound(plan.resource, plan.name)
  const { encoder, shown } = shownAs(context, plan, mediaType, services)
  const found = { plan, mediaType, entry, encoder, shown }
  const preparing = encoder.prepare(shown, services.clock)
  if (preparing === undefined) return sendObject(context, found, services)
  return preparing.then(() => sendObject(context, found, services))
}

interface FoundObject extends ShownAs {
  readonly plan: GetPlan
  readonly mediaType: MediaType
  readonly entry: KeyValue
}

function sendObject(
  context: RequestContext,
  { plan, mediaType, entry, encoder, shown }: FoundObject,
  { segments, fairness }: ReadServices,
): void | Promise<void> {
  const { reply } = context
  const { resource } = plan
  const { isPretty } = mediaType
  const body =
    plan.subresource === 'scale'
      ? scaleBody(resource, mediaType, { encoder, shown, entry })
      : keptObjectBody(encoder, entry, { shown, isPretty }, segments)
  if (body instanceof NotExact) throw notShown(resource, body)
  holdFor(context, fairness, { bytes: body.length, kind: 'small' })
  return reply.body(reply.response(200, contentType(mediaType.encoding)), body)
}

async function answerList(
  context: RequestContext,
  { plan, snapshot, mediaType, pace }: Answer<ListPlan> & { readonly pace: Clock },
  services: ReadServices,
): Promise<void> {
  const { resource } = plan
  const page = await readPage(context, { plan, snapshot, pace })
  if (page === undefined) return
  const shown: ShownAs = shownAs(context, plan, mediaType, services)
  await shown.encoder.prepare(shown.shown, pace)
  const meta = listMeta(plan, page, services.tokenEncryption)
  const items = page.content.type === 'slices' && plan.limit === 0 ? snapshot.count(plan.range) : 0
  const contents = { meta, runs: runsOf(page), isMirrored: true, items }
  const list: ListAnswer = { ...shown, resource, mediaType, contents, pace }
  await sendList(context, list, await beginList(context, list, services), services)
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
  const walk = new PageWalk({ plan, snapshot, makeReader: context.state.makeReader })
  const slice = new Slice(pace)
  while (!walk.advance(sliceEntries)) {
    if (context.isOver) return undefined
    if (slice.isOver) await slice.next()
  }
  const { page } = walk
  if (page instanceof NotExact) throw notExactly(plan.resource, page)
  return page
}

/** The clock is read once for this many entries. */
const sliceEntries = 64

/** Selected lists up to this size are kept encoded: clients often repeat the same selection, such as the pods of their node. */
const keptEntriesMax = 500

function runsOf({ content }: Page): Iterable<Run> {
  if (content.type === 'slices') return content.slices
  const { entries } = content
  if (entries.length <= keptEntriesMax) {
    return [{ entries, from: 0, to: entries.length, leaf: undefined, isKept: true }]
  }
  return runsOfEntries(entries)
}

/** How the objects of a plan are shown. Refuses renderings that do not fit the request, and passes forms of which nothing is proven. */
export function shownAs(
  { state, target }: RequestContext,
  plan: ReadPlan,
  mediaType: MediaType,
  { clock, proxy }: Pick<ApiOptions, 'clock' | 'proxy'>,
): ShownAs {
  const { resource } = plan
  const encoder = state.encoderOf(resource)
  if (encoder instanceof NotExact) throw notExactly(resource, encoder)
  const subresource = plan.type === 'get' && plan.subresource === 'scale' ? 'scale' : undefined
  const isWhole = plan.type !== 'watch' && subresource === undefined
  if (isWhole) refuseMismatch(encoder.kind, mediaType, plan.type)
  const asked = target.query.text('includeObject')
  const includeObject = includedObject(asked)
  if (includeObject === undefined && mediaType.rendering === 'Table') {
    throw badRequest(invalidIncludeObject(asked))
  }
  const { encoding, rendering, renderingVersion } = mediaType
  const shown: Shown = {
    encoding,
    rendering,
    renderingVersion,
    includeObject: includeObject ?? 'Metadata',
    now: clock.wallMs(),
    subresource,
  }
  const gate = proxy?.gateOf?.(resource, shown)
  if (typeof gate === 'string') throw new PassInstead(gate)
  return { encoder, shown: gate === undefined ? shown : { ...shown, gate } }
}

/** Refuses a rendering that does not go with what was asked for. */
function refuseMismatch(kind: OutputKind, mediaType: MediaType, type: 'get' | 'list'): void {
  const isList = type === 'list'
  // Go's type of a custom object can be a list, too, which is seen from its items.
  if (kind.custom !== undefined && !isList && mediaType.rendering === 'PartialObjectMetadataList') {
    throw plainError('content is not a list')
  }
  const mismatch = renderingMismatch(kind, mediaType, isList)
  if (mismatch !== undefined) throw notAcceptable(mismatch, false)
}

/** Said by the server itself, and not by what serves the resource: without its warnings. */
export function refuseLate(reply: Reply): void {
  reply.warnings = []
  reply.text(504, requestTimeoutBody, {})
}
