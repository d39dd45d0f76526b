/** All parts, in the order in which they are asked: reads first, while little has changed; what
 *  takes the past away at the end. */

import { access, negotiation, parameters } from './forms.ts'
import { discovery, kinds } from './kinds.ts'
import type { Part } from './part.ts'
import { chunks, compaction, revisions } from './revisions.ts'
import { selectors } from './selectors.ts'
import { watches } from './watches.ts'
import { writes } from './writes.ts'

export const parts: readonly Part[] = [
  discovery,
  kinds,
  selectors,
  revisions,
  chunks,
  negotiation,
  parameters,
  access,
  watches,
  writes,
  compaction,
]
