/** Handles every request: one switch over the decision of lib/kube/decide.ts. Refusals are thrown wherever they are noticed, and become
 *  a Status here. */

import { unreachable } from '../../base/assert.ts'
import { sleep } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'
import { acceptMaxLength } from '../../codec/negotiate/accept.ts'
import { hasUnknownMediaType } from '../../codec/negotiate/unknown-media-type.ts'
import type { ApiState } from '../../kube/api-state.ts'
import { decide, type Decision, type DecisionPolicy } from '../../kube/decide.ts'
import { isWatchRequest } from '../../kube/read-plan.ts'
import { attributesOf } from '../../kube/request/attributes.ts'
import { requestTimeoutMs } from '../../kube/request/list-options.ts'
import { type KnownRequest, RecentRequests } from '../../kube/request/recent-requests.ts'
import { longSubresources, type RequestTarget } from '../../kube/request/request.ts'
import { type ResourceRoute, type Route, unknownPathText } from '../../kube/request/routes.ts'
import { badRequest, internalError, statusFromError } from '../../kube/status.ts'
import type { ApiOptions } from './api.ts'
import { recordAnswer } from '../audit/audit.ts'
import { traceIdOf } from '../audit/trace.ts'
import { isAdmitted, isPublic } from '../auth/admit.ts'
import { answerDiscovery, answerPath } from '../documents/documents.ts'
import type { RequestFaults } from '../exchange/faults.ts'
import { enter } from '../limits/fair-share.ts'
import type { Exchange, Handler } from '../server/exchange.ts'
import { builtinOffer, offerOf } from '../exchange/offers.ts'
import { answerOrPass, passOn } from '../../front/proxy/proxy.ts'
import { answerRead, refuseLate } from '../read/read.ts'
import { Reply } from '../exchange/reply.ts'
import { RequestContext, type RequestFacts } from '../exchange/request-context.ts'
import { SlowRequests } from './slow-requests.ts'
import { Zipper } from '../exchange/zipper.ts'

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

const aloneAndWritable: DecisionPolicy = { ...alone, isWritable: true }

/** The handler of a server. */
export function createHandler(options: ApiOptions): Handler {
  const zipper = new Zipper(options.segments)
  const slow = new SlowRequests(options.clock, options.logger)
  const recent = new RecentRequests()
  return sound => {
    const startMs = options.clock.monotonicMs()
    const state = options.state()
    const known = recent.find(sound.method, sound.target, state.registry)
    const target = known?.target
    const faults = target && faultsOf(sound, target, options)
    const exchange = faults === undefined ? sound : faults.exchange(sound, options.clock)
    const reply = new Reply(exchange, target, {
      auditId: options.auditId(),
      clock: options.clock,
      zipper,
      offer: builtinOffer(options.hasCbor),
    })
    if (known === undefined) {
      reply.badRequest()
      options.requests.request(noResource, 400, 0)
      return
    }
    handle(options, { known, state, exchange, reply, startMs, slow, faults })
  }
}

interface Incoming {
  readonly known: KnownRequest
  readonly state: ApiState
  readonly exchange: Exchange
  readonly reply: Reply
  readonly startMs: number
  readonly slow: SlowRequests
  readonly faults: RequestFaults | undefined
}

function handle(options: ApiOptions, incoming: Incoming): void {
  const { exchange, state, known, reply, startMs } = incoming
  const { target, route } = known
  const isWatch = route.type === 'resource' && isWatchRequest(route, target.query)
  const facts = factsOf(route)
  const { faults } = incoming
  const parts = { exchange, target, reply, startMs, faults, isWatch, state, facts }
  const context = new RequestContext(parts)
  if (route.type === 'resource') {
    reply.offer = offerOf(route, options.hasCbor)
  }
  const ended = (): void => end(context, incoming, options)
  const failed = (error: unknown): void => {
    fail(context, error, options)
  }
  let answering: Answering = undefined
  try {
    answering = answer(context, route, options)
  } catch (error) {
    failed(error)
  }
  if (answering === undefined) {
    ended()
    return
  }
  const over = answering.catch(failed).then(ended)
  over.catch((error: unknown) => {
    options.onFault(error)
    exchange.abort()
  })
}

function end(
  context: RequestContext,
  { reply, startMs, slow }: Incoming,
  options: ApiOptions,
): void {
  context.release()
  if (options.audit !== undefined) recordAnswer(context, options.audit, options)
  const code = reply.code === 0 ? clientLeftCode : reply.code
  const tookMs = options.clock.monotonicMs() - startMs
  options.requests.request(context.facts, code, tookMs)
  slow.ended(context, code, tookMs)
}

/** The faults that are switched on and concern the request. */
function faultsOf(
  { method, headers }: Exchange,
  target: RequestTarget,
  { faults }: ApiOptions,
): RequestFaults | undefined {
  if (faults?.isOn !== true) return undefined
  const userAgent = headers['user-agent'] ?? ''
  return faults.chooseFor({ attributes: attributesOf(method, target), userAgent })
}

/** The code under which metrics count a request whose client left before the response began; nginx uses the same one. */
const clientLeftCode = 499

/** What is answered at once needs no promise: most small reads are, and a promise for each step takes as long as all steps together. */
type Answering = void | Promise<void>

function answer(context: RequestContext, route: Route, options: ApiOptions): Answering {
  const { target, exchange, reply, isWatch } = context
  const { proxy } = options
  const { accept = '' } = reply.preference
  if (proxy === undefined && accept.length > acceptMaxLength) {
    throw badRequest(`the Accept header is longer than ${acceptMaxLength} characters`)
  }
  const decision = decide(
    {
      route,
      target,
      isWatch,
      contentType: exchange.headers['content-type'],
      headerNames: Object.keys(exchange.headers),
      hasUnknownMediaType: proxy !== undefined && hasUnknownMediaType(accept),
      hasUpgrade: exchange.takeover !== undefined,
    },
    proxy?.policy() ?? (options.answerWrite === undefined ? alone : aloneAndWritable),
  )
  if (options.authorizer === undefined) exchange.accept()
  const isGuarded = options.authorizer !== undefined && decision.type !== 'pass'
  const isOurs = !isGuarded || isOursToAnswer(context, options)
  const go = (isAdmitted: boolean): Answering =>
    isAdmitted ? answerAdmitted(context, { route, decision }, options) : undefined
  return isOurs instanceof Promise ? isOurs.then(go) : go(isOurs)
}

interface Decided {
  readonly route: Route
  readonly decision: Decision
}

function answerAdmitted(context: RequestContext, decided: Decided, options: ApiOptions): Answering {
  const { route, decision } = decided
  const { reply, faults } = context
  const isOver = decision.type !== 'pass' && isTimeOver(context, route, options)
  // With an upstream only reads get here. They find it themselves, and say who has answered.
  if (isOver && options.proxy === undefined) return refuseLate(reply)
  if (decision.type === 'refuse') reply.warnings = warningsOfRefusal(route)
  if (faults === undefined) return follow(context, decided, options)
  return hasFailed(context, faults, options).then(failed =>
    failed ? undefined : follow(context, decided, options),
  )
}

function follow(
  context: RequestContext,
  { route, decision }: Decided,
  options: ApiOptions,
): Answering {
  const { reply } = context
  switch (decision.type) {
    case 'mirror':
      return route.type === 'resource' ? answerResource(context, route, options) : undefined
    case 'write':
      return route.type === 'resource' ? options.answerWrite?.(context, route, options) : undefined
    case 'own':
      context.facts = { ...context.facts, source: 'own' }
      if (route.type === 'discovery') return answerDiscovery(context, route, options)
      return route.type === 'path' ? answerPath(context, route.path, options) : undefined
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
      return passOn(context, options, decision.reason)
    default:
      unreachable(decision)
  }
}

/** No server answers anything in less: its timer is looked at before its handlers. */
const answeredAfterMs = 0.01

/** True if the time that the client allows is over before anything was answered. Refuses a timeout that is none, wherever it stands: only
 *  long requests may have any. */
function isTimeOver(
  { target, reply, isWatch, startMs }: RequestContext,
  route: Route,
  { clock }: Pick<ApiOptions, 'clock'>,
): boolean {
  const isLong = route.type === 'resource' && longSubresources.has(route.subresource)
  if (isWatch || isLong) return false
  try {
    const timeoutMs = requestTimeoutMs(target.query)
    if (timeoutMs === undefined) return false
    return timeoutMs <= Math.max(answeredAfterMs, clock.monotonicMs() - startMs)
  } catch (error) {
    reply.offer = builtinOffer(false)
    throw error
  }
}

/** The handler of custom resources adds their warnings before it looks at what is asked for. */
function warningsOfRefusal(route: Route): readonly string[] {
  const hasResource = route.type === 'resource' || route.type === 'failure'
  return hasResource && route.resource?.custom !== undefined ? route.resource.warnings : []
}

/** Lets the faults of a request happen that come before its answer. True if they leave nothing to answer. */
async function hasFailed(
  context: RequestContext,
  faults: RequestFaults,
  { clock }: ApiOptions,
): Promise<boolean> {
  const delayMs = faults.delayMs()
  if (delayMs > 0) await sleep(clock, delayMs, context.signal)
  if (context.isOver) return true
  const failure = faults.failure()
  if (failure !== undefined) context.reply.status(failure)
  return failure !== undefined
}

/** From the mirror; where that cannot answer, from the upstream if there is one. */
function answerResource(
  context: RequestContext,
  route: ResourceRoute,
  options: ApiOptions,
): Answering {
  const { proxy, comparison } = options
  if (proxy === undefined) return readCounted(context, route, options)
  const answering = answerOrPass(context, options, () => readCounted(context, route, options))
  if (comparison === undefined) return answering
  const compare = (): void =>
    comparison.answered(context, route, {
      ...options,
      answer: async (again, same) => answerRead(again, same, { ...options, fairness: undefined }),
    })
  return answering instanceof Promise ? answering.then(compare) : compare()
}

function readCounted(
  context: RequestContext,
  route: ResourceRoute,
  options: ApiOptions,
): Answering {
  const leave = enter(context, options.fairness)
  try {
    const answering = answerRead(context, route, options)
    if (answering !== undefined) return answering.finally(leave)
  } catch (error) {
    leave()
    throw error
  }
  return leave()
}

/** Whether the caller is allowed to have this answered here. Requests that pass are authorized by the upstream. */
function isOursToAnswer(context: RequestContext, options: ApiOptions): boolean | Promise<boolean> {
  const { target, exchange } = context
  const { authorizer } = options
  if (authorizer === undefined || isPublic(target.path)) return true
  const attributes = attributesOf(exchange.method, target)
  const isAllowed = isAdmitted(context, authorizer, attributes, reason =>
    passOn(context, options, reason),
  )
  return isAllowed instanceof Promise
    ? isAllowed.then(allowed => {
        context.reviewMs = options.clock.monotonicMs() - context.startMs
        return allowed
      })
    : isAllowed
}

function factsOf(route: Route): RequestFacts {
  if (route.type !== 'resource') return noResource
  const { resource, verb } = route
  return {
    ...noResource,
    verb,
    group: resource.group,
    version: resource.version,
    resource: resource.resource,
  }
}

/** Answers with the failure of a request. If the response has already begun, the connection is cut, so that no client takes it for
 *  complete. */
function fail(
  context: RequestContext,
  error: unknown,
  { onFault, logger }: Pick<ApiOptions, 'onFault' | 'logger'>,
): void {
  const { reply, exchange } = context
  const isFailure = error instanceof CacheError
  if (!isFailure) onFault(error)
  if (context.isOver) return
  if (reply.code === 0) reply.status(isFailure ? statusFromError(error) : internalError)
  else {
    if (isFailure) {
      const traceId = traceIdOf(exchange.headers)
      logger.warn('a response failed after it had begun: the connection was closed', {
        reason: error.message,
        auditId: reply.auditId,
        traceId,
      })
    }
    exchange.abort()
  }
}
