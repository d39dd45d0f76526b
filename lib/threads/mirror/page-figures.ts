/** The figures that a face thread tells the main thread for the page. */

import type { SlowRequest } from '../../http/exchange/slow-request.ts'
import type { WatchingClient } from '../../http/watch/open-watches.ts'
import type { Look } from '../../ops/recent.ts'

export interface PageFigures {
  readonly look: Look
  readonly clients: readonly WatchingClient[]
  readonly slow: readonly SlowRequest[]
}
