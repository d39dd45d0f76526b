/** Paged reads: a range of any size, all at one revision. Only two pages are in memory, the current
 *  one and the next one, unless parts of the range are read in parallel. */

import {
  CacheError,
  type Key,
  keyAfter,
  type KeyRange,
  LinkedAbort,
  type Revision,
} from '@watchglass/base'
import type { RangeRequest, RangeResponse, ResponseHeader } from '@watchglass/etcd'
import type { MirrorLimits } from '../limits.ts'
import { Attempts } from './attempts.ts'
import type { PagesOptions, RangePage } from './page.ts'
import { PartReads } from './part-reads.ts'
import { type NextPart, type CountedRange, RangeParts } from './range-parts.ts'
import { streamedPages } from './streamed-pages.ts'

export interface PagesRequest {
  readonly range: KeyRange
  /** If it is left out: the newest revision when the first page is read. */
  readonly revision?: Revision | undefined
  readonly keysOnly?: boolean | undefined
  /** Entries of a page. If it is left out: as many as fit the target size of the limits. */
  readonly pageEntries?: number | undefined
  /** Only the first page is read. */
  readonly isSinglePage?: boolean | undefined
  /** Parts of a large range that are read in parallel. If it is left out: one, with one page read
   *  ahead. */
  readonly partsAtOnce?: number | undefined
  /** Number of attempts for a page, with growing pauses. */
  readonly attemptsMax: number
}

/** The pages of a range in key order. Fails with `expired` when the revision is compacted
 *  meanwhile, with `closed` when the signal is aborted, and as etcd fails. The next page is asked
 *  for before the present one is handed out. A range of very many keys is read in parts, because a
 *  page costs etcd a count of all that its range still has (range-parts.ts). */
export async function* readPages(
  options: PagesOptions,
  request: PagesRequest,
): AsyncGenerator<RangePage, void, undefined> {
  const abandoned = new LinkedAbort(options.signal)
  const asker = new PageAsker({ ...options, signal: abandoned.signal }, request)
  let rest: PartReads<RangePage> | undefined
  try {
    const { page, next } = await asker.ask(request.range, 0)
    if (next !== undefined && request.isSinglePage !== true) {
      const range = { start: next, end: request.range.end }
      const part = { range, count: page.remaining }
      rest = (await asker.streamRest(part, page.header)) ?? asker.readRest(part)
      rest.begin()
    }
    yield page
    for (let another = await rest?.next(); another !== undefined; another = await rest?.next()) {
      yield another
    }
  } finally {
    rest?.stop()
    abandoned.abort()
  }
}

/** Requests the pages of one read: all at one revision, each with a number of entries that is
 *  estimated from the last ones. */
class PageAsker {
  readonly #options: PagesOptions
  readonly #request: PagesRequest
  #revision: Revision | undefined
  #entriesMax: number

  constructor(options: PagesOptions, request: PagesRequest) {
    this.#options = options
    this.#request = request
    this.#revision = request.revision
    this.#entriesMax = request.pageEntries ?? options.limits.pageMinEntries
  }

  /** The first page of a range, and where the next page begins. The read has `after` more keys in
   *  other ranges. */
  async ask(range: KeyRange, after: number): Promise<{ page: RangePage; next: Key | undefined }> {
    const { limits } = this.#options
    const { header, entries, more, count } = await this.#range(range, this.#entriesMax)
    this.#revision ??= header.revision
    let bytes = 0
    for (const entry of entries) bytes += entry.key.length + entry.valueLength
    if (this.#request.pageEntries === undefined && entries.length > 0) {
      this.#entriesMax = nextPageEntries(entries.length, bytes, limits)
    }
    const last = entries.at(-1)
    const page = {
      revision: this.#revision,
      header,
      entries,
      bytes,
      remaining: count - entries.length + after,
      connections: this.#options.client.connections,
      isLast: !more && after === 0,
    }
    return { page, next: more && last !== undefined ? keyAfter(last.key) : undefined }
  }

  /** The pages after the first one. */
  readRest({ range, count }: CountedRange): PartReads<RangePage> {
    const { limits } = this.#options
    const parts = new RangeParts({ range, count }, limits.partMaxEntries, async upper => {
      const answer = await this.#range(upper, 1, true)
      return { count: answer.count, first: answer.entries[0]?.key }
    })
    const { partsAtOnce = 1 } = this.#request
    return new PartReads({
      nextPart: () => parts.next(),
      readPart: part => this.#readPart(part),
      partsAtOnce,
      aheadMaxBytes: partsAtOnce === 1 ? 1 : limits.readAheadMaxBytes,
    })
  }

  /** The pages after the first one, as etcd streams them; `undefined` where it does not, and for
   *  what is not worth the question. */
  async streamRest(
    { range, count }: CountedRange,
    header: ResponseHeader,
  ): Promise<PartReads<RangePage> | undefined> {
    const { client, limits } = this.#options
    const { partsAtOnce, keysOnly, attemptsMax } = this.#request
    const isLarge = partsAtOnce !== undefined && count > limits.partMaxEntries
    if (!isLarge || client.rangeParts === undefined) return undefined
    const whole = { range, count, revision: this.#revision ?? header.revision, header, keysOnly }
    const pages = streamedPages(this.#options, whole, attemptsMax)
    const first = await pages.next().catch((error: unknown) => {
      if (CacheError.from(error, 'source_failed').code === 'unsupported') return undefined
      throw error
    })
    if (first === undefined) return undefined
    let part: NextPart | undefined = { range, count, after: 0 }
    return new PartReads({
      nextPart: async () => {
        const next = part
        part = undefined
        return next
      },
      async *readPart() {
        if (first.done !== true) yield first.value
        yield* pages
      },
      partsAtOnce: 1,
      aheadMaxBytes: limits.readAheadMaxBytes,
    })
  }

  async *#readPart({ range, after }: NextPart): AsyncGenerator<RangePage, void, undefined> {
    for (let start: Key | undefined = range.start; start !== undefined;) {
      const { page, next }: Awaited<ReturnType<PageAsker['ask']>> = await this.ask(
        { start, end: range.end },
        after,
      )
      yield page
      start = next
    }
  }

  #range(
    range: KeyRange,
    limit: number,
    keysOnly = this.#request.keysOnly,
  ): Promise<RangeResponse> {
    const request = { range, revision: this.#revision, limit, keysOnly }
    return askPage(this.#options, this.#request.attemptsMax, request)
  }
}

async function askPage(
  options: PagesOptions,
  attemptsMax: number,
  request: RangeRequest,
): Promise<RangeResponse> {
  const attempts = new Attempts(options, attemptsMax)
  for (;;) {
    try {
      return await options.client.range(request, options.signal)
    } catch (error) {
      await attempts.failed(error)
    }
  }
}

/** The number of entries that have the target size, if they are as large as those of a page. It
 *  grows at most fourfold at once, because the next entries may be larger. */
function nextPageEntries(entries: number, bytes: number, limits: MirrorLimits): number {
  const aimed = Math.floor((limits.pageTargetBytes * entries) / (bytes + 1))
  const grown = Math.min(aimed, entries * 4)
  return Math.min(limits.pageMaxEntries, Math.max(limits.pageMinEntries, grown))
}
