/** Authorizes a request before any byte of its response. */

import { unreachable } from '../../base/assert.ts'
import type { Attributes } from '../../kube/request/attributes.ts'
import type { PassReason } from '../../kube/decide.ts'
import { healthPaths } from '../admin/health.ts'
import type { RequestContext } from '../api/request-context.ts'
import type { Authorizer } from './authorizer.ts'

/** True if the request may be answered here. False if it was refused, or has passed to the upstream. */
export async function isAdmitted(
  context: RequestContext,
  authorizer: Authorizer,
  attributes: Attributes,
  passOn: (reason: PassReason) => Promise<void>,
): Promise<boolean> {
  const verdict = await authorizer.authorize(context.exchange, attributes)
  switch (verdict.type) {
    case 'granted':
      context.grant = verdict.grant
      context.exchange.accept()
      return true
    case 'refuse':
      context.reply.status(verdict.status)
      return false
    case 'pass':
      await passOn(verdict.reason)
      return false
    default:
      return unreachable(verdict)
  }
}

/** Paths that need no authorization, like upstream's own health checks: the kubelet probes them without a token. */
export function isPublic(path: string): boolean {
  return healthPaths.some(open => path === open || path.startsWith(`${open}/`))
}
