/** A paged read of which etcd sends the keys, and the values of those alone that a checkpoint does
 *  not have: the pages are those that etcd would have sent.
 *
 *  A key that has the same revisions in both has the same value, unless two histories of one
 *  cluster (an etcd that was restored from a backup) wrote it at the same revision. Where the
 *  newest of the values that were taken are the same in etcd, the histories are the same up to
 *  there, and with them all that is older. So these values are compared before anything is shown.
 *
 *  A key costs a thirtieth of its object of 2.5 KB, and etcd the same walk over its keys. */

import {
  CacheError,
  keyAfter,
  type KeyRange,
  type Revision,
  singleKey,
  Slice,
} from '@watchglass/base'
import type { KeyValue } from '@watchglass/store'
import type { CheckpointContents } from '../checkpoint.ts'
import { keepNewest } from './newest.ts'
import type { PagesOptions, RangePage } from './page.ts'
import { readPages } from './pages.ts'

/** Values of the newest keys that are compared: see putsMax of landmarks.ts. */
const comparedMax = 8
/** Known keys between two missing ones that are read with them: a question costs both sides as much
 *  of the processor as some forty values of 2.5 KB (bench/tiers, November 2026). */
const bridgedMax = 32
/** Runs of missing keys that are read at the same time. */
const readsAtOnce = 8
const clockCheckEntries = 256
const attemptsMax = 5

/** Keys next to each other, by their places in a page. */
interface Run {
  readonly from: number
  to: number
}

export class CompletedPages {
  readonly #options: PagesOptions
  readonly #contents: CheckpointContents
  /** The newest of the entries that were taken, the newest last. */
  readonly #newest: KeyValue[] = []
  #revision: Revision | undefined = undefined
  #taken = 0

  constructor(options: PagesOptions, contents: CheckpointContents) {
    this.#options = options
    this.#contents = contents
  }

  /** Number of entries that are those of the checkpoint. */
  get taken(): number {
    return this.#taken
  }

  /** The pages of a range. Fails as `readPages` does. */
  async *read(range: KeyRange): AsyncGenerator<RangePage, void, undefined> {
    const { partsAtOnce } = this.#options.limits
    const request = { range, partsAtOnce, keysOnly: true, attemptsMax }
    for await (const page of readPages(this.#options, request)) {
      this.#revision = page.revision
      yield await this.#completed(page)
    }
  }

  /** Whether etcd has the values that were taken, at the revision of the pages. */
  async isSame(): Promise<boolean> {
    for (const { key, modRevision, value } of this.#newest) {
      const [now] = await this.#entries(singleKey(key))
      if (now?.modRevision !== modRevision) return false
      if (Buffer.compare(now.value, value) !== 0) return false
    }
    return true
  }

  async #completed(page: RangePage): Promise<RangePage> {
    const { clock, limits, signal } = this.#options
    const entries: KeyValue[] = []
    const runs: Run[] = []
    const slice = new Slice(clock, limits.sliceMaxMs)
    for (const [i, sent] of page.entries.entries()) {
      const known = this.#contents.entries.get(sent.key)
      if (known !== undefined && isSameState(known, sent)) {
        this.#take(known)
        entries.push(known)
      } else {
        entries.push(sent)
        const last = runs.at(-1)
        if (last !== undefined && i - last.to <= bridgedMax) last.to = i
        else runs.push({ from: i, to: i })
      }
      if (i % clockCheckEntries === 0 && slice.isOver) await slice.next()
      if (signal.aborted) throw new CacheError('closed', 'load was abandoned')
    }
    // One iterator for all: each takes the next run.
    const left = runs.values()
    const readOn = async (): Promise<void> => {
      for (const run of left) await this.#readRun(run, entries)
    }
    await Promise.all(Array.from({ length: readsAtOnce }, readOn))
    let bytes = 0
    for (const { key, valueLength } of entries) bytes += key.length + valueLength
    return { ...page, entries, bytes }
  }

  /** Puts what etcd has of a run in its place. */
  async #readRun({ from, to }: Run, entries: KeyValue[]): Promise<void> {
    const [first, last] = [entries[from]!, entries[to]!]
    const found = await this.#entries({ start: first.key, end: keyAfter(last.key) })
    for (let i = from; i <= to; i++) {
      const one = found[i - from]
      const sent = entries[i]!
      if (one === undefined || one.key !== sent.key || !isSameState(one, sent)) {
        throw new CacheError('source_failed', 'etcd has sent other keys with their values')
      }
      entries[i] = one
    }
  }

  async #entries(range: KeyRange): Promise<KeyValue[]> {
    const entries: KeyValue[] = []
    const request = { range, revision: this.#revision, attemptsMax }
    for await (const page of readPages(this.#options, request)) entries.push(...page.entries)
    return entries
  }

  #take(entry: KeyValue): void {
    this.#taken++
    keepNewest(this.#newest, entry, comparedMax)
  }
}

function isSameState(one: KeyValue, other: KeyValue): boolean {
  return (
    one.modRevision === other.modRevision &&
    one.createRevision === other.createRevision &&
    one.version === other.version &&
    one.lease === other.lease
  )
}
