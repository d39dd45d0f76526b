/** Answers the operators of a fleet, on a listener that has no authorization (as that of one
 *  service):
 *
 *  ```
 *  GET /                          the page of all clusters, for browsers
 *  GET /clusters                  every cluster, with what it holds and why it is not served
 *  /clusters/NAME/...             our own paths of that cluster: /readyz, /metrics, /resources, the page
 *  GET /metrics /livez /readyz    of the process
 *  ```
 *
 *  Nothing here wakes a cluster: what watches the process must not keep all of it in memory. */

import {
  answerFleetPage,
  type ShownCluster,
  type FleetPageSource,
  type Handler,
  type HttpRequest,
  isForPage,
  type OnFault,
} from '@watchglass/cache'
import { asksForHealth, type ClusterRoute, lacksSlash, routeOf } from './cluster-route.ts'
import type { Fleet } from './fleet.ts'
import type { FleetCluster } from './fleet-cluster.ts'
import { redirect, sendJson, sendText } from './fleet-json.ts'
import { refuseUnknown } from './refusals.ts'

export interface FleetAdminOptions {
  readonly fleet: Fleet
  /** Answers the paths of the process. */
  readonly own: Handler
  /** The page at `/`. */
  readonly page: FleetPageSource
  readonly onFault: OnFault
}

export function createFleetAdmin({ fleet, own, page, onFault }: FleetAdminOptions): Handler {
  return request => {
    const route = routeOf(request, undefined)
    const [path = '/'] = request.target.split('?')
    if (route !== undefined) answerCluster(request, route, fleet)
    else if (isForPage(request, path)) answerFleetPage(request, page).catch(onFault)
    else if (path === '/clusters' || path === '/clusters/') {
      const list = (all: readonly ShownCluster[]): object => ({ items: all.map(shown) })
      fleet.factsOf(fleet.clusters).then(facts => sendJson(request, list(facts)), onFault)
    } else own(request)
  }
}

function answerCluster(request: HttpRequest, route: ClusterRoute, fleet: Fleet): void {
  const cluster = fleet.find(route.name)
  if (cluster === undefined) refuseUnknown(request, route.name)
  else if (lacksSlash(request, route)) redirect(request, `${route.name}/`)
  else {
    request.target = route.target
    answerOfCluster(cluster, request)
  }
}

function answerOfCluster(cluster: FleetCluster, request: HttpRequest): void {
  const { service, problem } = cluster
  const [path = '/'] = request.target.split('?')
  if (service !== undefined) service.adminHandler(request)
  else if (path === '/') sendJson(request, shown(cluster.facts))
  else if (asksForHealth(request)) {
    if (problem === undefined) sendText(request, 200, `ok (${cluster.state})\n`)
    else sendText(request, 500, `the cluster cannot be served: ${problem}\n`)
  } else sendText(request, 503, `the cluster is ${cluster.state}: nothing is known of it now\n`)
}

function shown(facts: ShownCluster): object {
  const { name, state, isReady, problem, problemSinceMs, ...figures } = facts
  const why =
    problem === undefined
      ? {}
      : { problem, problemSince: new Date(problemSinceMs ?? 0).toISOString() }
  return { name, state, ready: isReady, ...figures, ...why }
}
