/** Things to look at, each once however often it was asked for, one after the other. What fails is
 *  tried again after a growing pause. */

import { setMaxListeners } from 'node:events'
import { type Clock, type Logger, sleep } from '@watchglass/base'

export interface WorkQueueOptions<T extends string> {
  /** For the log. */
  readonly name: string
  readonly clock: Clock
  readonly logger: Logger
  readonly signal: AbortSignal
  /** The time for which a thing that was looked at rests: what changes meanwhile is looked at in
   *  one go. Undefined: it does not rest. */
  readonly restMs?: number | undefined
  /** Looks at one thing. To be asked again later, it throws. */
  readonly work: (item: T) => Promise<void>
}

/** The first pause after a failure, which doubles up to the last. */
const firstPauseMs = 200
const lastPauseMs = 30_000

export class WorkQueue<T extends string> {
  readonly #options: WorkQueueOptions<T>
  readonly #waiting = new Set<T>()
  readonly #pausesMs = new Map<T, number>()
  /** Things that rest; true: they are to be looked at after it. */
  readonly #resting = new Map<T, boolean>()
  #isRunning = false

  constructor(options: WorkQueueOptions<T>) {
    this.#options = options
    // Each thing that rests listens to it, and stops listening afterwards.
    setMaxListeners(0, options.signal)
  }

  add(item: T): void {
    if (this.#resting.has(item)) {
      this.#resting.set(item, true)
      return
    }
    this.#waiting.add(item)
    if (this.#isRunning || this.#options.signal.aborted) return
    this.#isRunning = true
    void this.#run()
  }

  /** Does the same again after a while. */
  addAfter(item: T, delayMs: number): void {
    const { clock, signal } = this.#options
    void sleep(clock, delayMs, signal).then(() => {
      if (!signal.aborted) this.add(item)
    })
  }

  async #run(): Promise<void> {
    const { signal, clock } = this.#options
    // What is added while a batch of events is handed around is looked at after it.
    await clock.yield()
    for (const item of this.#waiting) {
      if (signal.aborted) break
      this.#waiting.delete(item)
      await this.#workOn(item)
      this.#rest(item)
    }
    this.#isRunning = false
  }

  #rest(item: T): void {
    const { restMs, clock, signal } = this.#options
    if (restMs === undefined) return
    // Something may have asked for it while it was worked on.
    const isWanted = this.#waiting.delete(item)
    this.#resting.set(item, isWanted)
    void sleep(clock, restMs, signal).then(() => {
      const isAsked = this.#resting.get(item) === true
      this.#resting.delete(item)
      if (isAsked && !signal.aborted) this.add(item)
    })
  }

  async #workOn(item: T): Promise<void> {
    const { work, logger, name, signal } = this.#options
    try {
      await work(item)
      this.#pausesMs.delete(item)
    } catch (error) {
      if (signal.aborted) return
      const pauseMs = this.#pausesMs.get(item) ?? firstPauseMs
      this.#pausesMs.set(item, Math.min(pauseMs * 2, lastPauseMs))
      const reason = error instanceof Error ? error.message : String(error)
      logger.debug(`${name} tries again`, { reason, pauseMs })
      this.addAfter(item, pauseMs)
    }
  }
}
