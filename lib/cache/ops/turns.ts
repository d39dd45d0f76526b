/** Runs long work in slices, in turns: after a slice a task waits until all other waiting tasks
 *  have had one, and between slices the event loop serves its sockets.
 *
 *  A setImmediate for each task is not enough: all immediates that are due run before the loop
 *  serves a socket again, so a thousand streams with slices of 3 ms would hold it for 3 s. Here
 *  tasks run for a few milliseconds in total, one slice each, and the rest of the queue waits for
 *  the next turn of the loop. A few tasks go first, because all clients wait for them: events of
 *  watches must not wait behind a thousand lists. Then come those that begin, in the order in which
 *  they came. In each turn at least one of each kind runs, and at least one of the others. */

import type { TurnPlace } from '@watchglass/base'

/** The time within one turn of the loop in which slices may begin. With a last slice of 3 ms the
 *  loop is held for 4 ms, and what arrives begins in it for 4
 *  (lib/cache/http/server/arrivals.ts). A consistent get waits for two turns, so short ones count
 *  more than many slices in each. */
const turnMs = 1

/** The number of beginners in a turn that need not wait, such as lists that have all waited for
 *  etcd's revision. How long it takes is not known then, because none has begun its work. */
const atOnceMax = 2

export class Turns {
  readonly #nowMs: () => number
  /** Slices that go before all others. */
  readonly #first = new Line()
  /** Slices of work that begins. */
  readonly #beginners = new Line()
  readonly #others = new Line()
  readonly #lines: readonly Line[] = [this.#first, this.#beginners, this.#others]
  #isServing = false
  #endMs = 0
  /** Number of those that have begun in this turn without waiting. */
  #begun = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Resolves when the caller may run a slice: in the loop's next turn, or `soon` for one that
   *  begins: at once if no other that came before waits. */
  next(place?: TurnPlace): Promise<void> {
    if (place === 'soon' && this.#begun < atOnceMax && this.#beginners.isEmpty) {
      if (this.#begun++ === 0) setImmediate(this.#endTurn)
      return Promise.resolve()
    }
    return new Promise(resolve => {
      this.#lineOf(place).tasks.push(resolve)
      if (this.#isServing) return
      this.#isServing = true
      setImmediate(this.#begin)
    })
  }

  #lineOf(place: TurnPlace | undefined): Line {
    if (place === 'first') return this.#first
    return place === 'soon' ? this.#beginners : this.#others
  }

  readonly #endTurn = (): void => {
    this.#begun = 0
  }

  readonly #begin = (): void => {
    for (const line of this.#lines) line.begin()
    this.#endMs = this.#nowMs() + turnMs
    this.#serve()
  }

  readonly #serve = (): void => {
    const task = this.#take(this.#first) ?? this.#take(this.#beginners) ?? this.#take(this.#others)
    if (task !== undefined) {
      task()
      // The tick runs after all promise callbacks of the slice.
      queueMicrotask(this.#tick)
    } else if (this.#lines.every(line => line.isEmpty)) {
      this.#isServing = false
      for (const line of this.#lines) line.begin()
    } else setImmediate(this.#begin)
  }

  #take(line: Line): (() => void) | undefined {
    const hasTime = line.served === 0 || this.#nowMs() < this.#endMs
    return hasTime && line.served < line.atBegin ? line.tasks[line.served++] : undefined
  }

  readonly #tick = (): void => {
    process.nextTick(this.#serve)
  }
}

/** Tasks that wait, in their order. */
class Line {
  tasks: (() => void)[] = []
  /** Number of those that waited when this turn began: those that come meanwhile wait for the next
   *  one. */
  atBegin = 0
  /** Number of those that have had their slice in this turn. */
  served = 0

  get isEmpty(): boolean {
    return this.served === this.tasks.length
  }

  /** Begins a turn. */
  begin(): void {
    if (this.served > 0) this.tasks = this.tasks.slice(this.served)
    this.served = 0
    this.atBegin = this.tasks.length
  }
}
