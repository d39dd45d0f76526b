/** Remembers what a filter has said of the newest state of each object. A watch that follows the
 *  history asks about the state before each change and the one after it, and the state after a
 *  change is the one before the object's next change: read once, an event costs half.
 *
 *  Only the few filters that are asked all the time, because their watches are far behind, have a
 *  memory: it is bounded whatever clients make up, and holds no values. */

import { type Key, NotExact } from '@watchglass/base'
import type { Filter } from './filter.ts'

/** Filters with a memory. */
const memoriesMax = 16
const keysMax = 2048
/** A filter gets a memory after so many questions, between which others have asked few. */
const questionsMin = 32
const othersMax = 64

/** By filter, the oldest first: twice the revision of an object's newest state, and one more if it
 *  is selected. */
const memories = new Map<Filter, Map<Key, number>>()
/** Questions to all filters. */
let asked = 0

/** A filter for the events of a watch, with the answers of the one that is given. It may be used
 *  for one history only, in which a key has one state at a revision. */
export function rememberedFilter(filter: Filter): Filter {
  let [lastAsked, inTurn] = [0, 0]
  return entry => {
    asked++
    inTurn = asked - lastAsked <= othersMax ? inTurn + 1 : 0
    lastAsked = asked
    if (inTurn < questionsMin) return filter(entry)
    const memory = memoryOf(filter)
    const { key, modRevision } = entry
    const known = memory.get(key)
    if (known !== undefined && Math.floor(known / 2) === modRevision) return known % 2 === 1
    const isSelected = filter(entry)
    if (isSelected instanceof NotExact) return isSelected
    if (memory.size >= keysMax) memory.clear()
    memory.set(key, modRevision * 2 + Number(isSelected))
    return isSelected
  }
}

function memoryOf(filter: Filter): Map<Key, number> {
  const known = memories.get(filter)
  if (known !== undefined) return known
  const [oldest] = memories.keys()
  if (oldest !== undefined && memories.size >= memoriesMax) memories.delete(oldest)
  const memory = new Map<Key, number>()
  memories.set(filter, memory)
  return memory
}
