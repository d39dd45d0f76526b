/** Source of the watches: the part that follows the mirror. */

import type { Key, Revision } from '@watchglass/base'
import type { Hub } from './hub.ts'

/** The changes of keyspaces, for watches. */
export interface WatchSource {
  /** Fans out the changes of a keyspace. */
  hub(keyspace: Key): Hub
  /** The revision up to which a keyspace is complete. */
  proven(keyspace: Key): Revision
  /** Requests the progress of etcd for these keyspaces, in one request where one answer covers
   *  several; `proven` rises when it comes. */
  refresh(keyspaces: Iterable<Key>): void
  /** etcd's compacted revision; 0 when none is known. */
  compacted(keyspace: Key): Revision
  /** True for a revision that will never come, because etcd has another history now. */
  isOfOldEpoch(keyspace: Key, revision: Revision): boolean
}
