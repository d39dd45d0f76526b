/** Encodes a stretch of a list for another thread, from what this thread has of it. */

import type { Clock } from '../base/clock.ts'
import type { Key } from '../base/keys.ts'
import { Slice } from '../base/slice.ts'
import { NotExact } from '../codec/not-exact.ts'
import { itemEncoder } from '../codec/output/list-body.ts'
import { itemsOfRun, type SharedSegments } from '../codec/output/segments.ts'
import type { Stretch } from '../threads/encodings/stretches.ts'
import type { ApiState } from '../kube/api-state.ts'
import type { Keyspace } from '../store/keyspace.ts'

export interface StretchEncoderOptions {
  readonly state: () => ApiState
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  readonly shared: SharedSegments & { flush(): void }
  readonly clock: Clock
}

/** Shorter than usual: meanwhile all processors may be busy, so that what this thread serves waits twice as long. */
const sliceMs = 2

/** Encodes what is there, and tells all threads of it. An object that is not exact ends it: the list finds that out itself. */
export async function encodeStretch(
  { keyspace, resource, shown, start, end }: Stretch,
  { state, storeOf, shared, clock }: StretchEncoderOptions,
): Promise<void> {
  const { registry } = state()
  const found = registry.find(resource.group, resource.version, resource.resource)
  const encoder = found && state().encoderOf(found)
  const store = storeOf(keyspace)
  if (encoder === undefined || encoder instanceof NotExact || store === undefined) return
  await encoder.prepare(shown, clock)
  // Another stretch may just have ended in this turn.
  await clock.yield()
  // Tables, which show ages, are not shared.
  const perItem = itemEncoder(encoder, { ...shown, includeObject: 'None', now: 0 })
  const slice = new Slice(clock, sliceMs)
  for (const run of store.latest().leaves({ start, end })) {
    const isWhole = run.from === 0 && run.to === run.size
    if (isWhole && itemsOfRun(run, perItem, { shared }) instanceof NotExact) break
    if (slice.isOver) await slice.next()
  }
  shared.flush()
}
