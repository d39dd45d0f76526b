/** Reads that the mirror cannot answer and nobody else is there to answer: etcd itself, in pages that are streamed straight out, a
 *  few at a time, and counted. A limit that is reached refuses at once: many big reads are what brings an etcd down. */

import type { Clock } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'
import type { KeyRange } from '../../base/keys.ts'
import type { Random } from '../../base/random.ts'
import type { Revision } from '../../base/revision.ts'
import type { Client } from '../../etcd/client.ts'
import type { Epochs } from '../feed/epochs.ts'
import type { MirrorLimits } from '../limits.ts'
import type { MirrorMetrics } from '../metrics.ts'
import { type RangePage, readPages } from '../feed/pages.ts'

export interface DirectReadRequest {
  readonly range: KeyRange
  /** Absent: the newest. */
  readonly revision?: Revision | undefined
  /** At most so many entries: the read is a small one then, of a single page. Absent: all of the range. */
  readonly limit?: number | undefined
  readonly signal: AbortSignal
}

export interface DirectReadsOptions {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly limits: MirrorLimits
  readonly metrics: MirrorMetrics
  readonly epochs: Epochs
}

export class DirectReads {
  readonly #options: DirectReadsOptions
  #wholeReads = 0
  #smallReads = 0

  constructor(options: DirectReadsOptions) {
    this.#options = options
  }

  /** Pages of etcd's own answer, all at one revision. Fails with `overloaded` when too many are under way, with `expired` when etcd
   *  has compacted the revision, and as etcd fails. */
  async *read(request: DirectReadRequest): AsyncGenerator<RangePage, void, undefined> {
    const size = request.limit === undefined ? 'whole' : 'small'
    this.#begin(size)
    let hasFailed = false
    try {
      yield* this.#pages(request)
    } catch (error) {
      hasFailed = true
      throw this.#toTryAgain(CacheError.from(error, 'source_failed'))
    } finally {
      if (size === 'whole') this.#wholeReads--
      else this.#smallReads--
      this.#options.metrics.directRead(size, hasFailed ? 'failed' : 'answered')
    }
  }

  #begin(size: 'whole' | 'small'): void {
    const { limits, metrics } = this.#options
    const isWhole = size === 'whole'
    const max = isWhole ? limits.wholeDirectReadsMax : limits.smallDirectReadsMax
    if ((isWhole ? this.#wholeReads : this.#smallReads) >= max) {
      metrics.directRead(size, 'refused')
      throw new CacheError('overloaded', `${max} ${size} reads of etcd are under way already`, {
        retryAfterMs: limits.retryAfterMs,
      })
    }
    if (isWhole) this.#wholeReads++
    else this.#smallReads++
  }

  /** What another attempt may heal says when. */
  #toTryAgain(failure: CacheError): CacheError {
    if (failure.code !== 'source_failed' || failure.details.retryAfterMs !== undefined) {
      return failure
    }
    const { retryAfterMs } = this.#options.limits
    return new CacheError(failure.code, failure.message, { retryAfterMs, cause: failure })
  }

  async *#pages({ range, revision, limit, signal }: DirectReadRequest): AsyncGenerator<RangePage> {
    const { epochs } = this.#options
    const mark = epochs.mark()
    const pages = readPages(
      { ...this.#options, signal },
      { range, revision, pageEntries: limit, isSinglePage: limit !== undefined, attemptsMax: 1 },
    )
    for await (const page of pages) {
      if (epochs.judge(mark, page.header) !== 'same') {
        throw new CacheError('source_failed', 'etcd answered with another history')
      }
      yield page
    }
  }
}
