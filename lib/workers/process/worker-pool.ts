/** The workers of a process: started, fed, started again when one dies, and stopped. */

import { Backoff, CacheError, type CancelTimer, type Random, sleep } from '@watchglass/base'
import { messageOfFailure } from '../mirror/messages.ts'
import type { SharedPort } from './listening.ts'
import { PoolWorker, type PoolWorkerOptions, type WorkerNews } from './pool-worker.ts'
import type { DroppedFigure, WorkerFigures, ToWorker } from './worker-messages.ts'

export interface WorkerPoolOptions extends Omit<PoolWorkerOptions, 'onMessage' | 'onEnd'> {
  readonly port: SharedPort
  readonly random: Random
  /** Answers what threads ask. */
  readonly answer: (question: unknown) => Promise<unknown>
  /** A thread has died: what it held is free. */
  readonly onDeath: (number: number) => void
  /** Problem that each check of the main thread finds; empty if all is well. */
  readonly problems: () => Readonly<Record<string, string>>
}

/** A thread that reads nothing for so long, although there is something to read, is ended. */
const stalledMaxMs = 15_000
const checkEveryMs = 1_000
/** Metrics are those of the threads that answer in this time. */
const metricsMaxMs = 2_000
const restarts = { firstMs: 100, maxMs: 10_000 }

export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #threads = new Map<number, PoolWorker>()
  readonly #backoff: Backoff
  #isStopping = false
  #isPassing = false
  #cancelCheck: CancelTimer = () => {}
  #problems: Readonly<Record<string, string>> = {}
  #lastCollection = 0
  readonly #collections = new Map<number, Map<number, string>>()
  #onReady: () => void = () => {}
  /** Resolves when every thread has everything that is mirrored. */
  readonly ready: Promise<void>
  #port = 0

  private constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#backoff = new Backoff(restarts, options.random)
    this.ready = new Promise(resolve => (this.#onReady = resolve))
  }

  /** Starts all, and resolves when all listen. */
  static async start(options: WorkerPoolOptions): Promise<WorkerPool> {
    const pool = new WorkerPool(options)
    const numbers = Array.from({ length: options.count }, (_, i) => i + 1)
    try {
      await Promise.all(numbers.map(number => pool.#start(number)))
    } catch (error) {
      pool.#isStopping = true
      for (const thread of pool.#threads.values()) thread.terminate()
      throw error
    }
    pool.#check()
    return pool
  }

  get port(): number {
    return this.#port
  }

  /** Number of threads that accept connections. */
  get listening(): number {
    return [...this.#threads.values()].filter(({ isListening }) => isListening).length
  }

  get figures(): WorkerFigures {
    const all = [...this.#threads.values()].map(({ figures }) => figures)
    return {
      segmentBytes: all.reduce((sum, { segmentBytes }) => sum + segmentBytes, 0),
      indexBytes: all.reduce((sum, { indexBytes }) => sum + indexBytes, 0),
      openWatches: all.reduce((sum, { openWatches }) => sum + openWatches, 0),
    }
  }

  /** Figures that each thread has told for people. */
  get pageFigures(): unknown[] {
    return [...this.#threads.values()].flatMap(({ figures }) => figures.page ?? [])
  }

  /** All reads pass to the upstream, or not: also in threads that start later. */
  passThrough(isOn: boolean): void {
    this.#isPassing = isOn
    this.tell({ type: 'pass-through', isOn })
  }

  tell(message: ToWorker): void {
    for (const thread of this.#threads.values()) thread.tell(message)
  }

  /** Workers drop until so many bytes are left in all of them: each the same share of what it
   *  has. */
  dropTo(figure: DroppedFigure, bytes: number): void {
    const share = bytes / this.figures[figure]
    if (!(share < 1)) return
    for (const thread of this.#threads.values()) {
      thread.dropTo(figure, Math.floor(thread.figures[figure] * share))
    }
  }

  /** Tells threads what is wrong, when that has changed. */
  #tellProblems(): void {
    const problems = this.#options.problems()
    if (JSON.stringify(problems) === JSON.stringify(this.#problems)) return
    this.#problems = problems
    this.tell({ type: 'health', problems })
  }

  /** The metrics of each thread that answers in time. */
  async metrics(): Promise<string[]> {
    const id = ++this.#lastCollection
    const texts = new Map<number, string>()
    this.#collections.set(id, texts)
    this.tell({ type: 'give-metrics', id })
    const untilMs = this.#options.clock.monotonicMs() + metricsMaxMs
    while (texts.size < this.#threads.size && this.#options.clock.monotonicMs() < untilMs) {
      await sleep(this.#options.clock, 2)
    }
    this.#collections.delete(id)
    return [...texts.values()]
  }

  /** Lets every thread finish its requests. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#cancelCheck()
    const ends = [...this.#threads.values()].map(thread => thread.stop())
    await Promise.all(ends)
  }

  async #start(number: number): Promise<void> {
    await this.#untilListening(await this.#create(number), number)
  }

  async #create(number: number): Promise<PoolWorker> {
    const thread: PoolWorker = new PoolWorker(number, await this.#options.port.next(), {
      ...this.#options,
      onMessage: message => this.#take(number, thread, message),
      onEnd: reason => this.#ended(number, thread, reason),
    })
    if (this.#isStopping) {
      thread.terminate()
      return thread
    }
    this.#threads.set(number, thread)
    thread.tell({ type: 'health', problems: this.#problems })
    if (this.#isPassing) thread.tell({ type: 'pass-through', isOn: true })
    return thread
  }

  async #untilListening(thread: PoolWorker, number: number): Promise<void> {
    const { port, logger } = this.#options
    this.#port = await thread.listening
    port.taken(this.#port)
    logger.debug('a worker listens', { thread: number })
  }

  #take(number: number, thread: PoolWorker, message: WorkerNews): void {
    switch (message.type) {
      case 'ready':
        this.#backoff.reset()
        if ([...this.#threads.values()].every(({ isReady }) => isReady)) this.#onReady()
        return
      case 'metrics':
        this.#collections.get(message.id)?.set(number, message.text)
        return
      case 'ask':
        void this.#answer(thread, message.id, message.question)
    }
  }

  async #answer(thread: PoolWorker, id: number, question: unknown): Promise<void> {
    try {
      const answer = await this.#options.answer(question)
      thread.tell({ type: 'answer', id, answer })
    } catch (error) {
      const failure = messageOfFailure(CacheError.from(error, 'closed'))
      thread.tell({ type: 'no-answer', id, failure })
    }
  }

  /** Another takes the place of a thread that has died. */
  #ended(number: number, thread: PoolWorker, reason: string): void {
    if (this.#threads.get(number) === thread) this.#threads.delete(number)
    this.#options.onDeath(number)
    if (this.#isStopping) return
    this.#options.logger.error('a worker has died: its connections are closed, another starts', {
      thread: number,
      reason,
    })
    void this.#startAgain(number)
  }

  async #startAgain(number: number): Promise<void> {
    await sleep(this.#options.clock, this.#backoff.nextMs())
    if (this.#isStopping) return
    let thread: PoolWorker | undefined
    try {
      thread = await this.#create(number)
      await this.#untilListening(thread, number)
    } catch (error) {
      // A thread that has begun has said so by ending.
      const { message } = CacheError.from(error, 'closed')
      if (thread !== undefined && !this.#threads.has(number)) return
      this.#options.logger.error('a worker cannot start', { thread: number, reason: message })
      if (thread === undefined) void this.#startAgain(number)
    }
  }

  /** Ends threads that are stuck, whose connections wait for nothing, and tells the others what is
   *  wrong. */
  #check(): void {
    this.#cancelCheck = this.#options.clock.setTimer(checkEveryMs, () => {
      const nowMs = this.#options.clock.monotonicMs()
      for (const thread of this.#threads.values()) {
        if (thread.stalledMs(nowMs) > stalledMaxMs) thread.terminate('it has not read its ring')
      }
      this.#tellProblems()
      this.#check()
    })
  }
}
