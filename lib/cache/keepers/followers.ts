/** The list of what follows the mirror. Every change is passed to each follower, in the order of
 *  the list. The list is made before the mirror, and filled before the mirror starts. */

import type { Key, Revision } from '@watchglass/base'
import type { MirrorSink, ResetReason } from '../mirror/mirrored-keyspace.ts'
import type { Batch } from '@watchglass/store'

export interface Follower {
  /** A keyspace has applied a batch. */
  applied?(keyspace: Key, batch: Batch): void
  /** Keyspaces are complete up to a newer revision, without a change. */
  progressed?(keyspaces: readonly string[], revision: Revision): void
  /** A keyspace has other contents, and another history. */
  reset?(keyspace: Key, reason: ResetReason): void
  /** A keyspace is in another state. */
  stateChanged?(keyspace: Key): void
}

/** Tells all followers. */
export class Followers implements MirrorSink {
  readonly #all: Follower[] = []

  add(...followers: readonly (Follower | undefined)[]): void {
    for (const one of followers) if (one !== undefined) this.#all.push(one)
  }

  applied(keyspace: string, batch: Batch): void {
    for (const one of this.#all) one.applied?.(keyspace as Key, batch)
  }

  progressed(keyspaces: Iterable<string>, revision: Revision): void {
    const names = [...keyspaces]
    for (const one of this.#all) one.progressed?.(names, revision)
  }

  reset(keyspace: string, reason: ResetReason): void {
    for (const one of this.#all) one.reset?.(keyspace as Key, reason)
  }

  stateChanged(keyspace: string): void {
    for (const one of this.#all) one.stateChanged?.(keyspace as Key)
  }
}

/** A follower that does the same whatever has changed. */
export function onAnyChange(task: (keyspace: Key) => void): Follower {
  return { applied: task, reset: task, stateChanged: task }
}
