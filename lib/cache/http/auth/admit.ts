/** Authorizes a request before any byte of its response. */

import { type Clock, soon, type Soon, unreachable } from '@watchglass/base'
import { type Attributes, attributesOf, type PassReason, unauthorized } from '@watchglass/kube'
import type { Grant } from '../request/grant.ts'
import type { RequestContext } from '../request/request-context.ts'
import { bearerToken } from './caller.ts'
import type { AccessGate, Verdict } from './gate.ts'

/** True if the request may be answered here. A reason if it passes; undefined if it was refused. At
 *  once if that is known. */
type Admitted = Soon<true | PassReason | undefined>

/** For a request with these attributes, which are its own if they are left out. */
export function admit(
  context: RequestContext,
  gate: AccessGate,
  clock: Clock,
  attributes: Attributes = attributesOf(context.request.method, context.target),
): Admitted {
  const verdict = gate.authorize(context.request, attributes)
  if (!(verdict instanceof Promise)) return follow(verdict, context)
  return verdict.then(decided => {
    context.reviewMs = clock.monotonicMs() - context.startMs
    return follow(decided, context)
  })
}

/** For a live page of a list, which needs the permission to list beside that to watch. */
export function admitLive(context: RequestContext, gate: AccessGate, clock: Clock): Admitted {
  const attributes = attributesOf(context.request.method, context.target)
  return soon(admit(context, gate, clock, { ...attributes, verb: 'list' }), mayList => {
    const list = context.grant
    if (mayList !== true || list === undefined) return mayList
    return soon(admit(context, gate, clock, attributes), mayWatch => {
      if (mayWatch === true && context.grant !== undefined) {
        context.grant = bothGrants(list, context.grant)
      }
      return mayWatch
    })
  })
}

/** Two permissions of one caller: what is watched with both ends with either. */
function bothGrants(one: Grant, other: Grant): Grant {
  return {
    user: () => one.user(),
    learnName: () => one.learnName(),
    identity: () => one.identity(),
    impersonator: one.impersonator,
    watch(end) {
      const cancels = [one.watch(end), other.watch(end)]
      return () => cancels.forEach(cancel => cancel())
    },
  }
}

/** For a path that needs no authorization. kube-apiserver asks first who it is, so that credentials
 *  of nobody are refused here, too. Health is told to all others, also while the server of reviews
 *  fails or takes long: whoever probes this process must not have it restarted for that. */
export function admitPublic(context: RequestContext, gate: AccessGate, clock: Clock): Admitted {
  const { request, target } = context
  if (bearerToken(request.headers.authorization) === undefined) return true
  const verdict = gate.authorize(request, attributesOf(request.method, target))
  const decide = (one: Verdict | undefined): true | PassReason | undefined =>
    one?.type === 'refuse' && one.status.code === unauthorized.code ? follow(one, context) : true
  if (!(verdict instanceof Promise)) return decide(verdict)
  return within(askedMaxMs, verdict, clock).then(decide)
}

/** The time that a probe waits at most; probes of Kubernetes have a second by default. */
const askedMaxMs = 500

/** Undefined if it is not known by then. */
function within(ms: number, verdict: Promise<Verdict>, clock: Clock): Promise<Verdict | undefined> {
  return new Promise(resolve => {
    const cancel = clock.setTimer(ms, () => resolve(undefined))
    void verdict.then(known => {
      cancel()
      resolve(known)
    })
  })
}

function follow(verdict: Verdict, context: RequestContext): true | PassReason | undefined {
  switch (verdict.type) {
    case 'granted':
      context.grant = verdict.grant
      context.authorizedBy = verdict.reason
      context.reply.classification = verdict.headers
      context.request.accept()
      return true
    case 'refuse':
      context.authorizedBy = verdict.reason
      context.refusedUser = verdict.impersonated
      context.reply.classification = verdict.headers
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
