/** Answers views over several clusters: `/views/clusters/SELECTION/apis/apps/v1/deployments?...`,
 *  where SELECTION is names and patterns, as `team-a,prod-*` or `*`.
 *
 *  Each cluster answers its own view, in the name of the caller and by the caller's rights there;
 *  here the answers are put side by side (`merged-view.ts`). A pattern chooses among the clusters
 *  that have accepted the caller's credentials before, so that they are shown to no server for
 *  which they were not meant, and wakes none. A name chooses a cluster as its own path does. */

import { CacheError, type Clock, sleep } from '@watchglass/base'
import type { CollectedRequest, HttpRequest, OnFault } from '@watchglass/cache'
import { badRequest, parseTarget, type Query, StatusError } from '@watchglass/kube'
import { load } from '../../compose/loaded-code.ts'
import type { FleetCluster } from './fleet-cluster.ts'
import { sendJson } from './fleet-json.ts'
import type { Fleet } from './fleet.ts'
import { type ClusterView, MergedView, type Unanswered } from './merged-view.ts'
import { sendStatus } from './refusals.ts'
import { requestOfCaller } from './request-of-caller.ts'

export interface FleetViewsParts {
  readonly fleet: Fleet
  readonly clock: Clock
  readonly onFault: OnFault
}

/** Names in a selection: each is asked, whoever the caller is. */
const namesMax = 20
/** Clusters that are asked at the same time, how long each may take, and how much it may answer:
 *  that is parsed in one step. */
const atOnce = 8
const answerMaxMs = 30_000
const answerMaxBytes = 1024 * 1024
/** Rows of each cluster that a page can be found among. */
const rowsMax = 1_000
const pageSizeDefault = 50

/** Parameters of one cluster's views that have no meaning for several. */
const ofOne = ['watch', 'timeoutSeconds', 'revision', 'after']

const place = /^\/views\/clusters\/([a-z0-9*,-]+)(\/(?:api|apis)\/.*)$/

export function isFleetView(target: string): boolean {
  return target.startsWith('/views/clusters/')
}

export function answerFleetView(request: HttpRequest, parts: FleetViewsParts): void {
  answer(request, parts).catch((error: unknown) => {
    if (error instanceof StatusError) {
      if (!request.isClosed) sendStatus(request, error.status)
      return
    }
    parts.onFault(error)
    request.abort()
  })
}

async function answer(request: HttpRequest, { fleet, clock }: FleetViewsParts): Promise<void> {
  const mark = request.target.indexOf('?')
  const path = mark < 0 ? request.target : request.target.slice(0, mark)
  const [, selection, rest] = place.exec(path) ?? []
  const parsed = parseTarget(request.target)
  if (selection === undefined || rest === undefined || parsed === undefined) {
    throw badRequest('views over clusters are at /views/clusters/NAMES/(api|apis)/...')
  }
  const page = pageOf(parsed.query)
  const { columnPlace } = await load.viewPlaces()
  const view = new MergedView(page, columnPlace)
  const target = `/views${rest}?${queryOfEach(request.target, mark, page)}`
  const chosen = chosenOf(selection, request, fleet, view)
  const left = new AbortController()
  request.onClose(() => left.abort())
  const next = chosen.values()
  // Each takes the next cluster when it has had an answer.
  const asking = Array.from({ length: Math.min(atOnce, chosen.length) }, async () => {
    for (const cluster of next) {
      if (left.signal.aborted) return
      const asked = requestOfCaller(request, target, answerMaxBytes)
      const found = await askOne(cluster, asked, { clock, signal: left.signal })
      if ('code' in found) view.lacks(found)
      else addTo(view, { cluster, found, sort: page.sort })
      await clock.yield()
    }
  })
  await Promise.all(asking)
  if (!request.isClosed) sendJson(request, view.document)
}

interface Found {
  readonly cluster: FleetCluster
  readonly found: ClusterView
  readonly sort: string
}

/** Fails for an order by a column that is not among those of the rows: clusters would have to say
 *  more than they show. */
function addTo(view: MergedView, { cluster, found, sort }: Found): void {
  const ids = new Set((found.columns ?? []).map(({ id }) => id))
  const missing = found.by === undefined && sort !== '' ? sort.split(',') : []
  const stray = missing.map(word => word.replace(/^-/, '')).find(id => !ids.has(id))
  if (stray !== undefined) {
    throw badRequest(`sort: across clusters ${JSON.stringify(stray)} has to be among the columns`)
  }
  view.add(cluster.name, found)
}

function pageOf(query: Query): { sort: string; page: number; pageSize: number } {
  for (const name of ofOne) {
    if (query.first(name) !== undefined) throw badRequest(`${name} is not for several clusters`)
  }
  const number = (name: string, fallback: number): number => {
    const text = query.first(name)
    if (text === undefined) return fallback
    const value = /^\d{1,4}$/.test(text) ? Number(text) : 0
    if (value < 1 || value > rowsMax) throw badRequest(`${name} is a number from 1 to ${rowsMax}`)
    return value
  }
  const page = number('page', 1)
  const pageSize = number('pageSize', pageSizeDefault)
  if (page * pageSize > rowsMax) {
    throw badRequest(`pages of several clusters reach to row ${rowsMax}: narrow the question`)
  }
  return { sort: query.first('sort') ?? '', page, pageSize }
}

/** Each cluster is asked for the first rows, among which those of the page are. */
function queryOfEach(
  target: string,
  mark: number,
  { page, pageSize }: { readonly page: number; readonly pageSize: number },
): string {
  const pairs = mark < 0 ? [] : target.slice(mark + 1).split('&')
  const kept = pairs.filter(pair => pair !== '' && !/^(?:page|pageSize)(?:=|$)/.test(pair))
  const isCount = kept.some(pair => pair.startsWith('countBy='))
  return [...kept, ...(isCount ? [] : [`pageSize=${page * pageSize}`])].join('&')
}

/** The clusters of a selection that can be asked; the others are told to the view. */
function chosenOf(
  selection: string,
  request: HttpRequest,
  fleet: Fleet,
  view: MergedView,
): readonly FleetCluster[] {
  const words = new Set(selection.split(',').filter(word => word !== ''))
  const chosen = new Map<string, FleetCluster>()
  const names = [...words].filter(word => !word.includes('*'))
  if (names.length > namesMax) throw badRequest(`more than ${namesMax} names of clusters`)
  for (const name of names) {
    const cluster = fleet.find(name)
    if (cluster !== undefined) chosen.set(name, cluster)
    else view.lacks({ name, code: 404, reason: 'NotFound', message: 'there is no such cluster' })
  }
  const patterns = [...words]
    .filter(word => word.includes('*'))
    .map(word => new RegExp(`^${word.replace(/\*+/g, '[a-z0-9-]*')}$`))
  for (const cluster of patterns.length === 0 ? [] : fleet.clusters) {
    const { name } = cluster
    if (chosen.has(name) || !patterns.some(pattern => pattern.test(name))) continue
    if (!cluster.isListedTo(request)) continue
    if (cluster.state === 'awake') chosen.set(name, cluster)
    else view.lacks({ name, code: 503, reason: 'Idle', message: `the cluster is ${cluster.state}` })
  }
  return [...chosen.values()]
}

interface Waiting {
  readonly clock: Clock
  readonly signal: AbortSignal
}

async function askOne(
  cluster: FleetCluster,
  asked: CollectedRequest,
  { clock, signal }: Waiting,
): Promise<ClusterView | Unanswered> {
  const { name } = cluster
  const over = new AbortController()
  const closed = new Promise<void>(resolve => asked.onClose(resolve))
  signal.addEventListener('abort', () => asked.abort(), { signal: over.signal })
  cluster.handle(asked)
  await Promise.race([closed, sleep(clock, answerMaxMs, AbortSignal.any([signal, over.signal]))])
  over.abort()
  const isLate = !asked.isClosed
  asked.abort()
  const { answer: body, status, isTooLarge } = asked
  const lacks = (code: number, reason: string, message: string): Unanswered => ({
    name,
    code,
    reason,
    message,
  })
  if (isTooLarge) return lacks(413, 'TooLarge', 'its rows are too large: ask for fewer, or less')
  if (isLate) return lacks(504, 'Timeout', `no answer within ${answerMaxMs / 1000} s`)
  if (body === undefined) return lacks(502, 'Cut', 'its answer was cut off')
  const document = documentIn(body)
  if (status === 200 && document['kind'] === 'View') return document as unknown as ClusterView
  const { reason, message } = document as { readonly reason?: string; readonly message?: string }
  return lacks(status, reason ?? 'Unknown', message ?? 'its answer is none of a view')
}

/** Empty for what is no JSON object: a cluster's upstream may have answered. */
function documentIn(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch (error) {
    if (error instanceof SyntaxError) return {}
    throw CacheError.from(error, 'upstream_failed')
  }
}
