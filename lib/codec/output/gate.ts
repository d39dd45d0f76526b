/** A gate: it lets only those objects be shown whose rows were proven by comparison with the
 *  upstream. */

import type { KeyValue } from '@watchglass/store'
import { NotExact } from '@watchglass/base'

/** Places of an object: by itself (a get, an event) or among the items of a list. */
export type OutputPlace = 'alone' | 'item'

export interface Gate {
  /** Changes whenever results that were kept from before must be checked again. */
  readonly name: string
  /** Why an object must not be shown; undefined if it may be. */
  objection(entry: KeyValue, place: OutputPlace): NotExact | undefined
}

/** Servers of different minor versions show the object differently. */
export class VersionsDiffer extends NotExact {
  constructor() {
    super('servers of different minor versions show it differently')
  }
}

/** The refusal of an outdated gate: the knowledge of the upstream has changed since it was made,
 *  and whoever still has it asks for another. */
export class Superseded extends NotExact {
  constructor() {
    super('the upstream has changed meanwhile')
  }
}

/** Something about the object has not been compared with the upstream yet. It soon will be, so it
 *  is worth waiting for a moment. */
export class Unproven extends NotExact {
  constructor() {
    super('it has not been compared with the upstream yet')
  }
}
