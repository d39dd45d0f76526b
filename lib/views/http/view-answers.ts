/** Answers requests below `/views/`: pages and counts as one JSON document, live ones as a stream.
 *  Access, limits, audit and metrics are those of the list that a view reads; the cache sees to
 *  them before and after (`AnswerViews`). */

import {
  type CancelTimer,
  type Clock,
  inSlices,
  type Key,
  NotExact,
  repeat,
  type Revision,
  Slice,
} from '@watchglass/base'
import {
  type AnswerViews,
  contentsFor,
  type Droppable,
  handshakeOf,
  holdFor,
  holdWatch,
  type OnFault,
  openWebSocket,
  type ReadServices,
  refuseHandshake,
  type RequestContext,
  type ResponseStream,
  takeTurn,
} from '@watchglass/cache'
import { contentType, type ObjectEncoder, type Segment } from '@watchglass/codec'
import {
  type Handshake,
  listExpired,
  type ListPlan,
  notExactly,
  type PassReason,
  type Reads,
  type Resource,
  type ResourceRoute,
  watchExpired,
} from '@watchglass/kube'
import { type Hub, type Keyspace, type SegmentCache, Snapshot } from '@watchglass/store'
import type { ViewQuestion } from '../question/parse-view.ts'
import { RecentQuestions } from '../question/recent-questions.ts'
import type { ViewPieces } from '../documents/view-document.ts'
import { type LiveSource, Views } from '../views.ts'
import { acceptedCarriage } from './accepted-carriage.ts'
import { eventsMediaType, type LiveCarriage } from './live-carriage.ts'
import { LiveResponse } from './live-response.ts'
import { LiveRounds } from './live-rounds.ts'
import { viewsDocument } from './openapi.ts'
import { onlyLiveUpgrades, tooManyGroups, tooManyLive } from './refusals.ts'

export interface ViewAnswersOptions {
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  /** Whether so many bytes more fit into the memory budget. */
  readonly fits: (bytes: number) => boolean
  readonly segments: SegmentCache<Segment>
  readonly clock: Clock
  readonly onFault: OnFault
}

/** Orders and counts that nobody asks for are looked for this often. */
const idleCheckMs = 15_000

/** A view of which everything is known but its contents. */
interface KnownView {
  readonly question: ViewQuestion
  readonly encoder: ObjectEncoder
  readonly carriage: LiveCarriage
  /** Undefined over plain HTTP. */
  readonly handshake: Handshake | undefined
}

export class ViewAnswers implements AnswerViews, Droppable {
  readonly #options: ViewAnswersOptions
  readonly #views: Views
  readonly #questions = new RecentQuestions()
  readonly #rounds = new Map<string, LiveRounds>()
  readonly #cancel: CancelTimer

  constructor(options: ViewAnswersOptions) {
    const { fits, segments, clock } = options
    const views = new Views({ fits, segments })
    this.#options = options
    this.#views = views
    this.#cancel = repeat(clock, idleCheckMs, () => views.dropIdle(clock.monotonicMs()))
  }

  /** Bytes of the orders and counts that are kept. */
  get bytes(): number {
    return this.#views.bytes
  }

  dropTo(bytes: number): void {
    this.#views.dropTo(bytes)
  }

  /** The keyspace has other contents, or its objects are shown in another way from now on. */
  reset(keyspace: Key): void {
    this.#views.reset(keyspace)
  }

  stop(): void {
    this.#cancel()
  }

  document(): Promise<string> {
    return Promise.resolve(viewsDocument())
  }

  async answer(
    context: RequestContext,
    route: ResourceRoute,
    services: ReadServices,
  ): Promise<PassReason | undefined> {
    const { view, request, state } = context
    if (view === undefined) throw new TypeError('the request asks for no view')
    if (request.takeover !== undefined && !view.isLive) throw onlyLiveUpgrades()
    const handshake = view.isLive ? handshakeOf(context) : undefined
    if (handshake !== undefined && 'refusal' in handshake) {
      return refuseHandshake(context, handshake, services.clock)
    }
    const carriage: LiveCarriage =
      handshake === undefined ? acceptedCarriage(context, view.isLive) : 'messages'
    const encoder = state.encoderOf(route.resource)
    if (encoder instanceof NotExact) throw notExactly(route.resource, encoder)
    const question = this.#questions.of(view, route, encoder)
    context.facts = {
      ...context.facts,
      verb: view.isLive ? 'watch' : 'list',
      source: 'mirror',
      hasLabelSelector: !question.plan.labels.isEmpty,
      hasFieldSelector: !question.plan.fields.isEmpty,
    }
    const known = { question, encoder, carriage, handshake }
    if (question.readsWhole) await encoder.prepare(wholeObjects, services.clock)
    const found = await freshContents(context, question, services)
    if (!(found instanceof Snapshot)) return found
    return this.#inTurn(context, known, found, services)
  }

  /** Answers once it is the user's turn. */
  async #inTurn(
    context: RequestContext,
    known: KnownView,
    snapshot: Snapshot,
    services: ReadServices,
  ): Promise<PassReason | undefined> {
    const { clock } = services
    const { question } = known
    const { plan } = question
    const waitsFromMs = clock.monotonicMs()
    const source = this.#sourceOf(context, known, snapshot, clock)
    if (source === undefined) return 'not-ready'
    // What is kept costs no more than a page.
    const isWarm = this.#views.isWarm(question)
    const asPage = isWarm ? { ...plan, limit: question.pageSize } : plan
    const turn = await takeTurn(context, services, { plan: asPage, snapshot })
    context.turnMs = clock.monotonicMs() - waitsFromMs
    try {
      if (context.isOver) return undefined
      const paced = { ...services, pace: turn.pace }
      if (question.isWatch) await this.#begin(context, known, source, paced)
      else await this.#send(context, known, source, paced)
      return undefined
    } finally {
      turn.end()
    }
  }

  /** Undefined if the keyspace has been dropped meanwhile. */
  #sourceOf(
    { state, grant }: RequestContext,
    { question, encoder }: KnownView,
    snapshot: Snapshot,
    clock: Clock,
  ): LiveSource | undefined {
    const store = this.#options.storeOf(question.plan.keyspace)
    if (store === undefined) return undefined
    return {
      snapshot,
      store,
      encoder,
      makeReader: state.makeReader,
      user: grant?.user(),
      wallMs: clock.wallMs(),
      nowMs: clock.monotonicMs(),
    }
  }

  async #send(
    context: RequestContext,
    { question }: KnownView,
    source: LiveSource,
    { pace, fairness }: PacedServices,
  ): Promise<void> {
    const { reply } = context
    const { resource } = question.plan
    const body = await inSlices(this.#views.answer(question, source), pace)
    if (body === 'too-many-groups') throw tooManyGroups()
    if (body instanceof NotExact) throw notExactly(resource, body)
    const beginning = await beginningOf(body.pieces, pace)
    const { problem, pieces, bytes, isWhole } = beginning
    if (problem !== undefined) throw notExactly(resource, problem)
    if (context.isOver) return
    holdFor(context, fairness, { bytes, kind: 'list' })
    const response = reply.response(200, contentType('json'))
    if (isWhole) await reply.body(response, ...pieces)
    else await reply.pieces(response, continued(resource, pieces, body.pieces), pace)
  }

  /** Answers until the live page follows its hub; after that nothing of the request is held. */
  async #begin(
    context: RequestContext,
    known: KnownView,
    source: LiveSource,
    services: PacedServices,
  ): Promise<void> {
    const { question, carriage } = known
    const { plan } = question
    const { watches, clock, pace, preparation } = services
    const view = await inSlices(this.#views.open(question, source), pace)
    if (view === 'full') throw tooManyLive()
    if (view === 'expired') throw watchExpired(source.snapshot.revision, source.store.revision)
    if (view === 'too-many-groups') throw tooManyGroups()
    if (view instanceof NotExact) throw notExactly(plan.resource, view)
    let connection: LiveResponse | undefined
    try {
      if (context.isOver) return
      const askedBytes = context.view?.raw.length ?? 0
      const held = holdWatch(context, context.target, services.fairness, askedBytes)
      const stream = respondTo(context, known, clock)
      const { onFault } = this.#options
      const { resource } = plan
      const { faults } = context
      const parts = { stream, carriage, resource, view, held, faults }
      connection = new LiveResponse({ ...parts, clock, onFault })
    } finally {
      if (connection === undefined) view.close()
    }
    const opened = connection
    const letGo = context.grant?.watch(() => opened.end())
    if (letGo !== undefined) opened.request.onClose(letGo)
    if (!(await opened.begin())) return
    watches.follow(opened, {
      keyspace: plan.keyspace,
      audience: hub =>
        opened.join(this.#roundsOf(hub, plan, { position: view.revision, preparation })),
      position: view.revision,
      timeoutSeconds: question.timeoutSeconds,
      allowBookmarks: context.faults?.dropsBookmarks() !== true,
    })
  }

  /** The rounds of all live pages of a range. */
  #roundsOf(hub: Hub, plan: ListPlan, { position, preparation }: RoundsFrom): LiveRounds {
    const { resource, keyspace, range } = plan
    const id = JSON.stringify(['views', resource.version, range.start, range.end])
    const known = this.#rounds.get(id)
    // A resource that was dropped and has come back has another hub.
    if (known?.hub === hub && known.isOpen) return known
    const waiting = resource.storage?.conversion === 'webhook' ? preparation : undefined
    const rounds = new LiveRounds({
      hub,
      id,
      range,
      position,
      clock: this.#options.clock,
      isHeld: ({ before, after }) =>
        waiting?.waitsFor(resource, keyspace, [before, after]) === true,
      onEmpty: () => {
        if (this.#rounds.get(id) === rounds) this.#rounds.delete(id)
      },
    })
    this.#rounds.set(id, rounds)
    return rounds
  }
}

interface RoundsFrom {
  /** Everything up to here is known to the first page. */
  readonly position: Revision
  readonly preparation: ReadServices['preparation']
}

/** A view up to this size is made before any of it is sent, so that an object which cannot be shown
 *  exactly becomes a Status. */
const beginningMaxBytes = 1024 * 1024

interface Beginning {
  readonly pieces: readonly Uint8Array[]
  readonly bytes: number
  readonly isWhole: boolean
  readonly problem: NotExact | undefined
}

async function beginningOf(body: ViewPieces, pace: Clock): Promise<Beginning> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  const slice = new Slice(pace)
  while (bytes < beginningMaxBytes) {
    const next = body.next()
    if (next.done === true) return { pieces, bytes, isWhole: true, problem: next.value }
    if (next.value.length > 0) pieces.push(next.value)
    bytes += next.value.length
    await slice.giveWay()
  }
  return { pieces, bytes, isWhole: false, problem: undefined }
}

function* continued(
  resource: Resource,
  pieces: readonly Uint8Array[],
  rest: ViewPieces,
): Generator<Uint8Array, void, undefined> {
  yield* pieces
  const problem = yield* rest
  if (problem !== undefined) throw notExactly(resource, problem)
}

interface PacedServices extends ReadServices {
  /** The work on a view yields on this clock between slices. */
  readonly pace: Clock
}

/** Columns of one's own read the whole object. */
const wholeObjects = { encoding: 'json', rendering: 'object' } as const

/** The contents that a view is made of; a reason why nobody can answer it now, or undefined if
 *  there is nothing left to answer. */
async function freshContents(
  context: RequestContext,
  { plan }: ViewQuestion,
  services: ReadServices,
): Promise<Snapshot | PassReason | undefined> {
  const { reads, clock, preparation } = services
  context.trace?.stage('freshness')
  const startMs = clock.monotonicMs()
  // Nobody else can answer a view, and it is not made of pages of etcd.
  const here: Reads = { elsewhere: 'nowhere', read: request => reads.read(request) }
  try {
    const found = await contentsFor(
      context,
      { plan, timeoutMs: undefined },
      { ...services, reads: here },
    )
    if (typeof found === 'string') return found === 'timed out' ? undefined : found
    if (!(found instanceof Snapshot)) throw listExpired()
    await preparation?.prepare(plan.resource, found.iterate(plan.range), context)
    return context.isOver ? undefined : found
  } finally {
    context.etcdMs = clock.monotonicMs() - startMs
  }
}

/** Begins the response, or the WebSocket. */
function respondTo(
  context: RequestContext,
  { carriage, handshake }: KnownView,
  clock: Clock,
): ResponseStream {
  const { reply, request, faults } = context
  if (handshake !== undefined) {
    const stream = openWebSocket(context, handshake, clock)
    return faults?.applyToMessages(stream, clock) ?? stream
  }
  const type = carriage === 'events' ? eventsMediaType : contentType('json')
  // Proxies such as nginx would gather the events first.
  const { status, headers } = reply.response(200, type, { 'x-accel-buffering': 'no' })
  request.respond(status, headers)
  request.flush()
  return request
}
