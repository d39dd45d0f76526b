/** Parts that only some services have. Their code is loaded by these only: without writes a process starts a quarter sooner. */

import type { ServiceOptions } from './service-options.ts'
import type { Threads } from '../threads/threads.ts'
import type { UpstreamSide } from '../front/upstream-side.ts'
import type { createWriteSide } from '../cluster/write-side.ts'

/** Undefined where a service does not have it. */
export interface Sides {
  readonly createWriteSide: typeof createWriteSide | undefined
  readonly Threads: typeof Threads | undefined
  readonly UpstreamSide: typeof UpstreamSide | undefined
}

/** Loads what a service with these options has. */
export async function loadSides({ isWritable, threads, upstream }: ServiceOptions): Promise<Sides> {
  const writes = isWritable === true ? await import('../cluster/write-side.ts') : undefined
  const upstreams = upstream === undefined ? undefined : await import('../front/upstream-side.ts')
  const several = threads === undefined ? undefined : await import('../threads/threads.ts')
  return {
    createWriteSide: writes?.createWriteSide,
    Threads: several?.Threads,
    UpstreamSide: upstreams?.UpstreamSide,
  }
}
