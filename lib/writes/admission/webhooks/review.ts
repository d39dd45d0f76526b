/** AdmissionReviews: what a webhook is asked, and what its answer means. */

import { goQuote, itemsOf, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import type { Resource } from '@watchglass/kube'
import { boundedDocument } from '../../decode/documents.ts'
import { metaText, numberOf, textOf } from '../../metadata.ts'
import { userInfo } from '../../operations/reviews.ts'
import type { WriteKind } from '../../write-kind.ts'
import type { AdmissionAttributes } from '../plugin.ts'
import type { ReviewedObjects } from '../reviewed-objects.ts'

/** The version of reviews that is sent; undefined if none that is known is wanted. */
export function reviewVersionOf(wanted: readonly string[]): string | undefined {
  const version = wanted.find(one => one === 'v1' || one === 'v1beta1')
  return version === undefined ? undefined : `admission.k8s.io/${version}`
}

/** A review as it is sent. */
export function reviewOf(
  attributes: AdmissionAttributes,
  {
    uid,
    apiVersion,
    reviewed,
  }: {
    readonly uid: string
    readonly apiVersion: string
    readonly reviewed: ReviewedObjects
  },
): JsonObject {
  const { session, operation, object, isDryRun, options } = attributes
  const { kind, resource, subresource, user } = session
  const name = session.name === '' && object !== undefined ? metaText(object, 'name') : session.name
  const isNamespace = kind.group === '' && kind.resource === 'namespaces'
  // A namespace is in itself, also one that is created.
  const namespace = isNamespace ? name : session.namespace
  const part: [string, JsonValue][] = subresource === '' ? [] : [['subResource', subresource]]
  const asked: [string, JsonValue][] =
    subresource === '' ? [] : [['requestSubResource', subresource]]
  const request: JsonObject = new Map<string, JsonValue>([
    ['uid', uid],
    ['kind', kindTree(reviewed.kind)],
    ['resource', resourceTree(reviewed.resource)],
    ...part,
    ['requestKind', kindTree(reviewed.requestKind)],
    ['requestResource', resourceTree(resource)],
    ...asked,
    ...texts({ name, namespace }),
    ['operation', operation],
    ['userInfo', userInfo(user)],
    ['object', reviewed.object ?? null],
    ['oldObject', reviewed.old ?? null],
    ['dryRun', isDryRun],
    ['options', options ?? null],
  ])
  return new Map<string, JsonValue>([
    ['kind', 'AdmissionReview'],
    ['apiVersion', apiVersion],
    ['request', request],
  ])
}

function tree(members: Readonly<Record<string, string>>): JsonObject {
  return new Map(Object.entries(members))
}

function kindTree({
  group,
  version,
  kind,
}: Pick<WriteKind, 'group' | 'version' | 'kind'>): JsonObject {
  return tree({ group, version, kind })
}

function resourceTree({ group, version, resource }: Resource): JsonObject {
  return tree({ group, version, resource })
}

function texts(members: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(members).filter(([, text]) => text !== '')
}

/** The answer of a webhook. */
export interface HookAnswer {
  readonly isAllowed: boolean
  /** The Status of a refusal. */
  readonly status: JsonValue | undefined
  readonly warnings: readonly string[]
  readonly annotations: readonly (readonly [string, string])[]
  /** Undefined where nothing is changed. */
  readonly patch: Buffer | undefined
  readonly patchType: string
}

/** A complaint about an answer. */
export class UnusableAnswer extends Error {}

const known = ['admission.k8s.io/v1', 'admission.k8s.io/v1beta1']

/** Reads an answer: JSON, of the version that was sent. Throws an UnusableAnswer. */
export function answerOf(
  body: Buffer,
  {
    uid,
    apiVersion,
    mutates,
  }: {
    readonly uid: string
    readonly apiVersion: string
    readonly mutates: boolean
  },
): HookAnswer {
  const review = reviewIn(body)
  const [version, kind] = [textOf(review.get('apiVersion')), textOf(review.get('kind'))]
  checkNamed(version, kind, apiVersion)
  const response = review.get('response')
  if (!(response instanceof Map)) throw unusable('webhook response was absent')
  const isStrict = apiVersion === known[0]
  if (isStrict && response.get('uid') !== uid) {
    const got = goQuote(textOf(response.get('uid')))
    throw unusable(`expected response.uid=${goQuote(uid)}, got ${got}`)
  }
  if (isStrict && kind === '') {
    throw unusable(
      'expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=',
    )
  }
  const patch = textOf(response.get('patch'))
  const given = response.get('patchType') ?? undefined
  if (isStrict) checkPatch(patch, given, mutates)
  return {
    isAllowed: response.get('allowed') === true,
    status: response.get('status') ?? undefined,
    warnings: itemsOf(response.get('warnings')).map(textOf),
    annotations: annotationsIn(response.get('auditAnnotations')),
    patch: patch === '' || !mutates ? undefined : Buffer.from(patch, 'base64'),
    patchType: isStrict ? textOf(given) : 'JSONPatch',
  }
}

/** Bytes of the answers of webhooks, as those of requests. */
export const answerMaxBytes: number = 3 * 1024 * 1024

function reviewIn(body: Buffer): JsonObject {
  const review = boundedDocument(body)?.value
  if (review instanceof Map) return review
  throw new UnusableAnswer(
    `failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
  )
}

function checkNamed(version: string, kind: string, sent: string): void {
  if (version === '' && kind === '') return
  if (!known.includes(version) || kind !== 'AdmissionReview') {
    throw new UnusableAnswer(
      `failed to call webhook: no kind ${goQuote(kind)} is registered for version ${goQuote(version)} in scheme "pkg/util/webhook/client.go:71"`,
    )
  }
  if (version === sent) return
  const [from, to] = [version, sent].map(text => `(${text.split('/')[1]}.AdmissionReview)`)
  throw new UnusableAnswer(
    `failed to call webhook: converting ${from} to ${to}: unknown conversion`,
  )
}

function checkPatch(patch: string, type: JsonValue | undefined, mutates: boolean): void {
  if (!mutates) {
    if (patch !== '') throw unusable('validating webhook may not return response.patch')
    if (type !== undefined) throw unusable('validating webhook may not return response.patchType')
    return
  }
  if (patch !== '' && type === undefined) {
    throw unusable('webhook returned response.patch but not response.patchType')
  }
  if (patch === '' && type !== undefined) {
    throw unusable('webhook returned response.patchType but not response.patch')
  }
  if (type === '') throw unusable('webhook returned invalid response.patchType of ""')
}

function unusable(reason: string): UnusableAnswer {
  return new UnusableAnswer(`received invalid webhook response: ${reason}`)
}

function annotationsIn(value: JsonValue | undefined): [string, string][] {
  if (!(value instanceof Map)) return []
  return [...value].map(([name, text]) => [name, textOf(text)])
}

/** The Status of a refusal, as the client gets it. */
export interface Refusal {
  readonly code: number
  readonly message: string
  readonly reason: string
  readonly details: JsonValue | undefined
}

export function refusalOf(hook: string, status: JsonValue | undefined): Refusal {
  const words = `admission webhook ${goQuote(hook)} denied the request`
  const [message, reason] = ['message', 'reason'].map(name => textOf(memberOf(status, name)))
  const code = numberOf(memberOf(status, 'code')) ?? 0
  const why = message || reason
  return {
    code: code < 400 || code > 599 ? 400 : code,
    message: why ? `${words}: ${why}` : `${words} without explanation`,
    reason: reason ?? '',
    details: memberOf(status, 'details'),
  }
}
