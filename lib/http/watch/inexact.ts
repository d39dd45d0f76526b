/** Objects that only the upstream can show exactly. One such object in a list, or in the initial events of a watch, passes the whole
 *  request. So with an upstream both are checked before anything is sent; the check keeps what it has encoded for the response. An
 *  event that cannot be shown exactly ends its watches and is remembered: until the object has changed or is deleted, watches that
 *  begin before that event pass to the upstream. */

import type { Clock } from '../../base/clock.ts'
import type { Key } from '../../base/keys.ts'
import type { Revision } from '../../base/revision.ts'
import { Slice } from '../../base/slice.ts'
import { NotExact } from '../../codec/not-exact.ts'
import type { WatchPlan } from '../../kube/read-plan.ts'
import type { Snapshot } from '../../store/snapshot.ts'
import { PassInstead } from '../../kube/pass-instead.ts'
import type { OpenWatches } from './open-watches.ts'
import type { RequestContext } from '../exchange/request-context.ts'

/** Objects of a keyspace that are remembered. Beyond this number an inexact event ends its watches every time. */
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

/** Makes the pieces of a response without sending them. Returns why one of them is not exact; undefined if all are, or if the client
 *  has left. */
export async function problemIn(
  context: RequestContext,
  pieces: Iterator<unknown, unknown>,
  pace: Clock,
): Promise<NotExact | undefined> {
  const slice = new Slice(pace)
  while (!context.isOver) {
    const { done, value } = pieces.next()
    if (value instanceof NotExact) return value
    if (done === true) return undefined
    if (slice.isOver) await slice.next()
  }
  return undefined
}

interface CheckedAgainst {
  readonly proxy?:
    | { readonly inexact: InexactEvents; readonly held: { readonly given: InexactEvents } }
    | undefined
  readonly watches: OpenWatches
}

/** Passes a watch to the upstream if the mirror could not continue it. */
export function checkWatch(
  plan: WatchPlan,
  snapshot: Snapshot,
  { proxy, watches }: CheckedAgainst,
): void {
  if (proxy === undefined) return
  const { start, keyspace } = plan
  if (proxy.inexact.concerns(plan, snapshot)) throw new PassInstead('inexact')
  if (proxy.held.given.concerns(plan, snapshot)) throw new PassInstead('unproven')
  const isExpired = start.type === 'after' && start.revision < watches.source.hub(keyspace).oldest
  if (isExpired) throw new PassInstead('revision-not-kept')
}
