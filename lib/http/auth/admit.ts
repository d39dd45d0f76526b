/** Authorizes a request before any byte of its response. */

import { unreachable } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import type { Soon } from '../../base/soon.ts'
import type { PassReason } from '../../kube/decide.ts'
import { attributesOf } from '../../kube/request/attributes.ts'
import type { RequestContext } from '../exchange/request-context.ts'
import type { Gate, Verdict } from './gate.ts'

/** True if the request may be answered here, at once if that is known. A reason if it passes;
 *  undefined if it was refused. */
export function admit(
  context: RequestContext,
  gate: Gate,
  clock: Clock,
): Soon<true | PassReason | undefined> {
  const { exchange, target } = context
  const verdict = gate.authorize(exchange, attributesOf(exchange.method, target))
  if (!(verdict instanceof Promise)) return follow(verdict, context)
  return verdict.then(decided => {
    context.reviewMs = clock.monotonicMs() - context.startMs
    return follow(decided, context)
  })
}

function follow(verdict: Verdict, context: RequestContext): true | PassReason | undefined {
  switch (verdict.type) {
    case 'granted':
      context.grant = verdict.grant
      context.authorizedBy = verdict.reason
      context.exchange.accept()
      return true
    case 'refuse':
      context.authorizedBy = verdict.reason
      context.refusedUser = verdict.impersonated
      context.reply.status(verdict.status)
      return undefined
    case 'pass':
      return verdict.reason
    default:
      return unreachable(verdict)
  }
}

/** The endpoints of health checks, which need no authorization, like upstream's own: the kubelet
 *  probes them without a token. */
export const healthPaths: readonly string[] = ['/healthz', '/livez', '/readyz']

export function isPublic(path: string): boolean {
  return healthPaths.includes(path)
}
