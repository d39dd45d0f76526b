/** Bounds and pauses of what follows an API, with their reasons. */

import { defaultLimits, type MirrorLimits } from '@watchglass/cache'

/** The limits of a mirror of one resource. Progress takes the upstream about a second to say, and
 *  each question costs it some milliseconds, so nothing is asked as often as etcd is. */
export const apiMirrorLimits: MirrorLimits = {
  ...defaultLimits,
  /** A bookmark comes 1.25 s after a short watch began, at the latest, of a server that is well. */
  provableWaitMs: 2500,
  /** A hundred informers that start at once keep upstream and mirror busy for seconds: passed on,
   *  they would be lists and watches of all objects for as long as they live. client-go begins to
   *  log after 10 s. */
  initialStateWaitMs: 10_000,
  /** A get takes the upstream a millisecond of its processor, a question and a short watch some
   *  thirty. */
  cheapPasses: { perSecond: 20, burst: 40, listMaxBytes: 64 * 1024, listCost: 5 },
  /** Reads of what has no bookmarks pass at once. */
  untrustedWaitMs: 0,
  /** A consistent list of one object takes 4 to 10 ms, of a busy server longer. */
  probeTimeoutMs: 10_000,
  probeBackoff: { firstMs: 100, maxMs: 2000 },
  /** Health checks of the upstream are enough: a resource is not asked about that nobody reads. */
  unaskedMaxMs: 24 * 3_600_000,
  progressBackoff: { firstMs: 250, maxMs: 250 },
  progressRequestsMax: 1_000_000,
  firstProgressMaxMs: 5000,
  /** An upstream sends a bookmark about once a minute. */
  quietMaxMs: 90_000,
  answerMaxMs: 20_000,
  createMaxMs: 30_000,
  unansweredSilenceMaxMs: 24 * 3_600_000,
  behindMaxMs: 20_000,
  reconnectBackoff: { firstMs: 100, maxMs: 10_000 },
  /** A list has one continuation: it cannot be read in parts. */
  partMaxEntries: Number.MAX_SAFE_INTEGER,
  partsAtOnce: 1,
  selfCheckIntervalMs: 1_800_000,
}

export interface WatchLimits {
  /** A watch is asked for so many seconds, and up to as many again: not all end at once. */
  readonly watchSeconds: number
  /** The next one is opened this much before the end. */
  readonly overlapMs: number
  /** A short watch (`timeoutSeconds`) gets its bookmark two seconds before its end, and none if it
   *  has only these two seconds (`nextBookmarkTime` in kube-apiserver's
   *  cacher/cache_watcher.go). */
  readonly shortSeconds: number
  /** Pause between two short watches while somebody waits: so often the upstream hands out
   *  bookmarks. */
  readonly shortEveryMs: number
  /** Somebody waits who has asked within this time. */
  readonly waitingMs: number
  /** An asker gets its bookmark within this time, or never. */
  readonly owedMs: number
  /** With so many askers, one after the other, in `askersWithinMs` the next short watch is opened
   *  before somebody asks for it. */
  readonly askersMin: number
  readonly askersWithinMs: number
  /** A watch that has not brought what another one has brought for so long is stuck. */
  readonly stuckMs: number
  /** A watch that has had a bookmark is stuck after so long without another message. */
  readonly silentMs: number
}

export const defaultWatchLimits: WatchLimits = {
  watchSeconds: 300,
  overlapMs: 10_000,
  shortSeconds: 3,
  shortEveryMs: 1000,
  waitingMs: 600,
  owedMs: 6000,
  askersMin: 3,
  askersWithinMs: 10_000,
  stuckMs: 10_000,
  silentMs: 180_000,
}
