/** A view that follows what it shows. */

import type { NotExact, Revision, Steps } from '@watchglass/base'
import type { ViewPieces } from '../documents/view-document.ts'

/** Why a live view ends: an object that cannot be shown, too many groups, or contents that cannot
 *  be followed any more. */
export type LiveEnd = NotExact | 'too-many-groups' | 'expired'

export interface LiveView {
  /** All that it shows, as the first document. */
  readonly first: ViewPieces
  /** The revision of what was shown last. */
  readonly revision: Revision
  /** The moment of the wall clock at which `next` is to be asked although nothing has changed:
   *  counts that were not told yet, or a row whose age turns. Infinity if there is none. */
  readonly dueAtMs: number
  /** The document of what has changed since the last one; undefined if nothing that is shown. The
   *  document is sent to its end before the next one is asked for. */
  next(wallMs: number): Steps<ViewPieces | undefined | LiveEnd>
  /** Nobody looks at it any more. */
  close(): void
}
