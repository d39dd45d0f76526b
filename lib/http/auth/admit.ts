/** Authorizes a request before any byte of its response. */

import { unreachable } from '../../base/assert.ts'
import type { Attributes } from '../../kube/request/attributes.ts'
import type { PassReason } from '../../kube/decide.ts'
import { healthPaths } from '../admin/health.ts'
import type { RequestContext } from '../exchange/request-context.ts'
import type { Authorizer, Verdict } from './authorizer.ts'

type PassOn = (reason: PassReason) => Promise<void>

/** True if the request may be answered here, at once if that is known. False if it was refused, or has passed to the upstream. */
export function isAdmitted(
  context: RequestContext,
  authorizer: Authorizer,
  attributes: Attributes,
  passOn: PassOn,
): boolean | Promise<boolean> {
  const verdict = authorizer.authorize(context.exchange, attributes)
  return verdict instanceof Promise
    ? verdict.then(decided => follow(decided, context, passOn))
    : follow(verdict, context, passOn)
}

function follow(
  verdict: Verdict,
  context: RequestContext,
  passOn: PassOn,
): boolean | Promise<boolean> {
  switch (verdict.type) {
    case 'granted':
      context.grant = verdict.grant
      context.exchange.accept()
      return true
    case 'refuse':
      context.reply.status(verdict.status)
      return false
    case 'pass':
      return passOn(verdict.reason).then(() => false)
    default:
      return unreachable(verdict)
  }
}

/** Paths that need no authorization, like upstream's own health checks: the kubelet probes them without a token. */
export function isPublic(path: string): boolean {
  return healthPaths.some(open => path === open || path.startsWith(`${open}/`))
}
