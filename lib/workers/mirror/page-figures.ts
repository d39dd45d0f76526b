/** The figures that a worker tells the main thread for the page. */

import type { Look, SlowRequest, WatchingClient } from '@watchglass/cache'

export interface PageFigures {
  readonly look: Look
  readonly clients: readonly WatchingClient[]
  readonly slow: readonly SlowRequest[]
}
