/** Looks up which audiences a change concerns: the cost of an event depends on the audiences that
 *  may need it, not on all of them.
 *
 *  An audience is in one place only, the narrowest possible: its only key, a term that it requires,
 *  its shards of the folder of its range (a namespace, or the whole keyspace), that folder, or, for
 *  all other ranges, the list of audiences that are checked for every change. */

import type { Watcher } from './watcher.ts'
import { inRange, type Key, keyAfter, type KeyRange, prefixEnd } from '@watchglass/base'
import type { Event, KeyValue } from '../event.ts'
import type { TermsOf } from '../index-snapshot.ts'
import type { Audience, RequiredShards } from './audience.ts'
import { ShardPlaces } from './shard-places.ts'

/** The audiences that require terms of one index. */
interface TermPlaces {
  readonly termsOf: TermsOf
  readonly places: Map<string, Set<Audience<Watcher>>>
}

/** The audiences that require shards by one field. */
interface ShardedPlaces {
  readonly highOf: RequiredShards['highOf']
  readonly byFolder: Map<Key, ShardPlaces<Audience<Watcher>>>
}

export class Interest {
  readonly #byKey = new Map<Key, Set<Audience<Watcher>>>()
  readonly #byIndex = new Map<string, TermPlaces>()
  readonly #byShard = new Map<string, ShardedPlaces>()
  readonly #byFolder = new Map<Key, Set<Audience<Watcher>>>()
  readonly #others = new Set<Audience<Watcher>>()
  readonly #places: Places = {
    byKey: this.#byKey,
    byIndex: this.#byIndex,
    byShard: this.#byShard,
    byFolder: this.#byFolder,
    others: this.#others,
  }

  add(audience: Audience<Watcher>): void {
    const { range, requires, shards } = audience.spec
    const only = onlyKey(range)
    const folder = folderOf(range)
    if (only !== undefined) placeIn(this.#byKey, only).add(audience)
    else if (requires !== undefined) {
      const { index, termsOf, terms } = requires
      let known = this.#byIndex.get(index)
      if (known === undefined) this.#byIndex.set(index, (known = { termsOf, places: new Map() }))
      for (const term of terms) placeIn(known.places, term).add(audience)
    } else if (folder !== undefined && shards !== undefined) {
      this.#placesOf(shards, folder).add(audience, shards.ranges)
    } else if (folder !== undefined) placeIn(this.#byFolder, folder).add(audience)
    else this.#others.add(audience)
  }

  delete(audience: Audience<Watcher>): void {
    const { range, requires, shards } = audience.spec
    const only = onlyKey(range)
    const folder = folderOf(range)
    if (only !== undefined) removeFrom(this.#byKey, only, audience)
    else if (requires !== undefined) {
      const places = this.#byIndex.get(requires.index)?.places
      if (places === undefined) return
      for (const term of requires.terms) removeFrom(places, term, audience)
      if (places.size === 0) this.#byIndex.delete(requires.index)
    } else if (folder !== undefined && shards !== undefined) {
      const byFolder = this.#byShard.get(shards.field)?.byFolder
      const places = byFolder?.get(folder)
      places?.delete(audience, shards.ranges)
      if (places?.isEmpty === true) byFolder?.delete(folder)
      if (byFolder?.size === 0) this.#byShard.delete(shards.field)
    } else if (folder !== undefined) removeFrom(this.#byFolder, folder, audience)
    else this.#others.delete(audience)
  }

  /** The audiences that these few events may concern, each with their indexes, in order. */
  concerned(events: readonly Event[]): Map<Audience<Watcher>, readonly number[]> {
    const survey = this.survey(events)
    survey.step(events.length)
    return survey.concerned()
  }

  /** Finds out the same in steps. Audiences that are added meanwhile may be given less. */
  survey(events: readonly Event[]): Survey {
    return new Survey(events, this.#places)
  }

  #placesOf({ field, highOf }: RequiredShards, folder: Key): ShardPlaces<Audience<Watcher>> {
    let known = this.#byShard.get(field)
    if (known === undefined) this.#byShard.set(field, (known = { highOf, byFolder: new Map() }))
    let places = known.byFolder.get(folder)
    if (places === undefined) known.byFolder.set(folder, (places = new ShardPlaces()))
    return places
  }
}

type Place = ReadonlySet<Audience<Watcher>>

interface Places {
  readonly byKey: ReadonlyMap<Key, Place>
  readonly byIndex: ReadonlyMap<string, TermPlaces>
  readonly byShard: ReadonlyMap<string, ShardedPlaces>
  readonly byFolder: ReadonlyMap<Key, Place>
  readonly others: Place
}

/** A batch of so many events gives each audience exactly those that may concern it. Of more, it is
 *  given all where telling them apart would cost as much. */
const exactMaxEvents = 16

/** Events by whom they may concern. All audiences of a place share a list of indexes, so that what
 *  is held is proportional to the events and not to who watches. */
export class Survey {
  readonly #events: readonly Event[]
  readonly #places: Places
  readonly #lists = new Map<Place, number[]>()
  readonly #ofShards = new Map<Audience<Watcher>, number[]>()
  #next = 0

  constructor(events: readonly Event[], places: Places) {
    this.#events = events
    this.#places = places
  }

  /** Looks up so many more events. True if all have been. */
  step(maxEvents: number): boolean {
    const end = Math.min(this.#events.length, this.#next + maxEvents)
    while (this.#next < end) this.#lookUp(this.#next++)
    return this.#next === this.#events.length
  }

  /** The audiences that the events may concern, each with the indexes of those. */
  concerned(): Map<Audience<Watcher>, readonly number[]> {
    const concerned = new Map<Audience<Watcher>, readonly number[]>()
    const all = this.#events.length === 1 ? onlyEvent : [...this.#events.keys()]
    for (const audience of this.#places.others) this.#give(concerned, audience, all)
    for (const [place, list] of this.#lists) {
      for (const audience of place) {
        const known = concerned.get(audience)
        const isExact = all.length <= exactMaxEvents
        if (known === undefined) this.#give(concerned, audience, list)
        else concerned.set(audience, isExact ? both(known, list) : all)
      }
    }
    for (const [audience, list] of this.#ofShards) this.#give(concerned, audience, list)
    return concerned
  }

  #give(
    concerned: Map<Audience<Watcher>, readonly number[]>,
    audience: Audience<Watcher>,
    list: readonly number[],
  ): void {
    const { range } = audience.spec
    const isInside = (i: number): boolean => inRange(this.#events[i]!.key, range)
    const isExact = this.#events.length <= exactMaxEvents
    const inside = !isExact || list.every(isInside) ? list : list.filter(isInside)
    if (inside.length > 0) concerned.set(audience, inside)
  }

  #lookUp(i: number): void {
    const event = this.#events[i]!
    const { byKey, byIndex, byShard, byFolder } = this.#places
    const { key } = event
    this.#note(byKey.get(key), i)
    if (byFolder.size > 0) for (const folder of foldersOf(key)) this.#note(byFolder.get(folder), i)
    for (const { termsOf, places } of byIndex.values()) {
      for (const term of termsAround(termsOf, event)) this.#note(places.get(term), i)
    }
    for (const sharded of byShard.values()) this.#noteShards(sharded, i)
  }

  #note(place: Place | undefined, i: number): void {
    if (place === undefined) return
    const list = this.#lists.get(place)
    if (list !== undefined) list.push(i)
    else this.#lists.set(place, [i])
  }

  /** An object is hashed once for all audiences, and only if somebody wants a shard of its
   *  folder. */
  #noteShards({ highOf, byFolder }: ShardedPlaces, i: number): void {
    const event = this.#events[i]!
    const take = (audience: Audience<Watcher>): void => {
      const list = this.#ofShards.get(audience)
      if (list === undefined) this.#ofShards.set(audience, [i])
      else if (list.at(-1) !== i) list.push(i)
    }
    let highs: ReadonlySet<number | undefined> | undefined
    for (const folder of foldersOf(event.key)) {
      const places = byFolder.get(folder)
      if (places === undefined) continue
      highs ??= highsAround(highOf, event)
      for (const high of highs) {
        if (high === undefined) places.all(take)
        else places.each(high, take)
      }
    }
  }
}

const onlyEvent: readonly number[] = [0]

function both(some: readonly number[], others: readonly number[]): readonly number[] {
  return [...new Set([...some, ...others])].sort((a, b) => a - b)
}

/** The folders that a key is in: few, those of its resource and of its namespace. */
function foldersOf(key: Key): Key[] {
  const folders: Key[] = []
  for (let end = key.indexOf('/') + 1; end > 0; end = key.indexOf('/', end) + 1) {
    folders.push(key.slice(0, end) as Key)
  }
  return folders
}

/** An object that was made again under the same name is another one, and may be in another
 *  shard. */
function highsAround(
  highOf: RequiredShards['highOf'],
  { before, after }: Event,
): ReadonlySet<number | undefined> {
  const isSame = before?.createRevision === after?.createRevision
  const entries: (KeyValue | undefined)[] = isSame ? [after] : [before, after]
  return new Set(entries.filter(entry => entry !== undefined).map(highOf))
}

/** The terms before and after the change: an object that leaves a selection concerns it as much as
 *  one that enters. */
function termsAround(termsOf: TermsOf, { before, after }: Event): ReadonlySet<string> {
  const terms = new Set<string>()
  if (before !== undefined) for (const term of termsOf(before)) terms.add(term)
  if (after !== undefined) for (const term of termsOf(after)) terms.add(term)
  return terms
}

function removeFrom<K>(
  places: Map<K, Set<Audience<Watcher>>>,
  key: K,
  audience: Audience<Watcher>,
): void {
  const place = places.get(key)
  place?.delete(audience)
  if (place?.size === 0) places.delete(key)
}

function placeIn<K>(places: Map<K, Set<Audience<Watcher>>>, key: K): Set<Audience<Watcher>> {
  let place = places.get(key)
  if (place === undefined) places.set(key, (place = new Set()))
  return place
}

/** The key of a range of a single key; undefined for other ranges. */
function onlyKey({ start, end }: KeyRange): Key | undefined {
  return end === keyAfter(start) ? start : undefined
}

/** The folder of a range that is all keys below a prefix with a final slash; undefined for other
 *  ranges. */
function folderOf({ start, end }: KeyRange): Key | undefined {
  return start.endsWith('/') && end === prefixEnd(start) ? start : undefined
}
