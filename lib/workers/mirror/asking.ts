/** The questions of a worker that still wait: in the main thread, which sleeps between
 *  questions. So little code is run for each, and no closure or shape is made: what V8 has to look
 *  up is not in the processor's caches. */

import type { Revision } from '@watchglass/base'
import {
  type Mirror,
  Perishable,
  type Progress,
  type ProgressWaiter,
  type RevisionAsker,
} from '@watchglass/cache'

/** The thread that asks. */
export interface AskingWorker {
  /** etcd had this revision after the question had come. */
  probed(asked: AskedRevision, revision: Revision): void
  /** A probe has failed; or it `isOver`, because no read waits for so long. */
  notProbed(asked: AskedRevision, isOver: boolean): void
  reached(awaited: AwaitedRevision): void
}

/** A question of a thread, which waits for its answer. */
export abstract class Asking extends Perishable {
  isSettled = false

  /** No read waits for so long. */
  abstract expired(): void
}

/** A thread's question to a mirror, by the numbers that the thread has given. */
interface ProbeQuestion {
  readonly mirror: Mirror
  readonly number: number
  readonly id: number
}

/** A thread needs etcd's revision. */
export class AskedRevision extends Asking implements RevisionAsker {
  readonly mirror: Mirror
  readonly number: number
  readonly id: number
  readonly #thread: AskingWorker

  constructor(thread: AskingWorker, { mirror, number, id }: ProbeQuestion) {
    super()
    this.#thread = thread
    this.mirror = mirror
    this.number = number
    this.id = id
  }

  probed(revision: Revision): void {
    this.#thread.probed(this, revision)
  }

  delayed(): void {
    this.#thread.notProbed(this, false)
  }

  expired(): void {
    this.#thread.notProbed(this, true)
  }
}

/** Reads of a thread wait for a revision of a feed. */
export class AwaitedRevision extends Asking implements ProgressWaiter {
  readonly awaited: Revision
  readonly sequence = 0
  readonly #thread: AskingWorker
  readonly #progress: Progress

  constructor(thread: AskingWorker, progress: Progress, awaited: Revision) {
    super()
    this.#thread = thread
    this.#progress = progress
    this.awaited = awaited
  }

  /** Or an epoch is over, whose waiters are all woken. */
  reached(): void {
    if (this.isSettled) return
    if (this.#progress.revision < this.awaited) {
      this.#progress.wait(this)
      return
    }
    this.isSettled = true
    this.#thread.reached(this)
  }

  expired(): void {
    this.#progress.abandoned()
  }
}
