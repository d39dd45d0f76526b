/** Discovery, OpenAPI, and the paths of the server itself. */

import { AssertionError, ByteWriter, type Clock, NotExact } from '@watchglass/base'
import {
  acceptClauses,
  appendEnvelope,
  contentType,
  type Encoding,
  isPrettyWanted,
  negotiateDocument,
  type Offer,
  type Preference,
  protobufFromJson,
  readEnvelope,
  routerRefusal,
  routerRefusalOf,
  statusBody,
} from '@watchglass/codec'
import {
  aggregatedMediaType,
  aggregatorGroup,
  type DiscoveryDocument,
  methodNotAllowed,
  notAcceptable,
  uninterpretable,
  unknownPathText,
} from '@watchglass/kube'
import { answerHealth, checkPaths, type Health } from './health.ts'
import { healthPaths } from '../auth/admit.ts'
import { isForPage, pageAnswer } from '../page/answer-page.ts'
import type { PageSource } from '../page/page-source.ts'
import { builtinOffer } from '../request/offers.ts'
import { answerOpenApi } from './openapi.ts'
import type { RequestContext } from '../request/request-context.ts'

/** Text of /metrics. */
export interface MetricsText {
  /** In the Prometheus text format. */
  text(): Promise<string>
  readonly contentType: string
}

/** A document beside those of the API: it is what it is, whoever asks. */
export interface OwnDocument {
  readonly mediaType: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** Services that documents are answered with. */
export interface DocumentServices {
  /** CBOR is offered beside the other media types. */
  readonly hasCbor: boolean
  readonly health: Health
  readonly metrics: MetricsText
  /** By path. */
  readonly documents?: (() => ReadonlyMap<string, OwnDocument>) | undefined
  /** The page at `/`, for browsers. Undefined with an upstream, whose page that would be. */
  readonly page: OwnPage | undefined
  readonly clock: Clock
}

/** The page of a listener that has the API. Where callers are authorized it shows objects only. */
export interface OwnPage {
  readonly source: PageSource
  readonly shows: 'objects' | 'all'
}

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
  { hasCbor }: DocumentServices,
): Promise<undefined> {
  const { state, reply, target } = context
  const offer = offerOfDocument(context, route, hasCbor)
  const refused = routerRefusal(reply.preference, offer)
  if (refused !== undefined) throw notAcceptable(refused.refusal, refused.hasDetails)
  // Behind /apis with a slash at its end is the plain list alone.
  const hasAggregated =
    route.document === 'core' || (route.document === 'groups' && target.path === '/apis')
  const aggregated = hasAggregated ? aggregatedEncoding(reply.preference, offer) : undefined
  if (aggregated !== undefined) {
    const path = route.document === 'core' ? '/api' : '/apis'
    context.ownPath = { path, component: 'apiserver' }
    await answerAggregated(context, path, aggregated)
    return
  }
  const body = state.discovery.document(route)
  if (body === undefined) reply.text(404, unknownPathText)
  else if (route.document === 'version') await json(context, body)
  else await negotiated(context, body, offer)
}

/** Some documents are behind the router, which knows what they can be had as. */
function offerOfDocument(
  { state }: RequestContext,
  route: DiscoveryDocument,
  hasCbor: boolean,
): Offer {
  if (route.document === 'version') return versionOffer
  const isBuiltIn =
    route.document === 'resources' &&
    state.registry.routingOf(route.group, route.version) === 'installed'
  const isAggregator = route.document === 'group' && route.group === aggregatorGroup
  const hasRouter = route.document === 'core' || isBuiltIn || isAggregator
  return { ...builtinOffer(hasCbor), hasRouter }
}

const versionOffer: Offer = {
  encodings: ['json'],
  objectEncodings: ['json'],
  hasRouter: true,
  isList: false,
}

/** In what the aggregated document is wanted: the first clause of the Accept header that names it
 *  decides, and those that do not are passed over. */
function aggregatedEncoding({ accept = '' }: Preference, offer: Offer): Encoding | undefined {
  for (const { type, subtype, parameters } of acceptClauses(accept)) {
    const [kind, group, version] = ['as', 'g', 'v'].map(name => parameters.get(name))
    const isNamed = kind === 'APIGroupDiscoveryList' && group === 'apidiscovery.k8s.io'
    if (!isNamed || version !== 'v2') continue
    const range = `${type}/${subtype}`
    const found = offer.encodings.find(encoding => {
      const name = contentType(encoding)
      return range === '*/*' || range === name || range === name.replace(/[^/]+$/, '*')
    })
    if (found !== undefined) return found
  }
  return undefined
}

async function answerAggregated(
  context: RequestContext,
  path: '/api' | '/apis',
  encoding: Encoding,
): Promise<void> {
  const { state, reply, request } = context
  const { body, etag } = state.discovery.aggregated(path)
  const type = aggregatedMediaType.replace(contentType('json'), contentType(encoding))
  const headers = { 'cache-control': 'public', etag, vary: 'Accept' }
  if (request.headers['if-none-match'] === etag) {
    const { status, headers: all } = reply.response(304, type, headers)
    request.respond(status, all)
    request.end()
    return
  }
  const isPretty = isPrettyWanted(reply.preference)
  const message = protobufFromJson(Buffer.from(body), 0, undefined, state.registry.schema)
  const bytes =
    encoding === 'protobuf' ? message : statusBody(body, { ...plainJson, encoding, isPretty })
  if (bytes instanceof NotExact) throw new AssertionError(bytes.reason)
  await reply.body(reply.response(200, type, headers), bytes)
}

const plainJson = {
  rendering: 'object',
  renderingVersion: 'v1',
} as const

/** A document in the media type that the client accepts. It cannot be rendered as a Table or as
 *  metadata. */
async function negotiated({ reply }: RequestContext, body: string, offer: Offer): Promise<void> {
  const mediaType = negotiateDocument(reply.preference, offer)
  if ('refusal' in mediaType) throw notAcceptable(mediaType.refusal, mediaType.hasDetails)
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
  { health: checks, metrics, clock, page, documents }: DocumentServices,
): Promise<undefined> {
  const { reply, request, target, state } = context
  const refusal = uninterpretable(path, request.target)
  if (refusal !== undefined) {
    reply.bareText(500, refusal)
    return
  }
  // Only this one asks for the method: DELETE resets the upstream's.
  if (path === '/metrics' && request.method === 'DELETE') {
    reply.status(methodNotAllowed)
    return
  }
  if (page !== undefined && isForPage(request, path)) {
    const { status, headers, body } = await pageAnswer(page.source, page.shows, request)
    await reply.body(reply.response(status, '', headers), body)
    return
  }
  const health = answerHealth(checks, path, target.query)
  if (health !== undefined) {
    if (healthPaths.includes(path)) context.ownPath = { path, component: '' }
    reply.text(health.status, health.body, health.isPlain ? {} : undefined)
  } else if (path === '/') {
    const own = documents === undefined ? [] : [...documents().keys()]
    await json(context, state.discovery.paths([...ownPaths, ...checkPaths(checks), ...own]))
  } else if (path === '/metrics') {
    const text = await metrics.text()
    await reply.body(reply.response(200, metrics.contentType), Buffer.from(text))
  } else if (path.startsWith('/openapi/')) {
    await answerOpenApi(context, path, clock)
  } else {
    const own = documents?.().get(path)
    if (own === undefined) reply.text(404, unknownPathText)
    else await answerOwn(context, own)
  }
}

/** Behind the router, as the documents of the API. */
async function answerOwn(
  { reply, request }: RequestContext,
  { mediaType, headers, body }: OwnDocument,
): Promise<void> {
  if (request.method !== 'GET') {
    reply.status(methodNotAllowed)
    return
  }
  const refused = routerRefusalOf(reply.preference, [mediaType])
  if (refused !== undefined) throw notAcceptable(refused.refusal, refused.hasDetails)
  await reply.body(reply.response(200, mediaType, headers), body)
}
