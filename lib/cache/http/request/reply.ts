/** The response to one request: the headers that all responses have, and refusals in the media type
 *  that the client accepts. */

import type { Clock, RequestTrace, Soon } from '@watchglass/base'
import {
  contentType,
  negotiateError,
  type Offer,
  type Preference,
  statusBody,
} from '@watchglass/codec'
import { type Status, statusJson } from '@watchglass/kube'
import { warningHeaders } from './warning-headers.ts'
import type { HttpRequest, ResponseHeaders } from '../server/http-request.ts'
import {
  type Outcome,
  type Pieces,
  type Response,
  sendPieces,
  sendWhole,
} from '../server/respond.ts'
import type { Zipper } from './zipper.ts'

/** Smaller bodies are not worth compressing; this is upstream's bound. */
const gzipMinBytes: number = 128 * 1024

const originHeader = 'x-watchglass'

const plainText = 'text/plain; charset=utf-8'

export interface ReplyOptions {
  readonly auditId: string
  readonly clock: Clock
  readonly zipper: Zipper
  /** The media types in which this may be answered. Asked when there is something to answer: what
   *  passes needs none. */
  readonly offer: () => Offer
  /** The parameter `pretty`. */
  readonly pretty?: string | undefined
  readonly trace?: RequestTrace | undefined
}

/** The first Accept header: of several only it counts. */
function firstAccept({ headers, rawHeaders }: HttpRequest): string | undefined {
  const { accept } = headers
  if (accept === undefined || !accept.includes(',')) return accept
  const at = rawHeaders.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'accept')
  return rawHeaders[at + 1] ?? accept
}

export class Reply {
  readonly request: HttpRequest
  readonly preference: Preference
  /** The status code; 0 before there is one. */
  code = 0
  /** Makes the JSON of the Status that was answered, for the audit log, if it was one. */
  outcome: (() => string) | undefined = undefined
  /** Texts of Warning headers. */
  warnings: readonly string[] = []
  /** The X-Watchglass header, which says who answers and why. It is sent only with an upstream. */
  origin: string | undefined = undefined
  /** Headers that name what the request was classified as; none where nobody classifies. */
  classification: ResponseHeaders | undefined = undefined
  readonly #options: ReplyOptions
  #offer: Offer | undefined = undefined

  constructor(request: HttpRequest, options: ReplyOptions) {
    const { headers } = request
    this.request = request
    this.#options = options
    this.preference = {
      accept: firstAccept(request),
      userAgent: headers['user-agent'],
      pretty: options.pretty,
    }
  }

  /** The media types in which this may be answered. */
  get offer(): Offer {
    return (this.#offer ??= this.#options.offer())
  }

  set offer(offer: Offer) {
    this.#offer = offer
  }

  get auditId(): string {
    return this.#options.auditId
  }

  /** A refusal; its JSON may have been made before, in steps. */
  status(status: Status, json: string | Uint8Array = statusJson(status)): undefined {
    this.outcome = () => statusJson(status)
    const mediaType = negotiateError(this.preference, this.offer)
    const seconds = status.details?.retryAfterSeconds
    const extra: ResponseHeaders = {
      ...(seconds === undefined ? {} : { 'retry-after': String(seconds) }),
      ...(status.code === 403 && status.isByAdmission !== true
        ? { 'x-content-type-options': 'nosniff' }
        : {}),
    }
    const type = contentType(mediaType?.encoding ?? 'json')
    const response = this.response(status.code, type, extra)
    sendWhole(this.request, response, statusBody(json, mediaType))
  }

  text(
    code: number,
    body: string,
    extra: ResponseHeaders = { 'x-content-type-options': 'nosniff' },
  ): undefined {
    sendWhole(this.request, this.response(code, plainText, extra), Buffer.from(body))
  }

  /** A plain text of the filters that stand before anything that adds headers. */
  bareText(code: number, body: string): void {
    const { status, headers } = this.response(code, plainText, {
      'x-content-type-options': 'nosniff',
    })
    const { 'cache-control': _, ...bare } = headers
    sendWhole(this.request, { status, headers: bare }, Buffer.from(body))
  }

  /** No body, and no type of one. */
  empty(code: number): undefined {
    const { status, headers } = this.response(code, plainText)
    const { 'content-type': _, ...bare } = headers
    sendWhole(this.request, { status, headers: bare })
  }

  /** Answers what is not a valid request, and closes the connection. */
  badRequest(): void {
    this.code = 400
    const close: ResponseHeaders = this.request.version === '1.1' ? { connection: 'close' } : {}
    const response = { status: 400, headers: { 'content-type': plainText, ...close } }
    sendWhole(this.request, response, Buffer.from('400 Bad Request'))
  }

  /** Status and headers of a response, which the caller then sends. */
  response(code: number, type: string, extra: ResponseHeaders = {}): Response {
    this.code = code
    this.#options.trace?.stage('write')
    const headers: Record<string, string | readonly string[]> = {
      'audit-id': this.#options.auditId,
      'cache-control': 'no-cache, private',
      'content-type': type,
      ...extra,
      ...this.classification,
    }
    if (this.origin !== undefined) headers[originHeader] = this.origin
    if (this.warnings.length > 0) {
      const warnings = warningHeaders(this.warnings)
      if (warnings.length > 0) headers['warning'] = warnings
    }
    return { status: code, headers }
  }

  /** The connection is the request's own from now on: no response is made. */
  switched(): void {
    this.code = 101
    this.#options.trace?.stage('write')
  }

  /** The headers of a response that the upstream made. */
  passed(code: number, headers: Record<string, string | string[]>): ResponseHeaders {
    this.code = code
    this.#options.trace?.stage('write')
    if (this.origin !== undefined) headers[originHeader] = this.origin
    return headers
  }

  /** Sends a complete body, in one or more pieces; compressed if it is large and the client accepts
   *  gzip. */
  body(response: Response, ...pieces: readonly Uint8Array[]): Soon<undefined> {
    let bytes = 0
    for (const piece of pieces) bytes += piece.length
    if (bytes >= gzipMinBytes && this.takesGzip) {
      return this.#gzip(response, pieces, this.#options.clock).then(() => undefined)
    }
    sendWhole(this.request, response, ...pieces)
    return undefined
  }

  /** Sends a large body piece by piece. Between slices `pace` lets other work run. */
  async pieces(response: Response, pieces: Pieces, pace: Clock): Promise<Outcome> {
    if (this.request.method === 'HEAD') {
      this.request.respond(response.status, response.headers)
      this.request.end()
      return 'sent'
    }
    return this.takesGzip
      ? this.#gzip(response, pieces, pace)
      : sendPieces(this.request, response, pieces, pace)
  }

  /** The upstream compares the bare name: `gzip;q=1` does not match. */
  get takesGzip(): boolean {
    if (this.request.method === 'HEAD') return false
    const accepted = String(this.request.headers['accept-encoding'] ?? '')
    return accepted.split(',').some(name => name.trim() === 'gzip')
  }

  #gzip(response: Response, pieces: Pieces, pace: Clock): Promise<Outcome> {
    return sendPieces(this.request, zippedResponse(response), this.zip(pieces), pace)
  }

  /** One gzip member with all pieces. */
  zip(pieces: Pieces): Pieces {
    return this.#options.zipper.zip(pieces)
  }
}

/** The headers of a response whose body is compressed. */
export function zippedResponse({ status, headers }: Response): Response {
  return { status, headers: { ...headers, 'content-encoding': 'gzip', vary: 'Accept-Encoding' } }
}
