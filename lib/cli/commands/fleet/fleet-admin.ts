/** Answers the operators of a fleet, on a listener that has no authorization (as that of one
 *  service):
 *
 *  ```
 *  GET /clusters                  every cluster, with what it holds and why it is not served
 *  /clusters/NAME/...             our own paths of that cluster: /readyz, /metrics, /resources, the page
 *  GET /metrics /livez /readyz    of the process
 *  ```
 *
 *  Nothing here wakes a cluster: what watches the process must not keep all of it in memory. */

import type { ClusterFacts, Handler, HttpRequest, OnFault } from '@watchglass/cache'
import { routeOf } from './cluster-route.ts'
import type { Fleet } from './fleet.ts'
import type { FleetCluster } from './fleet-cluster.ts'
import { sendJson, sendText } from './fleet-json.ts'
import { refuseUnknown } from './refusals.ts'

export interface FleetAdminOptions {
  readonly fleet: Fleet
  /** Answers the paths of the process. */
  readonly own: Handler
  readonly onFault: OnFault
}

export function createFleetAdmin({ fleet, own, onFault }: FleetAdminOptions): Handler {
  return request => {
    const route = routeOf(request, undefined)
    if (route !== undefined) {
      const cluster = fleet.find(route.name)
      if (cluster === undefined) refuseUnknown(request, route.name)
      else {
        request.target = route.target
        answerOfCluster(cluster, request)
      }
    } else if (/^\/clusters\/?(?:\?|$)/.test(request.target)) {
      const { clusters } = fleet
      const list = (all: readonly ClusterFacts[]): object => ({
        items: all.map((facts, i) => shown(facts, clusters[i]?.problem)),
      })
      fleet.factsOf(clusters).then(facts => sendJson(request, list(facts)), onFault)
    } else own(request)
  }
}

function answerOfCluster(cluster: FleetCluster, request: HttpRequest): void {
  const { service, problem } = cluster
  const [path = '/'] = request.target.split('?')
  if (service !== undefined) service.adminHandler(request)
  else if (path === '/') sendJson(request, shown(cluster.facts, problem))
  else if (/^\/(?:livez|readyz|healthz)$/.test(path)) {
    if (problem === undefined) sendText(request, 200, `ok (${cluster.state})\n`)
    else sendText(request, 500, `the cluster cannot be served: ${problem}\n`)
  } else sendText(request, 503, `the cluster is ${cluster.state}: nothing is known of it now\n`)
}

function shown(
  { name, state, isReady, ...figures }: ClusterFacts,
  problem: string | undefined,
): object {
  return { name, state, ready: isReady, ...figures, ...(problem === undefined ? {} : { problem }) }
}
