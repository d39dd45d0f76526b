/** Objects that cannot be shown exactly. One of them in an answer passes the whole request, as long
 *  as nothing was sent; without an upstream it is refused. */

import { type Clock, NotExact, Slice } from '@watchglass/base'
import { Superseded, Unproven, VersionsDiffer } from '@watchglass/codec'
import { notExactly, type PassReason, type Resource } from '@watchglass/kube'
import type { RequestContext } from './request-context.ts'
import type { UpstreamSide } from './upstream-side.ts'

/** Why a request passes whose answer holds such an object. Without an upstream the request is
 *  refused. */
export function notShown(
  resource: Resource,
  problem: NotExact,
  upstream: UpstreamSide | undefined,
): PassReason {
  if (upstream === undefined) throw notExactly(resource, problem)
  if (problem instanceof Unproven || problem instanceof Superseded) return 'unproven'
  return problem instanceof VersionsDiffer ? 'versions-differ' : 'inexact'
}

/** Makes the pieces of a response without sending them. Returns why one of them is not exact;
 *  undefined if all are, or if the client has left. */
export async function problemIn(
  context: RequestContext,
  pieces: Iterator<unknown, unknown>,
  pace: Clock,
): Promise<NotExact | undefined> {
  const slice = new Slice(pace)
  while (!context.isOver) {
    const { done, value } = pieces.next()
    if (value instanceof NotExact) return value
    if (done === true) return undefined
    if (slice.isOver) await slice.next()
  }
  return undefined
}
