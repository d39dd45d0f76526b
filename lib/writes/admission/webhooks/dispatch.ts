/** Asks webhooks: mutating ones one after the other, validating ones at once. */

import { atOnce } from '@watchglass/base'
import {
  goQuote,
  itemsOf,
  type JsonObject,
  type JsonValue,
  memberOf,
  textInOrder,
} from '@watchglass/go'
import { badRequest, type Resource, type StatusDetails, StatusError } from '@watchglass/kube'
import { jsonBody } from '../../decode/documents.ts'
import { DecodeError } from '../../decode/typed-decoder.ts'
import { numberOf, textOf } from '../../metadata.ts'
import { applyJsonPatch, PatchFailure } from '../../patches/json-patch.ts'
import type { AdmissionAttributes } from '../plugin.ts'
import { internalError } from '../../refusals.ts'
import { reviewedAs, type ReviewedObjects, takeChanged } from '../reviewed-objects.ts'
import { CallFailure, type HookCaller, statusProblem } from './caller.ts'
import type { Hook } from './hooks.ts'
import {
  answerMaxBytes,
  answerOf,
  type HookAnswer,
  refusalOf,
  reviewOf,
  reviewVersionOf,
  UnusableAnswer,
} from './review.ts'

/** A hook that is about the request, and the resource that it wants the object as. */
export interface Invocation {
  readonly hook: Hook
  readonly resource: Resource
}

/** A hook that could not be asked, or whose answer is of no use: its failure policy decides. */
class HookFailure extends Error {}

/** The time that all mutating hooks of a request have together, as a request has at most with
 *  kube-apiserver; and all validating ones. */
const phaseMaxMs = 60_000

function late(): StatusError {
  return new StatusError('overloaded', {
    code: 504,
    message: 'Timeout: request did not complete within requested timeout',
    reason: 'Timeout',
    details: {},
  })
}

interface Asked {
  readonly uid: string
  readonly apiVersion: string
  readonly resource: Resource
}

/** Reviews of objects that cannot change any more, around the place of the uid, by their form. */
const kept = new WeakMap<ReviewedObjects, Map<string, readonly [Buffer, Buffer]>>()

/** The body of a review. Validating hooks that want the same form share all but the uid. */
async function bodyOf(
  attributes: AdmissionAttributes,
  { uid, apiVersion, resource }: Asked,
): Promise<readonly Buffer[]> {
  const reviewed = await reviewedAs(attributes, resource)
  const texts = kept.get(reviewed) ?? new Map<string, readonly [Buffer, Buffer]>()
  let text = texts.get(apiVersion)
  if (text === undefined) {
    const whole = `${textInOrder(reviewOf(attributes, { uid, apiVersion, reviewed }))}\n`
    // Nothing before it can have the same characters.
    const at = whole.indexOf(uid)
    text = [Buffer.from(whole.slice(0, at)), Buffer.from(whole.slice(at + uid.length))]
    texts.set(apiVersion, text)
    kept.set(reviewed, texts)
  }
  const [head, tail] = text
  return [head, Buffer.from(uid), tail]
}

/** Asks one hook. Throws a HookFailure, or the StatusError of a refusal. */
async function ask(
  attributes: AdmissionAttributes,
  { hook, resource }: Invocation,
  caller: HookCaller,
): Promise<HookAnswer> {
  const { session, isDryRun } = attributes
  if (isDryRun && hook.sideEffects !== 'None' && hook.sideEffects !== 'NoneOnDryRun') {
    throw badRequest(`admission webhook ${goQuote(hook.name)} does not support dry run`)
  }
  const apiVersion = reviewVersionOf(hook.reviewVersions)
  if (apiVersion === undefined) throw new HookFailure('could not create admission objects')
  const uid = session.services.uid()
  await session.slice.giveWay()
  const body = await bodyOf(attributes, { uid, apiVersion, resource })
  const { timeoutSeconds, client } = hook
  const leftMs = attributes.startMs + phaseMaxMs - session.services.clock.monotonicMs()
  if (leftMs <= 0) throw late()
  const timeoutMs = Math.min(timeoutSeconds * 1000, leftMs)
  const query = `timeout=${timeoutSeconds}s`
  try {
    const call = { client, query, body, timeoutMs, answerMaxBytes }
    const reply = await caller.post(call, session.signal)
    const problem = statusProblem(reply.status)
    if (problem !== undefined) throw new HookFailure(`failed to call webhook: ${problem}`)
    const mutates = attributes.phase === 'mutate'
    return answerOf(reply.body, { uid, apiVersion, mutates })
  } catch (error) {
    const isTheirs = error instanceof CallFailure || error instanceof UnusableAnswer
    throw isTheirs ? new HookFailure(error.message) : error
  }
}

/** Notes what an answer says, and refuses what it refuses. */
function take({ session }: AdmissionAttributes, { name }: Hook, answer: HookAnswer): void {
  for (const [key, text] of answer.annotations) session.annotate(`${name}/${key}`, text)
  session.warn(answer.warnings)
  if (answer.isAllowed) return
  const { code, message, reason, details } = refusalOf(name, answer.status)
  throw new StatusError('unauthorized', {
    code,
    message,
    ...(reason === '' ? {} : { reason }),
    details: detailsOf(details),
    isByAdmission: true,
  })
}

function detailsOf(value: JsonValue | undefined): StatusDetails | undefined {
  if (!(value instanceof Map)) return undefined
  const [name, group, kind] = ['name', 'group', 'kind'].map(member => textOf(value.get(member)))
  return {
    name,
    group,
    kind,
    causes: itemsOf(value.get('causes')).map(cause => ({
      reason: textOf(memberOf(cause, 'reason')),
      message: textOf(memberOf(cause, 'message')),
      field: textOf(memberOf(cause, 'field')),
    })),
    retryAfterSeconds: numberOf(value.get('retryAfterSeconds')),
  }
}

/** Refuses the write because of what went wrong, unless failures of the hook are ignored. */
function refuseUnlessIgnored(hook: Hook, error: unknown): void {
  if (!(error instanceof HookFailure)) throw error
  if (hook.ignoresFailures) return
  throw internalError(`failed calling webhook ${goQuote(hook.name)}: ${error.message}`)
}

/** Asks a validating hook. */
export async function validateBy(
  attributes: AdmissionAttributes,
  invocation: Invocation,
  caller: HookCaller,
): Promise<void> {
  const { hook } = invocation
  try {
    take(attributes, hook, await ask(attributes, invocation, caller))
  } catch (error) {
    refuseUnlessIgnored(hook, error)
    attributes.session.annotate(
      `failed-open.validating.webhook.admission.k8s.io/${hook.configuration}`,
      hook.name,
    )
  }
}

/** Asks a mutating hook. True if it has changed the object. */
export async function mutateBy(
  attributes: AdmissionAttributes,
  invocation: Invocation,
  caller: HookCaller,
): Promise<boolean> {
  const { hook } = invocation
  try {
    const answer = await ask(attributes, invocation, caller)
    take(attributes, hook, answer)
    return answer.patch !== undefined && (await change(attributes, invocation, answer))
  } catch (error) {
    refuseUnlessIgnored(hook, error)
    attributes.session.annotate(
      `failed-open.mutation.webhook.admission.k8s.io/${hook.configuration}`,
      hook.name,
    )
    return false
  }
}

async function change(
  attributes: AdmissionAttributes,
  { hook, resource }: Invocation,
  { patch = Buffer.alloc(0), patchType }: HookAnswer,
): Promise<boolean> {
  const { object } = attributes
  const operations = operationsOf(patch)
  if (operations.length === 0) return false
  if (object === undefined) {
    throw internalError(
      `admission webhook ${goQuote(hook.name)} attempted to modify the object, which is not supported for this operation`,
    )
  }
  if (patchType !== 'JSONPatch') {
    throw new HookFailure(`unsupported patch type ${goQuote(patchType)}`)
  }
  const reviewed = await reviewedAs(attributes, resource)
  if (reviewed.object === undefined) return false
  return takeChanged(attributes, reviewed, patchedBy(reviewed.object, operations))
}

/** Operations of one patch: as many as a client's patch may have. */
const operationsMax = 10_000

function operationsOf(patch: Buffer): JsonObject[] {
  const words = 'received undecodable patch in webhook response:'
  let value: JsonValue
  try {
    value = jsonBody(patch).value
  } catch (error) {
    if (error instanceof DecodeError) throw new HookFailure(`${words} ${error.message}`)
    throw error
  }
  const operations = itemsOf(value)
  if (!Array.isArray(value) || !operations.every(one => one instanceof Map)) {
    throw new HookFailure(
      `${words} json: cannot unmarshal object into Go value of type jsonpatch.Patch`,
    )
  }
  if (operations.length > operationsMax) {
    throw new HookFailure(`${words} more than ${operationsMax} operations`)
  }
  return operations.filter(one => one instanceof Map)
}

function patchedBy(object: JsonObject, operations: readonly JsonObject[]): JsonObject {
  try {
    const patched = atOnce(applyJsonPatch(object, operations))
    if (patched instanceof Map) return patched
  } catch (error) {
    if (error instanceof PatchFailure) throw internalError(error.message)
    throw error
  }
  throw internalError('the patch does not make an object')
}
