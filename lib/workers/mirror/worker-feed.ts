/** The copies of a mirror and of its feeds in a worker, as far as reads need them. */

import { type Clock, revision, type Revision, silentLogger } from '@watchglass/base'
import type { OwnRevision } from '@watchglass/etcd'
import {
  FreshnessGate,
  type GateFeed,
  type MirrorLimits,
  type MirrorMetrics,
  EtcdOutage,
  Progress,
  type ProgressTrust,
  type RevisionAsker,
} from '@watchglass/cache'
import { type AnswerMessage, failureOfMessage, type QuestionMessage } from './messages.ts'

export type Ask = (question: QuestionMessage) => void

/** A feed: how far it is, and how trustworthy. */
export class WorkerFeed implements GateFeed {
  readonly id: number
  readonly mirror: WorkerMirror
  readonly progress: Progress = new Progress(revision(0))
  trust: ProgressTrust = 'unknown'
  /** The way in which progress was last proven, where there are several. */
  proof: string | undefined = undefined
  /** A keyspace has newer contents than progress says: reads of it may wait for no more. */
  isAhead = false
  readonly #ask: Ask
  #needed: Revision = revision(0)

  constructor(id: number, mirror: WorkerMirror, ask: Ask) {
    this.id = id
    this.mirror = mirror
    this.#ask = ask
  }

  /** Reads that begin to wait in the same turn need it once. */
  need(needed: Revision): void {
    if (needed <= this.#needed) return
    if (this.#needed === 0) queueMicrotask(() => (this.#needed = revision(0)))
    this.#needed = needed
    this.#ask({ type: 'need', feed: this.id, revision: needed })
  }

  startEpoch(): void {
    this.progress.restart(revision(0))
    this.wakeReads()
  }

  /** Makes every waiting read check its condition again. */
  wakeReads(): void {
    this.isAhead = false
    for (const waiter of this.progress.takeWaiting()) waiter.reached()
  }
}

export interface WorkerMirrorOptions {
  readonly id: number
  readonly ask: Ask
  readonly clock: Clock
  readonly limits: MirrorLimits
  readonly metrics: MirrorMetrics
  /** Revision of an etcd in this process: nobody has to be asked for it. */
  readonly ownRevision?: OwnRevision | undefined
  /** Reads what is in the ring now. */
  readonly drain: () => void
}

/** Questions under way at the same time: the one that is being answered, and one for all who came
 *  later. */
interface Probe {
  readonly askers: RevisionAsker[]
}

/** One mirror: its epoch, and its gate. Reads that ask for etcd's revision share the questions,
 *  never one that was put before they came. */
export class WorkerMirror {
  readonly id: number
  readonly gate: FreshnessGate
  epoch = 0
  expiredThrough: Revision = revision(0)
  witnessed: Revision = revision(0)
  compactRevision: Revision = revision(0)
  /** As the reads of this thread find it: the main thread tells of it. */
  readonly #outage: EtcdOutage
  readonly #ask: Ask
  readonly #clock: Clock
  readonly #ownRevision: OwnRevision | undefined
  readonly #drain: () => void
  readonly #probes = new Map<number, Probe>()
  #lastProbe = 0
  #next: Probe | undefined = undefined
  #underWay: number | undefined = undefined
  /** Answers of an epoch that the ring has not told of yet. */
  #early: Extract<AnswerMessage, { type: 'probed' }>[] = []

  constructor(options: WorkerMirrorOptions) {
    const { id, ask, clock, limits, metrics, ownRevision, drain } = options
    this.id = id
    this.#ask = ask
    this.#clock = clock
    this.#ownRevision = ownRevision
    this.#drain = drain
    const number = (): number => this.epoch
    const expiredThrough = (): Revision => this.expiredThrough
    const outage = (this.#outage = new EtcdOutage(clock, silentLogger))
    this.gate = new FreshnessGate({
      clock,
      limits,
      metrics,
      epochs: {
        get number() {
          return number()
        },
        get expiredThrough() {
          return expiredThrough()
        },
      },
      probe: {
        ask: asker => this.#probe(asker),
        known: () => this.#known(),
        outage,
      },
      compactRevision: () => this.compactRevision,
    })
  }

  startEpoch(number: number, expiredThrough: Revision): void {
    this.epoch = number
    this.expiredThrough = expiredThrough
    this.witnessed = revision(0)
    this.compactRevision = revision(0)
    const early = this.#early
    this.#early = []
    for (const answer of early) this.probed(answer)
  }

  witness(revision: Revision): void {
    if (revision > this.witnessed) this.witnessed = revision
  }

  probed(answer: Extract<AnswerMessage, { type: 'probed' }>): void {
    if (answer.epoch > this.epoch) {
      this.#early.push(answer)
      return
    }
    const probe = this.#probes.get(answer.id)
    this.#answered(answer.id)
    this.#outage.answered()
    for (const asker of probe?.askers ?? []) {
      if (asker.isSettled) continue
      // What was etcd's revision in an epoch that is over means nothing.
      if (answer.epoch < this.epoch) this.#probe(asker)
      else asker.probed(revision(answer.revision))
    }
    if (answer.epoch === this.epoch) this.witness(revision(answer.revision))
  }

  probeFailed({ id, failure, isOver }: Extract<AnswerMessage, { type: 'probe-failed' }>): void {
    if (failure !== undefined) this.#outage.failed(failureOfMessage(failure))
    for (const asker of this.#probes.get(id)?.askers ?? []) {
      if (!asker.isSettled) asker.delayed()
    }
    if (isOver) this.#answered(id)
  }

  /** One question is under way at a time: all who ask meanwhile, or in this turn of the event loop,
   *  share the next. Each costs both threads a message and a turn. */
  #probe(asker: RevisionAsker): void {
    const known = this.#known()
    if (known !== undefined) {
      asker.probed(known)
      return
    }
    if (this.#next !== undefined) {
      this.#next.askers.push(asker)
      return
    }
    this.#next = { askers: [asker] }
    if (this.#underWay === undefined) this.#askSoon()
  }

  /** The revision of an etcd in this process. */
  #known(): Revision | undefined {
    const known = this.#ownRevision?.revision
    if (known === undefined) return undefined
    this.witness(known)
    // Mostly its changes are in the ring already.
    this.#drain()
    return known
  }

  #askNext(): void {
    const probe = this.#next
    if (probe === undefined || this.#underWay !== undefined) return
    this.#next = undefined
    const id = ++this.#lastProbe
    this.#underWay = id
    this.#probes.set(id, probe)
    this.#ask({ type: 'probe', mirror: this.id, id })
  }

  #answered(id: number): void {
    this.#probes.delete(id)
    if (this.#underWay !== id) return
    this.#underWay = undefined
    if (this.#next !== undefined) this.#askSoon()
  }

  #askSoon(): void {
    void this.#clock.yield('first').then(() => this.#askNext())
  }
}
