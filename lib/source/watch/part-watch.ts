/** One watch of a resource at the API, among those that are merged. */

import { CacheError, type CancelTimer, type Clock, type Revision } from '@watchglass/base'
import type { ApiServer, ApiWatch } from '../api/api-server.ts'
import { acceptOf, type FollowedResource, watchPath } from '../api/followed-resource.ts'
import { type FollowedEvent, FrameReader } from '../objects/watch-frames.ts'

/** Deletions of core Events are waited for so long after the last one of the same revision: etcd
 *  deletes up to a thousand at once, those of a lease, which come in several pieces. */
const heldMs = 100
const heldMax = 10_000

type PassedEvent = Exclude<FollowedEvent, { readonly type: 'error' }>

export interface PartWatchOptions {
  readonly server: Pick<ApiServer, 'watch'>
  readonly resource: FollowedResource
  readonly clock: Pick<Clock, 'setTimer'>
  /** The last revision that is known. */
  readonly after: Revision
  readonly timeoutSeconds: number
  readonly signal: AbortSignal
  readonly onStarted: (part: PartWatch) => void
  /** False if nothing more is to come until `resume`. */
  readonly onEvents: (part: PartWatch, events: readonly FollowedEvent[]) => boolean
  /** Called once, unless it was cancelled. */
  readonly onEnded: (part: PartWatch, failure: CacheError | undefined) => void
}

export class PartWatch {
  readonly #options: PartWatchOptions
  readonly #frames: FrameReader
  readonly #watch: ApiWatch
  #isOver = false
  /** Events that may not be all of their revision. */
  #held: readonly PassedEvent[] = []
  #cancelHold: CancelTimer = () => {}
  /** The last revision that it has brought. */
  seen: Revision
  hasMarked = false

  constructor(options: PartWatchOptions) {
    const { server, resource, after, timeoutSeconds, signal } = options
    this.#options = options
    this.seen = after
    this.#frames = new FrameReader(resource)
    const path = watchPath(resource, { after, timeoutSeconds })
    const accept = acceptOf(resource)
    this.#watch = server.watch(
      { path, accept, signal },
      {
        started: () => options.onStarted(this),
        data: piece => this.#take(piece),
        ended: failure => this.#end(failure),
      },
    )
  }

  resume(): void {
    this.#watch.resume()
  }

  cancel(): void {
    this.#isOver = true
    this.#cancelHold()
    this.#watch.cancel()
  }

  #take(piece: Uint8Array): boolean {
    const events: PassedEvent[] = []
    let failure: CacheError | undefined
    try {
      for (const event of this.#frames.take(piece)) {
        if (event.type === 'error') failure = event.failure
        else {
          events.push(event)
          this.#note(event)
        }
        if (failure !== undefined) break
      }
    } catch (error) {
      if (!(error instanceof CacheError)) throw error
      failure = error
    }
    const goesOn = events.length === 0 || this.#pass(events)
    if (failure === undefined) return goesOn
    this.#watch.cancel()
    this.#end(failure)
    return true
  }

  /** Passes events on, but for the last ones if more of their revision may come. */
  #pass(events: readonly PassedEvent[]): boolean {
    if (this.#options.resource.name !== 'events') return this.#options.onEvents(this, events)
    this.#cancelHold()
    const all = [...this.#held, ...events]
    const held = lastDeletions(all)
    this.#held = held > 0 && held <= heldMax ? all.slice(all.length - held) : []
    if (this.#held.length > 0) {
      this.#cancelHold = this.#options.clock.setTimer(heldMs, () => this.#release())
    }
    const passed = all.slice(0, all.length - this.#held.length)
    return passed.length === 0 || this.#options.onEvents(this, passed)
  }

  #release(): void {
    this.#cancelHold()
    const held = this.#held
    this.#held = []
    if (held.length > 0 && !this.#isOver) this.#options.onEvents(this, held)
  }

  #note(event: PassedEvent): void {
    if (event.revision > this.seen) this.seen = event.revision
    if (event.type === 'bookmark') this.hasMarked = true
  }

  #end(failure: CacheError | undefined): void {
    this.#release()
    if (this.#isOver) return
    this.#isOver = true
    this.#options.onEnded(this, failure)
  }
}

/** The number of events at the end that are deletions at one revision. */
function lastDeletions(events: readonly PassedEvent[]): number {
  const at = events.at(-1)?.revision
  const isOther = (event: PassedEvent): boolean =>
    event.type !== 'change' || event.change.type !== 'delete' || event.revision !== at
  return events.length - 1 - events.findLastIndex(isOther)
}
