/** When lists and watches go on that have waited for the same answer, such as etcd's revision: all at once, and there may be a hundred of
 *  them. In each turn of the event loop a few go on at once, and the others one after another. Gets never wait here. */

import type { Clock } from '../../base/clock.ts'

/** So many go on without waiting. How long they take is not known then, because none has begun its work. */
const atOnceMax = 2

export class Resumptions {
  readonly #clock: Pick<Clock, 'yield'>
  /** How many have gone on in this turn. */
  #begun = 0

  constructor(clock: Pick<Clock, 'yield'>) {
    this.#clock = clock
  }

  /** Resolves when the caller may go on; undefined: at once. */
  next(): Promise<void> | undefined {
    if (this.#begun >= atOnceMax) return this.#clock.yield()
    if (this.#begun++ === 0) setImmediate(this.#endTurn)
    return undefined
  }

  readonly #endTurn = (): void => {
    this.#begun = 0
  }
}
