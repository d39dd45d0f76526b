/** Decides about views: the mirror answers one, or nobody. An upstream knows no views, so what
 *  would pass to it as a list is refused as a view, with a Status that says why. */

import {
  type Decision,
  groupVersionText,
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
      if (!isCollection(route)) return refusal(pathNotFound)
      return refusal(notAnswered(route, 'they are measured for each request, and not stored'))
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
  if (reason === 'other-server') return notAnswered(route, 'another API server answers for them')
  if (unknownReasons.has(reason)) return pathNotFound
  if (passingReasons.has(reason)) {
    const message = `views of ${nameOf(route)} cannot be answered at the moment: ${reason}`
    return serviceUnavailable(message, retrySeconds)
  }
  return notAnswered(route, whyNotHere.get(reason) ?? reason)
}

/** Reasons for which a list is never answered here, in words; all others are named as they are. */
const whyNotHere: ReadonlyMap<PassReason, string> = new Map([
  [
    'impersonation',
    'only the API server, which has no views, knows who may impersonate whom; ask as that user',
  ],
  [
    'credentials',
    'this server answers for one user only, and the request has credentials; ask without',
  ],
  ['excluded', 'they are not mirrored'],
  ['not-stored', 'they are not stored'],
  ['conversion', 'a webhook converts them, which only the API server calls'],
  ['inexact', 'one of them cannot be shown exactly'],
  ['differs', 'the API server writes them in other bytes than the mirror'],
])

/** Asked again after this time, a view may be answered. */
const retrySeconds = 1

/** Reasons of a list that nobody has. */
const unknownReasons: ReadonlySet<PassReason> = new Set([
  'path',
  'unknown-resource',
  'not-a-resource',
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
  if (route.type === 'remote') {
    const { group, version } = route
    const name = groupVersionText(group, version)
    return { code: 405, message: notHere(`"${name}"`, why), reason: 'MethodNotAllowed' }
  }
  if (route.type !== 'resource') return pathNotFound
  const { status } = needsUpstream(route.resource, 'views')
  return { ...status, message: notHere(nameOf(route), why) }
}

function notHere(name: string, why: string): string {
  return `views of ${name} are not answered here: ${why}`
}

function nameOf(route: Route): string {
  const resource: Resource | undefined = route.type === 'resource' ? route.resource : undefined
  return resource === undefined ? 'this' : `"${resourceText(resource)}"`
}
