/** Compacts an etcd as kube-apiserver does it: notes the revision under the key that all servers
 *  watch, then compacts. */

import { type Revision, singleKey } from '@watchglass/base'
import type { Client } from '@watchglass/etcd'
import { compactRevisionKey } from './feed/compaction.ts'

/** Compacts at the newest revision, and returns it. */
export async function compactNow(client: Client): Promise<Revision> {
  const { header } = await client.range({ range: singleKey(compactRevisionKey), countOnly: true })
  const { revision } = header
  const value = Buffer.from(String(revision))
  await client.txn({
    compares: [],
    success: [{ type: 'put', key: compactRevisionKey, value }],
    failure: [],
  })
  await client.compact(revision)
  return revision
}
