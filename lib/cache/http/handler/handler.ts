/** Handles every request: one switch over the decision of lib/kube/decide.ts. Refusals are thrown
 *  wherever they are noticed, and become a Status here. */

import { CacheError, inSlices, sleep, soon, unreachable } from '@watchglass/base'
import { acceptMaxLength, contentType, type Offer } from '@watchglass/codec'
import {
  attributesOf,
  badRequest,
  type Decision,
  type DecisionPolicy,
  internalError,
  methodNotAllowed,
  type PassReason,
  KnownRequest,
  RecentRequests,
  type RequestTarget,
  requestTimeoutMs,
  type ResourceRoute,
  type Route,
  statusBytes,
  StatusError,
  statusFromError,
  unauthorized,
  unknownPathText,
} from '@watchglass/kube'
import type { ApiOptions } from './api.ts'
import { recordAnswer } from '../audit/audit.ts'
import { traceIdOf } from '../audit/trace.ts'
import { admit, admitLive, admitPublic, isPublic } from '../auth/admit.ts'
import { answerDiscovery, answerPath } from '../documents/documents.ts'
import type { Faults, RequestFaults } from '../request/faults.ts'
import { enter } from '../limits/fair-share.ts'
import type { HttpRequest, Handler } from '../server/http-request.ts'
import { askedView, viewsDocumentPath } from '../request/asked-view.ts'
import { builtinOffer, offerOf } from '../request/offers.ts'
import type { Answer } from '../request/upstream-side.ts'
import { refuseLate } from '../request/deadline.ts'
import { answerRead } from './answer-read.ts'
import { BrokenAnswers } from './broken-answers.ts'
import { decideView, viewNotHere } from './decide-view.ts'
import { isMutating, report } from './report.ts'
import { Reply } from '../request/reply.ts'
import { RequestContext, type RequestFacts } from '../request/request-context.ts'
import { slowMs } from './slow-requests.ts'
import { Zipper } from '../request/zipper.ts'

const noResource: RequestFacts = {
  verb: '',
  group: '',
  version: '',
  resource: '',
  source: 'refused',
  hasLabelSelector: false,
  hasFieldSelector: false,
}

function policyOf({ upstream, cluster, preparation, hasCbor }: ApiOptions): DecisionPolicy {
  if (upstream !== undefined) return upstream.policy
  const hasCluster = cluster !== undefined
  return {
    hasUpstream: false,
    isExcluded: () => false,
    hasCluster,
    canConvert: hasCluster && preparation !== undefined,
    hasCbor: hasCluster && hasCbor,
  }
}

/** The parts of the API, and what follows from them for all requests. */
interface HandlerOptions extends ApiOptions {
  readonly policy: DecisionPolicy
  readonly broken: BrokenAnswers
}

/** The handler of a server. */
export function createHandler(api: ApiOptions): Handler {
  const options: HandlerOptions = {
    ...api,
    policy: policyOf(api),
    broken: new BrokenAnswers(api),
  }
  const zipper = new Zipper(options.segments)
  const recent = new RecentRequests()
  return received => {
    const startMs = options.clock.monotonicMs()
    const state = options.registry.state
    const view = options.views && askedView(received.target)
    const known =
      view === undefined
        ? recent.find(received.method, received.target, state.registry)
        : listOfView(received.method, recent.find('GET', view.line, state.registry))
    const target = known?.target
    const rules = options.faults?.faults
    const faults = target && rules && faultsOf(received, target, rules)
    const request = faults === undefined ? received : faults.applyTo(received, options.clock)
    const trace = options.tracer?.begin(received.headers, startMs)
    const reply = new Reply(request, {
      trace,
      auditId: options.auditId(),
      clock: options.clock,
      zipper,
      offer: () => offerFor(known, options),
      pretty: known?.pretty,
    })
    if (known === undefined) {
      reply.badRequest()
      options.requests.request(noResource, 400, 0)
      trace?.end('malformed', { 'http.response.status_code': 400 })
      return
    }
    const facts = factsOf(known.route)
    const parts = { request, known, view, reply, startMs, faults, trace, state, facts }
    handle(new RequestContext(parts), options)
  }
}

/** The list that a view reads. A view of any other method is no request for a list. */
function listOfView(method: string, list: KnownRequest | undefined): KnownRequest | undefined {
  if (method === 'GET' || list === undefined) return list
  return new KnownRequest(list.target, { type: 'failure', status: methodNotAllowed })
}

function handle(context: RequestContext, options: HandlerOptions): void {
  const { request, known, startMs } = context
  if (!known.lasts) options.reports?.inFlight.began(isMutating(request.method), startMs)
  let answer: Answer = undefined
  try {
    answer = answerDecided(context, options)
  } catch (error) {
    fail(context, error, options)
  }
  if (answer === undefined) end(context, options)
  else {
    finish(context, answer, options).catch((error: unknown) => {
      options.onFault(error)
      context.release()
      request.abort()
    })
  }
}

/** Waits for the answer, or passes the request. */
async function finish(
  context: RequestContext,
  answer: Answer,
  options: HandlerOptions,
): Promise<void> {
  try {
    const reason = await answer
    if (reason === undefined) return end(context, options)
    if (context.view !== undefined) refuseView(context, reason, options)
    else {
      context.trace?.stage('pass')
      await options.upstream?.pass(context, reason)
    }
  } catch (error) {
    if (error instanceof StatusError) await refuse(context, error, options)
    else fail(context, error, options)
  }
  end(context, options)
}

function end(context: RequestContext, options: ApiOptions): void {
  const { known, reply, startMs } = context
  const { reports } = options
  context.release()
  if (options.audit !== undefined) recordAnswer(context, options.audit, options)
  const code = reply.code === 0 ? clientLeftCode : reply.code
  const nowMs = options.clock.monotonicMs()
  const tookMs = nowMs - startMs
  options.requests.request(context.facts, code, tookMs)
  if (reports !== undefined) {
    if (!known.lasts) reports.inFlight.ended(isMutating(context.request.method))
    const { clock } = options
    report(context, { code, nowMs }, { reports, clock })
  }
  if (context.trace !== undefined) endTrace(context, code)
  if (tookMs - context.provingMs >= slowMs) options.slow.ended(context, code, tookMs)
}

function endTrace({ trace, facts, request, reply }: RequestContext, code: number): void {
  const { verb, group, version, resource, source } = facts
  trace?.end(verb === '' ? 'not of a resource' : `${verb} ${resource}`, {
    'http.request.method': methods.has(request.method) ? request.method : '_OTHER',
    'http.response.status_code': code,
    'k8s.verb': verb,
    'k8s.group': group,
    'k8s.version': version,
    'k8s.resource': resource,
    'watchglass.source': source,
    'watchglass.audit_id': reply.auditId,
  })
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** The media types in which the request may be answered; of all requests, until it is known what is
 *  asked for. */
function offerFor(known: KnownRequest | undefined, options: ApiOptions): Offer {
  if (known?.route.type !== 'resource') return builtinOffer(options.hasCbor)
  return (known.offer ??= offerOf(known.route, options))
}

/** The faults that are switched on and concern the request. */
function faultsOf(
  { method, headers }: HttpRequest,
  target: RequestTarget,
  faults: Faults,
): RequestFaults | undefined {
  if (!faults.isOn) return undefined
  const userAgent = headers['user-agent'] ?? ''
  return faults.chooseFor({ attributes: attributesOf(method, target), userAgent })
}

/** The code under which metrics count a request whose client left before the response began; nginx
 *  uses the same one. */
const clientLeftCode = 499

function answerDecided(context: RequestContext, options: HandlerOptions): Answer {
  const { target, request, reply, view } = context
  const { upstream, authorizer } = options
  const { accept = '' } = reply.preference
  if (upstream === undefined && accept.length > acceptMaxLength) {
    throw badRequest(`the Accept header is longer than ${acceptMaxLength} characters`)
  }
  const decision = decisionAbout(context, accept, options)
  if (authorizer === undefined) request.accept()
  else if (authorizer.isRefused(request)) return reply.status(unauthorized)
  // Requests that pass are authorized by the upstream.
  if (decision.type === 'pass') return decision.reason
  if (authorizer === undefined) return answerAdmitted(context, decision, options)
  context.trace?.stage('authorize')
  const admission = isPublic(target.path) ? admitPublic : view?.isLive ? admitLive : admit
  return soon(admission(context, authorizer, options.clock), admitted =>
    admitted === true ? answerAdmitted(context, decision, options) : admitted,
  )
}

/** The side that answers. A view has no media types that an upstream might know better. */
function decisionAbout(
  { known, request, view }: RequestContext,
  accept: string,
  { policy }: HandlerOptions,
): Decision {
  if (view === undefined) return known.decide(request, accept, policy)
  if (view.path === viewsDocumentPath) return { type: 'own' }
  return decideView(known.decide(request, '', policy), known)
}

function answerAdmitted(context: RequestContext, decision: Decision, options: ApiOptions): Answer {
  const { known, reply, faults } = context
  context.isAdmitted = true
  const isOver = known.hasTimeout && !known.lasts && isTimeOver(context, options)
  // With an upstream only reads get here. They find it themselves, and say who has answered.
  if (isOver && options.upstream === undefined) return refuseLate(reply)
  if (decision.type === 'refuse') reply.warnings = warningsOfRefusal(known.route)
  if (faults === undefined) return follow(context, decision, options)
  return hasFailed(context, faults, options).then(failed =>
    failed ? undefined : follow(context, decision, options),
  )
}

function follow(context: RequestContext, decision: Decision, options: ApiOptions): Answer {
  const { reply } = context
  const { route } = context.known
  switch (decision.type) {
    case 'mirror':
      return route.type === 'resource' ? answerFromMirror(context, route, options) : undefined
    case 'cluster':
      context.trace?.stage('store')
      return route.type === 'resource' ? options.cluster?.(context, route, options) : undefined
    case 'own':
      context.facts = { ...context.facts, source: 'own' }
      if (context.view !== undefined) return answerViewsDocument(context, options)
      if (route.type === 'discovery') return answerDiscovery(context, route, options)
      return route.type === 'path' ? answerPath(context, route.path, options) : undefined
    case 'refuse':
      noteLacked(context, options)
      return reply.status(decision.status)
    case 'unknown':
      return reply.text(404, unknownPathText)
    case 'unavailable':
      return reply.text(503, 'service unavailable\n')
    case 'pass':
      return decision.reason
    default:
      return unreachable(decision)
  }
}

/** No server answers anything in less: its timer is looked at before its handlers. */
const answeredAfterMs = 0.01

/** True if the time that the client allows is over before anything was answered. Refuses a timeout
 *  that is none, wherever it stands: only long requests may have any. */
function isTimeOver(
  { target, reply, startMs }: RequestContext,
  { clock }: Pick<ApiOptions, 'clock'>,
): boolean {
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

/** Lets the faults of a request happen that come before its answer. True if they leave nothing to
 *  answer. */
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

/** From the mirror, as one of its user's reads. */
function answerFromMirror(
  context: RequestContext,
  route: ResourceRoute,
  options: ApiOptions,
): Answer {
  const { upstream, views } = options
  if (upstream !== undefined) context.reply.origin = 'mirror'
  context.leave = enter(context, options.fairness)
  if (context.view !== undefined) return views?.answer(context, route, options)
  const answer = answerRead(context, route, options)
  if (upstream === undefined) return answer
  return soon(answer, reason => {
    context.leave()
    if (reason === undefined) {
      const unlimited = { ...options, fairness: undefined }
      upstream.answered(context, route, again => answerRead(again, route, unlimited))
    }
    return reason
  })
}

/** Refuses a view that nobody can answer now. */
function refuseView(context: RequestContext, reason: PassReason, options: ApiOptions): void {
  if (reason === 'not-ready') haveMirrored(context, options)
  context.reply.status(viewNotHere(reason, context.known.route))
}

/** Has a resource mirrored whose view was refused because it is not. */
function noteLacked(context: RequestContext, options: ApiOptions): void {
  const { view, known, request } = context
  if (view === undefined || options.upstream === undefined) return
  const decision = known.decide(request, '', options.upstream.policy)
  if (decision.type === 'pass' && decision.reason === 'not-ready') haveMirrored(context, options)
}

/** Has a resource mirrored for somebody who may list it. A list would pass meanwhile, and the
 *  upstream would say whether its sender may; without anybody who says so, a stranger could have
 *  everything mirrored. */
function haveMirrored({ known: { route } }: RequestContext, options: ApiOptions): void {
  const { upstream, authorizer } = options
  const isAllowed = authorizer !== undefined || upstream?.policy.isOneUser === true
  if (isAllowed && route.type === 'resource') upstream?.lacked(route)
}

async function answerViewsDocument(
  { reply, request }: RequestContext,
  { views }: ApiOptions,
): Promise<undefined> {
  if (request.method !== 'GET' || views === undefined) return reply.status(methodNotAllowed)
  const text = await views.document()
  return reply.body(reply.response(200, contentType('json')), Buffer.from(text))
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

/** Answers with a refusal. That of an object in which thirty thousand fields are wrong is written
 *  in slices. */
async function refuse(
  context: RequestContext,
  error: StatusError,
  options: HandlerOptions,
): Promise<void> {
  const { reply } = context
  const json = await inSlices(statusBytes(error.status), options.clock)
  if (reply.code === 0 && !context.isOver) reply.status(error.status, json)
  else fail(context, error, options)
}

/** Answers with the failure of a request. If the response has already begun, the connection is cut,
 *  so that no client takes it for complete. */
function fail(
  context: RequestContext,
  error: unknown,
  { onFault, broken }: Pick<HandlerOptions, 'onFault' | 'broken'>,
): void {
  const { reply, request } = context
  const isFailure = error instanceof CacheError
  if (!isFailure) onFault(error)
  if (context.isOver) return
  if (reply.code === 0) reply.status(isFailure ? statusFromError(error) : internalError)
  else {
    if (isFailure) {
      const traceId = traceIdOf(request.headers)
      broken.note({ reason: error.message, auditId: reply.auditId, traceId })
    }
    request.abort()
  }
}
