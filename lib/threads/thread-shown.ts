/** What a face thread tells the main thread of itself, for the page. */

import type { OpenWatches, WatchingClient } from '../http/watch/open-watches.ts'
import { lookAt, type LookedAt } from '../ops/metrics/look.ts'
import type { Look } from '../ops/recent.ts'

export interface ThreadShown {
  readonly look: Look
  readonly clients: readonly WatchingClient[]
}

export interface ShownParts extends LookedAt {
  readonly watches: Pick<OpenWatches, 'clients' | 'outbox'>
}

export function shownOf(parts: ShownParts): ThreadShown {
  return { look: lookAt(parts), clients: parts.watches.clients() }
}
