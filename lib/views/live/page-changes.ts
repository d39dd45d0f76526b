/** The changes of one keyspace's objects, told to the live pages that show them. All pages of a
 *  keyspace share one walk over its batches: a change of an object that nobody looks at costs a
 *  look into a map. */

import type { Key, NotExact, Revision, Steps } from '@watchglass/base'
import type { Event, Keyspace } from '@watchglass/store'
import { type FoldProblem, type RowFold, StoreFollower } from '../order/store-follower.ts'

/** A page, as far as it is told of changes. */
export interface ChangedPage {
  /** The object of a row has changed, or is gone. */
  touched(key: Key): void
  /** All rows may have changed: the changes in between are not known. */
  touchedAll(): void
}

class PageFold implements RowFold {
  readonly pages = new Map<Key, Set<ChangedPage>>()
  readonly all = new Set<ChangedPage>()
  /** Rises when an object comes or goes. */
  comings = 0;

  *build(): Steps<undefined> {
    this.comings++
    for (const page of this.all) page.touchedAll()
    yield
    return undefined
  }

  change({ key, before, after }: Event): undefined {
    if (before === undefined || after === undefined) this.comings++
    for (const page of this.pages.get(key) ?? []) page.touched(key)
  }

  endBatch(): void {}
}

export class PageChanges {
  readonly #fold = new PageFold()
  readonly store: Keyspace
  readonly follower: StoreFollower
  /** The keyspace has other contents, or another meaning: its pages end. */
  isOver = false

  constructor(store: Keyspace) {
    this.store = store
    this.follower = new StoreFollower(store, this.#fold)
  }

  /** Number of pages that follow. */
  get size(): number {
    return this.#fold.all.size
  }

  /** Rises when an object comes or goes. */
  get comings(): number {
    return this.#fold.comings
  }

  open(page: ChangedPage): void {
    this.#fold.all.add(page)
  }

  close(page: ChangedPage, keys: Iterable<Key>): void {
    this.#fold.all.delete(page)
    for (const key of keys) this.unwatch(page, key)
  }

  watch(page: ChangedPage, key: Key): void {
    const { pages } = this.#fold
    const known = pages.get(key)
    if (known === undefined) pages.set(key, new Set([page]))
    else known.add(page)
  }

  unwatch(page: ChangedPage, key: Key): void {
    const { pages } = this.#fold
    const known = pages.get(key)
    if (known?.delete(page) === true && known.size === 0) pages.delete(key)
  }
}

/** Brings several things that follow one keyspace to its latest revision; that revision. */
export function* together(
  store: Keyspace,
  followers: readonly StoreFollower[],
): Steps<Revision | 'expired' | FoldProblem | NotExact> {
  let restarts = 0
  for (;;) {
    const { revision } = store
    let isThere = true
    for (const follower of followers) {
      const step = follower.step(revision)
      if (step === 'there') continue
      if (step === 'expired') {
        if (++restarts > restartsMax) return 'expired'
      } else if (step !== 'more') return step
      isThere = false
    }
    if (isThere) return revision
    yield
  }
}

const restartsMax = 4
