/** Answers the clients of a fleet: requests of a cluster go to its service, which authenticates and
 *  limits them; the fleet itself says which clusters there are, and that it lives.
 *
 *  ```
 *  /clusters/NAME/...      the API of a cluster, also as https://NAME.DOMAIN/...
 *  GET /clusters           the clusters that have accepted the caller, with their states
 *  GET /                   the same as a page, for browsers
 *  GET /views/clusters/... views over several clusters (`fleet-views.ts`)
 *  GET /livez /readyz      of the process: a cluster that is broken is no reason to restart it
 *  ```
 */

import { type Clock, version } from '@watchglass/base'
import {
  answerFleetPage,
  answerHealth,
  type ShownCluster,
  type Handler,
  type Health,
  type HttpRequest,
  isForPage,
  type OnFault,
  webPageProblem,
} from '@watchglass/cache'
import { methodNotAllowed, parseTarget, unknownPathText } from '@watchglass/kube'
import { lacksSlash, routeOf } from './cluster-route.ts'
import type { Fleet } from './fleet.ts'
import { redirect, sendJson, sendText } from './fleet-json.ts'
import { isFleetView } from './fleet-question.ts'
import { answerFleetView } from './fleet-views.ts'
import { OpenFleetViews } from './live-fleet-answer.ts'
import { refuseUnknown, sendStatus } from './refusals.ts'

export interface FleetHandlerOptions {
  readonly fleet: Fleet
  readonly domain: string | undefined
  /** Names of this server. Web pages that come under another name are told of no cluster that asks
   *  nobody who they are; undefined: no page is suspected. */
  readonly guardedHosts: ReadonlySet<string> | undefined
  readonly health: Health
  readonly clock: Clock
  readonly onFault: OnFault
}

export function createFleetHandler(options: FleetHandlerOptions): Handler {
  const { fleet, domain } = options
  const open = new OpenFleetViews()
  return request => {
    const route = routeOf(request, domain)
    if (route === undefined) {
      answerOwn(request, { ...options, open })
      return
    }
    const cluster = fleet.find(route.name)
    if (cluster === undefined) {
      refuseUnknown(request, route.name)
      return
    }
    if (lacksSlash(request, route)) {
      redirect(request, `${route.name}/`)
      return
    }
    request.target = route.target
    cluster.handle(request)
  }
}

interface OwnAnswers extends FleetHandlerOptions {
  /** Live views. */
  readonly open: OpenFleetViews
}

function answerOwn(
  request: HttpRequest,
  { fleet, guardedHosts, open, health, clock, onFault }: OwnAnswers,
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
    answerFleetView(request, { fleet, open, clock, onFault })
    return
  }
  const { path, query } = target
  const isOfWebPage =
    guardedHosts !== undefined && webPageProblem(request, guardedHosts) !== undefined
  const listed = (): Promise<readonly ShownCluster[]> =>
    fleet.factsOf(
      fleet.clusters.filter(one => one.isListedTo(request) && !(isOfWebPage && one.isOpenToAll)),
    )
  if (isForPage(request, path)) {
    const hasPage = (name: string): boolean => fleet.find(name)?.hasPage === true
    const page = { version, clock, clusters: listed, process: undefined, hasPage }
    answerFleetPage(request, page).catch(onFault)
    return
  }
  if (path === '/clusters' || path === '/clusters/') {
    listed().then(facts => sendJson(request, listOf(facts)), onFault)
    return
  }
  const found = answerHealth(health, path, query)
  if (found === undefined) sendText(request, 404, unknownPathText)
  else sendText(request, found.status, found.body)
}

function listOf(all: readonly ShownCluster[]): object {
  return {
    kind: 'ClusterList',
    apiVersion: 'clusters.watchglass.dev/v1',
    items: all.map(({ name, state, isReady, objects }) => ({
      name,
      path: `/clusters/${name}`,
      state,
      ready: isReady,
      ...(state === 'awake' ? { objects } : {}),
    })),
  }
}
