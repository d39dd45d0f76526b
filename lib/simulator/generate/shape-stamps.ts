/** The stamps of made-up objects: one for each type, and for all objects of it with the same
 *  members. There are some hundreds, which take 20 MB. */

import type { Stamp } from '../stamps/stamp.ts'

const stamps = new Map<string, Stamp>()

/** The stamp of a shape, which is made when it is needed first. */
export function shapeStamp(shape: string, make: () => Stamp): Stamp {
  let stamp = stamps.get(shape)
  if (stamp === undefined) {
    stamp = make()
    stamps.set(shape, stamp)
  }
  return stamp
}

/** Nothing is made up from now on. What is made up nevertheless makes its stamps anew. */
export function forgetStamps(): void {
  stamps.clear()
}
