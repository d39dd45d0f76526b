/** Contents of an etcd that were written to a file before, so that a start need not read them all
 *  again. A mirror takes a value from there only if etcd has the key with the same revisions now
 *  (feed/completed-pages.ts): how old the file is does not matter, and neither does whether etcd
 *  has compacted its revision. */

import {
  CacheError,
  type CancelTimer,
  type Clock,
  type Logger,
  type Revision,
} from '@watchglass/base'
import type { BTree, KeyValue } from '@watchglass/store'

/** A file, or an object of an object store, that says of which etcd it is. */
export interface Checkpoint {
  /** Its name for people, without what would let them read it. */
  readonly name: string
  /** Reads all of it. Fails where it is damaged or cut off, or has more than may be held. */
  read(signal: AbortSignal): Promise<CheckpointContents>
}

export interface CheckpointContents {
  readonly clusterId: bigint
  /** The revision that etcd had. */
  readonly revision: Revision
  readonly entries: BTree<KeyValue>
}

/** Definitions of resources become known with the first contents, and what they define is read
 *  right after. */
const keptMs = 60_000

/** The checkpoint of one mirror: read when the first load asks for it, and forgotten a minute after
 *  the last one has used it. */
export class HeldCheckpoint {
  readonly #checkpoint: Checkpoint
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #signal: AbortSignal
  #reading: Promise<CheckpointContents | undefined> | undefined = undefined
  #cancelTimer: CancelTimer | undefined = undefined

  constructor(
    checkpoint: Checkpoint,
    parts: { readonly clock: Clock; readonly logger: Logger; readonly signal: AbortSignal },
  ) {
    this.#checkpoint = checkpoint
    this.#clock = parts.clock
    this.#logger = parts.logger
    this.#signal = parts.signal
    parts.signal.addEventListener('abort', () => this.#forget(), { once: true })
  }

  /** The contents; undefined if they cannot be read, are left aside, or are forgotten. */
  contents(): Promise<CheckpointContents | undefined> {
    return (this.#reading ??= this.#read())
  }

  /** A load was completed with the contents. */
  used(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = this.#clock.setTimer(keptMs, () => this.#forget())
  }

  /** The contents are of no use: everything is read from etcd. */
  leaveAside(reason: string): void {
    this.#forget()
    if (this.#signal.aborted) return
    this.#logger.warn('the checkpoint is left aside: everything is read from etcd', {
      checkpoint: this.#checkpoint.name,
      reason,
    })
  }

  async #read(): Promise<CheckpointContents | undefined> {
    const { name } = this.#checkpoint
    const startMs = this.#clock.monotonicMs()
    try {
      const contents = await this.#checkpoint.read(this.#signal)
      this.#logger.info('read a checkpoint', {
        checkpoint: name,
        revision: contents.revision,
        objects: contents.entries.size,
        elapsedMs: Math.round(this.#clock.monotonicMs() - startMs),
      })
      return contents
    } catch (error) {
      this.leaveAside(CacheError.from(error, 'invalid_request').message)
      return undefined
    }
  }

  #forget(): void {
    this.#cancelTimer?.()
    this.#reading = Promise.resolve(undefined)
  }
}
