/** Events that only the upstream can show exactly. Such an event ends its watches and is
 *  remembered: until the object has changed or is deleted, watches that begin before that event
 *  pass to the upstream. */

import type { Key, Revision } from '@watchglass/base'
import type { WatchPlan } from '@watchglass/kube'
import type { Snapshot } from '@watchglass/store'

/** Objects of a keyspace that are remembered. Beyond this number an inexact event ends its watches
 *  every time. */
const rememberedMax = 1_000

interface Inexact {
  /** The objects, and the revisions at which they were inexact. */
  readonly objects: Map<Key, Revision>
  /** The newest revision with an event that cannot be shown exactly. */
  newest: Revision
}

export class InexactEvents {
  readonly #keyspaces = new Map<Key, Inexact>()

  /** Notes an event that cannot be shown exactly. */
  note(keyspace: Key, key: Key, revision: Revision): void {
    const known = this.#keyspaces.get(keyspace) ?? { objects: new Map(), newest: revision }
    this.#keyspaces.set(keyspace, known)
    if (revision > known.newest) known.newest = revision
    if (known.objects.size < rememberedMax || known.objects.has(key)) {
      known.objects.set(key, revision)
    }
  }

  /** All events of the keyspace can be shown. */
  forget(keyspace: Key): void {
    this.#keyspaces.delete(keyspace)
  }

  /** Objects may be shown in another way than before. */
  forgetAll(): void {
    this.#keyspaces.clear()
  }

  /** True if the watch would reach an event that cannot be shown. */
  concerns({ keyspace, start }: WatchPlan, snapshot: Snapshot): boolean {
    const known = this.#keyspaces.get(keyspace)
    if (known === undefined) return false
    for (const [key, revision] of known.objects) {
      if (snapshot.get(key)?.modRevision === revision) return true
      if (snapshot.revision > revision) known.objects.delete(key)
    }
    return start.type === 'after' && start.revision < known.newest
  }
}
