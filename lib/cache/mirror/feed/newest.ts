/** The newest of many entries: a few that say whose history all are. */

import type { KeyValue } from '@watchglass/store'

/** Takes `entry` if it is among the newest, in order, the newest last. */
export function keepNewest(newest: KeyValue[], entry: KeyValue, max: number): void {
  const oldest = newest[0]
  if (newest.length === max) {
    if (oldest !== undefined && entry.modRevision <= oldest.modRevision) return
    newest.shift()
  }
  const at = newest.findLastIndex(one => one.modRevision <= entry.modRevision)
  newest.splice(at + 1, 0, entry)
}
