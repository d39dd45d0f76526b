/** Compares keyspaces with etcd from time to time, one after the other: both sides must have the
 *  same keys with the same mod revisions, at one revision. A keyspace that has lost an event, or
 *  has one too many, is found this way, and is not served until a new read agrees.
 *
 *  The pages hold no values. They are compared entry by entry as they come, which costs what
 *  hashing both sides would, has no collisions, and stops at the first difference. */

import { compareWithEtcd } from './feed/compare.ts'
import { sleep } from '@watchglass/base'
import type { FeedContext } from './feed/feed-context.ts'
import type { Feed } from './feed/feed.ts'
import type { MirroredKeyspace } from './mirrored-keyspace.ts'

/** Checks every keyspace of `feeds` again and again until the mirror is stopped. */
export async function runSelfChecks(context: FeedContext, feeds: readonly Feed[]): Promise<void> {
  const { clock, random, limits, signal } = context
  while (!signal.aborted) {
    await sleep(clock, limits.selfCheckIntervalMs * (1 + random.next() / 2), signal)
    for (const feed of feeds) {
      for (const keyspace of feed.keyspaces) await check(context, feed, keyspace)
    }
  }
}

async function check(context: FeedContext, feed: Feed, keyspace: MirroredKeyspace): Promise<void> {
  if (context.signal.aborted || !keyspace.isServed || !feed.isConnected) return
  keyspace.advance(feed.progress.revision)
  const { signal } = feed
  const outcome = await compareWithEtcd(context, keyspace, signal)
  if (signal.aborted || keyspace.isDropped) return
  context.metrics.selfCheck(outcome)
  if (outcome !== 'differed') return
  const { called = 'etcd' } = context.client
  const fields = { keyspace: keyspace.name }
  context.logger.error(`the mirror of a resource differs from ${called}: it is read again`, fields)
  feed.distrust(keyspace)
}
