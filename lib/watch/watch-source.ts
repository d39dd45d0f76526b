/** What open watches need of whoever follows the mirror. */

import type { Key } from '../base/keys.ts'
import type { Revision } from '../base/revision.ts'
import type { Hub } from './hub.ts'

/** The changes of keyspaces, for watches. */
export interface WatchSource {
  /** Fans out the changes of a keyspace. */
  hub(keyspace: Key): Hub
  /** The revision up to which nothing is missing. */
  proven(keyspace: Key): Revision
  /** Asks etcd how far it is, once for all of these that it says so for at once; `proven` rises when it answers. */
  refresh(keyspaces: Iterable<Key>): void
  /** etcd's compacted revision; 0 when none is known. */
  compacted(keyspace: Key): Revision
  /** A revision that will never come, since etcd's history is another one now. */
  isOfOldEpoch(keyspace: Key, revision: Revision): boolean
}
