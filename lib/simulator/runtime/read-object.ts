/** Objects as controllers find them. */

import type { ApiPlace } from './cluster-api.ts'
import type { PodFact } from './facts.ts'
import type { Pod } from './objects.ts'

/** An object that was read, and its place. */
export interface ReadObject<T> {
  readonly place: ApiPlace
  readonly object: T
  readonly revision: number
}

export interface FoundPod extends ReadObject<Pod> {
  readonly fact: PodFact
}
