/** Stretches of a large list that other threads encode while its own thread writes what comes before them. What they encode is shared
 *  (ledger.ts); here is only who is asked, and that it is done. A thread that dies has done what it was asked: whoever asked looks
 *  for the segments, and encodes itself what is not there. */

import type { Key } from '../../base/keys.ts'
import type { Shown } from '../../codec/served/object-encoder.ts'

/** What is to be encoded: the leaves of a resource in a range of keys, and how. */
export interface Stretch {
  readonly keyspace: Key
  readonly resource: {
    readonly group: string
    readonly version: string
    readonly resource: string
  }
  readonly shown: Pick<Shown, 'encoding' | 'rendering' | 'renderingVersion'>
  readonly start: Key
  readonly end: Key
}

/** Other threads that encode for this one. */
export interface OtherThreads {
  readonly count: number
  ask(stretch: Stretch): Promise<void>
}

/** To the main thread, and from it to another thread; and back the same way. */
export type StretchMessage =
  | { readonly type: 'stretch'; readonly id: number; readonly stretch: Stretch }
  | { readonly type: 'stretch-done'; readonly id: number }

type Tell = (message: StretchMessage) => void

/** In the main thread: one face thread. */
interface Routed {
  readonly tell: Tell
  /** What it was asked, by whom, and under which number there. */
  readonly asked: Map<number, { readonly asker: Routed; readonly id: number }>
}

/** A thread's end of the way. */
export interface StretchRoute {
  take(message: StretchMessage): void
  /** The thread has ended. */
  end(): void
}

/** In the main thread: passes stretches on to the thread that has been asked least. */
export class StretchRouter {
  readonly #threads = new Set<Routed>()
  #lastId = 0

  attach(tell: Tell): StretchRoute {
    const thread: Routed = { tell, asked: new Map() }
    this.#threads.add(thread)
    return {
      take: message => {
        if (message.type === 'stretch') this.#pass(thread, message)
        else this.#done(thread, message.id)
      },
      end: () => {
        this.#threads.delete(thread)
        for (const id of thread.asked.keys()) this.#done(thread, id)
      },
    }
  }

  #pass(asker: Routed, { id, stretch }: Extract<StretchMessage, { type: 'stretch' }>): void {
    let least: Routed | undefined
    for (const thread of this.#threads) {
      if (thread !== asker && (least === undefined || thread.asked.size < least.asked.size)) {
        least = thread
      }
    }
    if (least === undefined) {
      asker.tell({ type: 'stretch-done', id })
      return
    }
    const passed = ++this.#lastId
    least.asked.set(passed, { asker, id })
    least.tell({ type: 'stretch', id: passed, stretch })
  }

  #done(thread: Routed, id: number): void {
    const asked = thread.asked.get(id)
    thread.asked.delete(id)
    if (asked !== undefined && this.#threads.has(asked.asker)) {
      asked.asker.tell({ type: 'stretch-done', id: asked.id })
    }
  }
}

/** In a face thread: asks other threads, and does what they ask, one stretch after the other. */
export class Stretches {
  readonly #tell: Tell
  readonly #waiting = new Map<number, () => void>()
  #encode: (stretch: Stretch) => Promise<void> = async () => {}
  #onFault: (error: unknown) => void = () => {}
  #last: Promise<void> = Promise.resolve()
  #lastId = 0

  constructor(tell: Tell) {
    this.#tell = tell
  }

  /** How this thread encodes a stretch. What it has encoded is told before the promise resolves. A stretch that fails is done, too:
   *  whoever asked encodes it itself. */
  onAsked(encode: (stretch: Stretch) => Promise<void>, onFault: (error: unknown) => void): void {
    this.#encode = encode
    this.#onFault = onFault
  }

  /** Resolves when another thread has encoded what it has of the stretch, and this one was told of it. */
  ask(stretch: Stretch): Promise<void> {
    const id = ++this.#lastId
    return new Promise(resolve => {
      this.#waiting.set(id, resolve)
      this.#tell({ type: 'stretch', id, stretch })
    })
  }

  take(message: StretchMessage): void {
    const { id } = message
    if (message.type === 'stretch-done') {
      this.#waiting.get(id)?.()
      this.#waiting.delete(id)
      return
    }
    const { stretch } = message
    this.#last = this.#last
      .then(() => this.#encode(stretch))
      .catch(error => this.#onFault(error))
      .then(() => this.#tell({ type: 'stretch-done', id }))
  }
}
