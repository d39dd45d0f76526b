/** One open live page: tells its client in rounds (`LiveRounds`) how the page differs from what was
 *  sent last. Nothing is made for a client that has to read first, and no change waits for it: what
 *  it is told then is the difference to the page of that moment. So a slow reader holds one page,
 *  however much changes.
 *
 *  ```
 *           tell, in a round, if something has changed     end()
 *    idle ────────────────────────────────────▶ telling   any ──▶ ended
 *         ◀──────────────────────────────────── the client has taken it
 *  ``` */

import {
  CacheError,
  type Clock,
  NotExact,
  type Revision,
  Slice,
  type Steps,
} from '@watchglass/base'
import {
  type FollowedWatcher,
  type HeldBytes,
  type OnFault,
  type RegisteredWatch,
  type RequestFaults,
  type ResponseStream,
  type WatchEnd,
  writable,
} from '@watchglass/cache'
import {
  internalError,
  type Resource,
  statusFromError,
  statusObjectJson,
  uncachedWatchExpired,
  watchExpired,
} from '@watchglass/kube'
import type { Hub, Watcher } from '@watchglass/store'
import type { LiveView } from '../live/live-view.ts'
import type { ViewPieces } from '../documents/view-document.ts'
import { faultyDocuments, type NextDocument } from './faulty-documents.ts'
import { carriedDocument, carriedPieces, type LiveCarriage } from './live-carriage.ts'
import { type LiveListener, type LiveRounds, roundMs } from './live-rounds.ts'
import { cannotGoOn, tooManyGroups } from './refusals.ts'

/** The rounds of which a page takes part in one only, after some documents without a rest in
 *  between: rows that move all the time are not read. */
const busyRounds = 2
const restlessDocuments = 10

export interface LiveResponseOptions {
  readonly stream: ResponseStream
  readonly carriage: LiveCarriage
  readonly resource: Resource
  readonly view: LiveView
  /** Counts bytes that the client has not taken. */
  readonly held: HeldBytes | undefined
  /** Faults on purpose that the request meets. */
  readonly faults: RequestFaults | undefined
  readonly clock: Clock
  readonly onFault: OnFault
}

export class LiveResponse implements RegisteredWatch, LiveListener {
  readonly request: ResponseStream
  readonly framing: RegisteredWatch['framing']
  readonly #options: LiveResponseOptions
  readonly #nextDocument: (() => NextDocument) | undefined
  #watcher: Watcher | undefined = undefined
  #rounds: LiveRounds | undefined = undefined
  #state: 'idle' | 'telling' | 'ended' = 'idle'
  #endedAs: WatchEnd = 'client'
  /** Something has changed since the last document was made. */
  #isDirty = false
  /** When it was asked last, by the monotonic clock. */
  #askedMs = Number.NEGATIVE_INFINITY
  /** The documents that were written one after the other, as soon as they might be. */
  #restless = 0
  #writtenMs = Number.NEGATIVE_INFINITY
  /** A part of a document was sent. */
  #isWithin = false
  #isLetGo = false

  constructor(options: LiveResponseOptions) {
    const { stream, resource, carriage, faults } = options
    this.#options = options
    this.request = stream
    this.framing = {
      resource,
      bookmark: revision =>
        carriedDocument(`{"type":"BOOKMARK","revision":"${revision}"}`, carriage),
    }
    this.#nextDocument = faultyDocuments(this, faults)
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

  /** Takes part in the rounds of its range. */
  join(rounds: LiveRounds): FollowedWatcher {
    this.#rounds = rounds
    return rounds.join(this)
  }

  /** A bookmark: it says that everything up to its revision was sent, so it is left out while
   *  something is still to be sent. */
  write(bookmark: Uint8Array): boolean {
    const isUntold = this.#isDirty || this.#rounds?.hasChanged === true
    if (this.#state === 'idle' && !isUntold) this.request.write(bookmark)
    return this.isOpen
  }

  /** Sends the first document. False if its client is to be sent no more. */
  async begin(): Promise<boolean> {
    this.#state = 'telling'
    await this.#send(this.#options.view.first)
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

  heard(): void {
    this.#isDirty = true
  }

  get dueAtMs(): number {
    if (this.#state !== 'idle') return Infinity
    if (this.#isDirty) return this.#askedMs + this.#everyMs()
    const { clock, view } = this.#options
    return clock.monotonicMs() + view.dueAtMs - clock.wallMs()
  }

  *tell(): Steps<void> {
    const { clock, view } = this.#options
    if (this.#state !== 'idle') return
    const nowMs = clock.monotonicMs()
    const wallMs = clock.wallMs()
    // Rounds are not begun to the millisecond.
    if (nowMs < this.#askedMs + this.#everyMs() - roundMs / 2) return
    if (!this.#isDirty && wallMs < view.dueAtMs) return
    this.#state = 'telling'
    this.#askedMs = nowMs
    this.#isDirty = false
    const pieces = yield* this.#next(wallMs)
    if (pieces === undefined) this.#rest()
    else void this.#sendChange(pieces)
  }

  /** The document of what has changed. Undefined if nothing has, or if the page has ended. */
  *#next(wallMs: number): Steps<ViewPieces | undefined> {
    const { view, resource } = this.#options
    try {
      const told = yield* view.next(wallMs)
      if (told === 'expired') this.expired(this.#watcher?.position ?? view.revision)
      else if (told === 'too-many-groups') this.#fail(tooManyGroups(), 'expired')
      else if (told instanceof NotExact) this.#fail(cannotGoOn(resource, told), 'inexact')
      else return told
    } catch (error) {
      this.#failed(error)
    }
    return undefined
  }

  async #sendChange(pieces: ViewPieces): Promise<void> {
    const next = this.#nextDocument?.()
    if (next === undefined || next.isSent) {
      await this.#send(pieces)
      this.#written()
    } else this.#rest()
    next?.end?.()
  }

  /** Writes a document, and is idle again. */
  async #send(pieces: ViewPieces): Promise<void> {
    const { resource } = this.#options
    try {
      const problem = await this.#write(pieces)
      if (problem !== undefined) this.#fail(cannotGoOn(resource, problem), 'inexact')
    } catch (error) {
      this.#failed(error)
    }
    this.#rest()
  }

  #rest(): void {
    if (this.#isEnded()) {
      this.#letGo()
      return
    }
    this.#state = 'idle'
    this.#rounds?.told(this)
  }

  #failed(error: unknown): void {
    if (!(error instanceof CacheError)) this.#options.onFault(error)
    this.#fail(error, 'inexact')
  }

  #written(): void {
    const nowMs = this.#options.clock.monotonicMs()
    const isRestless = nowMs - this.#writtenMs < 2 * this.#everyMs()
    this.#restless = isRestless ? this.#restless + 1 : 0
    this.#writtenMs = nowMs
  }

  #everyMs(): number {
    return this.#restless < restlessDocuments ? roundMs : busyRounds * roundMs
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
    if (this.#isLetGo) return
    this.#isLetGo = true
    this.#options.view.close()
  }
}
