/** The changes that controllers follow, in slices: each object that has changed, in its newest
 *  state, and first of all what was there at the start. */

import { type Clock, type Key, Slice } from '@watchglass/base'
import type { Batch, KeyValue } from '@watchglass/store'
import type { Fact } from './facts.ts'

export interface ChangeFeedOptions {
  readonly keyspaces: readonly Key[]
  /** Undefined while the mirror does not know. */
  readonly contentsOf: (keyspace: Key) => Iterable<KeyValue> | undefined
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly onEntry: (keyspace: Key, entry: KeyValue, fact?: Fact) => void
  readonly onGone: (keyspace: Key, key: Key, revision: number) => void
  /** Objects that were there at the start have been handed on. */
  readonly onComplete: () => void
}

interface Pending {
  readonly keyspace: Key
  readonly entry: KeyValue | undefined
  readonly revision: number
  /** The facts about it, if they are known. */
  readonly fact?: Fact | undefined
}

export class ChangeFeed {
  readonly #options: ChangeFeedOptions
  readonly #pending = new Map<Key, Pending>()
  /** Revision that each keyspace has had applied. */
  readonly #applied = new Map<Key, number>()
  /** Keyspaces to be read whole, and the keys in them that are known from before. */
  readonly #unread = new Set<Key>()
  readonly #missing: Set<Key>
  readonly #known = new Map<Key, Set<Key>>()
  /** Keyspaces that the mirror did not know when they were to be read. */
  readonly #cleared = new Set<Key>()
  #isRunning = false

  constructor(options: ChangeFeedOptions) {
    this.#options = options
    this.#missing = new Set(options.keyspaces)
    for (const keyspace of options.keyspaces) this.#known.set(keyspace, new Set())
  }

  get isComplete(): boolean {
    return this.#missing.size === 0
  }

  /** Everything is mirrored. */
  start(): void {
    for (const keyspace of this.#options.keyspaces) this.reset(keyspace)
  }

  /** Follows another keyspace from now on. */
  add(keyspace: Key): void {
    if (this.#known.has(keyspace)) return
    this.#known.set(keyspace, new Set())
    this.reset(keyspace)
  }

  applied(keyspace: Key, { events, revision }: Batch): void {
    if (!this.#known.has(keyspace)) return
    this.#applied.set(keyspace, revision)
    for (const { key, after } of events) {
      this.#pending.set(key, { keyspace, entry: after, revision })
    }
    this.#run()
  }

  reset(keyspace: Key): void {
    if (!this.#known.has(keyspace)) return
    this.#unread.add(keyspace)
    this.#run()
  }

  /** The mirror may know the keyspace again. */
  stateChanged(keyspace: Key): void {
    if (this.#cleared.delete(keyspace)) this.reset(keyspace)
  }

  /** An object as we have written it, which the mirror may not have told yet. */
  written(entry: KeyValue, fact?: Fact): void {
    const { key, modRevision } = entry
    const keyspace = this.#keyspaceOf(key)
    if (keyspace === undefined) return
    const isNews = modRevision > (this.#applied.get(keyspace) ?? 0)
    if (isNews) {
      this.#hand(key, { keyspace, entry, revision: modRevision, fact })
      return
    }
    const pending = this.#pending.get(key)
    if (pending === undefined) return
    this.#pending.delete(key)
    this.#hand(key, pending.revision === modRevision ? { ...pending, fact } : pending)
  }

  #keyspaceOf(key: Key): Key | undefined {
    for (const keyspace of this.#known.keys()) if (key.startsWith(keyspace)) return keyspace
    return undefined
  }

  #handPending(key: Key): void {
    const pending = this.#pending.get(key)
    if (pending === undefined) return
    this.#pending.delete(key)
    this.#hand(key, pending)
  }

  #hand(key: Key, { keyspace, entry, revision, fact }: Pending): void {
    const known = this.#known.get(keyspace)
    if (entry === undefined) {
      known?.delete(key)
      this.#options.onGone(keyspace, key, revision)
    } else {
      known?.add(key)
      this.#options.onEntry(keyspace, entry, fact)
    }
  }

  #run(): void {
    if (this.#isRunning || this.#options.signal.aborted) return
    this.#isRunning = true
    void this.#runSlices()
  }

  async #runSlices(): Promise<void> {
    const { clock, signal } = this.#options
    await clock.yield()
    while ((this.#unread.size > 0 || this.#pending.size > 0) && !signal.aborted) {
      for (const keyspace of this.#unread) await this.#readWhole(keyspace)
      const slice = new Slice(clock)
      for (const key of this.#pending.keys()) {
        if (signal.aborted) break
        this.#handPending(key)
        if (slice.isOver) await slice.next()
      }
    }
    this.#isRunning = false
  }

  /** Reads a keyspace whole; changes that come meanwhile are handed on after it. */
  async #readWhole(keyspace: Key): Promise<void> {
    const { clock, signal, contentsOf, onComplete } = this.#options
    this.#unread.delete(keyspace)
    const contents = contentsOf(keyspace)
    // What is not known now is not gone: nobody is to make it again.
    if (contents === undefined) {
      this.#cleared.add(keyspace)
      return
    }
    const gone = new Set(this.#known.get(keyspace))
    const slice = new Slice(clock)
    for (const entry of contents) {
      const { key, modRevision } = entry
      gone.delete(key)
      if (!this.#pending.has(key)) this.#hand(key, { keyspace, entry, revision: modRevision })
      if (slice.isOver) await slice.next()
      // Read once more from the start, if its contents have been replaced.
      if (signal.aborted || this.#unread.has(keyspace)) return
    }
    for (const key of gone) {
      if (this.#pending.has(key)) continue
      this.#hand(key, { keyspace, entry: undefined, revision: Infinity })
    }
    if (this.#missing.delete(keyspace) && this.#missing.size === 0) onComplete()
  }
}
