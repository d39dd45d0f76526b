/** The grounds on which a version of Kubernetes is answered for, in words for people. */

import { minors, recordedMinors } from './schema.ts'

/** - `recorded`: answers of a real server of the minor were compared with ours
 *  - `derived`: there is data of it, from Kubernetes' sources
 *  - `none`: there is no data of it */
export type Basis = 'recorded' | 'derived' | 'none'

/** The basis for a version as servers name it: `v1.36.2`, or only the minor. */
export function basisOf(version: string): Basis {
  const minor = /^v?(\d+\.\d+)/.exec(version)?.[1] ?? ''
  if (recordedMinors().includes(minor)) return 'recorded'
  return minors().includes(minor) ? 'derived' : 'none'
}

/** The minors of which there are recordings, as a range. */
export function recordedRange(): string {
  const all = recordedMinors()
  return `${all[0] ?? ''} to ${all.at(-1) ?? ''}`
}
