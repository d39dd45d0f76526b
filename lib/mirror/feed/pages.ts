/** Paged reads: a range of any size, all at one revision, with only two pages in memory: the one that is being used and the one
 *  that is on its way. */

import { Backoff } from '../../base/backoff.ts'
import { type Clock, sleep } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'
import { type KeyRange, keyAfter } from '../../base/keys.ts'
import { LinkedAbort } from '../../base/linked-abort.ts'
import type { Random } from '../../base/random.ts'
import type { Revision } from '../../base/revision.ts'
import type { Client, RangeRequest, RangeResponse, ResponseHeader } from '../../etcd/client.ts'
import type { KeyValue } from '../../store/event.ts'
import type { MirrorLimits } from '../limits.ts'

export interface Page {
  /** The revision of all pages: that of the first one's header, or the one that was asked for. */
  readonly revision: Revision
  readonly header: ResponseHeader
  readonly entries: readonly KeyValue[]
  /** How many entries of the range come after it. */
  readonly remaining: number
  readonly isLast: boolean
}

export interface PagesRequest {
  readonly range: KeyRange
  /** Absent: whatever is newest when the first page is read. */
  readonly revision?: Revision | undefined
  readonly keysOnly?: boolean | undefined
  /** Entries of a page; absent: as many as have the bytes that the limits aim at. */
  readonly pageEntries?: number | undefined
  /** Only the first page is wanted. */
  readonly isSinglePage?: boolean | undefined
  /** How often a page is asked for again when etcd fails, with growing pauses. */
  readonly attemptsMax: number
}

export interface PagesOptions {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly limits: MirrorLimits
  readonly signal: AbortSignal
}

/** The pages of a range in key order. Fails with `expired` when the revision is compacted meanwhile, with `closed` when the signal
 *  is aborted, and as etcd fails. The next page is asked for before the present one is handed out. */
export async function* readPages(
  options: PagesOptions,
  request: PagesRequest,
): AsyncGenerator<Page, void, undefined> {
  const { limits } = options
  const abandoned = new LinkedAbort(options.signal)
  const { signal } = abandoned
  const ask = (start: KeyRange['start'], revision: Revision | undefined, limit: number) =>
    askPage({ ...options, signal }, request.attemptsMax, {
      range: { start, end: request.range.end },
      revision,
      limit,
      keysOnly: request.keysOnly,
    })
  try {
    let entriesMax = request.pageEntries ?? limits.pageMinEntries
    let answer = ask(request.range.start, request.revision, entriesMax)
    let revision = request.revision
    for (;;) {
      const { header, entries, more, count } = await answer
      revision ??= header.revision
      const last = entries.at(-1)
      const isWanted = more && request.isSinglePage !== true
      if (isWanted && last !== undefined) {
        entriesMax = request.pageEntries ?? nextPageEntries(entries, limits)
        answer = ask(keyAfter(last.key), revision, entriesMax)
        // Until it is awaited, nobody else handles its failure.
        answer.catch(() => {})
      }
      yield { revision, header, entries, remaining: count - entries.length, isLast: !more }
      if (!isWanted) return
    }
  } finally {
    abandoned.abort()
  }
}

async function askPage(
  { client, clock, random, limits, signal }: PagesOptions,
  attemptsMax: number,
  request: RangeRequest,
): Promise<RangeResponse> {
  const backoff = new Backoff(limits.reconnectBackoff, random)
  for (let attempt = 1; ; attempt++) {
    try {
      return await client.range(request, signal)
    } catch (error) {
      const failure = CacheError.from(error, 'source_failed')
      const isWorthwhile = failure.code === 'source_failed' || failure.code === 'overloaded'
      if (signal.aborted) throw new CacheError('closed', 'paged read was abandoned')
      if (!isWorthwhile || attempt >= attemptsMax) throw failure
    }
    await sleep(clock, backoff.nextMs(), signal)
  }
}

/** As many entries as would have the bytes that are aimed at, if they were like those of this page; growing no more than four times
 *  at once, since the next ones may be larger. */
function nextPageEntries(entries: readonly KeyValue[], limits: MirrorLimits): number {
  let bytes = 1
  for (const entry of entries) bytes += entry.key.length + entry.valueLength
  const aimed = Math.floor((limits.pageTargetBytes * entries.length) / bytes)
  const grown = Math.min(aimed, entries.length * 4)
  return Math.min(limits.pageMaxEntries, Math.max(limits.pageMinEntries, grown))
}
