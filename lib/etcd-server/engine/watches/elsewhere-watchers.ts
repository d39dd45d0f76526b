/** The watchers of a stream that etcd serves: their responses pass, with the client's ids. */

import { assert, CacheError, nextRevision, type Revision } from '@watchglass/base'
import { type HeaderMessage, noWatchId, type WatchResponseMessage } from '@watchglass/etcd'
import type { BatchSource, ElsewhereStreams, UnreadEvents } from './batch-source.ts'
import type { StreamWatcher } from './stream-watcher.ts'

export interface ElsewhereOwner {
  send(response: WatchResponseMessage, rest?: UnreadEvents): void
  isSameHistory(header: HeaderMessage | undefined): boolean
  /** etcd has accepted a watcher, or has refused it: there may be another one. */
  accepted(): void
  /** etcd has refused the watcher. */
  canceledAtCreation(watcher: StreamWatcher): void
  /** The position of the watcher may have moved. */
  told(watcher: StreamWatcher): void
  failed(failure: CacheError): void
}

/** The most watchers of a stream that etcd serves at a time because the history does not reach back
 *  to their start; others wait until one of them was taken over. Each is a stream at etcd. */
const replaysMax = 64

export class ElsewhereWatchers {
  readonly #elsewhere: ElsewhereStreams | undefined
  readonly #owner: ElsewhereOwner
  /** The watchers of which a response has come that is not the last fragment of its revision. */
  readonly #inFragments = new Set<StreamWatcher>()
  /** The watchers that etcd serves. */
  readonly #open = new Set<StreamWatcher>()
  /** The watchers that etcd is to serve once there is room. */
  readonly #waiting = new Set<StreamWatcher>()
  /** The watchers to which etcd sends what the history does not reach. */
  readonly #replayed = new Set<StreamWatcher>()
  /** The watchers that etcd has not accepted yet. */
  readonly #accepting = new Set<StreamWatcher>()

  constructor(elsewhere: ElsewhereStreams | undefined, owner: ElsewhereOwner) {
    this.#elsewhere = elsewhere
    this.#owner = owner
  }

  /** True while etcd has not accepted a watcher yet: etcd, too, takes one request after the
   *  other. */
  get isAccepting(): boolean {
    return this.#accepting.size > 0
  }

  /** Size of responses that etcd has sent and that are held back. */
  get heldBytes(): number {
    let bytes = 0
    for (const { elsewhere } of this.#open) bytes += elsewhere?.heldBytes ?? 0
    return bytes
  }

  /** The watchers that etcd serves for now. */
  watchers(): Iterable<StreamWatcher> {
    return this.#open
  }

  /** Lets etcd create a watcher: it tells the client so. */
  create(watcher: StreamWatcher): void {
    this.#accepting.add(watcher)
    this.#begin(watcher, watcher.startRevision, true)
  }

  /** Lets etcd send a watcher what comes next, as soon as there is room. It has been created
   *  already. */
  replay(watcher: StreamWatcher): void {
    if (this.#replayed.size >= replaysMax) {
      this.#waiting.add(watcher)
      return
    }
    this.#replayed.add(watcher)
    watcher.isBehind = false
    this.#begin(watcher, watcher.position, false)
  }

  /** Finds out how far the watchers are: those of a source, or all that have none. */
  askProgress(source?: BatchSource): void {
    for (const watcher of this.#open) {
      if (watcher.source !== source) continue
      watcher.provenElsewhere = -1
      watcher.elsewhere?.askProgress()
    }
  }

  /** All of the revisions before its position has been sent. */
  isAtRest(watcher: StreamWatcher): boolean {
    return !this.#accepting.has(watcher) && !this.#inFragments.has(watcher)
  }

  pause(): void {
    for (const { elsewhere } of this.#open) elsewhere?.pause()
  }

  resume(): void {
    for (const { elsewhere } of this.#open) elsewhere?.resume()
  }

  /** The watcher is not served by etcd any more. */
  leave(watcher: StreamWatcher): void {
    watcher.elsewhere?.close()
    watcher.elsewhere = undefined
    this.#open.delete(watcher)
    this.#inFragments.delete(watcher)
    this.#waiting.delete(watcher)
    if (!this.#replayed.delete(watcher)) return
    const [next] = this.#waiting
    if (next === undefined) return
    this.#waiting.delete(next)
    this.replay(next)
  }

  close(): void {
    for (const { elsewhere } of this.#open) elsewhere?.close()
    this.#open.clear()
    this.#waiting.clear()
  }

  #begin(watcher: StreamWatcher, startRevision: number, isCreation: boolean): void {
    assert(this.#elsewhere !== undefined, 'a watcher is served elsewhere, where there is nothing')
    const request = { ...watcher.request, watchId: 0n, startRevision }
    this.#open.add(watcher)
    watcher.elsewhere = this.#elsewhere.open(request, {
      received: (response, rest) => {
        watcher.headerElsewhere = response.header
        if (!this.#isSameHistory(watcher)) this.#owner.failed(anotherHistory())
        else if (!response.created) this.#received(watcher, response, rest)
        else if (isCreation) this.#created(watcher, response)
        // Progress that is asked for before is told at once, by some versions wrongly.
        else watcher.elsewhere?.askProgress()
      },
      failed: failure => this.#owner.failed(failure),
    })
  }

  /** True if a watcher's two sources fit together: the history, and etcd itself. */
  #isSameHistory({ source, headerElsewhere }: StreamWatcher): boolean {
    return source?.isServed !== true || this.#owner.isSameHistory(headerElsewhere)
  }

  #created(watcher: StreamWatcher, response: WatchResponseMessage): void {
    this.#accepting.delete(watcher)
    if (response.canceled) {
      this.leave(watcher)
      this.#owner.canceledAtCreation(watcher)
      this.#owner.send({ ...response, watchId: noWatchId })
    } else {
      const newest = response.header?.revision ?? 0
      if (watcher.startRevision === 0) watcher.position = nextRevision(newest as Revision)
      else watcher.position = watcher.startRevision as Revision
      this.#owner.send({ ...response, watchId: watcher.id })
      watcher.elsewhere?.askProgress()
      this.#owner.told(watcher)
    }
    this.#owner.accepted()
  }

  #received(watcher: StreamWatcher, response: WatchResponseMessage, rest?: UnreadEvents): void {
    const { events, canceled, fragment, header, watchId } = response
    if (canceled) {
      watcher.isCompacted = true
      this.leave(watcher)
      this.#owner.send({ ...response, watchId: watcher.id })
      return
    }
    const last = rest?.lastRevision ?? events.at(-1)?.revision
    if (fragment) this.#inFragments.add(watcher)
    else this.#inFragments.delete(watcher)
    if (last === undefined) {
      this.#proven(watcher, (header?.revision ?? 0) as Revision)
      // etcd's own notice, which the client has asked for.
      if (watchId !== noWatchId) this.#owner.send({ ...response, watchId: watcher.id })
    } else {
      if (!fragment) watcher.position = nextRevision(last)
      watcher.isProgressDue = false
      this.#owner.send({ ...response, watchId: watcher.id }, rest)
    }
    this.#owner.told(watcher)
  }

  #proven(watcher: StreamWatcher, revision: Revision): void {
    watcher.provenElsewhere = revision
    if (watcher.source?.isProgressSound === false) return
    if (revision >= watcher.position) watcher.position = nextRevision(revision)
  }
}

/** The client watches again, and is told by then what has become of its position. */
export function anotherHistory(): CacheError {
  return new CacheError('source_failed', 'etcd has another leader or another history: watch again')
}
