/** The `Status` object with which the API refuses a request: the texts, reasons and codes of
 *  kube-apiserver, written in its field order.
 *
 *  Code in this folder refuses a request by throwing a `StatusError`. Failures of the layers below
 *  are turned into a Status by one total table. */

import {
  appendText,
  ByteWriter,
  CacheError,
  type ErrorCode,
  isStepDue,
  noteEffort,
  type NotExact,
  type Steps,
} from '@watchglass/base'
import { goJsonString, goQuote } from '@watchglass/go'

/** One cause of a refusal: mostly one for each wrong field. */
export interface StatusCause {
  readonly reason?: string | undefined
  readonly message?: string | undefined
  readonly field?: string | undefined
}

export interface StatusDetails {
  readonly name?: string | undefined
  readonly group?: string | undefined
  readonly kind?: string | undefined
  readonly causes?: readonly StatusCause[] | undefined
  /** Also the value of the Retry-After header. */
  readonly retryAfterSeconds?: number | undefined
}

/** A failure as clients see it. `details` may be present and empty, as in upstream's generic
 *  answers. */
export interface Status {
  readonly code: number
  readonly message: string
  readonly reason?: string | undefined
  readonly details?: StatusDetails | undefined
  /** A token that continues inconsistently, when the one that was sent has expired. */
  readonly continue?: string | undefined
  /** Admission has refused it, and not authorization: that changes a header. */
  readonly isByAdmission?: boolean | undefined
}

/** A refusal whose Status is known. */
export class StatusError extends CacheError {
  readonly status: Status

  constructor(code: ErrorCode, status: Status) {
    super(code, status.message)
    this.status = status
  }
}

/** A refusal because there is no upstream that could answer. */
export class NotExactlyError extends StatusError {}

/** The group and the plural name that a message speaks about. */
export interface GroupResource {
  readonly group: string
  readonly resource: string
}

/** `deployments.apps`, or `pods` in the core group. */
export function resourceText({ group, resource }: GroupResource): string {
  return group === '' ? resource : `${resource}.${group}`
}

/** The body: compact JSON in Go's field order, with a final newline. */
export function statusJson(status: Status): string {
  return `${statusObjectJson(status)}\n`
}

/** The object without a newline, as in the ERROR event of a watch. */
export function statusObjectJson(status: Status): string {
  return [...statusTexts(status)].join('')
}

/** The bytes of `statusJson` in steps: an object may have thirty thousand errors, each of which is
 *  in the message and is a cause. */
export function* statusBytes(status: Status): Steps<Uint8Array> {
  const out = new ByteWriter()
  for (const text of statusTexts(status)) {
    appendText(out, text)
    noteEffort(text.length / charactersPerEffort)
    if (isStepDue()) yield
  }
  out.appendByte(0x0a)
  return out.copy()
}

/** Characters that are escaped and written in the time of a small thing. */
const charactersPerEffort = 256

/** The object in texts that follow each other. */
function* statusTexts(status: Status): Generator<string, void, undefined> {
  const metadata =
    status.continue === undefined ? '' : `"continue":${goJsonString(status.continue)}`
  yield `{"kind":"Status","apiVersion":"v1","metadata":{${metadata}},"status":"Failure"`
  yield* messageTexts(status.message)
  for (const member of textMember('reason', status.reason)) yield `,${member}`
  if (status.details !== undefined) yield* detailsTexts(status.details)
  yield `,"code":${status.code}}`
}

/** A long message is escaped part by part. */
const partLength = 16 * 1024

function* messageTexts(message: string | undefined): Generator<string, void, undefined> {
  if (message === undefined || message === '') return
  yield ',"message":"'
  for (let from = 0; from < message.length;) {
    let to = Math.min(message.length, from + partLength)
    // Halves of a pair stay together.
    if ((message.charCodeAt(to - 1) & 0xfc00) === 0xd800) to = Math.min(message.length, to + 1)
    yield goJsonString(message.slice(from, to)).slice(1, -1)
    from = to
  }
  yield '"'
}

function* detailsTexts(details: StatusDetails): Generator<string, void, undefined> {
  const { causes = [], retryAfterSeconds = 0 } = details
  const members = [
    ...textMember('name', details.name),
    ...textMember('group', details.group),
    ...textMember('kind', details.kind),
  ]
  yield `,"details":{${members.join(',')}`
  let comma = members.length === 0 ? '' : ','
  if (causes.length > 0) {
    yield `${comma}"causes":[`
    for (const [i, cause] of causes.entries()) yield `${i === 0 ? '' : ','}${causeJson(cause)}`
    yield ']'
    comma = ','
  }
  yield retryAfterSeconds === 0 ? '}' : `${comma}"retryAfterSeconds":${retryAfterSeconds}}`
}

function causeJson({ reason, message, field }: StatusCause): string {
  const members = [
    ...textMember('reason', reason),
    ...textMember('message', message),
    ...textMember('field', field),
  ]
  return `{${members.join(',')}}`
}

/** A member of a text; Go leaves empty ones out. */
export function textMember(name: string, text: string | undefined): string[] {
  return text === undefined || text === '' ? [] : [`"${name}":${goJsonString(text)}`]
}

/** The error of a malformed request. */
export function badRequest(message: string): StatusError {
  return new StatusError('invalid_request', { code: 400, message, reason: 'BadRequest' })
}

/** A value that package storage could not parse: upstream answers 500 and gives no reason. */
export function plainError(message: string): StatusError {
  return new StatusError('invalid_request', { code: 500, message })
}

/** An object that is not there. */
export function objectNotFound(of: GroupResource, name: string): StatusError {
  return new StatusError('not_found', {
    code: 404,
    message: `${resourceText(of)} ${goQuote(name)} not found`,
    reason: 'NotFound',
    details: { name, group: of.group, kind: of.resource },
  })
}

/** An unknown path inside upstream's built-in groups. */
export const pathNotFound: Status = {
  code: 404,
  message: 'the server could not find the requested resource',
  reason: 'NotFound',
  details: {},
}

/** A method that the route does not have. */
export const methodNotAllowed: Status = {
  code: 405,
  message: 'the server does not allow this method on the requested resource',
  reason: 'MethodNotAllowed',
  details: {},
}

/** A verb that the resource does not support. */
export function verbNotSupported(of: GroupResource, verb: string): StatusError {
  return new StatusError('unsupported', {
    code: 405,
    message: `${verb} is not supported on resources of kind ${goQuote(resourceText(of))}`,
    reason: 'MethodNotAllowed',
    details: { group: of.group, kind: of.resource },
  })
}

/** None of the requested media types is offered. The router's answer has `details`, that of
 *  handlers has none. */
export function notAcceptable(message: string, hasDetails: boolean): StatusError {
  const details = hasDetails ? {} : undefined
  return new StatusError('unsupported', { code: 406, message, reason: 'NotAcceptable', details })
}

/** The request needs an upstream, and there is none. */
export function needsUpstream(of: GroupResource, what: string): StatusError {
  return new StatusError('unsupported', {
    code: 405,
    message: `${what} of ${goQuote(resourceText(of))} needs an upstream API server: it is not done here`,
    reason: 'MethodNotAllowed',
    details: { group: of.group, kind: of.resource },
  })
}

/** The request needs the node of a pod, and there is none: pods are only stored here. */
export function needsKubelet(of: GroupResource, what: string): StatusError {
  return new StatusError('unsupported', {
    code: 405,
    message: `${what} of ${goQuote(resourceText(of))} needs a kubelet: pods are stored here, and no program runs in them`,
    reason: 'MethodNotAllowed',
    details: { group: of.group, kind: of.resource },
  })
}

/** An object that this server cannot show exactly as kube-apiserver would, and so refuses to show.
 *  The reason never quotes the object. */
export function notExactly(of: GroupResource, { reason, serverError }: NotExact): StatusError {
  if (serverError !== undefined) return plainError(serverError)
  return new NotExactlyError('unsupported', {
    code: 500,
    message: `${goQuote(resourceText(of))} cannot be served exactly without an upstream API server: ${reason}`,
    reason: 'InternalError',
    details: { group: of.group, kind: of.resource },
  })
}

/** A body in a form that the router does not know. */
export const unsupportedMediaType: Status = {
  code: 415,
  message: '415: Unsupported Media Type',
  reason: 'UnsupportedMediaType',
  details: {},
}

/** An internal error: a bug of this program. */
export const internalError: Status = {
  code: 500,
  message: 'Internal error occurred',
  reason: 'InternalError',
}

/** Options that contradict each other, one cause for each contradiction. */
export function invalidOptions(kind: string, causes: readonly StatusCause[]): StatusError {
  const texts = causes.map(({ field = '', message = '' }) => `${field}: ${message}`)
  const summary = texts.length === 1 ? texts.join() : `[${texts.join(', ')}]`
  return new StatusError('invalid_request', {
    code: 422,
    message: `${kind}.meta.k8s.io "" is invalid: ${summary}`,
    reason: 'Invalid',
    details: { group: 'meta.k8s.io', kind, causes },
  })
}

/** A revision that the store has not reached. `retryAfterSeconds` is left out where upstream
 *  answers without waiting. */
export function resourceVersionTooLarge(
  requested: number | string,
  current: number,
  retryAfterSeconds?: number,
): StatusError {
  return new StatusError('future_revision', {
    code: 504,
    message: `Timeout: Too large resource version: ${requested}, current: ${current}`,
    reason: 'Timeout',
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds,
    },
  })
}

/** A list at a revision that is no longer kept. */
export function listExpired(): StatusError {
  return expired('The resourceVersion for the provided list is too old.')
}

/** A page at a revision that is no longer kept; `token` continues at the newest state. Without one,
 *  nothing is left but a new list. */
export function continuationExpired(token?: string): StatusError {
  const choice =
    token === undefined
      ? 'You must start a new list without the continue parameter.'
      : 'You can start a new list without ' +
        'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
        'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
        'deleted between the time the first chunk was returned and now may show up in the list.'
  const message = `The provided continue parameter is too old to display a consistent list result. ${choice}`
  return expired(message, token)
}

/** A watch from a revision that is no longer kept; `oldest` is the oldest one that is. Sent as the
 *  ERROR event of the stream. */
export function watchExpired(requested: number, oldest: number): StatusError {
  return expired(`too old resource version: ${requested} (${oldest})`)
}

/** An expired watch of a resource that kube-apiserver does not cache, as events: it watches etcd
 *  itself for them. */
export function uncachedWatchExpired(): StatusError {
  return expired('The resourceVersion for the provided watch is too old.')
}

function expired(message: string, token?: string): StatusError {
  return new StatusError('expired', { code: 410, message, reason: 'Expired', continue: token })
}

/** Too many requests, or too early. */
export function tooManyRequests(message: string, retryAfterSeconds: number): StatusError {
  return new StatusError('overloaded', {
    code: 429,
    message,
    reason: 'TooManyRequests',
    details: { retryAfterSeconds },
  })
}

/** The mirror of this resource is not complete yet. */
export function initializing(retryAfterSeconds: number): StatusError {
  return tooManyRequests('storage is (re)initializing', retryAfterSeconds)
}

/** The request's own time limit has passed. Upstream writes this Status by hand, without a kind. */
export const requestTimeoutBody: string =
  '{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout",' +
  '"reason":"Timeout","details":{},"code":504}\n'

/** No credentials, or invalid ones. */
export const unauthorized: Status = { code: 401, message: 'Unauthorized', reason: 'Unauthorized' }

/** The Status of each failure of the layers below, unless a stage has chosen a better one. */
const statusByCode: Readonly<
  Record<ErrorCode, { readonly code: number; readonly reason: string }>
> = {
  invalid_request: { code: 400, reason: 'BadRequest' },
  not_found: { code: 404, reason: 'NotFound' },
  expired: { code: 410, reason: 'Expired' },
  future_revision: { code: 504, reason: 'Timeout' },
  conflict: { code: 409, reason: 'Conflict' },
  too_large: { code: 413, reason: 'RequestEntityTooLarge' },
  not_ready: { code: 429, reason: 'TooManyRequests' },
  overloaded: { code: 429, reason: 'TooManyRequests' },
  unsupported: { code: 405, reason: 'MethodNotAllowed' },
  unauthorized: { code: 503, reason: 'ServiceUnavailable' },
  upstream_failed: { code: 502, reason: 'ServiceUnavailable' },
  source_failed: { code: 503, reason: 'ServiceUnavailable' },
  closed: { code: 503, reason: 'ServiceUnavailable' },
}

/** The Status of any failure. */
export function statusFromError(error: CacheError): Status {
  if (error instanceof StatusError) return error.status
  const { code, reason } = statusByCode[error.code]
  const { retryAfterMs } = error.details
  return {
    code,
    message: error.message,
    reason,
    details:
      retryAfterMs === undefined
        ? undefined
        : { retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)) },
  }
}

/** The denied request: the resource and its scope, or a path that is not a resource. */
export interface DeniedAttributes {
  readonly user: string
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  /** The reason that authorization gives. */
  readonly reason?: string | undefined
}

/** A resource request that authorization denies. */
export function forbidden(denied: DeniedAttributes): StatusError {
  const { user, verb, group, resource, subresource, namespace, name } = denied
  const object = resourceText(denied) + (name === '' ? '' : ` ${goQuote(name)}`)
  const asked = goQuote(subresource === '' ? resource : `${resource}/${subresource}`)
  const scope = namespace === '' ? 'at the cluster scope' : `in the namespace ${goQuote(namespace)}`
  return new StatusError('unauthorized', {
    code: 403,
    message: `${object} is forbidden: ${harmless(`User ${goQuote(user)} cannot ${verb} resource ${asked} in API group ${goQuote(group)} ${scope}`)}${because(denied.reason)}`,
    reason: 'Forbidden',
    details: { name, group, kind: resource },
  })
}

/** A path that authorization denies. */
export function forbiddenPath(
  user: string,
  verb: string,
  path: string,
  reason?: string,
): StatusError {
  const denied = harmless(`User ${goQuote(user)} cannot ${verb} path ${goQuote(path)}`)
  return new StatusError('unauthorized', {
    code: 403,
    message: `forbidden: ${denied}${because(reason)}`,
    reason: 'Forbidden',
    details: {},
  })
}

function because(reason = ''): string {
  return reason === '' ? '' : `: ${reason}`
}

/** Upstream escapes refusals because a browser might show them. */
function harmless(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Something that the answer needs is not available at the moment. */
export function serviceUnavailable(message: string, retryAfterSeconds: number): Status {
  return { code: 503, message, reason: 'ServiceUnavailable', details: { retryAfterSeconds } }
}
