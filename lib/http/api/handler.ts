/** Handles every request: one switch over the decision of lib/kube/decide.ts. Refusals are thrown wherever they are noticed, and become
 *  a Status here. */

import { unreachable } from '../../base/assert.ts'
import { CacheError } from '../../base/errors.ts'
import { hasUnknownMediaType } from '../../codec/negotiate/unknown-media-type.ts'
import { decide, type DecisionPolicy } from '../../kube/decide.ts'
import { attributesOfAny } from '../../kube/request/attributes.ts'
import { parseTarget, type RequestTarget } from '../../kube/request/request.ts'
import { type Route, routeRequest, unknownPathText } from '../../kube/request/routes.ts'
import { internalError, statusFromError } from '../../kube/status.ts'
import type { ApiOptions, RequestFacts } from './api.ts'
import { recordAnswer } from '../audit/audit.ts'
import { isAdmitted, isPublic } from '../auth/admit.ts'
import { answerDiscovery, answerPath } from './documents.ts'
import { shared } from '../limits/fair-share.ts'
import type { Exchange, Handler } from '../server/exchange.ts'
import { builtinOffer, offerOf } from './offers.ts'
import { answerOrPass, passOn } from '../proxy/proxy.ts'
import { answerRead } from './read.ts'
import { Reply } from './reply.ts'
import { RequestContext } from './request-context.ts'
import { Zipper } from '../server/zipper.ts'

const noResource: RequestFacts = {
  verb: '',
  group: '',
  version: '',
  resource: '',
  source: 'refused',
  hasLabelSelector: false,
  hasFieldSelector: false,
}

/** The policy without an upstream. */
const alone: DecisionPolicy = {
  hasUpstream: false,
  isSwitchedOff: false,
  isExcluded: () => false,
}

/** The handler of a server. */
export function createHandler(options: ApiOptions): Handler {
  const zipper = new Zipper(options.segments)
  return exchange => {
    const startMs = options.clock.monotonicMs()
    const target = parseTarget(exchange.target)
    const reply = new Reply(exchange, target, {
      auditId: options.auditId(),
      clock: options.clock,
      zipper,
      offer: builtinOffer(options.hasCbor),
    })
    if (target === undefined) {
      reply.badRequest()
      options.requests.request(noResource, 400, 0)
      return
    }
    handle(options, { exchange, target, reply, startMs }).catch((error: unknown) => {
      options.onFault(error)
      exchange.abort()
    })
  }
}

interface Incoming {
  readonly exchange: Exchange
  readonly target: RequestTarget
  readonly reply: Reply
  readonly startMs: number
}

async function handle(options: ApiOptions, incoming: Incoming): Promise<void> {
  const { exchange, target, reply, startMs } = incoming
  const state = options.state()
  const facts = noResource
  const context = new RequestContext({ exchange, target, reply, startMs, options, state, facts })
  try {
    await answer(context)
  } catch (error) {
    fail(context, error)
  }
  context.release()
  if (options.audit !== undefined) recordAnswer(context, options.audit)
  const code = reply.code === 0 ? clientLeftCode : reply.code
  options.requests.request(context.facts, code, options.clock.monotonicMs() - startMs)
}

/** The code under which metrics count a request whose client left before the response began; nginx uses the same one. */
const clientLeftCode = 499

async function answer(context: RequestContext): Promise<void> {
  const { state, target, exchange, reply } = context
  const { proxy } = context.options
  const route = routeRequest(exchange.method, target.path, state.registry)
  noteResource(context, route)
  const decision = decide(
    {
      route,
      target,
      headerNames: Object.keys(exchange.headers),
      hasUnknownMediaType: proxy !== undefined && hasUnknownMediaType(exchange.headers.accept),
      hasUpgrade: exchange.takeover !== undefined,
    },
    proxy?.policy() ?? alone,
  )
  const isGuarded = context.options.authorizer !== undefined && decision.type !== 'pass'
  if (isGuarded && !(await isOursToAnswer(context, route))) return
  switch (decision.type) {
    case 'mirror':
      if (route.type === 'resource') {
        await answerOrPass(context, () => shared(context, () => answerRead(context, route)))
        proxy?.comparison?.answered(context, route)
      }
      return
    case 'own':
      context.facts = { ...context.facts, source: 'own' }
      if (route.type === 'discovery') await answerDiscovery(context, route)
      else if (route.type === 'path') await answerPath(context, route.path)
      return
    case 'refuse':
      reply.status(decision.status)
      return
    case 'unknown':
      reply.text(404, unknownPathText)
      return
    case 'unavailable':
      reply.text(503, 'service unavailable\n')
      return
    case 'pass':
      await passOn(context, decision.reason)
      return
    default:
      unreachable(decision)
  }
}

/** Whether the caller is allowed to have this answered here. Requests that pass are authorized by the upstream. */
async function isOursToAnswer(context: RequestContext, route: Route): Promise<boolean> {
  const { target, exchange } = context
  if (isPublic(target.path)) return true
  return isAdmitted(context, () => attributesOfAny(route, exchange.method, target), passOn)
}

function noteResource(context: RequestContext, route: Route): void {
  if (route.type !== 'resource') return
  const { resource, verb, name } = route
  context.reply.offer = offerOf(resource, name === '', context.options.hasCbor)
  context.facts = {
    ...context.facts,
    verb,
    group: resource.group,
    version: resource.version,
    resource: resource.resource,
  }
}

/** Answers with the failure of a request. If the response has already begun, the connection is cut, so that no client takes it for
 *  complete. */
function fail(context: RequestContext, error: unknown): void {
  const { reply, exchange, options } = context
  const isFailure = error instanceof CacheError
  if (!isFailure) options.onFault(error)
  if (context.isOver) return
  if (reply.code === 0) reply.status(isFailure ? statusFromError(error) : internalError)
  else {
    if (isFailure) options.logger.warn('a response was cut off', { reason: error.message })
    exchange.abort()
  }
}
