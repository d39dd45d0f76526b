/** A gate: it lets only those objects be shown whose rows were proven by comparison with the upstream. */

import type { KeyValue } from '../../store/event.ts'
import { NotExact } from '../not-exact.ts'

/** Where an object is shown: by itself (a get, an event) or among the items of a list. */
export type ShownPlace = 'alone' | 'item'

export interface Gate {
  /** Another one whenever what was let out before has to be looked at again. */
  readonly name: string
  /** What speaks against showing an object; undefined if it may go out. */
  objection(entry: KeyValue, place: ShownPlace): NotExact | undefined
}

/** Something about the object has not been compared with the upstream yet. It will be, so it is worth a moment's patience. */
export class Unproven extends NotExact {
  constructor() {
    super('it has not been compared with the upstream yet')
  }
}
