/** Answers writes: reads the body, hands it to the write's operation, and shows what is stored
 *  then. */

import { type Clock, NotExact } from '@watchglass/base'
import {
  contentType,
  type MediaType,
  negotiate,
  objectBodyInSteps,
  statusBody,
} from '@watchglass/codec'
import {
  badRequest,
  isMeasured,
  needsKubelet,
  notAcceptable,
  notExactly,
  objectNotFound,
  requestTimeoutMs,
  type ResourceRoute,
  scaleBody,
  type Verb,
} from '@watchglass/kube'
import { successJson } from './success.ts'
import { textInOrder } from '@watchglass/go'
import { admitConnection } from './connect.ts'
import { answerMeasured } from './measured.ts'
import { chosenContainer, loggedScript, type LoggedPod, podLog } from './pod-log.ts'
import type { PodRules } from '../pod-rules/pod-rules.ts'
import type { UsageOf } from '../usage/usage.ts'
import { PodStreams } from './pod-stream.ts'
import { refuseProxied } from './proxied.ts'
import {
  DecodeError,
  jsonFromCbor,
  runWrite,
  tooLarge,
  typedText,
  type WriteServices,
  WriteSession,
  type Written,
} from '@watchglass/writes'
import {
  answerForm,
  type AnswerFromCluster,
  endsAtMs,
  readBody,
  refuseLate,
  type RequestContext,
} from '@watchglass/cache'
import { answerDeleteCollection } from './delete-collection.ts'

/** As kube-apiserver has it. */
const bodyMaxBytes: number = 3 * 1024 * 1024

/** The body has not come before the end of the request's time. */
class LateBody extends Error {}

/** The user in whose name writes are made where nobody is authenticated. */
const anonymous = {
  user: 'system:anonymous',
  uid: '',
  groups: ['system:unauthenticated'],
  extra: {},
}

/** Creates the answers of writes that these services do. */
export function createWriteAnswers(
  services: WriteServices,
  { hasLogs = false, podRules, usageOf }: WriteAnswerOptions = {},
): AnswerFromCluster {
  const streams = new PodStreams(podRules)
  return async (context, route, options) => {
    const { subresource, resource } = route
    if (isMeasured(resource)) return answerMeasured(context, route, { services, usageOf })
    if (!inPods.has(subresource)) return answerWrite(context, { route, services }, options)
    const session = await sessionOf(context, { route, services })
    const { reply, target } = context
    try {
      await admitConnection(session, target)
    } finally {
      reply.warnings = [...session.warnings]
      noteFor(context, session)
    }
    if (subresource === 'proxy') return refuseProxied(session)
    const pod = await readPod(context, session)
    if (subresource !== 'portforward') chosenContainer(pod, target.query.text('container'))
    if ((pod.spec.nodeName ?? '') === '') {
      if (subresource === 'log') return reply.empty(204)
      throw badRequest(`pod ${route.name} does not have a host assigned`)
    }
    if (!hasLogs) throw needsKubelet(resource, subresource)
    const { clock } = options
    if (subresource === 'portforward') return streams.forward(context, route, pod, clock)
    if (subresource !== 'log') return streams.answer(context, route, pod, clock)
    const nowMs = clock.wallMs()
    const script = await loggedScript(pod, target.query)
    return reply.text(200, podLog(pod, target.query, { nowMs, rules: podRules?.logs, script }), {})
  }
}

/** Subresources that are answered from what is made up, or refused once the pod is found. */
const inPods: ReadonlySet<string> = new Set(['log', 'exec', 'attach', 'portforward', 'proxy'])

export interface WriteAnswerOptions {
  /** Pods are made up, and so are their logs. */
  readonly hasLogs?: boolean | undefined
  /** Answers of pods that were declared. */
  readonly podRules?: PodRules | undefined
  /** The figures of pods. */
  readonly usageOf?: UsageOf | undefined
}

async function readPod(context: RequestContext, session: WriteSession): Promise<LoggedPod> {
  context.facts = { ...context.facts, source: 'etcd' }
  const { name, resource, signal } = session
  const entry = await session.services.store.get(session.keyOf(name), signal)
  if (entry === undefined) throw objectNotFound(resource, name)
  return JSON.parse(textInOrder(session.treeOf(entry))) as LoggedPod
}

async function sessionOf(
  { request, state, signal, grant }: RequestContext,
  { route, services }: Asked,
): Promise<WriteSession> {
  const userAgent = request.headers['user-agent'] ?? ''
  const user = (await grant?.identity()) ?? anonymous
  return new WriteSession({ ...route, state, userAgent, user, signal }, services)
}

interface Asked {
  readonly route: ResourceRoute
  readonly services: WriteServices
}

async function answerWrite(
  context: RequestContext,
  { route, services }: Asked,
  options: Parameters<AnswerFromCluster>[2],
): Promise<undefined> {
  const { reply, request, target } = context
  const { resource, verb } = route
  context.facts = { ...context.facts, source: 'etcd' }
  reply.warnings = resource.warnings
  const mediaType = negotiate(reply.preference, reply.offer)
  if ('refusal' in mediaType) throw notAcceptable(mediaType.refusal, mediaType.hasDetails)
  const session = await sessionOf(context, { route, services })
  const { 'content-type': sentType } = request.headers
  const cborType = options.hasCbor ? typeOfCbor(verb, sentType) : undefined
  const contentType = cborType ?? sentType
  const limits = {
    maxBytes: bodyMaxBytes,
    endsAtMs: endsAtMs(context, requestTimeoutMs(target.query)),
  }
  const readWhole = async (): Promise<Uint8Array> => {
    const body = await readBody(request, limits, options.clock)
    if (body === 'too large') throw tooLarge(`limit is ${bodyMaxBytes}`)
    if (body === 'too late') throw new LateBody()
    return cborType !== undefined && body.length > 0 ? fromCbor(body) : body
  }
  try {
    if (verb === 'deletecollection') {
      await answerDeleteCollection(
        context,
        { route, session, mediaType, readBody: readWhole, contentType },
        options,
      )
      return
    }
    const written = await runWrite(session, {
      verb,
      query: target.query,
      contentType,
      readBody: readWhole,
    })
    reply.warnings = [...resource.warnings, ...session.warnings]
    noteFor(context, session)
    await session.slice.giveWay()
    await show(context, { session, written, mediaType }, options)
  } catch (error) {
    if (error instanceof LateBody) return refuseLate(reply)
    reply.warnings = [...resource.warnings, ...session.warnings]
    noteFor(context, session)
    throw error
  }
}

/** Tells the audit log what the write has found out. */
function noteFor(context: RequestContext, { annotations, sentName }: WriteSession): void {
  context.annotations = annotations
  context.objectName = sentName
}

/** The type of what a body in CBOR is turned into; none for another body. Patches of other types
 *  than apply have no form in CBOR. */
function typeOfCbor(verb: Verb, sentType = ''): string | undefined {
  const name = sentType.replace(/ *(?:;.*)?$/s, '')
  if (verb !== 'patch') return name === 'application/cbor' ? 'application/json' : undefined
  return name === 'application/apply-patch+cbor' ? 'application/apply-patch+yaml' : undefined
}

function fromCbor(body: Uint8Array): Uint8Array {
  try {
    return jsonFromCbor(body)
  } catch (error) {
    throw error instanceof DecodeError ? badRequest(error.message) : error
  }
}

interface WriteAnswer {
  readonly session: WriteSession
  readonly written: Written
  readonly mediaType: MediaType
}

async function show(
  context: RequestContext,
  { session, written, mediaType }: WriteAnswer,
  options: { readonly clock: Clock },
): Promise<void> {
  const { reply } = context
  const type = contentType(mediaType.encoding)
  if (written.type === 'object' || written.type === 'scale') {
    const { resource } = session
    const { entry } = written
    const { encoder, form } = answerForm(context, { resource, type: 'get' }, mediaType, options)
    const body =
      written.type === 'scale'
        ? scaleBody(resource, mediaType, { encoder, form, entry })
        : await session.slice.take(
            objectBodyInSteps(encoder, entry, { form, isPretty: mediaType.isPretty }),
          )
    if (body instanceof NotExact) throw notExactly(session.resource, body)
    await reply.body(reply.response(written.code, type), body)
    return
  }
  const json = written.type === 'tree' ? `${typedText(written.object)}\n` : successJson(written)
  if (written.type === 'success') reply.outcome = () => json
  await reply.body(reply.response(written.code, type), statusBody(json, mediaType))
}
