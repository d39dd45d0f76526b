/** A planned read as the mirror is asked for it: the keys, how fresh, and how old on purpose. */

import type { Freshness } from '../../base/freshness.ts'
import { type Key, type KeyRange, singleKey } from '../../base/keys.ts'
import type { ReadPlan, WatchPlan } from '../../kube/read-plan.ts'
import type { ReadRequest } from '../../kube/reads.ts'
import type { RequestContext } from './request-context.ts'

/** How old the contents are to be, on purpose, of a read that accepts old ones. */
export function staleMsOf(plan: ReadPlan, { faults }: RequestContext): number | undefined {
  if (faults === undefined || plan.type === 'watch') return undefined
  const { type } = plan.freshness
  return type === 'any' || type === 'not-older-than' ? faults.take('stale')?.ageMs : undefined
}

/** The keys that a plan reads. */
export class PlannedRead implements ReadRequest {
  readonly keyspace: Key
  readonly range: KeyRange
  readonly freshness: Freshness
  readonly staleMs: number | undefined
  readonly #reader: { readonly signal: AbortSignal }

  constructor(plan: ReadPlan, reader: { readonly signal: AbortSignal }, staleMs?: number) {
    this.keyspace = plan.keyspace
    this.range = rangeOf(plan)
    this.freshness = plan.type === 'watch' ? freshnessOfStart(plan) : plan.freshness
    this.staleMs = staleMs
    this.#reader = reader
  }

  get signal(): AbortSignal {
    return this.#reader.signal
  }
}

export function rangeOf(plan: ReadPlan): KeyRange {
  return plan.type === 'get' ? singleKey(plan.key) : plan.range
}

/** A watch from a revision accepts contents of any freshness. */
function freshnessOfStart({ start }: WatchPlan): Freshness {
  return start.type === 'after' ? { type: 'any' } : start.freshness
}
