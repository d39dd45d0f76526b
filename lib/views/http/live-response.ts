/** One open live page: learns from its watcher that something has changed, and at most each 100 ms
 *  tells its client how the page differs from what was sent last. Nothing is made for a client that
 *  has to read first, and no change waits for it: what it is told then is the difference to the
 *  page of that moment. So a slow reader holds one page, however much changes.
 *
 *  ```
 *           a change, 100 ms after the last document             end()
 *    idle ──────────────────────────────────────▶ telling   any ──▶ ended
 *         ◀────────────────────────────────────── the client has taken it
 *  ``` */

import {
  CacheError,
  type CancelTimer,
  type Clock,
  inSlices,
  NotExact,
  type Revision,
  Slice,
} from '@watchglass/base'
import {
  type HeldBytes,
  type OnFault,
  type RegisteredWatch,
  type ResponseStream,
  type WatchEnd,
  writable,
} from '@watchglass/cache'
import {
  internalError,
  notExactly,
  type Resource,
  statusFromError,
  statusObjectJson,
  uncachedWatchExpired,
  watchExpired,
} from '@watchglass/kube'
import type { Hub, Watcher, WatcherSink } from '@watchglass/store'
import type { LiveView } from '../live/live-view.ts'
import type { ViewPieces } from '../documents/view-document.ts'
import { carriedDocument, carriedPieces, type LiveCarriage } from './live-carriage.ts'
import { tooManyGroups } from './refusals.ts'

/** The least time between two documents of changes: a person sees no more, and what changes twice
 *  in it is written once. It is the longer one after some documents without a rest in between:
 *  rows that move all the time are not read. */
const tellEveryMs = 100
const tellBusyEveryMs = 500
const restlessDocuments = 10

/** The longest delay that a timer takes. */
const timerMaxMs = 2 ** 31 - 1

export interface LiveResponseOptions {
  readonly stream: ResponseStream
  readonly carriage: LiveCarriage
  readonly resource: Resource
  readonly view: LiveView
  /** Counts bytes that the client has not taken. */
  readonly held: HeldBytes | undefined
  readonly clock: Clock
  readonly onFault: OnFault
}

export class LiveResponse implements RegisteredWatch {
  readonly request: ResponseStream
  readonly framing: RegisteredWatch['framing']
  /** The sink of its watcher, whose frames only say that something has changed. */
  readonly sink: WatcherSink
  readonly #options: LiveResponseOptions
  #watcher: Watcher | undefined = undefined
  #state: 'idle' | 'telling' | 'ended' = 'idle'
  #endedAs: WatchEnd = 'client'
  /** Something has changed since the last document was made. */
  #isDirty = false
  #cancelDue: CancelTimer | undefined = undefined
  #toldMs = Number.NEGATIVE_INFINITY
  /** The documents that were written one after the other, as soon as they might be. */
  #restless = 0
  #writtenMs = Number.NEGATIVE_INFINITY
  /** A part of a document was sent. */
  #isWithin = false
  #isLetGo = false

  constructor(options: LiveResponseOptions) {
    const { stream, resource, carriage } = options
    this.#options = options
    this.request = stream
    this.framing = {
      resource,
      bookmark: revision =>
        carriedDocument(`{"type":"BOOKMARK","revision":"${revision}"}`, carriage),
    }
    this.sink = {
      write: () => {
        if (!this.#isDirty) {
          this.#isDirty = true
          this.#plan()
        }
        return this.isOpen
      },
      expired: oldest => this.expired(oldest),
      inexact: () => this.end('inexact'),
    }
    stream.onClose(() => {
      const isTelling = this.#state === 'telling'
      this.#state = 'ended'
      if (!isTelling) this.#letGo()
    })
  }

  get isOpen(): boolean {
    return this.#state !== 'ended'
  }

  get endedAs(): WatchEnd {
    return this.#endedAs
  }

  get watcher(): Watcher | undefined {
    return this.#watcher
  }

  follow(_: Hub, watcher: Watcher): void {
    this.#watcher = watcher
  }

  /** A bookmark: it says that everything up to its revision was sent, so it is left out while
   *  something is still to be sent. */
  write(bookmark: Uint8Array): boolean {
    if (this.#state === 'idle' && !this.#isDirty) this.request.write(bookmark)
    return this.isOpen
  }

  /** Sends the first document. False if its client is to be sent no more. */
  async begin(): Promise<boolean> {
    await this.#tell(() => Promise.resolve(this.#options.view.first))
    return this.isOpen
  }

  expired(oldest: Revision, position: Revision = this.#options.view.revision): void {
    const { isWatchCached } = this.framing.resource
    this.#fail(isWatchCached ? watchExpired(position, oldest) : uncachedWatchExpired(), 'expired')
  }

  inexact(): void {
    this.end('inexact')
  }

  end(as: WatchEnd = 'server'): void {
    this.#end(as)
  }

  /** Tells what has changed, once it may: after a change, or when the view is due by itself. */
  #plan(): void {
    if (this.#state !== 'idle') return
    const { clock, view } = this.#options
    const soonMs = Math.max(0, this.#toldMs + this.#everyMs() - clock.monotonicMs())
    const waitMs = this.#isDirty ? soonMs : Math.max(soonMs, view.dueAtMs - clock.wallMs())
    this.#cancelDue?.()
    this.#cancelDue = undefined
    if (waitMs === Infinity) return
    this.#cancelDue = clock.setTimer(Math.min(waitMs, timerMaxMs), () => {
      this.#cancelDue = undefined
      void this.#tell(() => this.#next())
    })
  }

  /** The document of what has changed. Undefined if nothing has, or if the page has ended. */
  async #next(): Promise<ViewPieces | undefined> {
    const { clock, view, resource } = this.#options
    const told = await inSlices(view.next(clock.wallMs()), clock)
    if (told === 'expired') this.expired(this.#watcher?.position ?? view.revision)
    else if (told === 'too-many-groups') this.#fail(tooManyGroups(), 'expired')
    else if (told instanceof NotExact) this.#fail(notExactly(resource, told), 'inexact')
    else return told
    return undefined
  }

  async #tell(make: () => Promise<ViewPieces | undefined>): Promise<void> {
    const { clock, onFault, resource } = this.#options
    if (this.#state !== 'idle') return
    this.#state = 'telling'
    this.#isDirty = false
    let hasWritten = false
    try {
      const pieces = await make()
      hasWritten = pieces !== undefined
      const problem = pieces && (await this.#write(pieces))
      if (problem !== undefined) this.#fail(notExactly(resource, problem), 'inexact')
    } catch (error) {
      if (!(error instanceof CacheError)) onFault(error)
      this.#fail(error, 'inexact')
    }
    this.#toldMs = clock.monotonicMs()
    if (hasWritten) this.#written(this.#toldMs)
    if (this.#isEnded()) this.#letGo()
    else {
      this.#state = 'idle'
      this.#plan()
    }
  }

  #written(nowMs: number): void {
    this.#restless = nowMs - this.#writtenMs < 2 * this.#everyMs() ? this.#restless + 1 : 0
    this.#writtenMs = nowMs
  }

  #everyMs(): number {
    return this.#restless < restlessDocuments ? tellEveryMs : tellBusyEveryMs
  }

  /** A method, since the compiler takes the state for what it was before something was awaited. */
  #isEnded(): boolean {
    return this.#state === 'ended'
  }

  /** Writes as the client reads. Returns why an object cannot be shown. */
  async #write(pieces: ViewPieces): Promise<NotExact | undefined> {
    const { clock, held, carriage } = this.#options
    const carried = carriedPieces(pieces, carriage)
    const slice = new Slice(clock)
    try {
      for (let next = carried.next(); this.isOpen; next = carried.next()) {
        if (next.done === true) {
          this.#isWithin = false
          return next.value
        }
        const piece = next.value
        if (held?.atLeast(piece.length) === false) {
          this.#cut('expired')
          return undefined
        }
        this.#isWithin = true
        const isFull = piece.length > 0 && !this.request.write(piece)
        if (isFull && (await writable(this.request, clock)) !== 'sent') return undefined
        if (isFull || slice.isOver) await slice.next()
      }
      return undefined
    } finally {
      held?.release()
    }
  }

  /** Ends with a document that says why; in the middle of another one the connection is cut. */
  #fail(error: unknown, as: WatchEnd): void {
    if (this.#isWithin) {
      this.#cut(as)
      return
    }
    const status = error instanceof CacheError ? statusFromError(error) : internalError
    const { carriage } = this.#options
    const text = `{"type":"ERROR","object":${statusObjectJson(status)}}`
    this.#end(as, carriedDocument(text, carriage))
  }

  #end(as: WatchEnd, last?: Uint8Array): void {
    if (this.#state === 'ended') return
    if (this.#isWithin) {
      this.#cut(as)
      return
    }
    const isTelling = this.#state === 'telling'
    this.#state = 'ended'
    this.#endedAs = as
    this.request.end(last)
    if (!isTelling) this.#letGo()
  }

  /** A client that is in the middle of a document cannot be told why. */
  #cut(as: WatchEnd): void {
    if (this.#state === 'ended') return
    const isTelling = this.#state === 'telling'
    this.#state = 'ended'
    this.#endedAs = as
    this.request.abort()
    if (!isTelling) this.#letGo()
  }

  /** Gives back the view. Its methods are generators, so not while it is asked. */
  #letGo(): void {
    this.#cancelDue?.()
    if (this.#isLetGo) return
    this.#isLetGo = true
    this.#options.view.close()
  }
}
