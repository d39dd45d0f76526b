/** Fan-out of one keyspace: publishes each batch once to the watchers that it concerns, and lets
 *  lagging watchers catch up, a slice at a time. It knows no sockets and no clock: the owner of a
 *  watcher's sink resumes the watcher, and the owner of the event loop runs the slices. */

import { CacheError, type Revision } from '@watchglass/base'
import type { Batch } from '../event.ts'
import { Audience, type Concerned, type AudienceSpec } from './audience.ts'
import { Interest, type Survey } from './interest.ts'
import { lookAheadEvents, type WatchedHistory, Watcher, type WatcherSink } from './watcher.ts'

export interface HubOptions {
  readonly history: WatchedHistory
  /** Called when there is work for `run`; not again before `run` was called. */
  readonly onWork: () => void
}

/** A batch with many events, of which it is not known yet whom they concern. */
interface Surveyed {
  readonly batch: Batch
  readonly survey: Survey
  /** Watchers that were live when it came, and stand before it. */
  readonly watchers: readonly Watcher[]
}

export class Hub {
  readonly #history: WatchedHistory
  readonly #onWork: () => void
  readonly #interest = new Interest()
  readonly #audiences = new Map<string, Audience<Watcher>>()
  /** Lagging watchers whose sinks accept more, the longest waiting first, and some that have ended
   *  since. Not a Set: V8 keeps all old tables of a Set that is added to and deleted from all the
   *  time until the next full collection. */
  #catchingUp: Watcher[] = []
  /** Watchers that wait before a batch that cannot be shown yet. */
  readonly #held = new Set<Watcher>()
  /** Batches to look through, the oldest first. */
  readonly #surveys: Surveyed[] = []
  #isRunDue = false
  #size = 0

  constructor({ history, onWork }: HubOptions) {
    this.#history = history
    this.#onWork = onWork
  }

  /** The oldest position that a watcher may have. */
  get oldest(): Revision {
    return this.#history.oldest
  }

  /** Number of watchers. */
  get size(): number {
    return this.#size
  }

  /** Adds a watcher that has everything up to `position`. Its frames begin with the next `run`.
   *  Fails with `expired` if the history does not have that position any more. */
  add(spec: AudienceSpec, position: Revision, sink: WatcherSink): Watcher {
    const { oldest } = this.#history
    if (position < oldest) {
      throw new CacheError('expired', `revision ${position} is below oldest ${oldest}`, { oldest })
    }
    let audience = this.#audiences.get(spec.id)
    if (audience === undefined) {
      audience = new Audience(spec)
      this.#audiences.set(spec.id, audience)
      this.#interest.add(audience)
    }
    const watcher = new Watcher(audience, this.#history, sink, position)
    audience.watchers.add(watcher)
    this.#size++
    this.resume(watcher)
    return watcher
  }

  /** Ends a watcher and forgets it. Harmless when it has ended. */
  delete(watcher: Watcher): void {
    const { audience } = watcher
    watcher.end()
    this.#held.delete(watcher)
    if (!audience.watchers.delete(watcher)) return
    this.#size--
    if (audience.watchers.size > 0) return
    this.#audiences.delete(audience.spec.id)
    this.#interest.delete(audience)
  }

  /** Publishes a batch, which is in the history already, to the live watchers that it may concern:
   *  at once, or by and by if it has many events, or concerns many audiences. */
  publish(batch: Batch): void {
    if (batch.events.length > lookAheadEvents) {
      this.#survey(batch)
      return
    }
    const concerned = this.#interest.concerned(batch.events)
    const isShared = isAnyTwice([...concerned.values()])
    let offered = 0
    for (const [audience, indexes] of concerned) {
      offered += indexes.length
      if (offered > offeredAtOnce) {
        this.#defer(audience, batch, indexes)
        continue
      }
      const isAlone = !isShared && audience.watchers.size === 1
      this.#deliver(audience, batch, { indexes, need: isAlone ? 'alone' : 'together' })
    }
  }

  /** The history has been replaced by another: all positions in it have expired. */
  expireAll(): void {
    for (const { watchers } of this.#audiences.values()) {
      for (const watcher of watchers) {
        this.delete(watcher)
        watcher.expire()
      }
    }
  }

  /** The sink of a lagging watcher accepts more. */
  resume(watcher: Watcher): void {
    if (!watcher.resume()) return
    this.#catchingUp.push(watcher)
    this.#wantRun()
  }

  /** Batches that could not be shown yet may be shown now. */
  resumeHeld(): void {
    const held = [...this.#held]
    this.#held.clear()
    for (const watcher of held) this.resume(watcher)
  }

  /** Looks through large batches, and lets watchers catch up, a share each, until the slice is over
   *  or all have. Calls `onWork` if work is left. */
  run(isOver: () => boolean): void {
    this.#isRunDue = false
    while (this.#surveys.length > 0 && !isOver()) this.#surveyOn(this.#surveys[0]!)
    const audiences = new Set<Audience<Watcher>>()
    const watchers = this.#catchingUp
    let done = 0
    while (done < watchers.length && !isOver()) {
      const watcher = watchers[done++]!
      if (watcher.state !== 'lagging') continue
      audiences.add(watcher.audience)
      watcher.catchUp(shareMaxEvents, this.#size === 1 ? 'alone' : 'behind')
      if (watcher.isHeld) this.#held.add(watcher)
      // It continues after the others, so that a watcher which is far behind does not delay them.
      if (watcher.state === 'lagging' && !watcher.isWaiting) watchers.push(watcher)
    }
    for (const audience of audiences) audience.forget()
    this.#catchingUp = watchers.slice(done)
    if (this.#catchingUp.length > 0 || this.#surveys.length > 0) this.#wantRun()
  }

  /** Nobody is told of what comes after the batch before the batch itself: who is live stands
   *  before it, until it is known whom it concerns. */
  #survey(batch: Batch): void {
    const watchers: Watcher[] = []
    for (const audience of this.#audiences.values()) {
      for (const watcher of audience.watchers) if (watcher.stand(batch)) watchers.push(watcher)
    }
    if (watchers.length === 0) return
    this.#surveys.push({ batch, survey: this.#interest.survey(batch.events), watchers })
    this.#wantRun()
  }

  #surveyOn({ batch, survey, watchers }: Surveyed): void {
    if (!survey.step(surveyEvents)) return
    this.#surveys.shift()
    const concerned = survey.concerned()
    for (const watcher of watchers) {
      watcher.go(batch, concerned.get(watcher.audience))
      this.resume(watcher)
    }
  }

  /** Leaves a batch to the slices of `run`. */
  #defer({ watchers }: Audience<Watcher>, batch: Batch, indexes: readonly number[]): void {
    for (const watcher of watchers) {
      if (!watcher.stand(batch)) continue
      watcher.go(batch, indexes)
      this.resume(watcher)
    }
  }

  /** Writes a batch to the live watchers of one audience. It is encoded for the first of them;
   *  lagging ones reach it when they catch up. */
  #deliver(audience: Audience<Watcher>, batch: Batch, concerned: Concerned): void {
    for (const watcher of audience.watchers) {
      if (watcher.state !== 'live') continue
      watcher.deliver(batch, concerned)
      if (watcher.isHeld) this.#held.add(watcher)
    }
    audience.forget()
  }

  #wantRun(): void {
    if (this.#isRunDue) return
    this.#isRunDue = true
    this.#onWork()
  }
}

/** True if one event concerns several audiences. Those of shards are each in one of them. */
function isAnyTwice(lists: readonly (readonly number[])[]): boolean {
  const count = lists.reduce((sum, indexes) => sum + indexes.length, 0)
  return lists.length > 1 && new Set(lists.flat()).size < count
}

/** Events that are offered to audiences in one step: each may be compared with the hundred
 *  conditions of a selector. Clients of a cluster ask alike, and are far fewer audiences. */
const offeredAtOnce = 256

/** Events that are looked up before the clock is asked. */
const surveyEvents = 64

/** The number of events that one watcher may take from the history before the next one's turn: well
 *  under a millisecond, even if all must be encoded. */
const shareMaxEvents = 16
