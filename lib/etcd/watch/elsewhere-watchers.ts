/** The watchers of a stream that etcd serves: their responses pass, with the client's ids. */

import { CacheError } from '../../base/errors.ts'
import { assert } from '../../base/assert.ts'
import { nextRevision, type Revision } from '../../base/revision.ts'
import type { HeaderMessage } from '../proto/kv-messages.ts'
import { EtcdError } from '../proto/failures.ts'
import { noWatchId, type WatchResponseMessage } from '../proto/watch-messages.ts'
import type { Elsewhere, WatchSource } from './watch-source.ts'
import type { Watcher } from './watcher.ts'

export interface ElsewhereOwner {
  send(response: WatchResponseMessage): void
  isSameHistory(header: HeaderMessage | undefined): boolean
  /** etcd has refused the watcher. */
  canceledAtCreation(watcher: Watcher): void
  /** The position of the watcher may have moved. */
  told(watcher: Watcher): void
  failed(failure: CacheError): void
}

/** Requests that may wait while etcd accepts a watcher. */
const heldBackMax = 1000

export class ElsewhereWatchers {
  readonly #elsewhere: Elsewhere | undefined
  readonly #owner: ElsewhereOwner
  /** The watchers of which a response has come that is not the last fragment of its revision. */
  readonly #inFragments = new Set<Watcher>()
  #accepting: Watcher | undefined
  #heldBack: (() => void)[] = []

  constructor(elsewhere: Elsewhere | undefined, owner: ElsewhereOwner) {
    this.#elsewhere = elsewhere
    this.#owner = owner
  }

  /** Keeps a request that has to wait. False if it has not. */
  holdBack(handle: () => void): boolean {
    if (this.#accepting === undefined) return false
    if (this.#heldBack.length < heldBackMax) this.#heldBack.push(handle)
    else this.#owner.failed(new EtcdError('tooManyRequests'))
    return true
  }

  /** Lets etcd create a watcher: it tells the client so. */
  create(watcher: Watcher): void {
    this.#accepting = watcher
    this.#open(watcher, watcher.startRevision, true)
  }

  /** Lets etcd send a watcher what comes next. It has been created already. */
  replay(watcher: Watcher): void {
    watcher.isBehind = false
    this.#open(watcher, watcher.position, false)
  }

  /** Finds out how far the watchers are: those of a source, or all that have none. */
  askProgress(watchers: Iterable<Watcher>, source?: WatchSource): void {
    for (const watcher of watchers) {
      if (watcher.elsewhere === undefined || watcher.source !== source) continue
      watcher.provenElsewhere = -1
      watcher.elsewhere.askProgress()
    }
  }

  /** All of the revisions before its position has been sent. */
  isAtRest(watcher: Watcher): boolean {
    return watcher !== this.#accepting && !this.#inFragments.has(watcher)
  }

  pause(watchers: Iterable<Watcher>): void {
    for (const { elsewhere } of watchers) elsewhere?.pause()
  }

  resume(watchers: Iterable<Watcher>): void {
    for (const { elsewhere } of watchers) elsewhere?.resume()
  }

  close(watchers: Iterable<Watcher>): void {
    this.#heldBack = []
    for (const { elsewhere } of watchers) elsewhere?.close()
  }

  #open(watcher: Watcher, startRevision: number, isCreation: boolean): void {
    assert(this.#elsewhere !== undefined, 'a watcher is served elsewhere, where there is nothing')
    const request = { ...watcher.request, watchId: 0n, startRevision }
    watcher.elsewhere = this.#elsewhere.open(request, {
      received: response => {
        watcher.headerElsewhere = response.header
        if (!this.#isSameHistory(watcher)) this.#owner.failed(anotherHistory())
        else if (!response.created) this.#received(watcher, response)
        else if (isCreation) this.#created(watcher, response)
        // Progress that is asked for before is told at once, by some versions wrongly.
        else watcher.elsewhere?.askProgress()
      },
      failed: failure => this.#owner.failed(failure),
    })
  }

  /** What a watcher was told out of the history, and what etcd tells it, must fit together. */
  #isSameHistory({ source, headerElsewhere }: Watcher): boolean {
    return source?.isServed !== true || this.#owner.isSameHistory(headerElsewhere)
  }

  #created(watcher: Watcher, response: WatchResponseMessage): void {
    this.#accepting = undefined
    if (response.canceled) {
      watcher.elsewhere?.close()
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
    for (const handle of this.#heldBack.splice(0)) handle()
  }

  #received(watcher: Watcher, response: WatchResponseMessage): void {
    const { events, canceled, fragment, header, watchId } = response
    if (canceled) {
      watcher.isCompacted = true
      watcher.elsewhere?.close()
      this.#owner.send({ ...response, watchId: watcher.id })
      return
    }
    const last = events.at(-1)
    if (fragment) this.#inFragments.add(watcher)
    else this.#inFragments.delete(watcher)
    if (last === undefined) {
      this.#proven(watcher, (header?.revision ?? 0) as Revision)
      // etcd's own notice, which the client has asked for.
      if (watchId !== noWatchId) this.#owner.send({ ...response, watchId: watcher.id })
    } else {
      if (!fragment) watcher.position = nextRevision(last.revision)
      watcher.isProgressDue = false
      this.#owner.send({ ...response, watchId: watcher.id })
    }
    this.#owner.told(watcher)
  }

  #proven(watcher: Watcher, revision: Revision): void {
    watcher.provenElsewhere = revision
    if (watcher.source?.isProgressSound === false) return
    if (revision >= watcher.position) watcher.position = nextRevision(revision)
  }
}

/** The client watches again, and is told by then what has become of its position. */
export function anotherHistory(): CacheError {
  return new CacheError('source_failed', 'etcd has another leader or another history: watch again')
}
