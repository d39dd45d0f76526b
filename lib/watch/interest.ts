/** Which audiences a change concerns, by lookup: an event costs as much as the audiences that may want it, not as all there are.
 *
 *  An audience stands in one place only, the narrowest that it allows: its only key, a term that it requires, or the list of those
 *  that have to be asked. A range of keys is not looked up but compared, which costs a few nanoseconds. */

import { type Key, keyAfter, type KeyRange } from '../base/keys.ts'
import type { Event } from '../store/event.ts'
import type { TermsOf } from '../store/index.ts'
import type { Audience } from './audience.ts'

export class Interest {
  readonly #byKey = new Map<Key, Set<Audience>>()
  readonly #byTerm = new Map<string, Map<string, Set<Audience>>>()
  readonly #others = new Set<Audience>()
  readonly #indexes: ReadonlyMap<string, TermsOf>

  /** `indexes` are the indexes in which audiences may require terms. */
  constructor(indexes: ReadonlyMap<string, TermsOf>) {
    this.#indexes = indexes
  }

  add(audience: Audience): void {
    this.#placeOf(audience).add(audience)
  }

  delete(audience: Audience): void {
    const { range, requires } = audience.selection
    const place = this.#placeOf(audience)
    place.delete(audience)
    if (place.size > 0) return
    const only = onlyKey(range)
    if (only !== undefined) this.#byKey.delete(only)
    else if (requires !== undefined) this.#byTerm.get(requires.index)?.delete(requires.term)
  }

  /** The audiences that the events may concern, each with those events, in order. */
  concerned(events: readonly Event[]): Map<Audience, Event[]> {
    const concerned = new Map<Audience, Event[]>()
    for (const event of events) {
      for (const audience of this.#others) note(concerned, audience, event)
      for (const audience of this.#byKey.get(event.key) ?? []) note(concerned, audience, event)
      for (const [index, places] of this.#byTerm) {
        if (places.size === 0) continue
        for (const term of this.#termsOf(index, event)) {
          for (const audience of places.get(term) ?? []) note(concerned, audience, event)
        }
      }
    }
    return concerned
  }

  /** The terms before and after: an object that leaves a selection concerns it as much as one that enters. */
  #termsOf(index: string, { before, after }: Event): ReadonlySet<string> {
    const termsOf = this.#indexes.get(index)
    const terms = new Set<string>()
    if (termsOf === undefined) return terms
    for (const entry of [before, after]) {
      if (entry !== undefined) for (const term of termsOf(entry)) terms.add(term)
    }
    return terms
  }

  #placeOf({ selection: { range, requires } }: Audience): Set<Audience> {
    const only = onlyKey(range)
    if (only !== undefined) return placeIn(this.#byKey, only)
    if (requires === undefined || !this.#indexes.has(requires.index)) return this.#others
    let places = this.#byTerm.get(requires.index)
    if (places === undefined) this.#byTerm.set(requires.index, (places = new Map()))
    return placeIn(places, requires.term)
  }
}

function note(concerned: Map<Audience, Event[]>, audience: Audience, event: Event): void {
  const events = concerned.get(audience)
  if (events === undefined) concerned.set(audience, [event])
  else if (events.at(-1) !== event) events.push(event)
}

function placeIn<K>(places: Map<K, Set<Audience>>, key: K): Set<Audience> {
  let place = places.get(key)
  if (place === undefined) places.set(key, (place = new Set()))
  return place
}

/** The one key of a range that holds one. */
function onlyKey({ start, end }: KeyRange): Key | undefined {
  return end === keyAfter(start) ? start : undefined
}
