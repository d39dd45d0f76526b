/** When a bookmark of a watch is due: about once in an interval, and shortly before its end, so
 *  that its client can continue from a recent revision even if nothing has changed. The caller
 *  decides whether a bookmark can be sent then. */

import { type Random, randomInt } from '@watchglass/base'

/** As kube-apiserver. Clients do not rely on a certain interval. */
export const usualBookmarkIntervalMs = 60_000
/** A random part of the interval, so that thousands of watches that began together are not due
 *  together. */
const jitterShare = 1 / 12
/** Enough for a progress request and its answer, before the watch's time is up. */
const beforeEndMs = 2_000
/** Bookmarks are due to the second, so that those of one second share a progress request. */
const grainMs = 1_000

/** When the next bookmark is due for a watch that ends at `endsAtMs`, within `intervalMs` from now;
 *  undefined if there is no time for one. */
export function bookmarkDueMs(
  random: Random,
  nowMs: number,
  endsAtMs: number,
  intervalMs: number = usualBookmarkIntervalMs,
): number | undefined {
  const lastMs = endsAtMs - beforeEndMs
  if (nowMs >= lastMs) return undefined
  const regularMs = nowMs + intervalMs - randomInt(random, 0, intervalMs * jitterShare)
  return Math.min(Math.floor(regularMs / grainMs) * grainMs, lastMs)
}
