/** Workers: what the main thread has in the place of a listener, and what a worker has in
 *  the place of mirrors. */

import { type Clock, type HealthCheck, type Logger, sleep } from '@watchglass/base'
import {
  type CreateTally,
  type DeskAnswer,
  type DeskQuestion,
  type Droppable,
  type KeyspaceOf,
  type Listen,
  type MemoryKeeperOptions,
  type Metrics,
  type Mirrors,
  type OwnMirrors,
  type ReviewDesk,
  systemRandom,
  type Traffic,
} from '@watchglass/cache'
import {
  SharedSegmentsOfProcess,
  type SharedUsage,
  shareSegments,
} from './encodings/shared-segments.ts'
import type { PageFigures } from './mirror/page-figures.ts'
import type { SharedSegments } from '@watchglass/codec'
import type { Client } from '@watchglass/etcd'
import { createLimits, giveBack, joinLimits, type ProcessLimits } from './limits/process-limits.ts'
import { sumOfMetrics } from './process/sum-of-metrics.ts'
import { shareSlabs } from '@watchglass/store'
import { MirrorSide } from './mirror/mirror-side.ts'
import type { CopyParts, WorkerThread } from './process/worker-thread.ts'
import { sharePort } from './process/listening.ts'
import { WorkerPool } from './process/worker-pool.ts'
import type { DroppedFigure } from './process/worker-messages.ts'

export interface WorkersOptions {
  readonly count: number
  /** Program of a thread, and the options that it is given. */
  readonly script: URL | string
  readonly options: unknown
}

/** Rules of faults on purpose, as threads share them. */
export interface SharedRules {
  readonly texts: readonly string[]
  /** In which all threads count them. */
  readonly memory: SharedArrayBuffer
}

/** Rules, and who has them. */
export interface RulesOfProcess {
  /** Undefined as long as there were none. */
  readonly shared: SharedRules | undefined
  /** Number of threads that have the present ones. */
  readonly takers: number
}

/** The program of a worker, with its options and limits. */
export interface WorkerProgram {
  readonly options: unknown
  readonly shared: ProcessLimits
  /** Undefined where each thread keeps what it encodes for itself. */
  readonly segments: SharedUsage | undefined
  /** Undefined where there are none yet. */
  readonly faults: SharedRules | undefined
}

/** The questions of a worker to the main thread. */
type WorkerQuestion =
  | { readonly type: 'metrics' }
  | { readonly type: 'traffic' }
  | { readonly type: 'review'; readonly question: DeskQuestion }

/** For a process with workers: to be called before the first value is stored. */
export function prepareWorkers(options: WorkersOptions): WorkersOptions {
  shareSlabs()
  return options
}

/** In a worker: where its contents come from, and what else it knows of the process. */
export interface CopiesOptions {
  readonly createMirrors: (parts: CopyParts) => Mirrors
  /** Number of threads. */
  readonly count: number
  /** Tallies of the limits that all threads share. */
  readonly createTally: CreateTally
  /** The metrics of the whole process. */
  readonly allMetrics: () => Promise<string>
  /** Traffic of the whole process, for the page. */
  readonly traffic: () => Promise<Traffic>
  /** Answers of the upstream about callers, asked once for all threads. */
  readonly askDesk: (question: DeskQuestion) => Promise<DeskAnswer>
  /** Whether so much more memory may be taken. */
  readonly fits: (bytes: number) => boolean
  /** Segments that all threads have encoded; undefined where each keeps its own. */
  readonly segments: SharedSegments | undefined
  /** Checks of the main thread. */
  readonly checks: readonly HealthCheck[]
}

/** The options of a worker that make it one of this process. */
export function copiesOf(
  thread: WorkerThread,
  parts: Pick<CopiesOptions, 'fits' | 'checks'>,
): CopiesOptions {
  const { number, count } = thread.data
  const program = thread.data.program as WorkerProgram
  const ask = (question: WorkerQuestion): Promise<unknown> => thread.ask(question)
  return {
    count,
    createTally: joinLimits(program.shared, number - 1),
    segments: program.segments && shareSegments(thread, program.segments),
    createMirrors: parts => thread.createMirrors(parts),
    allMetrics: () => ask({ type: 'metrics' }) as Promise<string>,
    traffic: () => ask({ type: 'traffic' }) as Promise<Traffic>,
    askDesk: question => ask({ type: 'review', question }) as Promise<DeskAnswer>,
    ...parts,
  }
}

/** The side that accepts connections: a listener, or threads that each have one. */
export interface ClientListener {
  readonly port: number
  /** Requests under way. */
  readonly requestsInFlight: number
  /** Answers tell clients to connect anew from now on. */
  leave(): void
  drain(): Promise<void>
  close(): void
}

export interface WorkersParts {
  readonly mirrors: OwnMirrors
  readonly clients: readonly Client[]
  readonly keyspaceOf: KeyspaceOf
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Metrics
  /** Workers encode objects in the same way, and share them. */
  readonly sharesSegments: boolean
}

/** A thread that is stuck for longer gets new rules when it goes on. */
const faultsMaxMs = 2_000

/** The main thread's knowledge for its threads. */
export interface ProcessParts {
  readonly checks: () => readonly HealthCheck[]
  /** Undefined where anyone may read. */
  readonly desk: ReviewDesk | undefined
  readonly faults: Pick<RulesOfProcess, 'shared'> | undefined
}

export class Workers implements ClientListener {
  readonly mirrorSide: MirrorSide
  readonly #limits: ProcessLimits
  readonly #options: WorkersOptions
  readonly #parts: WorkersParts
  readonly #segments: SharedSegmentsOfProcess | undefined
  #stopSegments: () => void = () => {}
  #pool: WorkerPool | undefined = undefined
  #onStarted: () => void = () => {}
  #traffic: () => Promise<Traffic> = () => Promise.reject(new Error('nothing is shown yet'))
  /** Resolves when every thread has everything that is mirrored. */
  readonly ready: Promise<void>

  constructor(options: WorkersOptions, parts: WorkersParts) {
    const { mirrors, clients, keyspaceOf, clock, sharesSegments } = parts
    this.#segments = sharesSegments ? new SharedSegmentsOfProcess() : undefined
    this.#options = options
    this.#parts = parts
    this.#limits = createLimits(options.count, systemRandom)
    this.mirrorSide = new MirrorSide({ mirrors, clients, keyspaceOf, clock })
    this.kept = {
      segments: this.#keptSegments(),
      indexes: this.#kept('indexBytes'),
      copies: {
        count: options.count,
        trimHistory: (keyspace, bytes) => {
          this.#pool?.tell({ type: 'trim-history', keyspace, bytes })
        },
        hasRoom: bytes => this.#pool?.tell({ type: 'room-for', bytes: this.#shareOf(bytes) }),
      },
    }
    const started = new Promise<void>(resolve => (this.#onStarted = resolve))
    this.ready = started.then(() => this.#pool?.ready)
  }

  /** Resolves when all threads listen. */
  async start({ host, port }: Listen, { checks, desk, faults }: ProcessParts): Promise<void> {
    const { clock, logger } = this.#parts
    const { count, script, options } = this.#options
    const program = (): WorkerProgram => {
      const segments = this.#segments?.usage
      return { options, shared: this.#limits, segments, faults: faults?.shared }
    }
    this.#stopSegments = this.#segments?.start(clock) ?? this.#stopSegments
    this.#pool = await WorkerPool.start({
      count,
      script,
      program,
      mirrorSide: this.mirrorSide,
      port: await sharePort(host, port),
      clock,
      random: systemRandom,
      logger,
      answer: question => this.#answer(question as WorkerQuestion, desk),
      attach: this.#segments && (tell => this.#segments!.attach(tell)),
      onDeath: number => giveBack(this.#limits, number - 1),
      problems: () =>
        Object.fromEntries(checks().map(({ name, problem }) => [name, problem() ?? ''])),
    })
    this.#onStarted()
  }

  /** Memory of threads for the mirror's contents, and for things that can be made again: counted in
   *  the memory budget. */
  readonly kept: KeptByWorkers

  /** The process is ready as long as one thread accepts connections. */
  readonly check: HealthCheck = {
    name: 'threads',
    problem: () =>
      this.#pool !== undefined && this.#pool.listening === 0 ? 'no worker listens' : undefined,
  }

  get port(): number {
    return this.#pool?.port ?? 0
  }

  /** Requests are counted by the workers. */
  get requestsInFlight(): number {
    return 0
  }

  get openWatches(): number {
    return this.#pool?.figures.openWatches ?? 0
  }

  /** The metrics of the process. */
  async allMetrics(): Promise<string> {
    const texts = (await this.#pool?.metrics()) ?? []
    return sumOfMetrics([await this.#parts.metrics.text(), ...texts])
  }

  /** Figures that each thread has told for the page. */
  get figures(): readonly PageFigures[] {
    return (this.#pool?.pageFigures ?? []) as PageFigures[]
  }

  /** Sets the answer for threads that ask for the traffic of the process. */
  onTraffic(traffic: () => Promise<Traffic>): void {
    this.#traffic = traffic
  }

  /** All reads pass to the upstream, or not. */
  passThrough(isOn: boolean): void {
    this.#pool?.passThrough(isOn)
  }

  /** Resolves when all threads have the rules; those that start meanwhile begin with them. */
  async passFaults(faults: RulesOfProcess): Promise<void> {
    const pool = this.#pool
    if (pool === undefined || faults.shared === undefined) return
    pool.tell({ type: 'faults', faults: faults.shared })
    const { clock } = this.#parts
    const untilMs = clock.monotonicMs() + faultsMaxMs
    // This thread has them, too.
    while (faults.takers <= pool.listening && clock.monotonicMs() < untilMs) await sleep(clock, 2)
  }

  async #answer(question: WorkerQuestion, desk: ReviewDesk | undefined): Promise<unknown> {
    if (question.type === 'metrics') return this.allMetrics()
    if (question.type === 'traffic') return this.#traffic()
    const answer = await desk?.answer(question.question)
    const { type, question: asked } = question.question
    // All threads count what the user takes under one name from now on.
    if (type === 'identity' && answer?.answer !== undefined && 'user' in answer.answer) {
      this.#pool?.tell({ type: 'named', key: asked.key, user: answer.answer.user })
    }
    return answer
  }

  leave(): void {
    this.#pool?.tell({ type: 'leave' })
  }

  async drain(): Promise<void> {
    this.#stopSegments()
    await this.#pool?.stop()
  }

  /** Workers end their requests by themselves, and none lasts longer than they allow. */
  close(): void {}

  /** Segments that all threads keep together. */
  get sharedSegments(): { readonly bytes: number; readonly count: number } | undefined {
    return this.#segments?.ledger
  }

  /** Segments that can be dropped: shared ones first, as they are most of it. */
  #keptSegments(): Droppable {
    const own = this.#kept('segmentBytes')
    const ledger = this.#segments?.ledger
    if (ledger === undefined) return own
    return {
      get bytes() {
        return own.bytes + ledger.bytes
      },
      dropTo(left) {
        ledger.dropTo(Math.max(0, left - own.bytes))
        if (own.bytes + ledger.bytes > left) own.dropTo(Math.max(0, left - ledger.bytes))
      },
    }
  }

  #kept(figure: DroppedFigure): Droppable {
    const bytes = (): number => this.#pool?.figures[figure] ?? 0
    return {
      get bytes() {
        return bytes()
      },
      dropTo: left => this.#pool?.dropTo(figure, left),
    }
  }

  #shareOf(bytes: number): number {
    return Math.floor(bytes / this.#options.count)
  }
}

type KeptByWorkers = Required<Pick<MemoryKeeperOptions, 'segments' | 'indexes' | 'copies'>>
