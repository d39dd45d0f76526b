/** Ages as kubectl writes them. */

import { roughDuration } from '@watchglass/codec/table/rough-duration'

/** The rough time since a timestamp: `18s`, `5m18s`, `3h1m`, `45d`. Undefined for no timestamp. */
export function ageOf(timestamp: unknown, nowMs: number): string | undefined {
  const thenMs = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN
  // The clock of a browser may be behind that of the server.
  return Number.isNaN(thenMs) ? undefined : roughDuration(Math.max(0, nowMs - thenMs))
}
