/** Decides who answers a request: the mirror, the upstream, or a refusal. Two functions
 *  hold all rules, so there is one place to look when the wrong side answers.
 *
 *  The fidelity rule: the mirror answers only if the upstream would send the same answer.
 *  Everything else passes to the upstream; without one it is answered as a server without the
 *  feature would, or refused clearly. With an upstream, the upstream decides what exists: discovery
 *  and unknown paths always pass. */

import { knownParameters } from './request/list-options.ts'
import { hasUnknownMediaType } from '@watchglass/codec'
import { isWebSocket, protocolToken, readHandshake } from './request/web-socket.ts'
import type { RequestTarget } from './request/request.ts'
import { isMirroredIn } from './resources/keyspaces.ts'
import { isMeasured } from './resources/measured.ts'
import { readsAsObject } from './resources/object-reads.ts'
import type { Resource } from './resources/resource.ts'
import type { ResourceRoute, Route } from './request/routes.ts'
import { isCheapSelector, requirementsMax, selectorMaxLength } from './selectors/selector-size.ts'
import {
  badRequest,
  needsUpstream,
  type Status,
  unsupportedMediaType,
  verbNotSupported,
} from './status.ts'

/** Why a request goes to the upstream. Shown in a header and in metrics, so it is never made of
 *  what a client sent. */
export type PassReason =
  | 'switched-off'
  | 'upgrade'
  | 'path'
  | 'impersonation'
  | 'credentials'
  | 'write'
  | 'subresource'
  | 'parameter'
  | 'media-type'
  | 'excluded'
  | 'not-stored'
  | 'conversion'
  // Aggregated servers: the place or format in etcd is not known or not usable, or it is not known
  // how the server writes its answer:
  | 'not-found-in-etcd'
  | 'stored-form'
  | 'table'
  | 'form'
  | 'refusal'
  | 'other-server'
  | 'not-a-resource'
  | 'unknown-resource'
  // The upstream has another version, does not list the resource, or the storage check has not
  // found the same objects there:
  | 'version'
  | 'not-listed'
  // The upstream stores the resource in another version than servers of its minor do:
  | 'stored-version'
  // Servers of the upstream have different minor versions, which answer this differently:
  | 'versions-differ'
  | 'unproven'
  // A comparison found that the upstream writes the resource in other bytes than the mirror:
  | 'differs'
  // What the mirror holds cannot be shown exactly:
  | 'inexact'
  // The mirror cannot answer this read now (ElsewhereReason in
  // lib/cache/mirror/reads/freshness.ts):
  | 'not-ready'
  | 'suspect'
  | 'cheaper-elsewhere'
  | 'progress-untrusted'
  | 'revision-not-kept'
  // The mirror could answer, but the upstream has not plainly allowed it (lib/cache/http/auth):
  | 'unauthenticated'
  | 'denied'
  | 'review-refused'
  | 'review-failed'

export type Decision =
  /** Read it from the mirror. */
  | { readonly type: 'mirror' }
  /** Have the cluster behind this server answer it: writes, but also reads of more than what is
   *  stored, such as logs, streams to and from pods, and figures. */
  | { readonly type: 'cluster' }
  /** Answer it ourselves: discovery, and the paths of the server. */
  | { readonly type: 'own' }
  | { readonly type: 'pass'; readonly reason: PassReason }
  | { readonly type: 'refuse'; readonly status: Status }
  /** Plain text: `404 page not found`. */
  | { readonly type: 'unknown' }
  /** Plain text: `service unavailable`. */
  | { readonly type: 'unavailable' }

/** All that the decision is made from, beside the policy. */
export interface DecisionInput {
  readonly known: DecidedLine
  readonly request: DecidedRequest
  /** The Accept header that counts. */
  readonly accept: string
}

/** A request line, understood. */
export interface DecidedLine {
  readonly route: Route
  readonly target: RequestTarget
  /** True for a watch. */
  readonly isWatch: boolean
}

/** The part of an HTTP request that the decision is made from. */
export interface DecidedRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** There where the client wants another protocol on its connection. */
  readonly takeover?: unknown
}

export interface DecisionPolicy {
  readonly hasUpstream: boolean
  /** True where a cluster, made up or not, takes writes; never with an upstream. */
  readonly hasCluster?: boolean | undefined
  /** Webhooks that convert objects are called here. */
  readonly canConvert?: boolean | undefined
  /** Configurations may be applied in CBOR. */
  readonly hasCbor?: boolean | undefined
  /** With an upstream: pass-through can be switched on, and all reads pass then. */
  readonly readSwitch?: { readonly isSwitchedOff: boolean } | undefined
  /** All callers are the user as whom the mirror reads, but for those with credentials of their
   *  own. */
  readonly isOneUser?: boolean | undefined
  /** Resources that are not to be answered from the mirror. */
  readonly isExcluded: (resource: Resource) => boolean
  /** Why a resource is not answered from the mirror now in a namespace; undefined if it is. */
  readonly objection?:
    | ((resource: Resource, namespace: string) => PassReason | undefined)
    | undefined
}

/** Decides. Pure, and cheap enough for every request. */
export function decide(input: DecisionInput, policy: DecisionPolicy): Decision {
  return policy.hasUpstream ? decideWithUpstream(input, policy) : decideAlone(input, policy)
}

function decideWithUpstream(input: DecisionInput, policy: DecisionPolicy): Decision {
  const reason = reasonToPass(input, policy)
  return reason === undefined ? { type: 'mirror' } : { type: 'pass', reason }
}

/** The first rule that applies is the reason. */
function reasonToPass(
  { known, request, accept }: DecisionInput,
  { readSwitch, isOneUser = false, isExcluded, objection }: DecisionPolicy,
): PassReason | undefined {
  const { route, target } = known
  if (!target.isCanonical) return 'path'
  if (route.type === 'remote') return 'other-server'
  if (route.type === 'failure' || route.type === 'unknown') return 'unknown-resource'
  if (route.type !== 'resource') return 'not-a-resource'
  if (request.takeover !== undefined && !isPlainWebSocket(known, request)) return 'upgrade'
  if (readSwitch?.isSwitchedOff === true) return 'switched-off'
  if (!readVerbs.has(route.verb)) return 'write'
  if (isOnlyUpstream(route)) return 'subresource'
  if (hasImpersonation(request.headers)) return 'impersonation'
  if (isOneUser && hasCredentials(request)) return 'credentials'
  if (target.query.names().some(name => !knownParameters.has(name))) return 'parameter'
  if (longSelector(target) !== undefined) return 'parameter'
  if (hasUnknownMediaType(accept)) return 'media-type'
  const { resource, namespace } = route
  if (resource.learned === undefined && resource.storage === undefined) return 'not-stored'
  if (resource.storage?.conversion === 'webhook') return 'conversion'
  if (isExcluded(resource) || !isMirroredIn(resource, namespace)) return 'excluded'
  return objection?.(resource, namespace)
}

/** A watch over a WebSocket that the upstream would agree to. */
function isPlainWebSocket({ isWatch }: DecidedLine, { headers }: DecidedRequest): boolean {
  if (!isWatch || !isWebSocket(headers) || 'refusal' in readHandshake(headers)) return false
  // Of two tokens the upstream takes either, and its answer shows which.
  return headers['authorization'] === undefined || protocolToken(headers) === undefined
}

function hasCredentials({ headers }: DecidedRequest): boolean {
  return headers['authorization'] !== undefined || protocolToken(headers) !== undefined
}

const readVerbs = new Set(['get', 'list', 'watch'])

/** A subresource that is read of more than what is stored, or in another way. */
function isOnlyUpstream({ verb, subresource }: ResourceRoute): boolean {
  return subresource !== '' && (subresource !== 'scale' || verb !== 'get')
}

/** The parameter whose selector is longer than is parsed for anybody; undefined if none is. */
function longSelector({ query }: RequestTarget): string | undefined {
  if (!isCheapSelector(query.text('labelSelector'), 'labels')) return 'labelSelector'
  return isCheapSelector(query.text('fieldSelector'), 'fields') ? undefined : 'fieldSelector'
}

function hasImpersonation(headers: DecidedRequest['headers']): boolean {
  for (const name of Object.keys(headers)) {
    if (name.toLowerCase().replaceAll('_', '-').startsWith('impersonate-')) return true
  }
  return false
}

function decideAlone(
  { known: { route, target, isWatch }, request }: DecisionInput,
  { hasCluster = false, canConvert = false, hasCbor = false }: DecisionPolicy,
): Decision {
  switch (route.type) {
    case 'discovery':
    case 'path':
      return { type: 'own' }
    case 'remote':
      return { type: 'unavailable' }
    case 'unknown':
      return { type: 'unknown' }
    case 'failure':
      return { type: 'refuse', status: route.status }
    case 'resource': {
      const { resource, subresource } = route
      if (isWatch && !resource.verbs.includes('watch')) {
        return { type: 'refuse', status: verbNotSupported(resource, 'watch').status }
      }
      const { 'content-type': sentType } = request.headers
      const isPatch = route.verb === 'patch' && !isProxy(route)
      if (isPatch && !isPatchType(resource, sentType, hasCbor)) {
        return { type: 'refuse', status: unsupportedMediaType }
      }
      const long = longSelector(target)
      if (long !== undefined) {
        const limits = `${selectorMaxLength} characters and ${requirementsMax} requirements`
        return { type: 'refuse', status: badRequest(`${long} is longer than ${limits}`).status }
      }
      if (hasCluster && (isLog(route) || isStream(route) || isProxy(route))) {
        return { type: 'cluster' }
      }
      if (hasCluster && isMeasured(resource) && resource.verbs.includes(route.verb)) {
        return { type: 'cluster' }
      }
      if (hasCluster && isWrite(route, canConvert)) return { type: 'cluster' }
      const lacks = whatIsLacking(route, canConvert)
      if (lacks === undefined) return { type: 'mirror' }
      const what = subresource === '' ? lacks : `${lacks} ${subresource}`
      return { type: 'refuse', status: needsUpstream(resource, what).status }
    }
  }
}

/** The router of built-in resources knows what a patch may be; handlers of others have their own
 *  words. */
function isPatchType(
  { routing }: Resource,
  contentType: string | readonly string[] = '',
  hasCbor: boolean,
): boolean {
  if (routing !== 'installed') return true
  return [contentType]
    .flat()
    .flatMap(types => types.split(','))
    .map(type => type.replace(/;.*$/s, '').trim())
    .some(type => patchTypes.has(type) || (hasCbor && type === 'application/apply-patch+cbor'))
}

const patchTypes: ReadonlySet<string> = new Set([
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
])

/** Subresources whose writes are done here, beside those that read as the whole object. */
const writtenSubresources = new Set(['scale', 'binding', 'eviction', 'finalize', 'token'])

/** A log is written by whoever runs pods, so the cluster answers it. */
function isLog({ resource, verb, subresource }: ResourceRoute): boolean {
  return isPods(resource) && subresource === 'log' && verb === 'get'
}

/** The streams that whoever makes pods up may answer, or refuse once it has looked for the pod. */
function isStream({ resource, subresource }: ResourceRoute): boolean {
  return isPods(resource) && streams.has(subresource)
}

/** A connection to a pod, a node or a service: it is admitted, whatever the method. */
function isProxy({ subresource }: ResourceRoute): boolean {
  return subresource === 'proxy'
}

function isPods({ group, resource }: Resource): boolean {
  return group === '' && resource === 'pods'
}

/** Subresources that are streams to and from what runs in a pod. */
const streams = new Set(['exec', 'attach', 'portforward'])

/** A write of something that is stored, or a review, which is answered and stored nowhere. */
function isWrite({ resource, verb, subresource }: ResourceRoute, canConvert: boolean): boolean {
  const isConverted = resource.storage?.conversion === 'webhook'
  if (readVerbs.has(verb) || (isConverted && !canConvert)) return false
  if (resource.storage === undefined) return verb === 'create'
  return (
    subresource === '' ||
    writtenSubresources.has(subresource) ||
    readsAsObject(resource, subresource)
  )
}

/** The feature that only an upstream has for a resource; undefined for plain reads. */
function whatIsLacking(route: ResourceRoute, canConvert: boolean): string | undefined {
  const { resource, verb, subresource } = route
  if (!readVerbs.has(verb)) return verb
  if (subresource !== '') {
    const isMade = readsAsObject(resource, subresource) || subresource === 'scale'
    if (verb !== 'get' || !isMade) return 'subresource'
  }
  if (resource.storage === undefined) return verb
  const isConverted = resource.storage.conversion === 'webhook'
  return isConverted && !canConvert ? 'conversion' : undefined
}
