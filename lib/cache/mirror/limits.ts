/** Every bound and pause of the mirror, with its reason. Tests and simulations pass their own. */

import type { BackoffBounds } from '@watchglass/base'
import type { HistoryBounds } from '@watchglass/store'
import type { CheapPassLimits } from './reads/cheap-passes.ts'

export interface MirrorLimits {
  /** Time that a read may wait before it is refused. kube-apiserver waits as long, so clients
   *  expect it. */
  readonly readWaitMaxMs: number
  /** Reads that may wait at once; one costs a few hundred bytes. */
  readonly waitingReadsMax: number
  /** Time that a consistent read waits for an event, where progress marks cannot be trusted, before
   *  it goes elsewhere. */
  readonly untrustedWaitMs: number
  /** Time that a consistent read waits for progress before it goes elsewhere, if it may. If it is
   *  left out: it does not. */
  readonly provableWaitMs?: number | undefined
  /** The wait of a streaming list, which would stay where it goes, and whose client waits without a
   *  limit of its own. If it is left out: as long as any read. */
  readonly initialStateWaitMs?: number | undefined
  /** Reads that need not wait for a proof of progress. If it is left out: all wait. */
  readonly cheapPasses?: CheapPassLimits | undefined
  /** The `retryAfterMs` of refusals. */
  readonly retryAfterMs: number
  /** A revision probe without an answer is cancelled and repeated: the member may be paused. Longer
   *  than the second after which the client avoids an endpoint that has not answered, so that the
   *  next attempt goes to another one. */
  readonly probeTimeoutMs: number
  readonly probeBackoff: BackoffBounds
  /** A question is put to etcd when nobody has put one for so long: an outage is known before
   *  somebody is refused. */
  readonly unaskedMaxMs: number
  /** Pauses between progress requests while a read waits. The first is about the round trip of a
   *  loaded network. */
  readonly progressBackoff: BackoffBounds
  /** Time limit of the endpoints to report their version, and the pause until those that did not
   *  are asked again. */
  readonly statusTimeoutMs: number
  readonly versionRetryMs: number
  /** Progress requests that may be in flight at once. */
  readonly progressRequestsMax: number
  /** After this long without a first progress mark, a stream's marks are not trusted. */
  readonly firstProgressMaxMs: number
  /** A stream without a message for this long is asked for progress. */
  readonly quietMaxMs: number
  /** A stream that answered before and does not for this long is ended. Below `readWaitMaxMs`, so
   *  that a new stream can still answer waiting reads. */
  readonly answerMaxMs: number
  /** Time limit of etcd to accept a watcher. */
  readonly createMaxMs: number
  /** A stream that never answers progress requests is ended after this long without an event. */
  readonly unansweredSilenceMaxMs: number
  /** A stream is ended if its marks have not risen for this long although etcd is known to have a
   *  newer revision. */
  readonly behindMaxMs: number
  readonly reconnectBackoff: BackoffBounds
  /** The target size of a page. A megabyte is decoded in 2 to 3 ms, far below the 10 ms that a
   *  slice may take, and is large enough that the round trip and etcd's count of the remaining keys
   *  do not dominate (bench/mirror). */
  readonly pageTargetBytes: number
  readonly pageMinEntries: number
  readonly pageMaxEntries: number
  /** Keys that a range may have before it is read in parts. A page costs etcd a count of what its
   *  range still has: with 20,000 keys and pages of 800 that is 12 keys counted for each one read,
   *  about a seventh of what reading it costs. */
  readonly partMaxEntries: number
  /** Parts that a bootstrap reads in parallel: a member of etcd answers on several cores. */
  readonly partsAtOnce: number
  /** Bytes of pages that may wait for earlier pages while parts are read in parallel. */
  readonly readAheadMaxBytes: number
  /** Work in slices yields after this long. */
  readonly sliceMaxMs: number
  /** Keyspaces of a feed that are read at once to be joined. */
  readonly joinsMax: number
  /** Bound of the stream's changes that are kept while a keyspace is being joined. Beyond it the
   *  join starts over. */
  readonly joinBufferMaxChanges: number
  readonly selfCheckIntervalMs: number
  /** The pause between two pages of a self-check, so that its load on etcd is not noticeable. */
  readonly selfCheckPauseMs: number
  /** Keys without values are small: see `pageTargetBytes`. */
  readonly selfCheckPageEntries: number
  /** Whole lists that may be read straight from etcd at once. */
  readonly wholeDirectReadsMax: number
  /** Single keys and single pages that may be read straight from etcd at once. */
  readonly smallDirectReadsMax: number
}

export const defaultLimits: MirrorLimits = {
  readWaitMaxMs: 3000,
  waitingReadsMax: 20_000,
  untrustedWaitMs: 100,
  retryAfterMs: 1000,
  probeTimeoutMs: 1100,
  probeBackoff: { firstMs: 20, maxMs: 500 },
  unaskedMaxMs: 2000,
  progressBackoff: { firstMs: 5, maxMs: 100 },
  statusTimeoutMs: 2000,
  versionRetryMs: 500,
  progressRequestsMax: 4,
  firstProgressMaxMs: 3000,
  quietMaxMs: 5000,
  answerMaxMs: 2000,
  createMaxMs: 5000,
  unansweredSilenceMaxMs: 60_000,
  behindMaxMs: 5000,
  reconnectBackoff: { firstMs: 50, maxMs: 5000 },
  pageTargetBytes: 1024 * 1024,
  pageMinEntries: 100,
  pageMaxEntries: 5000,
  partMaxEntries: 20_000,
  partsAtOnce: 3,
  readAheadMaxBytes: 32 * 1024 * 1024,
  sliceMaxMs: 5,
  joinsMax: 4,
  joinBufferMaxChanges: 100_000,
  selfCheckIntervalMs: 300_000,
  selfCheckPauseMs: 50,
  selfCheckPageEntries: 5000,
  wholeDirectReadsMax: 2,
  smallDirectReadsMax: 8,
}

/** Five minutes are what clients expect of a continuation; the rest bounds memory for each
 *  keyspace. */
export const defaultHistory: HistoryBounds = {
  maxBatches: 100_000,
  maxAgeMs: 10 * 60_000,
  maxBytes: 256 * 1024 * 1024,
}
