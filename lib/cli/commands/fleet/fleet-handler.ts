/** Answers the clients of a fleet: requests of a cluster go to its service, which authenticates and
 *  limits them; the fleet itself says which clusters there are, and that it lives.
 *
 *  ```
 *  /clusters/NAME/...      the API of a cluster, also as https://NAME.DOMAIN/...
 *  GET /clusters           the clusters that have accepted the caller, with their states
 *  GET /views/clusters/... views over several clusters (`fleet-views.ts`)
 *  GET /livez /readyz      of the process: a cluster that is broken is no reason to restart it
 *  ```
 */

import type { Clock } from '@watchglass/base'
import {
  answerHealth,
  type ClusterFacts,
  type Handler,
  type Health,
  type HttpRequest,
  type OnFault,
} from '@watchglass/cache'
import { methodNotAllowed, parseTarget, unknownPathText } from '@watchglass/kube'
import { routeOf } from './cluster-route.ts'
import type { Fleet } from './fleet.ts'
import { sendJson, sendText } from './fleet-json.ts'
import { answerFleetView, isFleetView } from './fleet-views.ts'
import { refuseUnknown, sendStatus } from './refusals.ts'

export interface FleetHandlerOptions {
  readonly fleet: Fleet
  readonly domain: string | undefined
  readonly health: Health
  readonly clock: Clock
  readonly onFault: OnFault
}

export function createFleetHandler(options: FleetHandlerOptions): Handler {
  const { fleet, domain } = options
  return request => {
    const route = routeOf(request, domain)
    if (route === undefined) {
      answerOwn(request, options)
      return
    }
    const cluster = fleet.find(route.name)
    if (cluster === undefined) {
      refuseUnknown(request, route.name)
      return
    }
    request.target = route.target
    cluster.handle(request)
  }
}

function answerOwn(
  request: HttpRequest,
  { fleet, health, clock, onFault }: FleetHandlerOptions,
): void {
  const target = parseTarget(request.target)
  if (target === undefined) {
    sendText(request, 400, '400 Bad Request\n')
    return
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    sendStatus(request, methodNotAllowed)
    return
  }
  if (isFleetView(request.target)) {
    answerFleetView(request, { fleet, clock, onFault })
    return
  }
  const { path, query } = target
  if (path === '/clusters' || path === '/clusters/') {
    const listed = fleet.clusters.filter(cluster => cluster.isListedTo(request))
    const list = (all: readonly ClusterFacts[]): object => ({
      kind: 'ClusterList',
      apiVersion: 'clusters.watchglass.dev/v1',
      items: all.map(({ name, state, isReady, objects }) => ({
        name,
        path: `/clusters/${name}`,
        state,
        ready: isReady,
        ...(state === 'awake' ? { objects } : {}),
      })),
    })
    fleet.factsOf(listed).then(facts => sendJson(request, list(facts)), onFault)
    return
  }
  const found = answerHealth(health, path, query)
  if (found === undefined) sendText(request, 404, unknownPathText)
  else sendText(request, found.status, found.body)
}
