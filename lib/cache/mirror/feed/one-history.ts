/** The pages of one read, all of the history that is known. An etcd that was restored from a backup
 *  meanwhile may have all that is known as landmarks, which are older, and still not what was just
 *  read. So a read is a landmark of its own: wherever another etcd may have answered since a page
 *  was, etcd is asked for the newest of all pages so far, and at the end for their number.
 *
 *  These do not show what another history has changed in older keys. Mostly it has another term:
 *  over a new connection, the term must be that of the pages before. */

import { CacheError, type KeyRange } from '@watchglass/base'
import type { Source } from '@watchglass/etcd'
import type { KeyValue } from '@watchglass/store'
import type { EpochMark, Epochs } from './epochs.ts'
import { putsMax } from './landmarks.ts'
import { keepNewest } from './newest.ts'
import type { RangePage } from './page.ts'
import type { RevisionProbe } from '../reads/revision-probe.ts'

export interface OneHistoryOptions {
  readonly client: Source
  readonly epochs: Epochs
  readonly probe: Pick<RevisionProbe, 'ask' | 'has' | 'isOurHistory' | 'reasons'>
}

/** An etcd that has a new connection made for each question is not asked for ever. */
const roundsMax = 10

export class OneHistory {
  readonly #options: OneHistoryOptions
  readonly #mark: EpochMark
  /** The reasons to doubt that there were when all pages so far were found to be of one history. */
  #agreedAt: number
  #hasDoubted = false
  #last: RangePage | undefined = undefined
  #newest: readonly KeyValue[] = []
  #count = 0

  constructor(options: OneHistoryOptions) {
    this.#options = options
    this.#mark = options.epochs.mark()
    this.#agreedAt = options.probe.reasons
  }

  /** Some of the newest entries, as etcd sent them, the newest last. */
  get newest(): readonly KeyValue[] {
    return this.#newest
  }

  /** Number of entries. */
  get count(): number {
    return this.#count
  }

  /** The pages of a range, each when it and those before it are known to be of our history. Fails
   *  with `source_failed` where they may not be. */
  async *pagesOf(
    range: KeyRange,
    pages: AsyncIterable<RangePage>,
  ): AsyncGenerator<RangePage, void, undefined> {
    const { epochs } = this.#options
    for await (const page of pages) {
      const verdict = epochs.judge(this.#mark, page.header)
      if (verdict !== 'same' || !this.#mayFollow(page)) throw this.#otherHistory()
      this.#last = page
      const own = newestOf(page.entries)
      await this.#check(page, [...this.#newest, ...own])
      this.#newest = newestOf([...this.#newest, ...own])
      this.#count += page.entries.length
      yield page
    }
    const last = this.#last
    if (last === undefined) return
    await this.#check(last, this.#newest)
    if (!this.#hasDoubted) return
    const counted = { range, count: this.#count }
    const read = { ...this.#termOf(last), entries: this.#newest, revision: last.revision, counted }
    if (!(await this.#options.probe.has(read))) throw this.#otherHistory()
  }

  #mayFollow({ connections, header }: RangePage): boolean {
    const last = this.#last
    if (last === undefined || connections === last.connections) return true
    return header.raftTerm === last.header.raftTerm
  }

  /** The term in which etcd has to have what it had when it answered a page. */
  #termOf({ connections, header }: RangePage): { readonly raftTerm?: bigint } {
    return connections === this.#options.client.connections ? {} : { raftTerm: header.raftTerm }
  }

  async #check(page: RangePage, newest: readonly KeyValue[]): Promise<void> {
    const { epochs, probe, client } = this.#options
    let isDoubted = page.connections !== client.connections
    for (let i = 0; i < roundsMax; i++) {
      const { reasons } = probe
      isDoubted ||= reasons !== this.#agreedAt
      this.#hasDoubted ||= isDoubted
      const read = { ...this.#termOf(page), entries: newest, revision: page.revision }
      if (isDoubted && !(await probe.has(read))) break
      if (!(await probe.isOurHistory()) || epochs.number !== this.#mark.epoch) break
      this.#agreedAt = reasons
      if (probe.reasons === reasons) return
    }
    throw this.#otherHistory()
  }

  #otherHistory(): CacheError {
    // The probe finds out whether the epoch is over.
    this.#options.probe.ask({ isSettled: false, delayed: () => {}, probed: () => {} })
    return new CacheError('source_failed', 'keys that were read may be of another history')
  }
}

function newestOf(entries: readonly KeyValue[]): readonly KeyValue[] {
  const newest: KeyValue[] = []
  for (const entry of entries) keepNewest(newest, entry, putsMax)
  return newest
}
