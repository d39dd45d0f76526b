/** Objects as actors find them. */

import type { ObjectPlace } from '../controllers/cluster.ts'
import type { PodFact } from './facts.ts'
import type { Pod } from './objects.ts'

/** An object that was read, and its place. */
export interface Found<T> {
  readonly place: ObjectPlace
  readonly object: T
  readonly revision: number
}

export interface FoundPod extends Found<Pod> {
  readonly fact: PodFact
}
