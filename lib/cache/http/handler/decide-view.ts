/** Decides about views: the mirror answers one, or nobody. An upstream knows no views, so what
 *  would pass to it as a list is refused as a view, with a Status that says why. */

import {
  type Decision,
  type KnownRequest,
  listExpired,
  needsUpstream,
  type PassReason,
  pathNotFound,
  type Resource,
  resourceText,
  type Route,
  serviceUnavailable,
  type Status,
  unauthorized,
} from '@watchglass/kube'

/** The decision about a view, by that about the list that it reads. */
export function decideView(decision: Decision, { route }: KnownRequest): Decision {
  switch (decision.type) {
    case 'mirror':
      return isCollection(route) ? decision : refusal(pathNotFound)
    case 'pass':
      return refusal(viewNotHere(decision.reason, route))
    case 'cluster':
      return refusal(notAnswered(route, 'they are made when they are asked for'))
    case 'unavailable':
      return refusal(serviceUnavailable('the server of this API cannot be reached', retrySeconds))
    case 'own':
    case 'unknown':
      return refusal(pathNotFound)
    case 'refuse':
      return decision
  }
}

function refusal(status: Status): Decision {
  return { type: 'refuse', status }
}

function isCollection(route: Route): boolean {
  return route.type === 'resource' && route.verb === 'list' && route.subresource === ''
}

/** The Status of a view that would pass to the upstream if it were a list. */
export function viewNotHere(reason: PassReason, route: Route): Status {
  if (reason === 'unauthenticated' || reason === 'review-refused') return unauthorized
  if (reason === 'denied') return denied(route)
  if (reason === 'revision-not-kept') return listExpired().status
  if (unknownReasons.has(reason)) return pathNotFound
  if (passingReasons.has(reason)) {
    const message = `views of ${nameOf(route)} cannot be answered at the moment: ${reason}`
    return serviceUnavailable(message, retrySeconds)
  }
  return notAnswered(route, reason)
}

/** Asked again after this time, a view may be answered. */
const retrySeconds = 1

/** Reasons of a list that nobody has. */
const unknownReasons: ReadonlySet<PassReason> = new Set([
  'path',
  'unknown-resource',
  'not-a-resource',
  'other-server',
])

/** Reasons that pass by themselves. */
const passingReasons: ReadonlySet<PassReason> = new Set([
  'switched-off',
  'version',
  'not-listed',
  'versions-differ',
  'unproven',
  'not-ready',
  'suspect',
  'cheaper-elsewhere',
  'progress-untrusted',
  'review-failed',
])

/** The upstream, which knows the name of the user, has not been asked for its refusal. */
function denied(route: Route): Status {
  if (route.type !== 'resource') return { code: 403, message: 'forbidden', reason: 'Forbidden' }
  const { resource, namespace } = route
  const scope = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`
  return {
    code: 403,
    message: `${resourceText(resource)} is forbidden: the caller cannot list them ${scope}`,
    reason: 'Forbidden',
    details: { group: resource.group, kind: resource.resource },
  }
}

function notAnswered(route: Route, why: string): Status {
  if (route.type !== 'resource') return pathNotFound
  const { status } = needsUpstream(route.resource, 'views')
  return { ...status, message: `views of ${nameOf(route)} are not answered here: ${why}` }
}

function nameOf(route: Route): string {
  const resource: Resource | undefined = route.type === 'resource' ? route.resource : undefined
  return resource === undefined ? 'this' : `"${resourceText(resource)}"`
}
