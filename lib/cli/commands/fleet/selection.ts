/** The clusters of a selection. A pattern chooses among those that have accepted the caller's
 *  credentials before, so that these are shown to no server for which they were not meant, and
 *  wakes none. A name chooses a cluster as its own path does. */

import type { HttpRequest } from '@watchglass/cache'
import type { FleetCluster } from './fleet-cluster.ts'
import type { FleetQuestion } from './fleet-question.ts'
import type { Fleet } from './fleet.ts'
import type { Unanswered } from './merged-view.ts'

export interface Selected {
  /** The clusters that can be asked. */
  readonly chosen: readonly FleetCluster[]
  /** The clusters that cannot, and why. */
  readonly unanswered: readonly Unanswered[]
}

export function selectedOf(
  { names, patterns }: Pick<FleetQuestion, 'names' | 'patterns'>,
  request: HttpRequest,
  fleet: Fleet,
): Selected {
  const chosen = new Map<string, FleetCluster>()
  const unanswered: Unanswered[] = []
  for (const name of names) {
    const cluster = fleet.find(name)
    if (cluster !== undefined) chosen.set(name, cluster)
    else {
      unanswered.push({ name, code: 404, reason: 'NotFound', message: 'there is no such cluster' })
    }
  }
  for (const cluster of patterns.length === 0 ? [] : fleet.clusters) {
    const { name, state } = cluster
    if (chosen.has(name) || !patterns.some(pattern => pattern.test(name))) continue
    if (!cluster.isListedTo(request)) continue
    if (state === 'awake') chosen.set(name, cluster)
    else unanswered.push({ name, code: 503, reason: 'Idle', message: `the cluster is ${state}` })
  }
  return { chosen: [...chosen.values()], unanswered }
}
