/** Plans a routed request: which keys it reads, at which revision, with which selectors, and where
 *  it continues. A plan is a plain value. Making one needs no data, so every mistake of the request
 *  is found before anything is read. */

import {
  assert,
  type Freshness,
  type Key,
  keyFromText,
  type KeyRange,
  NotExact,
  prefixRange,
  type Revision,
  singleKey,
} from '@watchglass/base'
import {
  type Continuation,
  type HiddenTokens,
  type TokenEncryption,
  decodeContinuation,
  startKey,
} from './continuation.ts'
import { FieldSelector, resolveFields } from './selectors/field-selector.ts'
import { goQuote } from '@watchglass/go'
import {
  type MediaType,
  type NotAcceptable,
  type Offer,
  type Preference,
  type Schema,
  streamed,
} from '@watchglass/codec'
import type { LabelSelector } from './selectors/label-selector.ts'
import {
  exactMatch,
  type ListOptions,
  parseListOptions,
  parseResourceVersion,
  shardParameter,
} from './request/list-options.ts'
import { parseShardSelector, type ShardSelector } from './selectors/shard-selector.ts'
import { invalidPathName, type Query } from './request/request.ts'
import { keyspaceOf } from './resources/keyspaces.ts'
import type { Resource } from './resources/resource.ts'
import {
  badRequest,
  needsUpstream,
  notExactly,
  plainError,
  type StatusError,
  verbNotSupported,
  notAcceptable,
} from './status.ts'
import type { ResourceRoute } from './request/routes.ts'

/** The range and the selectors of lists and watches. */
export interface SelectedRange {
  readonly resource: Resource
  /** The keys: of the resource, of one of its namespaces, or one single key. */
  readonly range: KeyRange
  /** The resource's keyspace, or that of the namespace. */
  readonly keyspace: Key
  /** The part of keys that continue tokens leave out: the resource's prefix, and the namespace. */
  readonly prefix: Key
  readonly labels: LabelSelector
  readonly fields: FieldSelector
  /** Undefined: objects of all shards. */
  readonly shards: ShardSelector | undefined
}

export interface ListPlan extends SelectedRange {
  readonly type: 'list'
  /** Upstream asks etcd itself for a list at this revision, and passes on its refusals. */
  readonly isFromEtcd: boolean
  /** Servers take a page of it from their watch cache: its continue token has a slash more than
   *  those of etcd's pages. */
  readonly isPageFromCache: boolean
  /** Upstream's watch cache leaves it to the store, which has no wait and no Retry-After for a
   *  revision of the future. */
  readonly isLeftToStore: boolean
  /** As the client sent it. */
  readonly resourceVersion: string
  readonly freshness: Freshness
  /** 0 is no limit. */
  readonly limit: number
  /** A page says how many entries there are after it. */
  readonly isCounted: boolean
  /** End of an earlier page. */
  readonly continuation: Continuation | undefined
}

export interface GetPlan {
  readonly type: 'get'
  readonly resource: Resource
  readonly keyspace: Key
  readonly key: Key
  readonly name: string
  /** `status` is shown as the whole object, `scale` as a Scale. */
  readonly subresource: string
  readonly resourceVersion: string
  readonly freshness: Freshness
}

/** Beginnings of a watch. Initial events and the bookmark that ends them are KEP-3157
 *  (`sendInitialEvents`). */
export type WatchStart =
  /** With ADDED events for all objects, and then, if requested, a bookmark that ends them. */
  | { readonly type: 'state'; readonly freshness: Freshness; readonly hasEndBookmark: boolean }
  /** With the events after the current state. */
  | { readonly type: 'now'; readonly freshness: Freshness }
  /** With the events after a revision. */
  | { readonly type: 'after'; readonly revision: Revision }

export interface WatchPlan extends SelectedRange {
  readonly type: 'watch'
  readonly resourceVersion: string
  readonly start: WatchStart
  readonly allowBookmarks: boolean
  /** undefined or 0: the server decides. */
  readonly timeoutSeconds: number | undefined
}

export type ReadPlan = ListPlan | GetPlan | WatchPlan

/** The server's own part in the meaning of a request. */
export interface PlanOptions {
  readonly encryption?: TokenEncryption | undefined
  /** Shard selectors are obeyed; without it they are ignored, whatever they say. */
  readonly hasShards?: boolean | undefined
}

/** The plan of a get, list or watch; refuses what upstream refuses, with its Status. */
export function planRead(
  { schema, resource, verb, namespace, name, subresource }: ResourceRoute,
  query: Query,
  { encryption, hasShards = false }: PlanOptions = {},
): ReadPlan {
  if (verb === 'get') return planGet({ resource, namespace, name, subresource }, query)
  const options = parseListOptions(query, schema)
  const fields = fieldsOf(resource, options, name)
  const isWatch = verb === 'watch' || options.watch
  if (isWatch && !resource.verbs.includes('watch')) throw verbNotSupported(resource, 'watch')
  const shardText = hasShards ? query.text(shardParameter) : ''
  const shards = shardText === '' ? undefined : parseShardSelector(shardText)
  const target: Target = { schema, resource, namespace, options, fields, shards }
  return isWatch ? planWatch(target) : planList(target, encryption)
}

function planGet(
  {
    resource,
    namespace,
    name,
    subresource,
  }: Pick<ResourceRoute, 'resource' | 'namespace' | 'name' | 'subresource'>,
  query: Query,
): GetPlan {
  // Any other text than 0 and false is a yes, but for none.
  if (query.text('export') !== '' && query.flag('export')) {
    throw badRequest('the export parameter, deprecated since v1.14, is no longer supported')
  }
  const keyspace = readKeyspace(resource, namespace)
  const key = objectKey(resource, namespace, name)
  const resourceVersion = query.text('resourceVersion')
  const fail = resource.isWatchCached ? plainError : invalidResourceVersion
  const freshness = freshnessOf(resourceVersion, fail)
  return { type: 'get', resource, keyspace, key, name, subresource, resourceVersion, freshness }
}

/** Keys are built from names in the path, so a name must be a single segment. */
function objectKey(resource: Resource, namespace: string, name: string): Key {
  if (resource.isNamespaced && namespace === '') throw badRequest('Namespace parameter required.')
  if (name === '') throw badRequest('Name parameter required.')
  const problem = invalidPathName(name)
  if (problem !== undefined) {
    throw badRequest(`Name parameter invalid: ${goQuote(name)}: ${problem}`)
  }
  return (namespacePrefix(resource, namespace) + keyFromText(name)) as Key
}

function freshnessOf(resourceVersion: string, fail: (message: string) => StatusError): Freshness {
  if (resourceVersion === '') return { type: 'consistent' }
  const revision = parseResourceVersion(resourceVersion, fail)
  return revision === 0 ? { type: 'any' } : { type: 'not-older-than', revision }
}

/** The field selector in terms of the resource. A name in the path adds a requirement, and no other
 *  is allowed beside it. */
function fieldsOf(resource: Resource, options: ListOptions, name: string): FieldSelector {
  if (options.fields.isEmpty) {
    if (name === '') return options.fields
    return new FieldSelector([{ label: 'metadata.name', value: name, isEqual: true }])
  }
  const fields = resolveFields(options.fields, resource)
  if (name === '') return fields
  if (fields.exactValue('metadata.name') === name) return fields
  throw badRequest("fieldSelector metadata.name doesn't match requested name")
}

interface Target {
  readonly schema: Pick<Schema, 'has'>
  readonly resource: Resource
  readonly namespace: string
  readonly options: ListOptions
  readonly fields: FieldSelector
  readonly shards: ShardSelector | undefined
}

function planList(target: Target, encryption: TokenEncryption | undefined): ListPlan {
  const { schema, resource, options } = target
  const scope = selectedRangeOf(target)
  const isSingle = options.continue === '' && singleName(target) !== undefined
  const { prefix } = scope
  const continuation =
    options.continue === '' ? undefined : continuationOf(options, { prefix, encryption })
  const freshness =
    continuation === undefined
      ? freshnessOfList(options, isSingle)
      : freshnessOfContinuation(continuation)
  // Upstream obeys the limit of a list that it reads from etcd.
  const isCached =
    resource.isWatchCached && (continuation === undefined || schema.has('snapshotLists'))
  const ignoresLimit = options.resourceVersion === '0' && isCached
  const limit = ignoresLimit ? 0 : Math.max(0, options.limit)
  return {
    type: 'list',
    isFromEtcd: freshness.type === 'exact' && !schema.has('snapshotLists'),
    isPageFromCache:
      limit > 0 &&
      resource.isWatchCached &&
      (freshness.type === 'consistent' || schema.has('snapshotLists')),
    isLeftToStore: isSingle && isExactOrLimited(options),
    ...scope,
    range: rangeOfPage(scope, isSingle ? singleName(target) : undefined, continuation),
    resourceVersion: options.resourceVersion,
    freshness,
    limit,
    isCounted: !isSelective(target),
    continuation,
  }
}

/** True if the read has a selector in the eyes of servers of the version: older ones did not count
 *  shards as one everywhere. */
function isSelective({ options, fields, shards, schema }: Target): boolean {
  if (!options.labels.isEmpty || !fields.isEmpty) return true
  return shards !== undefined && schema.has('shardsAreSelectors')
}

/** One of these, or what was the way to say exact once: a limit. */
function isExactOrLimited({ resourceVersionMatch: match, limit }: ListOptions): boolean {
  return match === exactMatch || (match === '' && limit > 0)
}

function continuationOf(options: ListOptions, hidden: HiddenTokens): Continuation {
  const continuation = decodeContinuation(options.continue, hidden)
  if (options.resourceVersion !== '' && options.resourceVersion !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue')
  }
  return continuation
}

function freshnessOfContinuation({ revision }: Continuation): Freshness {
  if (revision === undefined) return { type: 'consistent' }
  return { type: 'exact', revision: revision as Revision }
}

function freshnessOfList(options: ListOptions, isSingle: boolean): Freshness {
  const { resourceVersion, resourceVersionMatch: match } = options
  if (resourceVersion === '') return { type: 'consistent' }
  const revision = parseResourceVersion(resourceVersion, invalidResourceVersion)
  if (revision === 0) return match === exactMatch ? { type: 'consistent' } : { type: 'any' }
  const isExact = isExactOrLimited(options) && (match === exactMatch || !isSingle)
  return { type: isExact ? 'exact' : 'not-older-than', revision }
}

function invalidResourceVersion(message: string): StatusError {
  return badRequest(`invalid resource version: ${message}`)
}

function planWatch(target: Target): WatchPlan {
  const { schema, resource, options } = target
  const isUnsharded = !resource.isWatchCached && !isSelective(target)
  const scope = selectedRangeOf(isUnsharded ? { ...target, shards: undefined } : target)
  const name = singleName(target)
  const start = startOfWatch(options)
  if (start.type === 'state' && start.hasEndBookmark && schema.has('initialEventsBlueprint')) {
    throw notExactly(resource, unknownBlueprint)
  }
  return {
    type: 'watch',
    ...scope,
    range: rangeOfPage(scope, name, undefined),
    resourceVersion: options.resourceVersion,
    start,
    allowBookmarks: options.allowWatchBookmarks,
    timeoutSeconds: options.timeoutSeconds,
  }
}

const unknownBlueprint = new NotExact('the bookmark after the initial events is not known')

function startOfWatch(options: ListOptions): WatchStart {
  const { resourceVersion, sendInitialEvents, allowWatchBookmarks } = options
  const freshness = freshnessOf(resourceVersion, plainError)
  if (sendInitialEvents === true) {
    return { type: 'state', freshness, hasEndBookmark: allowWatchBookmarks }
  }
  if (freshness.type === 'not-older-than') return { type: 'after', revision: freshness.revision }
  if (sendInitialEvents === false) return { type: 'now', freshness }
  return { type: 'state', freshness, hasEndBookmark: false }
}

function selectedRangeOf(target: Target): SelectedRange {
  const { resource, namespace, options, fields, shards } = target
  const prefix = namespacePrefix(resource, namespace)
  return {
    resource,
    range: prefixRange(prefix),
    keyspace: readKeyspace(resource, namespace),
    prefix,
    labels: options.labels,
    fields,
    shards,
  }
}

/** The single name that the selector allows, if it can be a key of this request. */
function singleName({ resource, namespace, fields }: Target): string | undefined {
  if (fields.isEmpty) return undefined
  const name = fields.exactValue('metadata.name')
  if (name === undefined || name === '' || invalidPathName(name) !== undefined) return undefined
  return resource.isNamespaced && namespace === '' ? undefined : name
}

/** The range to read: one key, one namespace if the selector requires it, or the rest after an
 *  earlier page. */
function rangeOfPage(
  { resource, prefix, range, fields }: SelectedRange,
  name: string | undefined,
  continuation: Continuation | undefined,
): KeyRange {
  // Without the slash, a list would show the neighbour whose name begins the same.
  assert(prefix.endsWith('/'), 'a range is a prefix with its slash')
  if (name !== undefined) return singleKey((prefix + keyFromText(name)) as Key)
  const isByField = resource.isNamespaced && !fields.isEmpty
  const namespace = isByField ? fields.exactValue('metadata.namespace') : undefined
  const isNarrower = namespace !== undefined && namespace !== '' && !namespace.includes('/')
  const whole =
    isNarrower && prefix === resourcePrefix(resource)
      ? prefixRange((prefix + keyFromText(`${namespace}/`)) as Key)
      : range
  if (continuation === undefined) return whole
  const start = startKey(continuation, prefix)
  return start > whole.start ? { start, end: whole.end } : whole
}

function namespacePrefix(resource: Resource, namespace: string): Key {
  const whole = resourcePrefix(resource)
  if (!resource.isNamespaced || namespace === '') return whole
  const problem = invalidPathName(namespace)
  if (problem !== undefined) {
    throw badRequest(`Namespace parameter invalid: ${goQuote(namespace)}: ${problem}`)
  }
  return (whole + keyFromText(`${namespace}/`)) as Key
}

/** The prefix of a plain list, which its continue tokens are bound to; undefined for any other
 *  request. */
export function prefixOfList(route: ResourceRoute): Key | undefined {
  const { resource, namespace, verb, subresource } = route
  const isList = verb === 'list' && subresource === '' && resource.storage !== undefined
  if (!isList || invalidPathName(namespace) !== undefined) return undefined
  return namespacePrefix(resource, namespace)
}

/** The prefix with its final slash: without it, `pods` would include `podsecurity`
 *  (CVE-2022-3162). */
function resourcePrefix(resource: Resource): Key {
  if (resource.storage === undefined) throw needsUpstream(resource, 'reading')
  return keyFromText(resource.storage.prefix)
}

function readKeyspace(resource: Resource, namespace: string): Key {
  if (resource.storage === undefined) throw needsUpstream(resource, 'reading')
  return keyspaceOf(resource, namespace)
}

/** The part of a request that its plan is made from. */
export interface AskedRead {
  readonly query: Query
  readonly isWatch: boolean
  readonly preference: Preference
  readonly offer: Offer
  readonly encryption: TokenEncryption | undefined
  readonly hasShards?: boolean | undefined
}

export interface Planned {
  readonly plan: ReadPlan
  readonly mediaType: MediaType
}

/** The plan; refuses what upstream refuses, with its Status. `negotiated` is what has come of the
 *  Accept header. */
export function planAsked(
  route: ResourceRoute,
  { query, isWatch, offer, encryption, hasShards }: AskedRead,
  negotiated: MediaType | NotAcceptable,
): Planned {
  if ('refusal' in negotiated) {
    // The router refuses before the handler reads the query; not every version does so.
    const isLate = !negotiated.hasDetails && !route.schema.has('acceptBeforeOptions')
    if (isLate && route.verb !== 'get') parseListOptions(query, route.schema)
    throw notAcceptable(negotiated.refusal, negotiated.hasDetails)
  }
  const plan = planRead(route, query, { encryption, hasShards })
  const mediaType = isWatch ? streamed(negotiated, offer) : negotiated
  if ('refusal' in mediaType) throw notAcceptable(mediaType.refusal, mediaType.hasDetails)
  return { plan, mediaType }
}
