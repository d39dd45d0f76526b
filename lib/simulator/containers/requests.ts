/** The resources that pods request, and whether a node has them left, in the scheduler's words
 *  (plugins/noderesources/fit.go). */

import { quantityOf } from '../quantities.ts'
import type { DeclaredPod, PodContainer } from './declared-pod.ts'

/** Amounts by resource; those of cpu are thousandths. */
export type ResourceAmounts = Readonly<Record<string, number>>

export const noRequests: ResourceAmounts = {}

export function requestsOf({ spec }: DeclaredPod): ResourceAmounts {
  const { initContainers = [], containers, overhead = {}, resources } = spec
  const sidecars: Record<string, number> = {}
  const highest: Record<string, number> = {}
  for (const container of initContainers) {
    if (container.restartPolicy === 'Always') add(sidecars, amountsOf(container))
    const needed = container.restartPolicy === 'Always' ? {} : amountsOf(container)
    const at = { ...sidecars }
    add(at, needed)
    raise(highest, at)
  }
  const sum = { ...sidecars }
  for (const container of containers) add(sum, amountsOf(container))
  raise(sum, highest)
  // What is requested for the whole pod takes the place of the sum.
  Object.assign(sum, amountsIn(resources?.requests))
  add(sum, amountsIn(overhead))
  return Object.fromEntries(Object.entries(sum).filter(([, amount]) => amount > 0))
}

export interface Room {
  readonly allocatable: ResourceAmounts
  readonly used: ResourceAmounts
  readonly pods: number
}

/** The reasons for which a pod does not fit; `isHopeless` is true if it would not fit into the
 *  empty node. */
export function insufficient(
  requests: ResourceAmounts,
  { allocatable, used, pods }: Room,
): { readonly reason: string; readonly isHopeless: boolean }[] {
  const found: { reason: string; isHopeless: boolean }[] = []
  const { pods: podsMax } = allocatable
  if (podsMax !== undefined && pods + 1 > podsMax) {
    found.push({ reason: 'Too many pods', isHopeless: false })
  }
  for (const [name, amount] of Object.entries(requests)) {
    const has = allocatable[name] ?? 0
    if (amount <= has - (used[name] ?? 0)) continue
    found.push({ reason: `Insufficient ${name}`, isHopeless: amount > has })
  }
  return found
}

/** The amounts that a pod holds on its node: none once it has ended. */
export function heldBy({ phase, requests }: HoldingPod): ResourceAmounts {
  return phase === 'Succeeded' || phase === 'Failed' ? noRequests : requests
}

interface HoldingPod {
  readonly phase: string
  readonly requests: ResourceAmounts
}

/** Quantities as amounts. */
export function amountsIn(quantities: Readonly<Record<string, string>> = {}): ResourceAmounts {
  return Object.fromEntries(
    Object.entries(quantities).map(([name, text]) => [
      name,
      name === 'cpu' ? Math.ceil(quantityOf(text) * 1_000) : Math.ceil(quantityOf(text)),
    ]),
  )
}

/** The sum of what pods request. */
export function sumOf(all: Iterable<ResourceAmounts>): ResourceAmounts {
  const sum: Record<string, number> = {}
  for (const one of all) add(sum, one)
  return sum
}

function amountsOf({ resources }: PodContainer): ResourceAmounts {
  return amountsIn(resources?.requests)
}

function add(sum: Record<string, number>, amounts: ResourceAmounts): void {
  for (const [name, amount] of Object.entries(amounts)) sum[name] = (sum[name] ?? 0) + amount
}

function raise(most: Record<string, number>, amounts: ResourceAmounts): void {
  for (const [name, amount] of Object.entries(amounts)) {
    most[name] = Math.max(most[name] ?? 0, amount)
  }
}
