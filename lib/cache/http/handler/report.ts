/** Reports requests as the metrics of kube-apiserver do: those for resources, of callers that were
 *  admitted, and health checks and aggregated discovery beside them. A watch is reported when it
 *  ends. */

import type { Clock } from '@watchglass/base'
import { type Reported, reportedOf, reportedPath } from '@watchglass/kube'
import type { RequestContext } from '../exchange/request-context.ts'
import type { Exchange } from '../server/exchange.ts'
import type { RequestReports } from './api.ts'

/** True for requests that kube-apiserver takes for changes. */
export function isMutating(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

/** A request was refused because there are too many. */
const tooMany = 429

/** The answer of a request, and when it came. */
export interface Answered {
  readonly code: number
  readonly nowMs: number
}

/** Reports an answer that has ended, or a watch that goes on. */
export function report(
  context: RequestContext,
  { code, nowMs }: Answered,
  services: { readonly reports: RequestReports; readonly clock: Clock },
): void {
  const isCounted = context.isAdmitted || context.facts.source === 'upstream' || code === tooMany
  const request = isCounted ? requestOf(context) : undefined
  if (request === undefined) return
  const { exchange, startMs } = context
  if (request.verb === 'WATCH' && !exchange.isClosed && code === 200) {
    reportEnd(exchange, { request, startMs }, services)
    return
  }
  const { sentBytes: bytes = 0 } = exchange
  services.reports.answered(request, { code, tookMs: nowMs - startMs, bytes })
}

/** Its own function, so that an open watch holds nothing of its request. */
function reportEnd(
  exchange: Exchange,
  { request, startMs }: { readonly request: Reported; readonly startMs: number },
  { reports, clock }: { readonly reports: RequestReports; readonly clock: Clock },
): void {
  reports.opened(request)
  exchange.onClose(() => {
    reports.closed(request)
    reports.answered(request, { code: 200, tookMs: clock.monotonicMs() - startMs, bytes: 0 })
  })
}

function requestOf({ exchange, known, target, ownPath }: RequestContext): Reported | undefined {
  const { route } = known
  if (route.type === 'resource') {
    const contentType = exchange.headers['content-type']
    // The type of a body is nothing to the lines that are remembered: those of GET.
    return (known.reported ??= reportedOf(route, { method: exchange.method, contentType, target }))
  }
  return ownPath && reportedPath(ownPath.path, ownPath.component)
}
