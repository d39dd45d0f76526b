/** A time in which a server that has no answers is left alone: for Retry-After, and a growing pause
 *  with jitter, so that all that were told the same time do not come back at once. Then a single
 *  question, the trial, finds out whether it answers again; whoever asks besides can wait for
 *  it. */

import { Backoff, type BackoffBounds } from './backoff.ts'
import type { Clock } from './clock.ts'
import type { Random } from './random.ts'

/** A server that asks to be left alone for longer is asked after this time all the same. */
const retryAfterMaxMs = 30_000

export class Pause {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #backoff: Backoff
  /** 0 while there is no pause. A pause whose time is over lasts until there is an answer. */
  #untilMs = 0
  #isTried = false

  constructor(clock: Pick<Clock, 'monotonicMs'>, random: Random, bounds: BackoffBounds) {
    this.#clock = clock
    this.#backoff = new Backoff(bounds, random)
  }

  /** True from the first failure until there is an answer. */
  get isOn(): boolean {
    return this.#untilMs > 0
  }

  /** The rest of its time; 0 if it is over, or there is no pause. */
  get leftMs(): number {
    return Math.max(0, this.#untilMs - this.#clock.monotonicMs())
  }

  /** False if whoever can wait should not ask now. */
  get mayAsk(): boolean {
    return !this.isOn || (!this.#isTried && this.leftMs === 0)
  }

  /** Takes note of a question that is asked: once the time is over, it is the trial. */
  begin(): void {
    if (this.isOn && this.leftMs === 0) this.#isTried = true
  }

  /** Ends the trial without a result. */
  giveUp(): void {
    this.#isTried = false
  }

  /** Ends the pause: there is an answer. */
  end(): void {
    this.#untilMs = 0
    this.#isTried = false
  }

  /** Has the next pause be as short as the first one. */
  reset(): void {
    this.#backoff.reset()
  }

  /** Begins a pause: there is no answer. Of several questions that were under way at once, the
   *  first one counts. */
  begins(retryAfterMs: number): void {
    this.#isTried = false
    if (this.leftMs > 0) return
    const afterMs = Math.min(retryAfterMaxMs, retryAfterMs)
    this.#untilMs = this.#clock.monotonicMs() + afterMs + this.#backoff.nextMs()
  }
}

/** The header `Retry-After` in milliseconds; undefined if it has no seconds. API servers send no
 *  dates. */
export function retryAfterMs(header: string | readonly string[] | undefined): number | undefined {
  const text = String(header)
  return /^\d{1,6}$/.test(text) ? Number(text) * 1_000 : undefined
}
