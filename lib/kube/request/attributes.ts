/** What authorization is asked about: a request as upstream's RequestInfo and its authorization filter see it.
 *
 *  Whatever differs here from upstream's reading is a hole or a wrong refusal, so the oddities are upstream's: a single namespace
 *  lies in itself; a list that selects one name is about that name; the deprecated /watch/ paths have no selectors; a selector
 *  that cannot be parsed limits nothing. */

import {
  type FieldRequirement,
  FieldSelector,
  parseFieldSelector,
} from '../selectors/field-selector.ts'
import {
  type LabelOperator,
  type LabelRequirement,
  LabelSelector,
  parseLabelSelector,
} from '../selectors/label-selector.ts'
import { isWatchRequest } from '../read-plan.ts'
import { invalidPathName, type Query, requestInfo, type RequestTarget } from './request.ts'
import type { ResourceRoute, Route } from './routes.ts'

/** One condition of a selector, in the form that reviews take. */
export interface SelectorRequirement {
  readonly key: string
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  /** None with `Exists` and `DoesNotExist`. */
  readonly values: readonly string[]
}

/** A request for a resource. Texts that are not there are empty. */
export interface ResourceAttributes {
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly fields: readonly SelectorRequirement[]
  readonly labels: readonly SelectorRequirement[]
}

/** A request for anything else. */
export interface PathAttributes {
  readonly verb: string
  readonly path: string
}

export type Attributes = ResourceAttributes | PathAttributes

/** The attributes of a read of a resource. Never fails: what is wrong with the query is found later, by who answers. */
export function attributesOf(route: ResourceRoute, query: Query): ResourceAttributes {
  const { resource, subresource } = route
  const isWatch = isWatchRequest(route, query)
  const isCollection = route.verb === 'list'
  const fields = isCollection ? fieldsOf(query) : new FieldSelector([])
  const labels = isCollection ? labelsOf(query) : new LabelSelector([])
  const selectedName =
    isCollection && labels !== undefined ? fields?.exactValue('metadata.name') : undefined
  const isName = selectedName !== undefined && invalidPathName(selectedName) === undefined
  return {
    verb: isWatch ? 'watch' : route.verb,
    group: resource.group,
    version: resource.version,
    resource: resource.resource,
    subresource,
    namespace:
      resource.resource === 'namespaces' && route.name !== '' ? route.name : route.namespace,
    name: isName ? selectedName : route.name,
    fields: (fields?.requirements ?? []).map(fieldRequirement),
    labels: (labels?.requirements ?? []).flatMap(labelRequirement),
  }
}

/** The attributes of any request, also of one that leads nowhere: who may not know is not told that there is nothing. */
export function attributesOfAny(
  route: Route,
  method: string,
  { path, query }: Pick<RequestTarget, 'path' | 'query'>,
): Attributes {
  if (route.type === 'resource') return attributesOf(route, query)
  const info = requestInfo(method, path)
  if (info === undefined) return { verb: method.toLowerCase(), path }
  const { group, version, resource, subresource, namespace, name } = info
  const isCollection = info.verb === 'get' && name === ''
  const verb = isCollection ? (query.flag('watch') ? 'watch' : 'list') : info.verb
  const texts = { group, version, resource, subresource, namespace, name }
  return { ...texts, verb: verb === '' ? method.toLowerCase() : verb, fields: [], labels: [] }
}

function fieldsOf(query: Query): FieldSelector | undefined {
  return unlessMalformed(() => parseFieldSelector(query.text('fieldSelector')))
}

function labelsOf(query: Query): LabelSelector | undefined {
  return unlessMalformed(() => parseLabelSelector(query.text('labelSelector')))
}

function unlessMalformed<T>(parse: () => T): T | undefined {
  try {
    return parse()
  } catch {
    return undefined
  }
}

function fieldRequirement({ label, value, isEqual }: FieldRequirement): SelectorRequirement {
  return { key: label, operator: isEqual ? 'In' : 'NotIn', values: [value] }
}

const operators: Readonly<Record<LabelOperator, SelectorRequirement['operator'] | undefined>> = {
  in: 'In',
  notin: 'NotIn',
  exists: 'Exists',
  absent: 'DoesNotExist',
  // Reviews have no words for these. Without them more is asked for, which nobody gains from.
  above: undefined,
  below: undefined,
}

function labelRequirement({ key, operator, values }: LabelRequirement): SelectorRequirement[] {
  const known = operators[operator]
  return known === undefined ? [] : [{ key, operator: known, values: [...values] }]
}
