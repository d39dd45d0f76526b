/** A range of any size in the parts that etcd 3.7 streams: one call, for which it counts each key
 *  once, where pages are counted from each one to the end. What is lost on the way is asked for
 *  again from where it was. */

import { CacheError, type Key, keyAfter, type KeyRange, type Revision } from '@watchglass/base'
import type { ResponseHeader } from '@watchglass/etcd'
import { Attempts } from './attempts.ts'
import type { PagesOptions, RangePage } from './page.ts'

/** A range at a revision, and what is known of it. */
export interface StreamedRange {
  readonly range: KeyRange
  readonly revision: Revision
  /** Number of its keys at the revision. */
  readonly count: number
  /** Header of the answer that said so. */
  readonly header: ResponseHeader
  readonly keysOnly: boolean | undefined
}

/** Its pages in key order. Fails with `unsupported`, before the first one, where etcd streams no
 *  ranges; and as pages do. */
export async function* streamedPages(
  options: PagesOptions,
  { range, revision, count, header, keysOnly }: StreamedRange,
  attemptsMax: number,
): AsyncGenerator<RangePage, void, undefined> {
  const attempts = new Attempts(options, attemptsMax)
  let start: Key = range.start
  let remaining = count
  while (remaining > 0) {
    const request = { range: { start, end: range.end }, revision, keysOnly }
    try {
      for await (const part of options.client.rangeParts?.(request, options.signal) ?? []) {
        const { entries } = part
        const last = entries.at(-1)
        if (last === undefined) continue
        attempts.succeeded()
        start = keyAfter(last.key)
        remaining -= entries.length
        let bytes = 0
        for (const entry of entries) bytes += entry.key.length + entry.valueLength
        const isLast = remaining <= 0
        const { connections } = options.client
        const page = { revision, header: part.header ?? header, entries, bytes, remaining }
        yield { ...page, connections, isLast }
      }
      if (remaining > 0) throw wrongCount(remaining)
    } catch (error) {
      await attempts.failed(error)
    }
  }
  if (remaining < 0) throw wrongCount(remaining)
}

function wrongCount(remaining: number): CacheError {
  const differs = remaining > 0 ? `${remaining} keys fewer` : `${-remaining} keys more`
  return new CacheError('source_failed', `etcd has streamed ${differs} than it had counted`)
}
