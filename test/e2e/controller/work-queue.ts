/** Keys of objects that wait to be looked at, as client-go's work queue keeps them: a key waits
 *  once, is worked on by one worker at a time, and comes back after a failure, each time later. */

const firstDelayMs = 10
const lastDelayMs = 1_000

export class WorkQueue {
  readonly #waiting: string[] = []
  /** Items to be looked at, also while a worker is at it. */
  readonly #dirty: Set<string> = new Set()
  readonly #atWork: Set<string> = new Set()
  readonly #failures: Map<string, number> = new Map()
  readonly #timers: Set<NodeJS.Timeout> = new Set()
  readonly #idle: ((key: string | undefined) => void)[] = []
  #isClosed = false

  add(key: string): void {
    if (this.#isClosed || this.#dirty.has(key)) return
    this.#dirty.add(key)
    if (!this.#atWork.has(key)) this.#offer(key)
  }

  /** The work on a key failed: it comes back, not before so many milliseconds. */
  retry(key: string, minMs: number): void {
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    const delayMs = Math.max(minMs, Math.min(lastDelayMs, firstDelayMs * 2 ** failures))
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.add(key)
    }, delayMs)
    this.#timers.add(timer)
  }

  /** The work on a key succeeded. */
  forget(key: string): void {
    this.#failures.delete(key)
  }

  /** The next key, to be given to `done`; undefined when the queue is closed. */
  next(): Promise<string | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined)
    const key = this.#waiting.shift()
    if (key === undefined) return new Promise(resolve => this.#idle.push(resolve))
    this.#take(key)
    return Promise.resolve(key)
  }

  /** A worker is through with a key. It waits again if it was added meanwhile. */
  done(key: string): void {
    this.#atWork.delete(key)
    if (this.#dirty.has(key) && !this.#isClosed) this.#offer(key)
  }

  close(): void {
    this.#isClosed = true
    for (const timer of this.#timers) clearTimeout(timer)
    for (const resolve of this.#idle.splice(0)) resolve(undefined)
  }

  #offer(key: string): void {
    const worker = this.#idle.shift()
    if (worker === undefined) {
      this.#waiting.push(key)
      return
    }
    this.#take(key)
    worker(key)
  }

  #take(key: string): void {
    this.#dirty.delete(key)
    this.#atWork.add(key)
  }
}
