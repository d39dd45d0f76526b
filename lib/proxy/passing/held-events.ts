/** Events that we cannot show yet, or cannot show at all. Their watchers wait. Mostly a comparison
 *  with the upstream takes a few milliseconds, after which we show the event ourselves. If it takes
 *  longer, or if we could not write the object anyway, the upstream is asked for the event, and the
 *  watchers get its own bytes: its own watches do not end there, either. Only when that fails, too,
 *  the watches end cleanly before the event; their clients watch again, and pass until it is
 *  compared.
 *
 *  An event waits for itself, and in each form: other events of the same object have their own
 *  time. One transaction may have tens of thousands of them. Once one event of a form was not
 *  compared in time, those behind it are asked for at once; and what is held is bounded: watchers
 *  that there is no room for stand at their positions, and what came longest ago makes room. */

import type { Clock, Key, Logger } from '@watchglass/base'
import type { HeldEvent } from '@watchglass/cache'
import type { Event } from '@watchglass/store'
import { InexactEvents } from './inexact-events.ts'

/** A comparison has this long before the upstream is asked for the event. */
const proofMaxMs = 500
/** An event is kept for this long after it was answered, for watchers that reach it later. */
const keptMs = 3_000
/** The most events that are waited for at once, each in one form. A watcher waits for one at a
 *  time, so only thousands of watchers with selectors of their own reach it; those beyond wait for
 *  room. */
const heldMax = 10_000
/** The most bytes of events that came from the upstream. A transaction of large objects has
 *  more. */
const heldMaxBytes = 16 * 1024 * 1024
/** Watchers without room look again after this time: all of a keyspace look at once, so not for
 *  each place that becomes free. */
const roomMs = 100
/** Forms and selectors of a keyspace that are remembered as late. */
const lateMax = 1_000
/** One resource's watches may end for a thousand events: it is said once in this time. */
const loggedEveryMs = 60_000

export interface HeldEventsOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** Makes the watchers of a keyspace check again. */
  readonly resume: (keyspace: Key) => void
  /** The frame of an event in the upstream's own bytes, or why there is none. */
  readonly ask: (held: HeldEvent) => Promise<Uint8Array | string>
}

interface Held {
  readonly event: HeldEvent
  readonly sinceMs: number
  isAsked: boolean
  /** Why its watchers have waited in vain. */
  failure: string | undefined
  frame: Uint8Array | undefined
}

export class HeldEvents {
  /** Events that could be shown in no way. */
  readonly given: InexactEvents = new InexactEvents()
  readonly #options: HeldEventsOptions
  readonly #held = new Map<Event, Map<string, Held>>()
  /** Events with a frame, the oldest first. */
  readonly #framed = new Set<Held>()
  /** Keyspaces and forms with an event that was not compared in time: others of them are not waited
   *  for, until something of the keyspace is compared. */
  readonly #late = new Map<Key, Set<string>>()
  /** Keyspaces with watchers for which there was no room. */
  readonly #crowded = new Set<Key>()
  readonly #loggedMs = new Map<Key, number>()
  #size = 0
  #bytes = 0

  constructor(options: HeldEventsOptions) {
    this.#options = options
  }

  /** The frame of an event as the upstream writes it; `later` while its watchers may still wait. */
  frameOf(event: HeldEvent): Uint8Array | 'later' | 'inexact' {
    const held = this.#find(event)
    if (held === undefined) return 'later'
    if (held.frame !== undefined) return held.frame
    if (held.failure !== undefined) return this.#end(event, held.failure)
    const waitedMs = this.#options.clock.monotonicMs() - held.sinceMs
    const isLate = waitedMs >= proofMaxMs
    if (isLate) this.#noteLate(event)
    const isDue = isLate || !event.isProvable || this.#isLate(event)
    if (isDue && !held.isAsked) {
      held.isAsked = true
      void this.#ask(held)
    }
    return 'later'
  }

  /** Something was compared in a keyspace. */
  concluded(keyspace: Key): void {
    this.given.forget(keyspace)
    this.#late.delete(keyspace)
    this.#options.resume(keyspace)
  }

  #isLate({ keyspace, shownAs }: HeldEvent): boolean {
    return this.#late.get(keyspace)?.has(shownAs) === true
  }

  #noteLate({ keyspace, shownAs }: HeldEvent): void {
    const forms = this.#late.get(keyspace) ?? new Set()
    if (forms.size < lateMax) this.#late.set(keyspace, forms.add(shownAs))
  }

  /** Undefined while there is no room for it. */
  #find(event: HeldEvent): Held | undefined {
    const { clock, resume } = this.#options
    const { shownAs, keyspace } = event
    const known = this.#held.get(event.event)?.get(shownAs)
    if (known !== undefined) return known
    if (this.#size >= heldMax && !this.#dropOldest()) {
      this.#waitForRoom(keyspace)
      return undefined
    }
    const held: Held = {
      event,
      sinceMs: clock.monotonicMs(),
      isAsked: false,
      failure: undefined,
      frame: undefined,
    }
    const forms = this.#held.get(event.event) ?? new Map<string, Held>()
    this.#held.set(event.event, forms.set(shownAs, held))
    this.#size++
    clock.setTimer(proofMaxMs, () => resume(keyspace))
    // It was compared meanwhile, or nobody watches any more.
    clock.setTimer(2 * proofMaxMs, () => {
      if (!held.isAsked) this.#drop(held)
    })
    return held
  }

  /** Forgets an event; harmless when it was forgotten. */
  #drop(held: Held): void {
    const { event, shownAs } = held.event
    const forms = this.#held.get(event)
    if (forms?.get(shownAs) !== held) return
    forms.delete(shownAs)
    if (forms.size === 0) this.#held.delete(event)
    this.#size--
    if (this.#framed.delete(held)) this.#bytes -= held.frame?.length ?? 0
  }

  /** Forgets the event whose frame came longest ago: whoever reaches it later has it asked for
   *  again. False if there is none. */
  #dropOldest(): boolean {
    for (const held of this.#framed) {
      this.#drop(held)
      return true
    }
    return false
  }

  #waitForRoom(keyspace: Key): void {
    if (this.#crowded.size === 0) {
      this.#options.clock.setTimer(roomMs, () => {
        const keyspaces = [...this.#crowded]
        this.#crowded.clear()
        for (const crowded of keyspaces) this.#options.resume(crowded)
      })
    }
    this.#crowded.add(keyspace)
  }

  /** The question waits for its turn for as long as it takes: what the upstream would not end, its
   *  pace does not end either. A watcher whose position leaves the history meanwhile is told so. */
  async #ask(held: Held): Promise<void> {
    const { clock, ask, resume } = this.#options
    const answer = await ask(held.event)
    if (typeof answer === 'string') held.failure = answer
    else {
      while (this.#bytes + answer.length > heldMaxBytes && this.#dropOldest());
      held.frame = answer
      this.#framed.add(held)
      this.#bytes += answer.length
    }
    clock.setTimer(keptMs, () => this.#drop(held))
    resume(held.event.keyspace)
  }

  /** The watches in this form end before the event. */
  #end({ keyspace, resource, told }: HeldEvent, reason: string): 'inexact' {
    this.given.note(keyspace, told.entry.key, told.revision)
    const nowMs = this.#options.clock.monotonicMs()
    if (nowMs - (this.#loggedMs.get(keyspace) ?? -Infinity) >= loggedEveryMs) {
      this.#loggedMs.set(keyspace, nowMs)
      const fields = { resource: resource.resource, group: resource.group, reason }
      this.#options.logger.warn(
        'watches end: an event was not compared in time, and the upstream did not show it',
        fields,
      )
    }
    return 'inexact'
  }
}
