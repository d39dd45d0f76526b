/** The verb and the scope under which the metrics of kube-apiserver report a request. They are
 *  neither the method nor the verb that is authorized: a GET of a collection is a LIST, a DELETE of
 *  one stays a DELETE, and a create has the scope of an object. */

import { longSubresources, type RequestTarget } from './request.ts'
import { attributesOf } from './attributes.ts'
import type { FieldSelector } from '../selectors/field-selector.ts'
import type { ResourceRoute } from './routes.ts'

/** The labels of a request. None of them is text that a client chose. */
export interface Reported {
  readonly verb: string
  readonly dryRun: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource: string
  readonly scope: ReportedScope
  readonly component: string
  readonly kind: string
}

/** One object, those of a namespace, all, or no objects at all. */
export type ReportedScope = 'resource' | 'namespace' | 'cluster' | ''

/** A request as it was sent. */
export interface SentRequest {
  readonly method: string
  readonly contentType?: string | undefined
  readonly target: Pick<RequestTarget, 'path' | 'query'>
}

/** The labels of a request for a resource. */
export function reportedOf(route: ResourceRoute, sent: SentRequest): Reported {
  const { resource, subresource } = route
  const scope = scopeOf(route, sent)
  return {
    verb: verbOf(sent, { scope, subresource, isWatchPath: route.verb === 'watch' }),
    dryRun: dryRunOf(sent.target.query.all('dryRun')),
    group: resource.group,
    version: resource.version,
    resource: resource.resource,
    subresource,
    scope,
    component: 'apiserver',
    kind: resource.kind,
  }
}

/** The labels of a path of the server itself: the path stands for the subresource. */
export function reportedPath(path: string, component: string): Reported {
  const none = { dryRun: '', group: '', version: '', resource: '', kind: '' }
  return { verb: 'GET', ...none, subresource: path, scope: '', component }
}

/** The keys that a list or a watch is about. */
export interface RangeOfList {
  readonly fields: FieldSelector
  /** That of a namespace, or of the whole keyspace. */
  readonly prefix: string
  readonly keyspace: string
}

/** The scope of a list or a watch by what its field selector requires, too. */
export function listScopeOf({ fields, prefix, keyspace }: RangeOfList): ReportedScope {
  const isSelected = (field: string): boolean => (fields.exactValue(field) ?? '') !== ''
  if (isSelected('metadata.name')) return 'resource'
  return prefix !== keyspace || isSelected('metadata.namespace') ? 'namespace' : 'cluster'
}

function scopeOf(
  { resource, namespace, name, verb }: ResourceRoute,
  sent: SentRequest,
): ReportedScope {
  if (name !== '' || verb === 'create') return 'resource'
  // Custom resources are reported by what is authorized: a selected name is a name.
  const { target, method } = sent
  const mayBeSelected = resource.routing === 'custom' && target.query.text('fieldSelector') !== ''
  if (mayBeSelected) {
    const attributes = attributesOf(method, target)
    if ('name' in attributes && attributes.name !== '') return 'resource'
  }
  return namespace === '' ? 'cluster' : 'namespace'
}

interface VerbFacts {
  readonly scope: ReportedScope
  readonly subresource: string
  /** A deprecated /watch/ path. */
  readonly isWatchPath: boolean
}

/** The verb, of a few that there are. */
export function verbOf(
  { method, contentType, target }: SentRequest,
  { scope, subresource, isWatchPath }: VerbFacts,
): string {
  if (isWatchPath) return 'WATCH'
  if (longSubresources.has(subresource)) return 'CONNECT'
  switch (method) {
    case 'GET':
      if (target.query.flag('watch')) return 'WATCH'
      return scope === 'namespace' || scope === 'cluster' ? 'LIST' : 'GET'
    case 'HEAD':
      return scope === 'namespace' || scope === 'cluster' ? 'LIST' : 'GET'
    case 'PATCH':
      return contentType === 'application/apply-patch+yaml' ? 'APPLY' : 'PATCH'
    case 'POST':
    case 'PUT':
    case 'DELETE':
      return method
    default:
      return 'other'
  }
}

function dryRunOf(values: readonly string[]): string {
  if (values.length === 0) return ''
  return values.every(value => value === 'All') ? 'All' : 'invalid'
}
