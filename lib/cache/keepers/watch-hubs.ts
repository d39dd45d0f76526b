/** Sends the mirror's changes to watches: a hub for each keyspace that is watched. */

import { type Clock, type Key, type Revision, Slice } from '@watchglass/base'
import type { Mirrors } from '../mirror/mirrors.ts'
import { type Batch, Hub, type WatchSource } from '@watchglass/store'
import type { Follower } from './followers.ts'

export class WatchHubs implements WatchSource, Follower {
  readonly #mirrors: Mirrors
  readonly #clock: Clock
  readonly #hubs = new Map<string, Hub>()

  constructor(mirrors: Mirrors, clock: Clock) {
    this.#mirrors = mirrors
    this.#clock = clock
  }

  hub(keyspace: Key): Hub {
    const hub = this.#hubs.get(keyspace) ?? this.#createHub(keyspace)
    this.#hubs.set(keyspace, hub)
    return hub
  }

  isWatched(keyspace: Key): boolean {
    return (this.#hubs.get(keyspace)?.size ?? 0) > 0
  }

  proven(keyspace: Key): Revision {
    return this.#mirrors.proven(keyspace)
  }

  refresh(keyspaces: Iterable<Key>): void {
    this.#mirrors.refresh(keyspaces)
  }

  compacted(keyspace: Key): Revision {
    return this.#mirrors.compactRevision(keyspace)
  }

  isOfOldEpoch(keyspace: Key, revision: Revision): boolean {
    return this.#mirrors.isOfOldEpoch(keyspace, revision)
  }

  /** Events of a keyspace that could not be told yet may be told now. */
  resumeHeld(keyspace: string): void {
    this.#hubs.get(keyspace)?.resumeHeld()
  }

  applied(keyspace: string, batch: Batch): void {
    this.#hubs.get(keyspace)?.publish(batch)
  }

  reset(keyspace: string): void {
    const hub = this.#hubs.get(keyspace)
    this.#hubs.delete(keyspace)
    hub?.expireAll()
  }

  #createHub(keyspace: Key): Hub {
    const { store } = this.#mirrors.keyspace(keyspace)
    const hub: Hub = new Hub({ history: store, onWork: () => void this.#run(hub) })
    return hub
  }

  async #run(hub: Hub): Promise<void> {
    await this.#clock.yield()
    const slice = new Slice(this.#clock)
    hub.run(() => slice.isOver)
  }
}
