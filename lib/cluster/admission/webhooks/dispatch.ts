/** Asks webhooks: mutating ones one after the other, validating ones at once. */

import { NotExact } from '../../../codec/not-exact.ts'
import {
  copyTree,
  itemsOf,
  type JsonObject,
  type JsonValue,
  memberOf,
  parseTree,
  textFromTree,
  textInOrder,
} from '../../../codec/json/tree.ts'
import { goQuote } from '../../../go/text.ts'
import type { Resource } from '../../../kube/resources/resource.ts'
import { badRequest, type StatusDetails, StatusError } from '../../../kube/status.ts'
import { customRulesOf } from '../../write/custom/custom-rules.ts'
import { completeBuiltIn } from '../../write/decode/body.ts'
import { completeTree } from '../../write/decode/complete-tree.ts'
import { jsonBody, treeDocument } from '../../write/decode/documents.ts'
import { DecodeError, decodeTyped } from '../../write/decode/typed-decoder.ts'
import { isEqual, metadataOf, metaText, numberOf, setMeta, textOf } from '../../write/metadata.ts'
import { entryOf, treeOf } from '../../write/operations/session.ts'
import { applyJsonPatch, PatchFailure } from '../../write/patches/json-patch.ts'
import { storedBytes } from '../../write/stored-form.ts'
import { writeKindOf } from '../../write/write-kinds.ts'
import type { WriteKind } from '../../write/write-kind.ts'
import type { Attributes } from '../plugin.ts'
import { CallFailure, type HookCaller, statusProblem } from './caller.ts'
import type { Hook } from './hooks.ts'
import {
  answerMaxBytes,
  answerOf,
  type HookAnswer,
  refusalOf,
  reviewOf,
  type ReviewedObjects,
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

/** The object that a hook is sent. */
export function reviewedAs(attributes: Attributes, resource: Resource): ReviewedObjects {
  const { session, object, old } = attributes
  const isSame = resource === session.resource
  const kind = isSame ? kindOf(attributes) : writeKindOf(resource, session.state.registry.schema)
  const shown = (one: JsonObject | undefined): JsonObject | undefined => {
    if (one === undefined) return undefined
    return isSame ? ordered(kind, one) : converted(attributes, one, resource)
  }
  return {
    kind,
    requestKind: kindOf(attributes),
    resource,
    object: shown(object),
    old: shown(old),
  }
}

/** The kind of the object, which is another one than that of the resource for some subresources:
 *  a Scale, an Eviction, a Binding. */
function kindOf({ session, object, old }: Attributes): WriteKind {
  const { kind } = session
  const shown = object ?? old
  const [apiVersion, name] = ['apiVersion', 'kind'].map(member => textOf(shown?.get(member)))
  const isOwn = apiVersion === kind.apiVersion && name === kind.kind
  if (session.subresource === '' || isOwn || apiVersion === undefined || name === undefined) {
    return kind
  }
  const found = kind.schema.findKind(apiVersion, name)
  if (found === undefined) return kind
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  return {
    ...kind,
    group,
    version,
    apiVersion,
    kind: name,
    type: found.type,
    definition: undefined,
  }
}

/** The members in the order in which a server writes them. */
function ordered({ type }: WriteKind, object: JsonObject): JsonObject {
  if (type !== undefined) return completeTree(copyTree(object) as JsonObject, type)
  const sorted = Buffer.from(textFromTree(object))
  return parseTree(sorted, 0, sorted.length) as JsonObject
}

/** The object in another version of its resource, through the bytes that are stored of it. */
function converted(attributes: Attributes, object: JsonObject, to: Resource): JsonObject {
  const { session } = attributes
  const encoder = session.state.encoderOf(to)
  if (encoder instanceof NotExact) throw internal(encoder.reason)
  const value = storedBytes(session.resource, session.kind, object)
  const made = treeOf(encoder, to, entryOf(session.keyOf('-'), value, 1))
  setMeta(made, 'resourceVersion', memberOf(object.get('metadata'), 'resourceVersion'))
  return made
}

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

/** Asks one hook. Throws a HookFailure, or the StatusError of a refusal. */
async function ask(
  attributes: Attributes,
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
  const reviewed = reviewedAs(attributes, resource)
  const review = reviewOf(attributes, { uid, apiVersion, reviewed })
  await session.slice.giveWay()
  const body = Buffer.from(`${textInOrder(review)}\n`)
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
function take({ session }: Attributes, { name }: Hook, answer: HookAnswer): void {
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
  throw internal(`failed calling webhook ${goQuote(hook.name)}: ${error.message}`)
}

function internal(message: string): StatusError {
  return new StatusError('unsupported', {
    code: 500,
    message: `Internal error occurred: ${message}`,
    reason: 'InternalError',
    details: { causes: [{ reason: '', message }] },
  })
}

/** Asks a validating hook. */
export async function validateBy(
  attributes: Attributes,
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
  attributes: Attributes,
  invocation: Invocation,
  caller: HookCaller,
): Promise<boolean> {
  const { hook } = invocation
  try {
    const answer = await ask(attributes, invocation, caller)
    take(attributes, hook, answer)
    return answer.patch !== undefined && change(attributes, invocation, answer)
  } catch (error) {
    refuseUnlessIgnored(hook, error)
    attributes.session.annotate(
      `failed-open.mutation.webhook.admission.k8s.io/${hook.configuration}`,
      hook.name,
    )
    return false
  }
}

function change(
  attributes: Attributes,
  { hook, resource }: Invocation,
  { patch = Buffer.alloc(0), patchType }: HookAnswer,
): boolean {
  const { object, session } = attributes
  const operations = operationsOf(patch)
  if (operations.length === 0) return false
  if (object === undefined) {
    throw internal(
      `admission webhook ${goQuote(hook.name)} attempted to modify the object, which is not supported for this operation`,
    )
  }
  if (patchType !== 'JSONPatch') {
    throw new HookFailure(`unsupported patch type ${goQuote(patchType)}`)
  }
  const { object: shown } = reviewedAs(attributes, resource)
  if (shown === undefined) return false
  const isSame = resource === session.resource
  const kind = isSame ? kindOf(attributes) : writeKindOf(resource, session.state.registry.schema)
  const patched = decoded(kind, patchedBy(shown, operations))
  const made = isSame ? patched : back(attributes, patched, resource)
  const version = metadataOf(object).get('resourceVersion')
  const isChanged = !isEqual(made, object)
  object.clear()
  for (const [name, value] of made) object.set(name, value)
  if (version !== undefined && metaText(object, 'resourceVersion') === '') {
    setMeta(object, 'resourceVersion', version)
  }
  return isChanged
}

/** An object that was changed in another version, in the version of the request again. */
function back(attributes: Attributes, object: JsonObject, from: Resource): JsonObject {
  const { session } = attributes
  const { schema } = session.state.registry
  const value = storedBytes(from, writeKindOf(from, schema), object)
  return session.treeOf(entryOf(session.keyOf('-'), value, 1))
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
    const patched = applyJsonPatch(object, operations)
    if (patched instanceof Map) return patched
  } catch (error) {
    if (error instanceof PatchFailure) throw internal(error.message)
    throw error
  }
  throw internal('the patch does not make an object')
}

function decoded(kind: WriteKind, value: JsonObject): JsonObject {
  const { type } = kind
  try {
    if (type !== undefined) {
      const { object } = decodeTyped(treeDocument(value), type)
      return completeBuiltIn(object, { ...kind, type })
    }
  } catch (error) {
    if (error instanceof DecodeError) throw internal(error.message)
    throw error
  }
  const copy = copyTree(value) as JsonObject
  const rules = customRulesOf(kind)
  rules.prune(copy)
  rules.applyDefaults(copy)
  return copy
}
