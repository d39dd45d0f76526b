/** Answers views over several clusters: `/views/clusters/SELECTION/apis/apps/v1/deployments?...`,
 *  where SELECTION is names and patterns, as `team-a,prod-*` or `*`.
 *
 *  Each cluster answers its own view, in the name of the caller and by the caller's rights there;
 *  here the answers are put side by side (`merged-view.ts`), once, or as they change
 *  (`live-fleet-answer.ts`). */

import { CacheError, type Clock, sleep } from '@watchglass/base'
import {
  type CollectedRequest,
  type HttpRequest,
  type OnFault,
  systemRandom,
} from '@watchglass/cache'
import { methodNotAllowed, StatusError } from '@watchglass/kube'
import { load } from '../../compose/loaded-code.ts'
import type { FleetCluster } from './fleet-cluster.ts'
import { sendJson } from './fleet-json.ts'
import { fleetQuestionOf } from './fleet-question.ts'
import type { Fleet } from './fleet.ts'
import { answerLiveFleetView, type OpenFleetViews } from './live-fleet-answer.ts'
import {
  type ClusterView,
  MergedView,
  strayColumn,
  strayIn,
  type Unanswered,
} from './merged-view.ts'
import { sendStatus } from './refusals.ts'
import { requestOfCaller } from './request-of-caller.ts'
import { selectedOf } from './selection.ts'

export interface FleetViewsParts {
  readonly fleet: Fleet
  /** The live views that are open. */
  readonly open: OpenFleetViews
  readonly clock: Clock
  readonly onFault: OnFault
}

/** Clusters that are asked at the same time, how long each may take, and how much it may answer:
 *  that is parsed in one step. */
const atOnce = 8
const answerMaxMs = 30_000
const answerMaxBytes = 1024 * 1024

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

async function answer(request: HttpRequest, parts: FleetViewsParts): Promise<void> {
  const { fleet, clock, open } = parts
  const question = fleetQuestionOf(request.target)
  const { columnPlace } = await load.viewPlaces()
  if (question.isLive && request.method !== 'GET') {
    sendStatus(request, methodNotAllowed)
    return
  }
  if (question.isLive) {
    const live = { fleet, placeOf: columnPlace, open, clock, random: systemRandom }
    await answerLiveFleetView(request, question, live)
    return
  }
  const view = new MergedView(question, columnPlace)
  const { chosen, unanswered } = selectedOf(question, request, fleet)
  for (const one of unanswered) view.lacks(one)
  const left = new AbortController()
  request.onClose(() => left.abort())
  const next = chosen.values()
  // Each takes the next cluster when it has had an answer.
  const asking = Array.from({ length: Math.min(atOnce, chosen.length) }, async () => {
    for (const cluster of next) {
      if (left.signal.aborted) return
      const asked = requestOfCaller(request, question.target, answerMaxBytes)
      const found = await askOne(cluster, asked, { clock, signal: left.signal })
      if ('code' in found) view.lacks(found)
      else addTo(view, { cluster, found, sort: question.sort })
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

/** Fails for an order by a column that is not among those of the rows. */
function addTo(view: MergedView, { cluster, found, sort }: Found): void {
  const stray = found.by === undefined ? strayIn(sort, found.columns ?? []) : undefined
  if (stray !== undefined) {
    throw new StatusError('invalid_request', strayColumn(stray))
  }
  view.add(cluster.name, found)
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
