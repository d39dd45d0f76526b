/** Follows etcd's compactions. Kubernetes writes the revision that it is about to compact to the
 *  key `compact_rev_key`, which lies outside of every prefix, so it has a stream of its own.
 *
 *  After that an exact read below that revision is refused as expired, as the upstream refuses it.
 *  The history of events is kept: the upstream still answers a watch from a compacted revision from
 *  its memory, and so do we. */

import {
  Backoff,
  CacheError,
  type CancelTimer,
  type Key,
  keyFromText,
  nextRevision,
  revision,
  type Revision,
  singleKey,
  sleep,
} from '@watchglass/base'
import type { RevisionChanges } from '@watchglass/etcd'
import type { KeyValue } from '@watchglass/store'
import type { FeedContext } from './feed-context.ts'

/** The key under which Kubernetes keeps the compacted revision. */
export const compactRevisionKey: Key = keyFromText('compact_rev_key')

/** The key is read again this often, in case its stream is open but dead. */
const rereadMs = 300_000

export class CompactionFollower {
  readonly #context: FeedContext
  readonly #key: Key
  #revision: Revision = revision(0)

  constructor(context: FeedContext, key: Key) {
    this.#context = context
    this.#key = key
  }

  /** The revision below which the upstream refuses reads; 0 if nothing was compacted. */
  get revision(): Revision {
    return this.#revision
  }

  /** etcd has another history now. */
  startEpoch(): void {
    this.#revision = revision(0)
  }

  /** Reads the key and follows it until the mirror is stopped. */
  async run(): Promise<void> {
    const { client, clock, random, limits, logger, epochs, signal } = this.#context
    const backoff = new Backoff(limits.reconnectBackoff, random)
    while (!signal.aborted) {
      const epoch = epochs.number
      try {
        const { header, entries } = await client.range({ range: singleKey(this.#key) }, signal)
        if (!signal.aborted && epoch === epochs.number && !epochs.isOtherCluster(header)) {
          for (const entry of entries) this.#take(entry)
          backoff.reset()
          await this.#follow(nextRevision(header.revision), epoch)
        }
      } catch (error) {
        const { message } = CacheError.from(error, 'source_failed')
        if (!signal.aborted) {
          logger.debug('the watch of compactions ended: trying again', { error: message })
        }
      }
      await sleep(clock, backoff.nextMs(), signal)
    }
  }

  /** Resolves when the stream is over, or it is time to read the key again. */
  #follow(startRevision: Revision, epoch: number): Promise<void> {
    const { client, clock, epochs, signal } = this.#context
    return new Promise(resolve => {
      let cancelTimer: CancelTimer | undefined = undefined
      const finish = (): void => {
        cancelTimer?.()
        signal.removeEventListener('abort', cancel)
        resolve()
      }
      const stream = client.watch(
        { range: singleKey(this.#key), startRevision },
        {
          created: () => {},
          changed: batches => {
            if (epoch === epochs.number) this.#takeAll(batches)
            else cancel()
          },
          progress: () => {},
          ended: finish,
        },
      )
      const cancel = (): void => {
        stream.cancel()
        finish()
      }
      cancelTimer = clock.setTimer(rereadMs, cancel)
      signal.addEventListener('abort', cancel, { once: true })
    })
  }

  #takeAll(batches: readonly RevisionChanges[]): void {
    for (const { changes } of batches) {
      for (const change of changes) if (change.type === 'put') this.#take(change.entry)
    }
  }

  #take({ bytes, start, end }: KeyValue): void {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1')
    const compacted = Number(text)
    if (!/^[0-9]{1,16}$/.test(text) || !Number.isSafeInteger(compacted)) {
      this.#context.logger.warn('the key compact_rev_key does not hold a revision')
    } else if (compacted > this.#revision) {
      this.#revision = revision(compacted)
      this.#context.onFactsChanged()
    }
  }
}
