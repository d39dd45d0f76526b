/** Events that we cannot show yet, or cannot show at all. Their watchers wait. Mostly a comparison
 *  with the upstream takes a few milliseconds, after which we show the event ourselves. If it takes
 *  longer, or if we could not write the object anyway, the upstream is asked for the event, and the
 *  watchers get its own bytes: its own watches do not end there, either. Only when that fails, too,
 *  the watches end cleanly before the event; their clients watch again, and pass until it is
 *  compared.
 *
 *  An event waits for itself, and in each form: other events of the same object have their own
 *  time. */

import type { Clock, Key, Logger } from '@watchglass/base'
import type { HeldEvent } from '@watchglass/cache'
import type { Event } from '@watchglass/store'
import { InexactEvents } from './inexact-events.ts'

/** A comparison has this long before the upstream is asked for the event. */
const proofMaxMs = 500
/** The time that a read waits for the mirror. */
const holdMaxMs = 3_000
/** The most events that are waited for at once, each in one form. */
const heldMax = 10_000
/** The most bytes of events that came from the upstream. They are kept for a few seconds, for
 *  watchers that reach the event later than others. */
const heldMaxBytes = 16 * 1024 * 1024
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
  readonly #loggedMs = new Map<Key, number>()
  #size = 0
  #bytes = 0

  constructor(options: HeldEventsOptions) {
    this.#options = options
  }

  /** The frame of an event as the upstream writes it; `later` while its watchers may still wait. */
  frameOf(event: HeldEvent): Uint8Array | 'later' | 'inexact' {
    const held = this.#find(event)
    if (held === undefined) return this.#end(event, 'too many events wait')
    if (held.frame !== undefined) return held.frame
    if (held.failure !== undefined) return this.#end(event, held.failure)
    const waitedMs = this.#options.clock.monotonicMs() - held.sinceMs
    const isDue = !event.isProvable || waitedMs >= proofMaxMs
    if (isDue && !held.isAsked) {
      held.isAsked = true
      void this.#ask(event, held)
    }
    return 'later'
  }

  /** Something was compared in a keyspace. */
  concluded(keyspace: Key): void {
    this.given.forget(keyspace)
    this.#options.resume(keyspace)
  }

  /** Undefined if too many are held. */
  #find({ event, shownAs, keyspace }: HeldEvent): Held | undefined {
    const { clock, resume } = this.#options
    const known = this.#held.get(event)?.get(shownAs)
    if (known !== undefined) return known
    if (this.#size >= heldMax) return undefined
    const held: Held = {
      sinceMs: clock.monotonicMs(),
      isAsked: false,
      failure: undefined,
      frame: undefined,
    }
    const forms = this.#held.get(event) ?? new Map<string, Held>()
    this.#held.set(event, forms.set(shownAs, held))
    this.#size++
    clock.setTimer(proofMaxMs, () => resume(keyspace))
    clock.setTimer(holdMaxMs, () => {
      held.failure ??= `it was not compared within ${holdMaxMs} ms`
      resume(keyspace)
    })
    // Watchers that were slower may reach it a little later.
    clock.setTimer(2 * holdMaxMs, () => {
      this.#bytes -= held.frame?.length ?? 0
      this.#size--
      forms.delete(shownAs)
      if (forms.size === 0) this.#held.delete(event)
    })
    return held
  }

  async #ask(event: HeldEvent, held: Held): Promise<void> {
    const answer = await this.#options.ask(event)
    if (held.failure !== undefined) return
    if (typeof answer === 'string') held.failure = answer
    else if (this.#bytes + answer.length > heldMaxBytes) held.failure = 'too much is held'
    else {
      held.frame = answer
      this.#bytes += answer.length
    }
    this.#options.resume(event.keyspace)
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
