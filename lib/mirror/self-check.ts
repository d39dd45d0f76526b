/** Compares keyspaces with etcd, from time to time, one after the other: the same keys, each with the same mod revision, at one
 *  revision. A mirror that lost an event, or took one that never was, is found out; it is not served until a fresh read agrees.
 *
 *  The pages hold no values. They are compared entry by entry as they come, which costs what hashing both sides would, has no
 *  collisions, and stops at the first difference. */

import { sleep } from '../base/clock.ts'
import { CacheError } from '../base/errors.ts'
import { allKeys } from '../base/keys.ts'
import type { KeyValue } from '../store/event.ts'
import type { FeedContext } from './feed/feed-context.ts'
import type { Feed } from './feed/feed.ts'
import type { MirroredKeyspace } from './mirrored-keyspace.ts'
import { readPages } from './feed/pages.ts'

/** `abandoned`: etcd could not be read at that revision, so that nothing was found out. */
export type SelfCheckOutcome = 'agreed' | 'differed' | 'abandoned'

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
  context.logger.error('a keyspace differs from etcd: reading it again', {
    keyspace: keyspace.name,
  })
  feed.distrust(keyspace)
}

/** Compares the newest contents of a keyspace with what etcd has at their revision. */
export async function compareWithEtcd(
  context: FeedContext,
  keyspace: MirroredKeyspace,
  signal: AbortSignal,
): Promise<SelfCheckOutcome> {
  const { epochs, clock, limits, keyspaceOf } = context
  const snapshot = keyspace.store.latest()
  const expected = snapshot.iterate(allKeys)[Symbol.iterator]()
  const mark = epochs.mark()
  try {
    const pages = readPages(
      { ...context, signal },
      {
        range: keyspace.range,
        revision: snapshot.revision,
        keysOnly: true,
        pageEntries: limits.selfCheckPageEntries,
        attemptsMax: 3,
      },
    )
    for await (const { header, entries, isLast } of pages) {
      if (epochs.judge(mark, header) !== 'same') return 'abandoned'
      for (const entry of entries) {
        if (keyspaceOf(entry.key) !== keyspace.name) continue
        if (!isSame(expected.next().value, entry)) return 'differed'
      }
      if (!isLast) await sleep(clock, limits.selfCheckPauseMs, signal)
    }
  } catch (error) {
    if (!(error instanceof CacheError)) throw error
    return 'abandoned'
  }
  return expected.next().done === true ? 'agreed' : 'differed'
}

function isSame(mine: KeyValue | undefined, theirs: KeyValue): boolean {
  return mine !== undefined && mine.key === theirs.key && mine.modRevision === theirs.modRevision
}
