/** Takes an entry out of etcd. */

import type { KeyValue } from '@watchglass/store'
import { finalizersOf } from '../metadata.ts'
import type { WriteSession } from './session.ts'

/** Deletes the entry, also if it has changed meanwhile, unless something holds the object now.
 *  Returns the revision of the delete; undefined if someone else has deleted it. */
export async function removeStored(
  session: WriteSession,
  entry: KeyValue,
): Promise<number | undefined> {
  let current: KeyValue | undefined = entry
  while (current !== undefined) {
    const change = {
      key: entry.key,
      expected: current.modRevision,
      value: undefined,
      ttlSeconds: 0,
    }
    const commit = await session.store.commit(change, session.signal)
    if (commit.type === 'done') return commit.revision
    current = commit.current
    const finalizers = current === undefined ? [] : finalizersOf(session.treeToDelete(current))
    if (finalizers.length > 0) return undefined
  }
  return undefined
}
