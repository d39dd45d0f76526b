/** One watch of a resource at the API, among those that are merged. */

import { CacheError, type Revision } from '@watchglass/base'
import type { ApiServer, ApiWatch } from '../api/api-server.ts'
import { acceptOf, type FollowedResource, watchPath } from '../api/followed-resource.ts'
import { type FollowedEvent, FrameReader } from '../objects/watch-frames.ts'

export interface PartWatchOptions {
  readonly server: Pick<ApiServer, 'watch'>
  readonly resource: FollowedResource
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
    this.#watch.cancel()
  }

  #take(piece: Uint8Array): boolean {
    const events: FollowedEvent[] = []
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
    const goesOn = events.length === 0 || this.#options.onEvents(this, events)
    if (failure === undefined) return goesOn
    this.#watch.cancel()
    this.#end(failure)
    return true
  }

  #note(event: Exclude<FollowedEvent, { readonly type: 'error' }>): void {
    if (event.revision > this.seen) this.seen = event.revision
    if (event.type === 'bookmark') this.hasMarked = true
  }

  #end(failure: CacheError | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#options.onEnded(this, failure)
  }
}
