/** Answers gets, lists and watches from the mirror. The steps of a read: negotiate, plan, wait for
 *  contents that are fresh enough, walk them, write. All steps are called from here. */

import { CacheError } from '@watchglass/base'
import { type MediaType, negotiate, type NotAcceptable, type Offer } from '@watchglass/codec'
import {
  type ApiState,
  type Contents,
  type DirectSource,
  type ListPlan,
  type PassReason,
  planAsked,
  type ReadPlan,
  requestTimeoutMs,
  type ResourceRoute,
  shardParameter,
  type WatchPlan,
} from '@watchglass/kube'
import { Snapshot } from '@watchglass/store'
import { offerOf } from '../request/offers.ts'
import { refuseLate, withDeadline } from '../request/deadline.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { Answer, UpstreamSide } from '../request/upstream-side.ts'
import { takeTurn } from '../limits/fair-share.ts'
import { directList, directSnapshot } from '../read/direct-contents.ts'
import { answerGet } from '../read/get.ts'
import {
  answerList,
  beginList,
  type ListAnswer,
  type ListBeginning,
  type ListServices,
  sendList,
} from '../read/list.ts'
import { type ContentsServices, contentsFor, rangeOf, type Wanted } from '../read/planned-read.ts'
import { answerForm } from '../request/answer-form.ts'
import { answerWatch, refuseWatch, type WatchServices } from '../watch/answer-watch.ts'

/** Services that reads are answered with. */
export interface ReadServices extends ContentsServices, ListServices, WatchServices {
  /** Shard selectors are obeyed, whatever an upstream does with them. */
  readonly hasShards?: boolean | undefined
  /** Objects may be had without their managed fields, whatever an upstream does. */
  readonly hasDrop?: boolean | undefined
  readonly hasCbor: boolean
  /** Called for each list, so that an index can be built for the next one. Resolves when one that
   *  is being built will answer the list; undefined if none is. */
  readonly onList: (
    plan: ListPlan,
    state: ApiState,
    user: string | undefined,
  ) => Promise<void> | undefined
}

/** Answers, at once if nothing has to be waited for. Refusals are thrown, unless they are the
 *  upstream's to say. */
export function answerRead(
  context: RequestContext,
  route: ResourceRoute,
  services: ReadServices,
): Answer {
  const { upstream } = services
  if (upstream === undefined) return answerInStages(context, route, services)
  const refused = (error: unknown): PassReason => {
    const hasBegun = context.reply.code !== 0
    const reason = hasBegun ? undefined : upstream.objectionToRefusal(route, error)
    if (reason === undefined) throw error
    return reason
  }
  try {
    const answer = answerInStages(context, route, services)
    return answer instanceof Promise ? answer.catch(refused) : answer
  } catch (error) {
    return refused(error)
  }
}

/** The stages: negotiate and plan; freshness, walk and write follow once there is something to
 *  answer from. */
function answerInStages(
  context: RequestContext,
  route: ResourceRoute,
  services: ReadServices,
): Answer {
  const planned = planRead(context, route, services)
  if (typeof planned === 'string') return planned
  context.trace?.stage('freshness')
  const contents = freshContents(context, planned, services)
  return contents instanceof Promise
    ? contents.then(found => walk(context, planned, found, services))
    : walk(context, planned, contents, services)
}

/** True for a continue token that is not made here, where those that are made here are known. */
function isForeign(
  token: string | undefined,
  { tokenEncryption }: Pick<ReadServices, 'tokenEncryption'>,
): boolean {
  if (tokenEncryption?.isOnly !== true || token === undefined || token === '') return false
  return !tokenEncryption.isEncrypted(token)
}

/** Negotiates the form of the answer, and plans the read. A reason: the upstream has to answer. */
function planRead(
  context: RequestContext,
  route: ResourceRoute,
  services: ReadServices,
): PlannedRead | PassReason {
  const { known, reply, target, isWatch } = context
  const { upstream, hasShards: hasOwnShards = false } = services
  const { query } = target
  const timeoutMs = isWatch || !known.hasTimeout ? undefined : requestTimeoutMs(query)
  const features =
    upstream === undefined
      ? { hasShards: hasOwnShards, offer: reply.offer }
      : featuresOf(context, route, services, upstream)
  if (features === undefined) return 'unproven'
  const { offer, hasShards } = features
  reply.offer = offer
  const negotiated = negotiate(reply.preference, offer)
  // The router refuses before anything adds warnings.
  const isRouterRefusal = 'refusal' in negotiated && negotiated.hasDetails
  if (!isRouterRefusal) reply.warnings = route.resource.warnings
  const asked = {
    query,
    isWatch,
    preference: reply.preference,
    offer,
    encryption: services.tokenEncryption,
    hasShards,
  }
  // The upstream has made it: what it lists is the upstream's to say.
  if (upstream !== undefined && isForeign(query.first('continue'), services)) return 'parameter'
  const mixed = upstream?.objectionToRead(route, asked)
  if (mixed !== undefined) return mixed
  const { plan, mediaType } =
    known.plan === undefined || 'refusal' in negotiated
      ? planAsked(route, asked, negotiated)
      : { plan: known.plan, mediaType: negotiated }
  if (plan.type === 'get') known.plan = plan
  const objection = upstream?.objectionToPlan(route.resource, { plan, mediaType, query })
  if (objection !== undefined) return objection
  context.facts = {
    ...context.facts,
    verb: plan.type,
    source: 'mirror',
    hasLabelSelector: known.hasLabelSelector,
    hasFieldSelector: known.hasFieldSelector,
  }
  return { plan, timeoutMs, mediaType }
}

/** Later features that a read may use. */
interface Features {
  readonly hasShards: boolean
  readonly offer: Offer
}

/** The features that are switched on here, and those that the upstream obeys; undefined while it is
 *  not known whether it obeys one that is asked for. */
function featuresOf(
  { reply, target: { query } }: RequestContext,
  route: ResourceRoute,
  { hasShards = false, hasDrop = false, hasCbor }: ReadServices,
  upstream: UpstreamSide,
): Features | undefined {
  const { offer, preference } = reply
  const on = { hasShards, offer }
  const mayShard = !hasShards && route.verb !== 'get' && query.text(shardParameter) !== ''
  const mayDrop = !hasDrop && preference.accept?.includes('drop') === true
  if (!mayShard && !mayDrop) return on
  const plain = negotiate(preference, offer)
  // A refusal is the same with all features.
  if ('refusal' in plain) return on
  const dropping = mayDrop ? offerOf(route, { hasCbor, hasDrop: true }) : offer
  const isDropAsked = mayDrop && !areSame(plain, negotiate(preference, dropping))
  const shards = mayShard ? upstream.obeys('shards', route.resource, plain) : hasShards
  const drops = isDropAsked ? upstream.obeys('drop', route.resource, plain) : false
  if (shards === undefined || drops === undefined) return undefined
  return { hasShards: shards, offer: drops ? dropping : offer }
}

function areSame(plain: MediaType, other: MediaType | NotAcceptable): boolean {
  if ('refusal' in other || other.drops !== undefined) return false
  return other.encoding === plain.encoding && other.rendering === plain.rendering
}

interface PlannedRead extends Wanted {
  readonly mediaType: MediaType
}

/** Outcome of waiting for contents; undefined if there is nothing left to answer. */
type Found = Contents | PassReason | 'timed out' | undefined

/** Waits for contents that are fresh enough, and notes for how long. */
function freshContents(
  context: RequestContext,
  planned: PlannedRead,
  services: ReadServices,
): Found | Promise<Found> {
  const { plan, mediaType } = planned
  const expired = (error: unknown): undefined => {
    if (plan.type !== 'watch' || !isToldInStream(error)) throw error
    refuseWatch(context, { plan, mediaType }, error, services)
  }
  let found: ReturnType<typeof contentsFor>
  try {
    found = contentsFor(context, planned, services)
  } catch (error) {
    return expired(error)
  }
  if (!(found instanceof Promise)) return found
  const { clock } = services
  const startMs = clock.monotonicMs()
  return found.catch(expired).finally(() => {
    context.etcdMs = clock.monotonicMs() - startMs
  })
}

function isToldInStream(error: unknown): error is CacheError {
  return (
    error instanceof CacheError && (error.code === 'expired' || error.code === 'future_revision')
  )
}

/** Walks what was found: contents of the mirror, or pages of etcd. */
function walk(
  context: RequestContext,
  { plan, mediaType, timeoutMs }: PlannedRead,
  found: Found,
  services: ReadServices,
): Answer {
  if (found === 'timed out') return refuseLate(context.reply)
  if (found === undefined || typeof found === 'string') return found
  context.trace?.stage('walk')
  return found instanceof Snapshot
    ? walkSnapshot(context, { plan, snapshot: found, mediaType }, services)
    : walkDirectly(context, { plan, source: found, mediaType, timeoutMs }, services)
}

interface SnapshotRead<Plan> {
  readonly plan: Plan
  readonly snapshot: Snapshot
  readonly mediaType: MediaType
}

/** Has the objects prepared that are to be shown, where one of them needs it, and writes. */
function walkSnapshot(
  context: RequestContext,
  read: SnapshotRead<ReadPlan>,
  services: ReadServices,
): Answer {
  const { plan, snapshot } = read
  // With an upstream, every answer says who has made it.
  if (services.upstream !== undefined) {
    const proof = services.reads.proofOf?.(plan.keyspace)
    const by = proof === undefined ? '' : `; proof=${proof}`
    if (proof !== undefined) context.provingMs = context.etcdMs
    context.reply.origin = `mirror; revision=${snapshot.revision}${by}`
  }
  const { preparation } = services
  if (preparation !== undefined && (plan.type !== 'watch' || plan.start.type === 'state')) {
    const shown = snapshot.iterate(rangeOf(plan))
    const preparing = preparation.prepare(plan.resource, shown, context)
    if (preparing !== undefined) {
      return preparing.then(() => (context.isOver ? undefined : write(context, read, services)))
    }
  }
  return write(context, read, services)
}

function write(
  context: RequestContext,
  { plan, snapshot, mediaType }: SnapshotRead<ReadPlan>,
  services: ReadServices,
): Answer {
  return plan.type === 'get'
    ? answerGet(context, { plan, snapshot, mediaType }, services)
    : writeInTurn(context, { plan, snapshot, mediaType }, services)
}

/** Writes a list or the beginning of a watch once it is its user's turn. */
async function writeInTurn(
  context: RequestContext,
  { plan, snapshot: first, mediaType }: SnapshotRead<ListPlan | WatchPlan>,
  services: ReadServices,
): Promise<PassReason | undefined> {
  const { clock } = services
  const waitsFromMs = clock.monotonicMs()
  const planned = { plan, mediaType, timeoutMs: undefined }
  const isIndexed = plan.type === 'list' && !(plan.labels.isEmpty && plan.fields.isEmpty)
  const newer = isIndexed ? await indexedContents(context, { plan }, services) : 'none'
  if (newer !== 'none' && !(newer instanceof Snapshot)) {
    return walk(context, planned, newer, services)
  }
  const snapshot = newer === 'none' ? first : newer
  const turn = await takeTurn(context, services, { plan, snapshot })
  context.turnMs = clock.monotonicMs() - waitsFromMs
  try {
    if (context.isOver) return undefined
    const { pace } = turn
    return plan.type === 'list'
      ? await answerList(context, { plan, snapshot, mediaType, pace }, services)
      : await answerWatch(context, { plan, snapshot, mediaType, pace }, services)
  } finally {
    turn.end()
  }
}

/** Newer contents for a list that has waited for an index. None if it need not wait, or names its
 *  revision. */
async function indexedContents(
  context: RequestContext,
  { plan }: { readonly plan: ListPlan },
  services: ReadServices,
): Promise<Found | 'none'> {
  const indexing = services.onList(plan, context.state, context.grant?.user())
  if (indexing === undefined || plan.freshness.type === 'exact') return 'none'
  await indexing
  return context.isOver ? undefined : contentsFor(context, { plan, timeoutMs: undefined }, services)
}

interface DirectRead extends PlannedRead {
  readonly source: DirectSource
}

/** Reads from etcd itself, which only a server without an upstream does. */
async function walkDirectly(
  context: RequestContext,
  { plan, source, mediaType, timeoutMs }: DirectRead,
  services: ReadServices,
): Promise<PassReason | undefined> {
  const { reply } = context
  const { clock, tokenEncryption } = services
  const deadline = { clock, timeoutMs }
  context.facts = { ...context.facts, source: 'etcd' }
  const { makeReader } = context.state
  if (plan.type !== 'list') {
    const snapshot = await withDeadline(context, deadline, signal =>
      directSnapshot({ plan, source, signal, makeReader, tokenEncryption }, rangeOf(plan)),
    )
    if (snapshot === 'timed out') return refuseLate(reply)
    return walkSnapshot(context, { plan, snapshot, mediaType }, services)
  }
  const { resource } = plan
  const form = answerForm(context, plan, mediaType, services)
  await form.encoder.prepare(form.form, clock)
  let list: ListAnswer | undefined
  try {
    const begun = await withDeadline(context, deadline, async (signal): Promise<ListBeginning> => {
      const read = { plan, source, signal, makeReader, tokenEncryption }
      list = { ...form, resource, mediaType, contents: await directList(read), pace: clock }
      return beginList(context, list, services)
    })
    if (begun === 'timed out') return refuseLate(reply)
    return list === undefined ? undefined : await sendList(context, list, begun, services)
  } finally {
    await list?.contents.end?.()
  }
}
