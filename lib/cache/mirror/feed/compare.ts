/** Compares a keyspace with etcd, entry by entry, at one revision. The pages hold no values, so
 *  that this costs what hashing both sides would, has no collisions, and stops at the first
 *  difference. */

import { allKeys, CacheError, sleep } from '@watchglass/base'
import type { KeyValue } from '@watchglass/store'
import type { FeedContext } from './feed-context.ts'
import type { MirroredKeyspace } from '../mirrored-keyspace.ts'
import { readPages } from './pages.ts'

/** `abandoned`: etcd could not be read at that revision, so there is no result. */
export type SelfCheckOutcome = 'agreed' | 'differed' | 'abandoned'

/** Compares the newest contents of a keyspace with what etcd has at their revision. */
export async function compareWithEtcd(
  context: FeedContext,
  keyspace: MirroredKeyspace,
  signal: AbortSignal,
): Promise<SelfCheckOutcome> {
  const { epochs, probe, clock, limits, keyspaceOf } = context
  const snapshot = keyspace.store.latest()
  const expected = snapshot.iterate(allKeys)[Symbol.iterator]()
  const mark = epochs.mark()
  let hasDiffered = false
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
        hasDiffered ||= !isSame(expected.next().value, entry)
      }
      if (hasDiffered) break
      if (!isLast) await sleep(clock, limits.selfCheckPauseMs, signal)
    }
  } catch (error) {
    if (!(error instanceof CacheError)) throw error
    return 'abandoned'
  }
  if (!hasDiffered && expected.next().done === true) return 'agreed'
  // An etcd that was restored meanwhile is another, and has not lost anything of ours.
  const isOurs = (await probe.isOurHistory()) && epochs.number === mark.epoch
  return isOurs ? 'differed' : 'abandoned'
}

function isSame(mine: KeyValue | undefined, theirs: KeyValue): boolean {
  return mine !== undefined && mine.key === theirs.key && mine.modRevision === theirs.modRevision
}
