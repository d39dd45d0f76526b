/** Turns a change into the event of a watch: ADDED, MODIFIED, DELETED, or nothing. */

import { NotExact, type Revision } from '@watchglass/base'
import type { Event, KeyValue } from '@watchglass/store'
import type { Filter } from './selectors/filter.ts'

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** One event of a watch. A DELETED carries the last state that the client knew, with the revision
 *  of the change. */
export interface ServedEvent {
  readonly type: WatchEventType
  readonly entry: KeyValue
  /** The resourceVersion of the object in the event. */
  readonly revision: Revision
}

/** The event that a watch with that filter gets for a change; undefined if it gets none. An object
 *  that begins to be selected is ADDED, and one that is no longer selected is DELETED, whatever
 *  really happened to it. A `NotExact` ends the watch before the change. */
export function watchEvent(
  { before, after }: Event,
  revision: Revision,
  filter: Filter | undefined,
): ServedEvent | NotExact | undefined {
  const was = isSelected(before, filter)
  if (was instanceof NotExact) return was
  const is = isSelected(after, filter)
  if (is instanceof NotExact) return is
  if (after !== undefined && is) {
    return { type: was ? 'MODIFIED' : 'ADDED', entry: after, revision }
  }
  return before !== undefined && was ? { type: 'DELETED', entry: before, revision } : undefined
}

function isSelected(entry: KeyValue | undefined, filter: Filter | undefined): boolean | NotExact {
  if (entry === undefined) return false
  return filter === undefined ? true : filter(entry)
}
