/** Follows a made-up API, and checks each thing that the mirror tells against what happened there:
 *  events come in order, once and all of them; progress claims nothing that was not told; contents
 *  are those of one moment; a consistent read is never older than a write that was answered before
 *  it began; and nothing of an old history comes after a newer one. */

import type { Batch } from '../../../lib/store/event.ts'
import type { Snapshot } from '../../../lib/store/snapshot.ts'
import { allKeys } from '../../../lib/base/keys.ts'
import type { MirrorSink } from '../../../lib/cache/mirror/mirrored-keyspace.ts'
import type { Mirrors } from '../../../lib/cache/mirror/mirrors.ts'
import type { MirrorSide } from '../../../lib/workers/mirror/mirror-side.ts'
import type { ApiMirrors } from '../../../lib/source/api-mirrors.ts'
import type { FakeClock } from '../fake-clock.ts'
import type { FakeApi, FakeChange } from './fake-api.ts'
import { attachCopies, mirrorSideOf } from '../mirror/copies.ts'
import { configMaps, followedBy, followedDescription } from './followed.ts'

/** The lifetime of a store, up to a restored backup. */
interface History {
  /** Its changes: what it had when the next one began. */
  changes: readonly FakeChange[]
  /** The revision of the one before that it shares. */
  readonly from: number
}

export class CheckedMirror {
  readonly problems: string[] = []
  readonly #own: ApiMirrors
  /** The mirror that is read and checked: a thread's copies, if there is a thread. */
  #read: Mirrors
  readonly #side: MirrorSide | undefined
  #endThread: () => void = () => {}
  reads = { mirror: 0, elsewhere: 0, refused: 0 }
  events = 0
  resets = 0
  readonly #api: FakeApi
  readonly #clock: FakeClock
  readonly #histories: History[] = [{ changes: [], from: 0 }]
  /** The history that the mirror has, and the revision up to which it has told it. */
  #history = 0
  #position: number | undefined = undefined

  readonly #sink: MirrorSink = {
    applied: (_, batch) => this.#applied(batch),
    progressed: (_, revision) => this.#proven(revision),
    reset: () => {
      this.resets++
      this.#position = undefined
      this.#look()
    },
    stateChanged: () => this.#look(),
  }

  constructor(clock: FakeClock, api: FakeApi, hasThread: boolean) {
    this.#api = api
    this.#clock = clock
    const own = followedBy(clock, {
      upstream: api,
      sink: hasThread ? toSide(() => this.#side) : this.#sink,
      onFactsChanged: () => this.#side?.factsChanged(),
    })
    this.#own = own
    this.#read = own
    this.#side = hasThread ? mirrorSideOf(own, clock) : undefined
    own.start()
    if (hasThread) this.killThread()
  }

  /** Another thread takes the place of the one that there is; nothing happens without threads. */
  killThread(): void {
    if (this.#side === undefined) return
    this.#endThread()
    const { copies, fed } = attachCopies(this.#side, this.#clock, this.#sink)
    copies.add(followedDescription)
    this.#read = copies
    this.#position = undefined
    this.#endThread = () => {
      fed.end()
      void copies.stop()
    }
  }

  async stop(): Promise<void> {
    this.#endThread()
    await this.#own.stop()
  }

  restore(revision: number): void {
    this.#last.changes = [...this.#api.changes]
    this.#api.restore(revision)
    this.#histories.push({ changes: [], from: revision })
  }

  /** Begins a consistent read, which is checked when it is answered. */
  async read(): Promise<void> {
    const began = this.#histories.length - 1
    const { revision } = this.#api
    const beganMs = this.#clock.monotonicMs()
    const options = { freshness: { type: 'consistent' }, elsewhere: 'anywhere' } as const
    try {
      const outcome = await this.#read.read(configMaps, options)
      this.reads[outcome.from]++
      if (outcome.from === 'elsewhere') return
      const { snapshot } = outcome
      const tookMs = this.#clock.monotonicMs() - beganMs
      // A thread begins to wait anew when an epoch ends.
      const maxMs = this.#side === undefined ? 3500 : 6500
      if (tookMs > maxMs) this.#fail(`a read has waited for ${tookMs} ms`)
      const found = this.#historyOf(snapshot)
      if (found === undefined) this.#fail(`a read at ${snapshot.revision} shows what never was`)
      else if (found < began) {
        const shared = this.#histories[began]?.from ?? 0
        if (snapshot.revision > shared) {
          this.#fail(`a read at ${snapshot.revision} is of an old history`)
        }
      }
      const missed = this.#changesOf(began).find(
        change => change.revision > snapshot.revision && change.revision <= revision,
      )
      if (missed !== undefined && found === began) {
        this.#fail(`a read at ${snapshot.revision} lacks the write ${missed.revision}`)
      }
    } catch {
      this.reads.refused++
    }
  }

  /** Everything is told, and nothing is left to tell. */
  settled(): void {
    const keyspace = this.#read.keyspace(configMaps)
    if (keyspace.state !== 'ready') this.#fail(`the mirror is ${keyspace.state} at the end`)
    const found = this.#historyOf(keyspace.store.latest())
    if (found !== this.#histories.length - 1) {
      this.#fail('the mirror has another history at the end')
    }
    const { size } = keyspace.store.latest()
    if (size !== this.#api.objects.size) {
      this.#fail(`the mirror has ${size} objects at the end, and not ${this.#api.objects.size}`)
    }
  }

  get #last(): History {
    return this.#histories.at(-1) as History
  }

  #fail(problem: string): void {
    this.problems.push(`${this.#clock.monotonicMs()}: ${problem}`)
  }

  #changesOf(history: number): readonly FakeChange[] {
    return history === this.#histories.length - 1
      ? this.#api.changes
      : (this.#histories[history]?.changes ?? [])
  }

  /** True for the history that was told, and for a later one with the same changes up to the
   *  position: between the backup and the position neither has any. */
  #sharesUntil(history: number, position: number): boolean {
    const later = this.#histories.slice(this.#history + 1, history + 1)
    const from = Math.min(position, ...later.map(one => one.from))
    return [this.#history, history].every(
      one => !this.#changesOf(one).some(({ revision }) => revision > from && revision <= position),
    )
  }

  #applied(batch: Batch): void {
    this.events++
    const position = this.#position
    if (position === undefined) {
      // Copies take in events before they are shown.
      if (!this.#read.keyspace(configMaps).isServed) return
      this.#fail(`an event at ${batch.revision} before there are contents`)
      return
    }
    const told = batch.events.map(({ key, after }) => {
      const name = key.slice(`${configMaps}default/`.length)
      return after === undefined ? `${name} -` : `${name} ${valueIn(after.value)}`
    })
    // A restored backup may share all that was told.
    for (let history = this.#history; history < this.#histories.length; history++) {
      if (!this.#sharesUntil(history, position)) break
      const next = this.#changesOf(history).find(({ revision }) => revision > position)
      if (next?.revision !== batch.revision) continue
      const happened = `${next.name} ${next.type === 'DELETED' ? '-' : next.value}`
      if (told.join() !== happened) continue
      this.#history = history
      this.#position = batch.revision
      return
    }
    this.#fail(`the event at ${batch.revision} (${told.join()}) does not follow ${position}`)
    this.#position = batch.revision
  }

  #proven(revision: number): void {
    const position = this.#position
    if (position === undefined || revision <= position) return
    for (let history = this.#history; history < this.#histories.length; history++) {
      if (!this.#sharesUntil(history, position)) break
      const missed = this.#changesOf(history).find(
        change => change.revision > position && change.revision <= revision,
      )
      if (missed !== undefined) continue
      this.#history = history
      this.#position = revision
      return
    }
    this.#fail(`progress ${revision} is claimed, but not all after ${position} was told`)
  }

  /** Contents were read: they must be those of a moment. */
  #look(): void {
    const keyspace = this.#read.keyspace(configMaps)
    if (this.#position !== undefined || !keyspace.isServed) return
    const snapshot = keyspace.store.latest()
    const found = this.#historyOf(snapshot)
    if (found === undefined) {
      this.#fail(`contents at ${snapshot.revision} never were`)
    } else {
      this.#history = found
    }
    this.#position = snapshot.revision
  }

  /** The newest history that had these contents, not before the one that the mirror had. */
  #historyOf(snapshot: Snapshot): number | undefined {
    const contents = [...snapshot.iterate(allKeys)]
      .map(({ key, modRevision, value }) => `${key} ${modRevision} ${valueIn(value)}`)
      .join('\n')
    for (let history = this.#histories.length - 1; history >= 0; history--) {
      const had = new Map<string, string>()
      for (const { revision, type, name, value } of this.#changesOf(history)) {
        if (revision > snapshot.revision) break
        const key = `${configMaps}default/${name}`
        if (type === 'DELETED') had.delete(key)
        else had.set(key, `${key} ${revision} ${value}`)
      }
      const all = [...had].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
      if (all.join('\n') === contents) return history
    }
    return undefined
  }
}

/** The sink of mirrors of which a thread has copies. */
function toSide(side: () => MirrorSide | undefined): MirrorSink {
  return {
    applied: keyspace => side()?.applied(keyspace),
    progressed: () => side()?.progressed(),
    reset: keyspace => side()?.reset(keyspace),
    stateChanged: keyspace => side()?.stateChanged(keyspace),
  }
}

function valueIn(stored: Uint8Array): string {
  const { data } = JSON.parse(Buffer.from(stored).toString()) as { data: { value: string } }
  return data.value
}
