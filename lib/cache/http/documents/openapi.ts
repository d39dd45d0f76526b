/** OpenAPI over HTTP: version 3 as one document for each group and version, which clients cache for
 *  as long as its hash stays the same, and version 2 as one document for all, in JSON and in
 *  protobuf. */

import { type Clock, inSlices, type Steps } from '@watchglass/base'
import { acceptClauses, contentType } from '@watchglass/codec'
import { notAcceptable, type OpenApi, unknownPathText } from '@watchglass/kube'
import type { ResponseHeaders } from '../server/http-request.ts'
import type { RequestContext } from '../request/request-context.ts'

interface Document {
  readonly text: string
  readonly etag: string
  /** Its address with its hash, if it has one. */
  readonly url?: string | undefined
}

type Form = 'json' | 'protobuf'

/** A document, or 404. */
export async function answerOpenApi(
  context: RequestContext,
  path: string,
  clock: Clock,
): Promise<void> {
  const { reply, state, request, target } = context
  const { openApi } = state
  const document = await inSlices(documentAt(openApi, path), clock)
  if (document === undefined) {
    // Below version 3 nobody writes a body.
    if (path.startsWith('/openapi/v3/')) reply.empty(404)
    else reply.text(404, unknownPathText)
    return
  }
  const form = formOf(reply.preference.accept ?? '', path === '/openapi/v2')
  if (form === undefined) {
    throw notAcceptable('OpenAPI documents are served as application/json only', false)
  }
  const { text, etag, url } = document
  const hash = target.query.text('hash')
  if (url !== undefined && hash !== '' && `"${hash}"` !== etag) {
    reply.text(301, `Moved to ${url}\n`, { location: url })
    return
  }
  const isKept = url !== undefined && hash !== ''
  const headers = { etag, vary: 'Accept', ...(isKept ? keptFor(clock.wallMs()) : {}) }
  const type = form === 'json' ? contentType('json') : `application/${protobufName}`
  if (request.headers['if-none-match'] === etag) {
    const { status, headers: all } = reply.response(304, type, headers)
    request.respond(status, all)
    request.end()
    return
  }
  const isText = form === 'json'
  const body = isText ? Buffer.from(text) : await inSlices(openApi.allAsProtobuf(), clock)
  await reply.body(reply.response(200, type, headers), body)
}

function* documentAt(openApi: OpenApi, path: string): Steps<Document | undefined> {
  if (path === '/openapi/v2') return yield* tagged(openApi, yield* openApi.all())
  if (path === '/openapi/v3') return yield* tagged(openApi, yield* openApi.index())
  const name = path.slice('/openapi/v3/'.length)
  const text = yield* openApi.document(name)
  if (text === undefined) return undefined
  return { ...(yield* tagged(openApi, text)), url: yield* openApi.url(name, text) }
}

function* tagged(openApi: OpenApi, text: string): Steps<Document> {
  return { text, etag: `"${yield* openApi.hashOf(text)}"` }
}

/** A document with a hash in its address never changes, so clients may cache it for ever. */
function keptFor(nowMs: number): ResponseHeaders {
  const expires = new Date(nowMs + 365 * 86_400_000).toUTCString()
  return { 'cache-control': 'public, immutable', expires }
}

/** The first clause that can be satisfied decides. Clients use two names for protobuf; the answer
 *  always has the same one. */
function formOf(accept: string, isVersion2: boolean): Form | undefined {
  if (accept === '') return 'json'
  for (const { type, subtype } of acceptClauses(accept)) {
    if (type !== '*' && type !== 'application') continue
    if (subtype === '*' || subtype === 'json') return 'json'
    const isProtobuf = subtype.replace('@', '.') === protobufName
    if (isVersion2 && isProtobuf) return 'protobuf'
  }
  return undefined
}

const protobufName = 'com.github.proto-openapi.spec.v2.v1.0+protobuf'
