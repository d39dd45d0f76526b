/** Asks etcd for its current revision: a linearizable range that returns no data. One probe is in
 *  flight at a time, and a second one when the first is late. Reads that come meanwhile share the
 *  next probe, never one in flight, which etcd may have answered before a write that the reader has
 *  seen. An etcd in this process is not asked: it says its revision in memory
 *  (lib/etcd/own-revision.ts).
 *
 *  Only the probe begins epochs: an answer from another cluster, one that goes back and is
 *  confirmed by a second, or one that contradicts a landmark, begins a new epoch. Landmarks are
 *  asked for whenever there is a new connection, since only then may another etcd answer, and
 *  whenever etcd has a new term: until they agree, nobody is shown that term as this history's. */

import {
  Backoff,
  CacheError,
  type CancelTimer,
  type Clock,
  type Key,
  keyAfter,
  LinkedAbort,
  type Logger,
  type Random,
  repeat,
  type Revision,
  sleep,
} from '@watchglass/base'
import type {
  OwnRevision,
  RangeRequest,
  RangeResponse,
  ResponseHeader,
  Source,
} from '@watchglass/etcd'
import type { Epochs } from '../feed/epochs.ts'
import { type AskLandmark, hasRead, type Landmarks, type ReadEntries } from '../feed/landmarks.ts'
import type { MirrorLimits } from '../limits.ts'
import type { MirrorMetrics } from '../metrics.ts'
import { DeadlineList, Perishable } from './deadlines.ts'
import { EtcdOutage } from './outage.ts'

export interface RevisionAsker {
  /** True once the asker does not wait any more. */
  readonly isSettled: boolean
  /** The probe was not answered; the next one comes after a pause. */
  delayed(): void
  /** etcd had `revision` at some moment after the asker asked. */
  probed(revision: Revision): void
}

export interface RevisionProbeOptions {
  readonly client: Source
  readonly clock: Clock
  readonly random: Random
  readonly limits: Pick<MirrorLimits, 'probeTimeoutMs' | 'probeBackoff' | 'unaskedMaxMs'>
  readonly metrics: MirrorMetrics
  readonly logger: Logger
  readonly epochs: Epochs
  /** The newest known changes, by which another history shows itself. */
  readonly landmarks: Landmarks
  /** A key in the range that the credentials may read; it need not exist. */
  readonly key: Key
  readonly signal: AbortSignal
  /** A linearizable answer went back and the next one did not: etcd's own read was stale. */
  readonly onStaleAnswer: (got: Revision, known: Revision) => void
  /** Called before any asker gets a revision of the new epoch. */
  readonly onNewEpoch: () => void
}

/** A probe that has taken longer is late: etcd is, or the event loop. Reads that come then do not
 *  wait for two probes one after another. */
const lateMs = 4
const probesMax = 2
/** An etcd that has a new connection made for each call is not asked for ever. */
const agreementsMax = 10
/** Turns of the event loop in which clients that have just been answered may come again. */
const gatheringTurns = 4

export class RevisionProbe {
  readonly #options: RevisionProbeOptions
  readonly #own: OwnRevision | undefined
  /** Which cluster it is has been said. */
  #isIdentified = false
  readonly #request: RangeRequest
  readonly #backoff: Backoff
  #next: RevisionAsker[] = []
  #running = 0
  /** In this turn of the event loop a probe has begun at once. Others wait for its end, and share
   *  the next one: with an etcd in this process each asker would have its own otherwise. Not even
   *  the first waits, because what is begun after sockets were read is sent only a turn later, and
   *  in a flood of requests turns are long. */
  #hasBegun = false
  /** A probe is about to take those who wait, or waits itself after a failure. */
  #isDue = false
  #begunMs = 0
  readonly #outage: EtcdOutage
  /** When etcd has last answered or failed. */
  #heardMs = 0
  #isBeating = false
  /** Reasons to ask for the landmarks anew, beside new connections, and how many reasons of both
   *  kinds there were when they last agreed. */
  #doubts = 0
  #agreedAt = 0
  #agreeing: Promise<boolean> | undefined = undefined
  readonly #calls: DeadlineList<Call>
  #spareCall: Call | undefined = undefined

  constructor(options: RevisionProbeOptions) {
    this.#options = options
    this.#own = options.client.ownRevision
    this.#outage = new EtcdOutage(options.clock, options.logger)
    // Of a single key that is missing kine says a revision that may be too old; a range it counts.
    const range = { start: options.key, end: keyAfter(keyAfter(options.key)) }
    this.#request = { range, countOnly: true }
    this.#backoff = new Backoff(options.limits.probeBackoff, options.random)
    this.#calls = new DeadlineList(options.clock, options.limits.probeTimeoutMs, call => {
      call.isLate = true
      call.abort.abort()
    })
    options.signal.addEventListener('abort', () => this.#calls.takeAll(() => {}), { once: true })
  }

  /** The revision of an etcd in this process; undefined if etcd has to be asked. The first answer
   *  says which cluster it is. */
  known(): Revision | undefined {
    this.#isIdentified ||= this.#options.epochs.clusterId !== undefined
    return this.#isIdentified ? this.#own?.revision : undefined
  }

  /** Whether etcd answers. */
  get outage(): EtcdOutage {
    return this.#outage
  }

  /** Asks from time to time where nobody else does, so that an outage is known before somebody is
   *  refused. */
  watchOut(): CancelTimer {
    if (this.#own !== undefined) return () => {}
    const { clock, limits } = this.#options
    return repeat(clock, limits.unaskedMaxMs, () => {
      if (this.#isBeating || clock.monotonicMs() - this.#heardMs < limits.unaskedMaxMs) return
      this.#isBeating = true
      const settle = (): void => void (this.#isBeating = false)
      this.ask({ isSettled: false, delayed: () => {}, probed: settle })
    })
  }

  /** Gets the revision for `asker`, in as many attempts as it takes, until the asker is settled.
   *  One that comes alone, and not with others in the same turn, leaves no mark for them: taking it
   *  back would be a turn more of the event loop. */
  ask(asker: RevisionAsker, comes: 'alone' | 'with others' = 'with others'): void {
    const known = this.known()
    if (known !== undefined) {
      asker.probed(known)
      return
    }
    this.#next.push(asker)
    if (this.#running === 0 || this.#isLate()) void this.#run(comes === 'with others')
  }

  /** The current revision; `undefined` if the signal is aborted before etcd answers. */
  revisionNow(signal: AbortSignal): Promise<Revision | undefined> {
    return new Promise(resolve => {
      if (signal.aborted) {
        resolve(undefined)
        return
      }
      const abort = (): void => {
        asker.isSettled = true
        resolve(undefined)
      }
      const asker = {
        isSettled: false,
        delayed: () => {},
        probed: (revision: Revision) => {
          signal.removeEventListener('abort', abort)
          resolve(revision)
        },
      }
      signal.addEventListener('abort', abort, { once: true })
      this.ask(asker)
    })
  }

  #isLate(): boolean {
    const { clock } = this.#options
    return !this.#isDue && this.#running < probesMax && clock.monotonicMs() - this.#begunMs > lateMs
  }

  async #run(isMarked: boolean): Promise<void> {
    const { signal, clock } = this.#options
    this.#running++
    if (this.#hasBegun) {
      this.#isDue = true
      await clock.yield('first')
      this.#isDue = false
    } else if (isMarked) {
      this.#hasBegun = true
      void clock.yield('first').then(() => (this.#hasBegun = false))
    }
    while (this.#next.length > 0 && !signal.aborted) {
      const askers = this.#next
      this.#next = []
      this.#begunMs = clock.monotonicMs()
      const revision = await this.#probe(askers.length)
      if (revision === undefined) {
        for (const asker of askers) if (!asker.isSettled) asker.delayed()
        this.#isDue = true
        await sleep(clock, this.#backoff.nextMs(), signal)
        this.#isDue = false
        this.#next = [...askers, ...this.#next].filter(asker => !asker.isSettled)
        continue
      }
      this.#backoff.reset()
      for (const asker of askers) {
        if (!asker.isSettled) asker.probed(revision)
      }
      await this.#gather(askers.length)
    }
    this.#running--
  }

  /** Lets those come who were answered together, and ask again at once as eager clients do: in two
   *  groups by turns each would have questions of its own. Who was answered alone waits for
   *  nobody. */
  async #gather(answered: number): Promise<void> {
    if (answered === 1) return
    for (let i = 0; i < gatheringTurns && this.#next.length < answered; i++) {
      await this.#options.clock.yield('first')
    }
  }

  /** The revision, confirmed if it went back; `undefined` if etcd did not answer. */
  async #probe(reads: number): Promise<Revision | undefined> {
    const { epochs, metrics, clock, onStaleAnswer } = this.#options
    const mark = epochs.mark()
    const startMs = clock.monotonicMs()
    const first = await this.#ask()
    if (first === undefined) {
      metrics.probe('failed', reads, clock.monotonicMs() - startMs)
      return undefined
    }
    const verdict = epochs.judge(mark, first)
    if (verdict === 'same') {
      metrics.probe('answered', reads, clock.monotonicMs() - startMs)
      if (epochs.isNewTerm(first)) this.#doubts++
      if (this.#agreedAt !== this.reasons && !(await this.isOurHistory())) return undefined
      epochs.agreed(mark, first)
      return first.revision
    }
    metrics.probe('went-back', reads, clock.monotonicMs() - startMs)
    if (verdict === 'went back') {
      const confirmMark = epochs.mark()
      const second = await this.#ask()
      if (second === undefined) return undefined
      const confirmed = epochs.judge(confirmMark, second)
      if (confirmed === 'same') {
        // Restored again meanwhile, etcd may have passed what it had gone back from.
        if (epochs.isNewTerm(second)) this.#doubts++
        if (!(await this.isOurHistory())) return undefined
        epochs.agreed(confirmMark, second)
        onStaleAnswer(first.revision, mark.revision)
        return second.revision
      }
      // The other probe has begun an epoch meanwhile.
      return confirmed === 'over' ? undefined : this.startEpoch(second)
    }
    return verdict === 'another cluster' ? this.startEpoch(first) : undefined
  }

  /** Whether etcd has the history that is known, as far as it can be told: false also when it does
   *  not answer, or a new epoch has begun. */
  async isOurHistory(): Promise<boolean> {
    // Agreement that was asked for before a reason came up says nothing.
    for (let i = 0; i < agreementsMax && this.#agreedAt !== this.reasons; i++) {
      this.#agreeing ??= this.#agree().finally(() => (this.#agreeing = undefined))
      if (!(await this.#agreeing)) return false
    }
    return this.#agreedAt === this.reasons
  }

  /** Asks for the landmarks although no connection may be new: what stands between can have led a
   *  stream elsewhere. Returns why it is not known to be our history. */
  async doubt(): Promise<CacheError | undefined> {
    this.#doubts++
    if (await this.isOurHistory()) return undefined
    return this.#outage.failure ?? new CacheError('source_failed', 'etcd has another history')
  }

  /** The number of times that another etcd may have come to answer. */
  get reasons(): number {
    return this.#doubts + (this.#options.client.connections ?? 0)
  }

  /** Whether etcd has what was read from it before; false also when it does not answer. */
  async has(read: ReadEntries): Promise<boolean> {
    try {
      return await hasRead(read, this.#askLandmark)
    } catch (error) {
      if (!(error instanceof CacheError)) throw error
      return false
    }
  }

  readonly #askLandmark: AskLandmark = async request => {
    const { client } = this.#options
    const answer = await this.#inTime(late => orExpired(client.range(request, late)))
    if (answer === undefined) throw new CacheError('source_failed', 'no answer')
    return answer
  }

  async #agree(): Promise<boolean> {
    const { epochs, landmarks, signal } = this.#options
    const { reasons } = this
    const mark = epochs.mark()
    let header: ResponseHeader | undefined
    try {
      header = await landmarks.contradiction(this.#askLandmark)
    } catch (error) {
      if (!(error instanceof CacheError)) throw error
      return false
    }
    if (signal.aborted || mark.epoch !== epochs.number) return false
    if (header !== undefined) {
      // One that goes back is judged by the next probe.
      if (epochs.judge(mark, header) !== 'went back') this.startEpoch(header)
      return false
    }
    this.#agreedAt = reasons
    return true
  }

  /** Begins an epoch: `header` is of another history. */
  startEpoch(header: ResponseHeader): Revision {
    this.#options.epochs.startNew(header)
    this.#options.landmarks.clear()
    this.#options.metrics.newEpoch()
    this.#options.onNewEpoch()
    return header.revision
  }

  async #ask(): Promise<ResponseHeader | undefined> {
    const answer = await this.#inTime(late => this.#options.client.range(this.#request, late))
    return answer?.header
  }

  /** The answer to a question, which is cancelled when it is late; undefined if there is none. */
  async #inTime<T>(ask: (late: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const { signal, clock } = this.#options
    const call = this.#spareCall ?? new Call(signal)
    this.#spareCall = undefined
    this.#calls.add(call)
    try {
      const answer = await ask(call.abort.signal)
      this.#outage.answered()
      return answer
    } catch (error) {
      const failure = CacheError.from(error, 'source_failed')
      if (!signal.aborted) this.#outage.failed(call.isLate ? this.#late(failure) : failure)
      return undefined
    } finally {
      this.#heardMs = clock.monotonicMs()
      this.#calls.remove(call)
      if (this.#spareCall === undefined && !call.isLate) this.#spareCall = call
      else call.abort.release()
    }
  }

  /** The failure of a question that was given up: who was silent, and what was in its way, if it
   *  is more than that we gave it up. */
  #late({ code, message }: CacheError): CacheError {
    const { client, limits } = this.#options
    const { called = 'etcd', endpoints = [] } = client
    const name = [called, endpoints.join(', ')].filter(word => word !== '').join(' ')
    const cause = code === 'closed' ? '' : `: ${message}`
    const text = `${name} did not answer in ${limits.probeTimeoutMs} ms${cause}`
    return new CacheError('source_failed', text)
  }
}

async function orExpired(answer: Promise<RangeResponse>): Promise<RangeResponse | 'expired'> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof CacheError && error.code === 'expired') return 'expired'
    throw error
  }
}

/** The time limit of a probe. All share one timer, and one that was not late is used again: to make
 *  a timer and a signal for each would be a tenth of what a probe costs. */
class Call extends Perishable {
  readonly abort: LinkedAbort
  isLate = false

  constructor(parent: AbortSignal) {
    super()
    this.abort = new LinkedAbort(parent)
  }
}
