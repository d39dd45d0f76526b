/** Reports requests as the metrics of kube-apiserver do: those for resources, of callers that were
 *  admitted, and health checks and aggregated discovery beside them. A watch is reported when it
 *  ends. */

import type { Clock } from '@watchglass/base'
import { type Reported, reportedOf, reportedPath } from '@watchglass/kube'
import type { RequestContext } from '../request/request-context.ts'
import type { HttpRequest } from '../server/http-request.ts'
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
  const reported = isCounted ? countedOf(context) : undefined
  if (reported === undefined) return
  const { request, startMs } = context
  if (reported.verb === 'WATCH' && !request.isClosed && code === 200) {
    reportEnd(request, { reported, startMs }, services)
    return
  }
  const { sentBytes: bytes = 0 } = request
  services.reports.answered(reported, { code, tookMs: nowMs - startMs, bytes })
}

/** Its own function, so that an open watch holds nothing of its request. */
function reportEnd(
  request: HttpRequest,
  { reported, startMs }: { readonly reported: Reported; readonly startMs: number },
  { reports, clock }: { readonly reports: RequestReports; readonly clock: Clock },
): void {
  reports.opened(reported)
  request.onClose(() => {
    reports.closed(reported)
    reports.answered(reported, { code: 200, tookMs: clock.monotonicMs() - startMs, bytes: 0 })
  })
}

function countedOf({ request, known, target, ownPath }: RequestContext): Reported | undefined {
  const { route } = known
  if (route.type === 'resource') {
    const contentType = request.headers['content-type']
    // The type of a body is nothing to the lines that are remembered: those of GET.
    return (known.reported ??= reportedOf(route, { method: request.method, contentType, target }))
  }
  return ownPath && reportedPath(ownPath.path, ownPath.component)
}
