/** Reads that neither the mirror nor an upstream can answer: they are read from etcd itself, in
 *  pages that are streamed to the client. Only a few may run at once, and further ones are refused
 *  at once, because many large reads overload etcd. */

import {
  CacheError,
  type Clock,
  type KeyRange,
  type Random,
  type Revision,
  singleKey,
  Slice,
} from '@watchglass/base'
import type { MirrorLimits } from '../limits.ts'
import type { MirrorMetrics } from '../metrics.ts'
import type { KeyValue } from '@watchglass/store'
import type { PlainValues } from '../plain-values.ts'
import { OneHistory, type OneHistoryOptions } from '../feed/one-history.ts'
import type { RangePage } from '../feed/page.ts'
import { readPages } from '../feed/pages.ts'

export interface DirectReadRequest {
  readonly range: KeyRange
  /** If it is left out: the newest. */
  readonly revision?: Revision | undefined
  /** At most this many entries, in a single page: the read counts as small. If it is left out: the
   *  whole range. */
  readonly limit?: number | undefined
  readonly signal: AbortSignal
}

export interface DirectReadsOptions extends OneHistoryOptions {
  readonly clock: Clock
  readonly random: Random
  readonly limits: MirrorLimits
  readonly metrics: MirrorMetrics
  readonly plain?: PlainValues | undefined
}

/** The most bytes of a page that are made plain: what it holds is about a megabyte as it is
 *  stored. */
const plainMaxBytes = 16 * 1024 * 1024

export class DirectReads {
  readonly #options: DirectReadsOptions
  #wholeReads = 0
  #smallReads = 0

  constructor(options: DirectReadsOptions) {
    this.#options = options
  }

  /** Pages that etcd returns, all at one revision. Fails with `overloaded` if too many such reads
   *  are running, with `expired` if etcd has compacted the revision, and with etcd's own
   *  failures. */
  async *read(request: DirectReadRequest): AsyncGenerator<RangePage, void, undefined> {
    const size = request.limit === undefined ? 'whole' : 'small'
    this.#begin(size)
    let hasFailed = false
    try {
      yield* this.#pages(request)
    } catch (error) {
      hasFailed = true
      const failure = CacheError.from(error, 'source_failed')
      throw await this.#withLatest(this.#toTryAgain(failure), request)
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

  /** Adds Retry-After to failures that another attempt may avoid. */
  #toTryAgain(failure: CacheError): CacheError {
    if (failure.code !== 'source_failed' || failure.details.retryAfterMs !== undefined) {
      return failure
    }
    const { retryAfterMs } = this.#options.limits
    return new CacheError(failure.code, failure.message, { retryAfterMs, cause: failure })
  }

  /** Says of a revision that etcd does not have yet which one it has: the refusal names both, and
   *  etcd itself does not tell. */
  async #withLatest(
    failure: CacheError,
    { range, signal }: DirectReadRequest,
  ): Promise<CacheError> {
    const { code, message, details } = failure
    if (code !== 'future_revision' || details.latest !== undefined) return failure
    const present = { range: singleKey(range.start), countOnly: true }
    try {
      const { header } = await this.#options.client.range(present, signal)
      return new CacheError(code, message, { latest: header.revision, cause: failure })
    } catch (error) {
      return CacheError.from(error, 'source_failed')
    }
  }

  async *#pages({ range, revision, limit, signal }: DirectReadRequest): AsyncGenerator<RangePage> {
    const pages = readPages(
      { ...this.#options, signal },
      { range, revision, pageEntries: limit, isSinglePage: limit !== undefined, attemptsMax: 1 },
    )
    for await (const page of new OneHistory(this.#options).pagesOf(range, pages)) {
      yield { ...page, entries: await this.#plain(page.entries) }
    }
  }

  async #plain(entries: readonly KeyValue[]): Promise<readonly KeyValue[]> {
    const { plain, clock } = this.#options
    if (plain === undefined) return entries
    const room = { bytes: plainMaxBytes }
    const slice = new Slice(clock)
    const all: KeyValue[] = []
    for (const entry of entries) {
      const one = plain.of(entry, room)
      all.push(one)
      if (one !== entry && slice.isOver) await slice.next()
    }
    return all
  }
}
