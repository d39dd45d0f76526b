/** Answers a live view over several clusters: follows that of each (`followed-cluster.ts`), and
 *  tells its client how the page over all of them changes (`live-fleet-view.ts`).
 *
 *  Nothing is made for a client that has to read first, so no queue grows; a client that takes
 *  nothing for a minute is cut off. A cluster that ends, fails or falls behind is told among
 *  `unanswered`, and is asked again; those that wake, come or go meanwhile are told, too. */

import { type Clock, type Random, repeat, sleep } from '@watchglass/base'
import { hashed, type HttpRequest, writable } from '@watchglass/cache'
import { type Status, StatusError, statusJson, tooManyRequests } from '@watchglass/kube'
import { FollowedCluster } from './followed-cluster.ts'
import type { FleetQuestion } from './fleet-question.ts'
import type { Fleet } from './fleet.ts'
import { LiveFleetView } from './live-fleet-view.ts'
import { type ColumnPlace, strayColumn, type Unanswered } from './merged-view.ts'
import { selectedOf } from './selection.ts'

export interface LiveFleetParts {
  readonly fleet: Fleet
  readonly placeOf: ColumnPlace
  readonly open: OpenFleetViews
  readonly clock: Clock
  readonly random: Random
}

/** Rows that a look goes through, of all clusters together: it is one step. */
const lookedAtMax = 100_000
/** Bytes of rows that a view holds. */
const viewMaxBytes = 8 * 1024 * 1024
/** The first document waits so long for clusters that are slow. */
const firstAfterMs = 2_000
const tellEveryMs = 200
const tellBusyEveryMs = 500
/** Clusters that wake, fall behind or go are looked for this often. */
const lookEveryMs = 2_000
const bookmarkEveryMs = 60_000
const defaultTimeoutSeconds = 3_600

/** Live views over clusters that are open: of all callers, and of each. */
export class OpenFleetViews {
  readonly #counts = new Map<string, number>()
  #all = 0

  /** Refuses one more than may be. Resolves how to give the place back. */
  enter(request: HttpRequest): () => void {
    const caller = callerOf(request)
    const own = this.#counts.get(caller) ?? 0
    if (own >= openMaxOfCaller || this.#all >= openMax) {
      throw tooManyRequests('too many live views over clusters are open', 5)
    }
    this.#counts.set(caller, own + 1)
    this.#all++
    return () => {
      const left = (this.#counts.get(caller) ?? 0) - 1
      if (left > 0) this.#counts.set(caller, left)
      else this.#counts.delete(caller)
      this.#all--
    }
  }
}

const openMax = 64
const openMaxOfCaller = 8

/** Callers without credentials count by their addresses. */
function callerOf({ headers, peer }: HttpRequest): string {
  const { authorization } = headers
  const certificate = peer.certificate()?.fingerprint256
  if (authorization === undefined && certificate === undefined) return peer.address
  return hashed(['fleet view', authorization ?? '', certificate ?? ''])
}

export async function answerLiveFleetView(
  request: HttpRequest,
  question: FleetQuestion,
  parts: LiveFleetParts,
): Promise<void> {
  const leave = parts.open.enter(request)
  const answer = new LiveFleetAnswer(request, question, parts)
  try {
    await answer.run()
  } finally {
    answer.stop()
    leave()
  }
}

class LiveFleetAnswer {
  readonly #request: HttpRequest
  readonly #question: FleetQuestion
  readonly #parts: LiveFleetParts
  readonly #view: LiveFleetView
  readonly #followed = new Map<string, FollowedCluster>()
  readonly #over = new AbortController()
  #others: readonly Unanswered[] = []
  #hasAnswered = false
  #isDirty = false
  #wake: () => void = () => {}

  constructor(request: HttpRequest, question: FleetQuestion, parts: LiveFleetParts) {
    this.#request = request
    this.#question = question
    this.#parts = parts
    this.#view = new LiveFleetView(question)
    request.onClose(() => this.#over.abort())
  }

  async run(): Promise<void> {
    const { clock, fleet } = this.#parts
    const { timeoutSeconds = defaultTimeoutSeconds } = this.#question
    this.#select()
    const end = (): void => this.#over.abort()
    const cancels = [
      repeat(clock, lookEveryMs, () => this.#select()),
      clock.setTimer(timeoutSeconds * 1000, end),
    ]
    fleet.stopping.addEventListener('abort', end, { signal: this.#over.signal })
    try {
      await this.#first()
      await this.#tellAll()
    } finally {
      for (const cancel of cancels) cancel()
    }
    this.#request.end()
  }

  stop(): void {
    this.#over.abort()
    for (const one of this.#followed.values()) one.stop()
    this.#followed.clear()
  }

  /** Waits for the first page of each cluster, or for so long. */
  async #first(): Promise<void> {
    const { clock } = this.#parts
    const { signal } = this.#over
    const untilMs = clock.monotonicMs() + firstAfterMs
    const isSettled = (): boolean => [...this.#followed.values()].every(one => one.isSettled)
    while (!isSettled() && clock.monotonicMs() < untilMs && !signal.aborted) {
      await this.#changed(untilMs - clock.monotonicMs())
    }
    const stray = this.#stray
    if (stray !== undefined) throw new StatusError('invalid_request', stray)
  }

  /** Why the question itself is refused, as far as clusters have answered. */
  get #stray(): Status | undefined {
    const [column] = [...this.#followed.values()].flatMap(one => one.stray ?? [])
    return column === undefined ? undefined : strayColumn(column)
  }

  async #tellAll(): Promise<void> {
    const { clock } = this.#parts
    const { signal } = this.#over
    const isOfEvents = this.#request.headers.accept?.includes('text/event-stream') === true
    this.#respond(isOfEvents)
    let toldAtMs = clock.monotonicMs()
    let restless = 0
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      this.#isDirty = false
      const stray = this.#stray
      const document =
        stray === undefined
          ? this.#documentAt(isFirst, toldAtMs)
          : { type: 'ERROR', object: JSON.parse(statusJson(stray)) as unknown }
      if (document !== undefined) {
        restless = clock.monotonicMs() - toldAtMs < 2 * tellBusyEveryMs ? restless + 1 : 0
        toldAtMs = clock.monotonicMs()
        const json = JSON.stringify(document)
        const bytes = Buffer.from(isOfEvents ? `data: ${json}\n\n` : `${json}\n`)
        const isFull = !this.#request.write(bytes)
        if (isFull && (await writable(this.#request, clock)) !== 'sent') return
      }
      if (stray !== undefined || this.#isRefused) return
      await sleep(clock, restless > 10 ? tellBusyEveryMs : tellEveryMs, signal)
      if (!this.#isDirty) await this.#changed(bookmarkEveryMs)
    }
  }

  /** Every cluster has refused the question or the caller, and none has ever answered: strangers
   *  hold no live view. */
  get #isRefused(): boolean {
    const followed = [...this.#followed.values()]
    this.#hasAnswered ||= followed.some(({ counts }) => counts !== undefined)
    if (this.#hasAnswered) return false
    const refusals = followed.map(({ unanswered }) => unanswered)
    return [...refusals, ...this.#others].every(one => one !== undefined && one.code < 500)
  }

  #respond(isOfEvents: boolean): void {
    this.#request.respond(200, {
      'content-type': isOfEvents ? 'text/event-stream' : 'application/json',
      'cache-control': 'no-cache, private',
      'x-content-type-options': 'nosniff',
      // Proxies such as nginx would gather the events first.
      'x-accel-buffering': 'no',
    })
    this.#request.flush()
  }

  #documentAt(isFirst: boolean, toldAtMs: number): object | undefined {
    const { clock } = this.#parts
    const followed = [...this.#followed.values()]
    const document = this.#view.next(followed, this.#others)
    if (document !== undefined || isFirst) return document
    const isQuiet = clock.monotonicMs() - toldAtMs >= bookmarkEveryMs
    return isQuiet ? this.#view.bookmark(followed) : undefined
  }

  /** Resolves when there may be something to tell, or after so long. */
  async #changed(ms: number): Promise<void> {
    const { clock } = this.#parts
    const over = new AbortController()
    const changed = new Promise<void>(resolve => (this.#wake = resolve))
    const signal = AbortSignal.any([over.signal, this.#over.signal])
    await Promise.race([changed, sleep(clock, ms, signal)])
    over.abort()
  }

  #tell(): void {
    this.#isDirty = true
    this.#wake()
  }

  /** Follows the clusters that are selected now. */
  #select(): void {
    const { fleet } = this.#parts
    const { chosen, unanswered } = selectedOf(this.#question, this.#request, fleet)
    const { page, pageSize } = this.#question
    const max = Math.max(1, Math.floor(lookedAtMax / (page * pageSize)))
    const followed = chosen.slice(0, max)
    const names = new Set(followed.map(({ name }) => name))
    const left = chosen.slice(max).map(({ name }) => tooMany(name))
    const others = [...unanswered, ...left]
    if (JSON.stringify(others) !== JSON.stringify(this.#others)) this.#tell()
    this.#others = others
    for (const [name, one] of this.#followed) {
      if (names.has(name) && fleet.find(name) === one.cluster) one.look()
      else {
        one.stop()
        this.#followed.delete(name)
        this.#tell()
      }
    }
    for (const cluster of followed) {
      if (this.#followed.has(cluster.name)) continue
      const { sort } = this.#question
      const { placeOf, clock, random } = this.#parts
      const one = new FollowedCluster({
        cluster,
        caller: this.#request,
        target: this.#question.target,
        order: { sort, placeOf },
        fits: bytes => this.#bytes + bytes <= viewMaxBytes,
        onChange: () => this.#tell(),
        clock,
        random,
      })
      this.#followed.set(cluster.name, one)
      one.ask()
    }
  }

  get #bytes(): number {
    let bytes = 0
    for (const one of this.#followed.values()) bytes += one.bytes
    return bytes
  }
}

function tooMany(name: string): Unanswered {
  return {
    name,
    code: 413,
    reason: 'TooMany',
    message: 'these are too many clusters for pages of this size: ask for fewer rows or clusters',
  }
}
