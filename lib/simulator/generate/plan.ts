/** The number of objects of each kind to generate: `pods=10000,nodes=500`. What is left out follows
 *  from the pods, in the proportions of real clusters. */

import { CacheError } from '@watchglass/base'

const plannedKinds = [
  'namespaces',
  'nodes',
  'deployments',
  'pods',
  'services',
  'configmaps',
  'secrets',
  'serviceaccounts',
  'events',
] as const

export type PlannedKind = (typeof plannedKinds)[number]

/** A count for each kind. Replica sets come with deployments, endpoint slices with services, node
 *  leases with nodes. */
export type Plan = Readonly<Record<PlannedKind, number>>

/** Far more than the largest clusters that Kubernetes is tested with; memory runs out first. */
const countMax = 5_000_000

/** Reads `kind=count,kind=count`. */
export function parsePlan(text: string): Plan {
  const given = new Map<PlannedKind, number>()
  for (const part of text.split(',')) {
    const match = /^\s*([a-z]+)\s*=\s*(\d+)\s*$/.exec(part)
    if (match === null) throw invalid(`"${part}" is not kind=count, such as pods=1000`)
    const kind = plannedKinds.find(name => name === match[1])
    if (kind === undefined) {
      throw invalid(`unknown kind "${match[1]}": there are ${plannedKinds.join(', ')}`)
    }
    if (given.has(kind)) throw invalid(`${kind} is given twice`)
    const count = Number(match[2])
    if (count > countMax) throw invalid(`${kind}=${match[2]} is above the limit of ${countMax}`)
    given.set(kind, count)
  }
  return completed(given)
}

function completed(given: ReadonlyMap<PlannedKind, number>): Plan {
  const pods = given.get('pods') ?? 0
  const of = (kind: PlannedKind, derived: number): number => given.get(kind) ?? Math.ceil(derived)
  const deployments = of('deployments', pods / 12)
  const namespaces = Math.max(1, of('namespaces', deployments / 8))
  const plan: Plan = {
    namespaces,
    pods,
    deployments: pods > 0 ? Math.max(1, deployments) : deployments,
    nodes: pods > 0 ? Math.max(1, of('nodes', pods / 30)) : of('nodes', 0),
    services: of('services', deployments / 2),
    configmaps: of('configmaps', namespaces + deployments / 4),
    secrets: of('secrets', deployments / 8),
    serviceaccounts: of('serviceaccounts', namespaces),
    events: of('events', pods / 20),
  }
  return plan
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', `objects to generate: ${message}`)
}
