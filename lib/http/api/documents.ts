/** Discovery, OpenAPI, and the paths of the server itself. */

import { acceptClauses } from '../../codec/negotiate/accept.ts'
import { ByteWriter } from '../../codec/output/byte-writer.ts'
import { appendEnvelope, readEnvelope } from '../../codec/transcode/envelope.ts'
import { contentType, negotiateError, type Offer } from '../../codec/negotiate/negotiate.ts'
import { NotExact } from '../../codec/not-exact.ts'
import { statusBody } from '../../codec/output/object-body.ts'
import { protobufFromJson } from '../../codec/transcode/transcode.ts'
import { aggregatedMediaType } from '../../kube/documents/discovery.ts'
import { unknownPathText, type DiscoveryDocument } from '../../kube/request/routes.ts'
import { methodNotAllowed, notAcceptable } from '../../kube/status.ts'
import { answerHealth, healthPaths } from '../admin/health.ts'
import type { ApiOptions } from './api.ts'
import { builtinOffer } from './offers.ts'
import { answerOpenApi } from './openapi.ts'
import type { RequestContext } from './request-context.ts'

/** The paths of the server itself, beside those of the API. */
const ownPaths: readonly string[] = [
  ...healthPaths,
  '/metrics',
  '/openapi/v2',
  '/openapi/v3',
  '/version',
]

/** A document of discovery. */
export async function answerDiscovery(
  context: RequestContext,
  route: DiscoveryDocument,
  { hasCbor }: Pick<ApiOptions, 'hasCbor'>,
): Promise<void> {
  const { state, reply, exchange } = context
  const hasAggregated = route.document === 'core' || route.document === 'groups'
  if (hasAggregated && wantsAggregated(exchange.headers.accept ?? '')) {
    await answerAggregated(context, route.document === 'core' ? '/api' : '/apis')
    return
  }
  const body = state.discovery.document(route)
  if (body === undefined) reply.text(404, unknownPathText)
  else if (route.document === 'version') await json(context, body)
  else await negotiated(context, body, builtinOffer(hasCbor))
}

/** The first clause of the Accept header that can be satisfied decides. */
function wantsAggregated(accept: string): boolean {
  for (const { type, subtype, parameters } of acceptClauses(accept)) {
    const isJson = type === 'application' && subtype === 'json'
    const [kind, group, version] = ['as', 'g', 'v'].map(name => parameters.get(name))
    if (kind === undefined && group === undefined && version === undefined) return false
    const isKnown = kind === 'APIGroupDiscoveryList' && group === 'apidiscovery.k8s.io'
    if (isJson && isKnown && version === 'v2') return true
  }
  return false
}

async function answerAggregated(context: RequestContext, path: '/api' | '/apis'): Promise<void> {
  const { state, reply, exchange } = context
  const { body, etag } = state.discovery.aggregated(path)
  const headers = { 'cache-control': 'public', etag, vary: 'Accept' }
  if (exchange.headers['if-none-match'] === etag) {
    const { status, headers: all } = reply.response(304, aggregatedMediaType, headers)
    exchange.respond(status, all)
    exchange.end()
    return
  }
  await reply.body(reply.response(200, aggregatedMediaType, headers), Buffer.from(body))
}

/** A document in the media type that the client accepts. It cannot be rendered as a Table or as metadata. */
async function negotiated({ reply }: RequestContext, body: string, offer: Offer): Promise<void> {
  const mediaType = negotiateError(reply.preference, offer)
  if (mediaType === undefined) {
    const names = offer.encodings.map(contentType).join(', ')
    throw notAcceptable(`only the following media types are accepted: ${names}`, false)
  }
  const bytes = mediaType.encoding === 'protobuf' ? protobufOf(body) : statusBody(body, mediaType)
  const isLeft = bytes instanceof NotExact
  const response = reply.response(200, contentType(isLeft ? 'json' : mediaType.encoding))
  await reply.body(response, isLeft ? Buffer.from(body) : bytes)
}

/** Documents of the core group have no version, neither in JSON nor in the envelope. */
function protobufOf(body: string): Uint8Array | NotExact {
  const hasVersion = body.includes('"apiVersion":"v1"')
  const json = hasVersion ? body : body.replace('{', '{"apiVersion":"v1",')
  const message = protobufFromJson(Buffer.from(json))
  if (message instanceof NotExact || hasVersion) return message
  const envelope = readEnvelope(message, 0, message.length)
  if (envelope instanceof NotExact) return envelope
  const raw = new ByteWriter(message.length)
  raw.append(message, envelope.rawStart, envelope.rawEnd)
  const out = new ByteWriter(message.length)
  appendEnvelope(out, { apiVersion: '', kind: envelope.kind }, raw)
  return out.copy()
}

async function json({ reply }: RequestContext, body: string): Promise<void> {
  await reply.body(reply.response(200, contentType('json')), Buffer.from(body))
}

/** A path of the server itself; 404 if there is no such path. */
export async function answerPath(
  context: RequestContext,
  path: string,
  { health: checks, metrics, clock }: Pick<ApiOptions, 'health' | 'metrics' | 'clock'>,
): Promise<void> {
  const { reply, exchange, target, state } = context
  const isKnown = path === '/' || ownPaths.some(own => path === own || path.startsWith(`${own}/`))
  if (isKnown && exchange.method !== 'GET' && exchange.method !== 'HEAD') {
    reply.status(methodNotAllowed)
    return
  }
  const health = answerHealth(checks, path, target.query)
  if (health !== undefined) {
    reply.text(health.status, health.body, health.isPlain ? {} : undefined)
  } else if (path === '/') {
    await json(context, state.discovery.paths(ownPaths))
  } else if (path === '/metrics') {
    const text = await metrics.text()
    await reply.body(reply.response(200, metrics.contentType), Buffer.from(text))
  } else if (path.startsWith('/openapi/')) {
    await answerOpenApi(context, path, clock)
  } else reply.text(404, unknownPathText)
}
