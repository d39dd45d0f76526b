/** Time enters the system only through a `Clock`, so that simulations and tests decide it. */

/** Cancels the timer it came with. Harmless after the timer has fired. */
export type CancelTimer = () => void

export interface Clock {
  /** Milliseconds since 1970, as people and Kubernetes objects see time. May jump. */
  wallMs(): number
  /** Milliseconds since some fixed moment. Never goes back. */
  monotonicMs(): number
  /** Calls `task` once, after `delayMs`. */
  setTimer(delayMs: number, task: () => void): CancelTimer
  /** Lets everything else that is due run first: how long work in slices gives way. `first` is for
   *  work that all others wait for, and that there is little of: it goes on before whatever else
   *  has given way. `soon` is for work that begins: the first of it in a turn of the event loop
   *  need not give way, unless some that came before still waits. */
  yield(place?: TurnPlace): Promise<void>
}

export type TurnPlace = 'first' | 'soon'

/** Resolves after `delayMs`, or as soon as `signal` is aborted: never rejects, so that loops decide
 *  by the signal. */
export function sleep(
  clock: Pick<Clock, 'setTimer'>,
  delayMs: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted === true) {
      resolve()
      return
    }
    const done = (): void => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.setTimer(delayMs, done)
    signal?.addEventListener('abort', done, { once: true })
  })
}
