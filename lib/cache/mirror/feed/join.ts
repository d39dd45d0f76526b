/** Joins one keyspace with a stream that is already running: reads it at one revision, and then
 *  applies, in order, the events that the stream delivered meanwhile. Used for a keyspace that is
 *  added later, and to replace one that differs from etcd.
 *
 *  ```
 *  stream:    ── progress P ── e1 ── e2 ── e3 ── e4 ──▶      e1 to e4 are kept from the start of the join
 *  read at R:                      ▲                         R is not below P: the read began after P was known
 *  contents:                       restored at R, then e3 and e4
 *  ```
 *
 *  If R is ahead of the stream, the contents already include the stream's events up to R, which
 *  are skipped. */

import { compareWithEtcd } from './compare.ts'
import { Backoff, CacheError, type KeyRange, sleep } from '@watchglass/base'
import { type Loaded, loadKeyspaces } from './bootstrap.ts'
import type { Violation } from './order.ts'
import type { Progress } from './progress.ts'
import type { FeedContext } from './feed-context.ts'
import type { MirroredKeyspace } from '../mirrored-keyspace.ts'

/** The feed as joining sees it. */
export interface JoinedFeed {
  readonly progress: Progress
  readonly isRestored: boolean
  readonly isConnected: boolean
  readonly isCaughtUp: boolean
  /** Aborted when the present epoch, or the mirror, ends. */
  readonly signal: AbortSignal
  violated(violation: Violation): void
  /** Contents of a range were read. */
  noteRead(range: KeyRange, loaded: Loaded): void
}

/** The keyspaces of a feed that are to be joined, a few at a time. */
export class Joins {
  readonly #context: FeedContext
  readonly #feed: JoinedFeed
  #waiting: MirroredKeyspace[] = []
  #running = 0

  constructor(context: FeedContext, feed: JoinedFeed) {
    this.#context = context
    this.#feed = feed
  }

  /** Reads and joins `keyspace`, in as many attempts as it takes, unless the feed's own bootstrap
   *  or the end of the epoch comes first. */
  add(keyspace: MirroredKeyspace): void {
    this.#waiting.push(keyspace)
    if (this.#running < this.#context.limits.joinsMax) void this.#run()
  }

  async #run(): Promise<void> {
    this.#running++
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      await this.#join(next)
    }
    this.#running--
  }

  async #join(keyspace: MirroredKeyspace): Promise<void> {
    const { clock, limits, logger, random } = this.#context
    const { signal } = this.#feed
    const backoff = new Backoff(limits.reconnectBackoff, random)
    const isWanted = (): boolean =>
      !signal.aborted && !keyspace.isDropped && !keyspace.isRestored && !keyspace.isJoining
    while (isWanted() && this.#feed.isRestored) {
      const failure = await attempt(this.#context, this.#feed, keyspace)
      if (failure === undefined || !isWanted()) return
      logger.warn('a resource cannot be mirrored yet: trying again', {
        keyspace: keyspace.name,
        error: failure.message,
      })
      await sleep(clock, backoff.nextMs(), signal)
    }
  }
}

/** One attempt. Returns why it failed; `undefined` if the keyspace is joined, or does not need to
 *  be any more. */
async function attempt(
  context: FeedContext,
  feed: JoinedFeed,
  keyspace: MirroredKeyspace,
): Promise<CacheError | undefined> {
  const kept = keyspace.startJoining()
  try {
    await readAndJoin(context, feed, { keyspace, kept })
    return undefined
  } catch (error) {
    if (!(error instanceof CacheError)) throw error
    return error
  } finally {
    keyspace.stopJoining(kept)
  }
}

async function readAndJoin(
  context: FeedContext,
  feed: JoinedFeed,
  { keyspace, kept }: { readonly keyspace: MirroredKeyspace; readonly kept: object },
): Promise<void> {
  const { signal } = feed
  const { metrics, limits } = context
  metrics.bootstrap('joined')
  const loaded = await loadKeyspaces(
    { ...context, signal, onReport: () => {} },
    {
      range: keyspace.range,
      keyspaces: new Map([[keyspace.name, undefined]]),
      isTooMuch: () => keyspace.joiningChanges > limits.joinBufferMaxChanges,
    },
  )
  const { revision, trees } = loaded
  const tree = trees.get(keyspace.name)
  // The feed's own bootstrap may have been faster, or the keyspace may be gone.
  if (tree === undefined || signal.aborted || !keyspace.isInJoin(kept)) return
  try {
    keyspace.finishJoining(tree, revision)
  } catch (error) {
    if (!(error instanceof CacheError)) throw error
    feed.violated({ kind: 'unknown-delete', got: revision, known: feed.progress.revision })
    return
  }
  feed.noteRead(keyspace.range, loaded)
  await admit(context, feed, keyspace)
}

/** Serves a joined keyspace; one that was suspect only after a self-check of its new contents. */
async function admit(
  context: FeedContext,
  feed: JoinedFeed,
  keyspace: MirroredKeyspace,
): Promise<void> {
  if (keyspace.state === 'suspect') {
    keyspace.advance(feed.progress.revision)
    const outcome = await compareWithEtcd(context, keyspace, feed.signal)
    if (!keyspace.isRestored || feed.signal.aborted) return
    if (outcome !== 'agreed') {
      keyspace.clear('distrusted')
      throw new CacheError('conflict', `contents read again have ${outcome} in a self-check`)
    }
  }
  keyspace.handle('restored')
  if (!feed.isConnected) keyspace.handle('disconnected')
  else if (feed.isCaughtUp) keyspace.handle('caught-up')
}
