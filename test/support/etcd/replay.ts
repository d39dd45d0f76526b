/** Writes a recorded history into an empty store that is reached through a client, one transaction
 *  a revision, so that the same revisions come about. Leases are not replayed. */

import { CacheError } from '../../../lib/base/errors.ts'
import { singleKey } from '../../../lib/base/keys.ts'
import type { Revision } from '../../../lib/base/revision.ts'
import type { Change } from '../../../lib/store/event.ts'
import type { Client, Operation } from '../../../lib/etcd/client.ts'
import type { RecordedChanges } from '../../../lib/cli/commands/recordings/recording.ts'

/** Replays until the recording ends, and answers its last revision. Fails with `conflict` as soon
 *  as a revision comes out different: the store was not empty, somebody else writes to it, or
 *  revisions are missing in the recording. */
export async function replay(
  recording: AsyncIterable<RecordedChanges>,
  client: Client,
  signal?: AbortSignal,
): Promise<Revision | undefined> {
  let last: Revision | undefined
  for await (const { revision, changes, isBase } of recording) {
    if (isBase) {
      throw new CacheError(
        'unsupported',
        `the recording begins at revision ${revision}, and what was before cannot be made again`,
      )
    }
    const success = changes.map(operationFromChange)
    const { header } = await client.txn({ compares: [], success, failure: [] }, signal)
    if (header.revision !== revision) {
      throw new CacheError('conflict', `revision ${revision} has become ${header.revision}`)
    }
    last = revision
  }
  return last
}

function operationFromChange(change: Change): Operation {
  return change.type === 'delete'
    ? { type: 'delete', range: singleKey(change.key) }
    : { type: 'put', key: change.entry.key, value: change.entry.value }
}
