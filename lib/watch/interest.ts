/** Looks up which audiences a change concerns: the cost of an event depends on the audiences that
 *  may need it, not on all of them.
 *
 *  An audience is in one place only, the narrowest possible: its only key, a term that it requires,
 *  its shards of the folder of its range (a namespace, or the whole keyspace), that folder, or, for
 *  all other ranges, the list of audiences that are checked for every change. */

import type { Watcher } from './watcher.ts'
import { inRange, type Key, keyAfter, type KeyRange, prefixEnd } from '../base/keys.ts'
import type { Event, KeyValue } from '../store/event.ts'
import type { TermsOf } from '../store/index-snapshot.ts'
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

  /** The audiences that the events may concern, each with those events, in order. */
  concerned(events: readonly Event[]): Map<Audience<Watcher>, Event[]> {
    const concerned = new Map<Audience<Watcher>, Event[]>()
    for (const event of events) {
      const { key } = event
      this.#noteFolders(concerned, event)
      for (const audience of this.#others) note(concerned, audience, event)
      for (const audience of this.#byKey.get(key) ?? []) note(concerned, audience, event)
      for (const { termsOf, places } of this.#byIndex.values()) {
        for (const term of termsAround(termsOf, event)) {
          for (const audience of places.get(term) ?? []) note(concerned, audience, event)
        }
      }
      for (const sharded of this.#byShard.values()) noteShards(concerned, sharded, event)
    }
    return concerned
  }

  #placesOf({ field, highOf }: RequiredShards, folder: Key): ShardPlaces<Audience<Watcher>> {
    let known = this.#byShard.get(field)
    if (known === undefined) this.#byShard.set(field, (known = { highOf, byFolder: new Map() }))
    let places = known.byFolder.get(folder)
    if (places === undefined) known.byFolder.set(folder, (places = new ShardPlaces()))
    return places
  }

  /** A key is in few folders: those of its resource and of its namespace. */
  #noteFolders(concerned: Map<Audience<Watcher>, Event[]>, event: Event): void {
    if (this.#byFolder.size === 0) return
    const { key } = event
    for (let end = key.indexOf('/') + 1; end > 0; end = key.indexOf('/', end) + 1) {
      const audiences = this.#byFolder.get(key.slice(0, end) as Key)
      if (audiences !== undefined) for (const one of audiences) note(concerned, one, event)
    }
  }
}

/** An object is hashed once for all audiences, and only if somebody wants a shard of its folder. */
function noteShards(
  concerned: Map<Audience<Watcher>, Event[]>,
  { highOf, byFolder }: ShardedPlaces,
  event: Event,
): void {
  const { key } = event
  let highs: ReadonlySet<number | undefined> | undefined
  for (let end = key.indexOf('/') + 1; end > 0; end = key.indexOf('/', end) + 1) {
    const places = byFolder.get(key.slice(0, end) as Key)
    if (places === undefined) continue
    highs ??= highsAround(highOf, event)
    const take = (audience: Audience<Watcher>): void => note(concerned, audience, event)
    for (const high of highs) {
      if (high === undefined) places.all(take)
      else places.each(high, take)
    }
  }
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

function note(
  concerned: Map<Audience<Watcher>, Event[]>,
  audience: Audience<Watcher>,
  event: Event,
): void {
  if (!inRange(event.key, audience.spec.range)) return
  const events = concerned.get(audience)
  if (events === undefined) concerned.set(audience, [event])
  else if (events.at(-1) !== event) events.push(event)
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
