/** Answers recorded requests from the recorded history with nothing but the pure layer: what it
 *  refuses, and which objects it finds. */

import { readPage } from './read-page.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import type { Freshness } from '../../../lib/base/freshness.ts'
import type { ListMeta } from '../../../lib/codec/output/list-meta.ts'
import { CacheError } from '../../../lib/base/errors.ts'
import { keyFromText } from '../../../lib/base/keys.ts'
import { revision, type Revision } from '../../../lib/base/revision.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { apiService } from '../../../lib/kube/resources/api-services.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import { customDefinition } from '../../../lib/kube/resources/custom-resources.ts'
import { nameOfKey } from '../../../lib/kube/selectors/filter.ts'
import { listMeta, pageEntries } from '../../../lib/kube/list.ts'
import { requestTimeoutMs, parseTarget } from '../../../lib/kube/request/request.ts'
import { planRead, type ReadPlan } from '../../../lib/kube/read-plan.ts'
import { KnownRequest } from '../../../lib/kube/recent-requests.ts'
import { readFailure } from '../../../lib/kube/read-failure.ts'
import { Registry } from '../../../lib/kube/resources/registry.ts'
import { routeRequest, unknownPathText } from '../../../lib/kube/request/routes.ts'
import {
  objectNotFound,
  statusFromError,
  statusJson,
  statusObjectJson,
} from '../../../lib/kube/status.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import type { Snapshot } from '../../../lib/store/snapshot.ts'
import { entriesAt, historyBatches, type Recorded } from '../../golden/load.ts'
import { recordedReader } from './selectable.ts'

/** The pure layer's answer to a request. */
export type PureAnswer =
  | { readonly type: 'failure'; readonly code: number; readonly body: string }
  | {
      readonly type: 'list'
      readonly plan: ReadPlan & { type: 'list' }
      readonly meta: ListMeta
      readonly entries: readonly KeyValue[]
    }
  | {
      readonly type: 'object'
      readonly plan: ReadPlan & { type: 'get' }
      readonly entry: KeyValue
    }
  | { readonly type: 'watch'; readonly plan: ReadPlan & { type: 'watch' } }
  /** Left to somebody else: discovery, other servers, subresources, writes. */
  | { readonly type: 'other'; readonly what: string }

const bounds = { maxBatches: 10_000, maxAgeMs: Infinity, maxBytes: Infinity }

/** The registry as it was at a revision. */
export function registryAt(at: number): Registry {
  const entries = [...entriesAt(at).values()]
  const below = (prefix: string): KeyValue[] =>
    entries.filter(entry => entry.key.startsWith(keyFromText(prefix)))
  return new Registry({
    schema: schemaOf(),
    installed: builtInResources(schemaOf()),
    definitions: below('/registry/apiextensions.k8s.io/customresourcedefinitions/').map(entry =>
      customDefinition(entry, '/registry'),
    ),
    services: below('/registry/apiregistration.k8s.io/apiservices/').map(apiService),
  })
}

/** One keyspace of everything, with the history from `compacted` to `at`. */
export function storeAt(at: number, compacted: number): Keyspace {
  const store = new Keyspace(bounds)
  for (const { revision: batchRevision, changes } of historyBatches()) {
    if (batchRevision > at) break
    store.apply(batchRevision, changes, 0)
  }
  if (store.revision < at) store.advance(revision(at), 0)
  if (compacted > 0) store.compact(revision(compacted))
  return store
}

/** The answer to a recorded request at the recorded revision. */
export function answerRecorded({
  request,
  at_revision: at,
  compact_revision: compacted,
}: Recorded): PureAnswer {
  const registry = cached(registries, at, () => registryAt(at))
  const store = cached(stores, at * 10_000 + compacted, () => storeAt(at, compacted))
  try {
    return answer(request.method, request.path, registry, store)
  } catch (error) {
    if (!(error instanceof CacheError)) throw error
    const status = statusFromError(error)
    return { type: 'failure', code: status.code, body: statusJson(status) }
  }
}

const registries = new Map<number, Registry>()
const stores = new Map<number, Keyspace>()

function cached<T>(known: Map<number, T>, key: number, make: () => T): T {
  const value = known.get(key) ?? make()
  known.set(key, value)
  return value
}

/** Routes, plans and reads. */
export function answer(
  method: string,
  target: string,
  registry: Registry,
  store: Keyspace,
): PureAnswer {
  const parsed = parseTarget(target)
  if (parsed === undefined) return { type: 'failure', code: 400, body: '400 Bad Request' }
  const route = routeRequest(method, parsed.path, registry)
  if (route.type === 'failure') {
    return { type: 'failure', code: route.status.code, body: statusJson(route.status) }
  }
  if (route.type === 'unknown' || (route.type === 'path' && route.path !== '/')) {
    return { type: 'failure', code: 404, body: unknownPathText }
  }
  if (route.type !== 'resource') return { type: 'other', what: route.type }
  if (!['get', 'list', 'watch'].includes(route.verb)) return { type: 'other', what: 'write' }
  if (!new KnownRequest(parsed, route).isWatch) requestTimeoutMs(parsed.query)
  if (route.subresource !== '') return { type: 'other', what: 'subresource' }
  if (route.resource.storage === undefined) return { type: 'other', what: 'computed' }
  const plan = planRead(route, parsed.query)
  if (plan.type === 'watch') return { type: 'watch', plan }
  let snapshot: Snapshot
  try {
    snapshot = snapshotFor(plan.freshness, store)
  } catch (error) {
    throw readFailure(plan, CacheError.from(error, 'source_failed'))
  }
  if (plan.type === 'get') {
    const entry = snapshot.get(plan.key)
    if (entry === undefined) throw objectNotFound(plan.resource, plan.name)
    return { type: 'object', plan, entry }
  }
  const page = readPage({ plan, snapshot, makeReader: recordedReader })
  if (page instanceof NotExact) throw new Error(page.reason)
  return { type: 'list', plan, meta: listMeta(plan, page), entries: [...pageEntries(page)] }
}

function snapshotFor(freshness: Freshness, store: Keyspace): Snapshot {
  switch (freshness.type) {
    case 'any':
    case 'consistent':
      return store.latest()
    case 'not-older-than':
      return freshness.revision > store.revision ? store.at(freshness.revision) : store.latest()
    case 'exact':
      return store.at(freshness.revision)
  }
}

/** Names in order. */
export function namesOf(entries: readonly KeyValue[]): string[] {
  return entries.map(entry => nameOfKey(entry.key))
}

/** The store's revision as the gate would pass it. */
export function statusOf(error: CacheError): string {
  return statusObjectJson(statusFromError(error))
}

export type { Revision }
