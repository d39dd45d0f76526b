/** Which contents a read wants: what the API's resourceVersion and resourceVersionMatch become, and
 *  all that the mirror needs to know of them. */

import type { Revision } from './revision.ts'

export type Freshness =
  /** Whatever there is. */
  | { readonly type: 'any' }
  /** The newest state that etcd had when the request came. */
  | { readonly type: 'consistent' }
  | { readonly type: 'not-older-than'; readonly revision: Revision }
  | { readonly type: 'exact'; readonly revision: Revision }

export type FreshnessType = Freshness['type']

/** The places that may answer a read that the mirror cannot answer soon: whoever asks knows
 *  somebody else; etcd itself, which takes exact ones, and consistent ones of a keyspace that was
 *  mirrored; nowhere. */
export type Elsewhere = 'anywhere' | 'etcd' | 'nowhere'

/** The one who reads. It is asked for its signal, which ends what it waits for, only where there is
 *  something to wait for: most reads end before, and a signal costs as much as a small answer. */
export interface Reader {
  readonly signal: AbortSignal
}
