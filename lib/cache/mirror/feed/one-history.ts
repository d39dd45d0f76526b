/** The pages of one read, all of the history that is known. An etcd that was restored from a backup
 *  meanwhile may have all that is known as landmarks, which are older, and still not what was just
 *  read. So a read is a landmark of its own: wherever another etcd may have answered since a page
 *  was, etcd is asked for the newest of all pages so far, and at the end for their number. */

import { CacheError, type KeyRange, type Revision } from '@watchglass/base'
import type { Source } from '@watchglass/etcd'
import type { KeyValue } from '@watchglass/store'
import type { Epochs } from './epochs.ts'
import { putsMax } from './landmarks.ts'
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
  readonly #epoch: number
  /** The reasons to doubt that there were when all pages so far were found to be of one history. */
  #agreedAt: number
  #hasDoubted = false
  #newest: readonly KeyValue[] = []
  #count = 0

  constructor(options: OneHistoryOptions) {
    this.#options = options
    this.#epoch = options.epochs.number
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
    const { epochs, client } = this.#options
    const mark = epochs.mark()
    let revision: Revision | undefined
    for await (const page of pages) {
      const verdict = epochs.judge(mark, page.header)
      if (verdict !== 'same') throw this.#otherHistory()
      revision = page.revision
      const own = newestOf(page.entries)
      const isEarlier = page.connections !== client.connections
      await this.#check([...this.#newest, ...own], revision, isEarlier)
      this.#newest = newestOf([...this.#newest, ...own])
      this.#count += page.entries.length
      yield page
    }
    if (revision === undefined) return
    await this.#check(this.#newest, revision, false)
    if (!this.#hasDoubted) return
    const counted = { range, count: this.#count }
    const read = { entries: this.#newest, revision, counted }
    if (!(await this.#options.probe.has(read))) throw this.#otherHistory()
  }

  async #check(newest: readonly KeyValue[], revision: Revision, isEarlier: boolean): Promise<void> {
    const { epochs, probe } = this.#options
    let isDoubted = isEarlier
    for (let i = 0; i < roundsMax; i++) {
      const { reasons } = probe
      isDoubted ||= reasons !== this.#agreedAt
      this.#hasDoubted ||= isDoubted
      if (isDoubted && !(await probe.has({ entries: newest, revision }))) break
      if (!(await probe.isOurHistory()) || epochs.number !== this.#epoch) break
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
  for (const entry of entries) {
    const oldest = newest[0]
    const isFull = newest.length === putsMax
    if (isFull && oldest !== undefined && entry.modRevision <= oldest.modRevision) continue
    if (isFull) newest.shift()
    const at = newest.findLastIndex(one => one.modRevision <= entry.modRevision)
    newest.splice(at + 1, 0, entry)
  }
  return newest
}
