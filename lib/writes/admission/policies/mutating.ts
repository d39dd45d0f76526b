/** MutatingAdmissionPolicy: policies that change objects, by configurations that are merged in and
 *  by patches. Each is asked once, and once more where it wants to see what later ones and the
 *  plugins have changed. */

import { atOnce } from '@watchglass/base'
import { type JsonObject, textInOrder } from '@watchglass/go'
import { StatusError } from '@watchglass/kube'
import {
  CelError,
  CelList,
  CelMap,
  itemsOf,
  jsonOf,
  operationName,
  StructValue,
  type Value,
} from '@watchglass/cel'
import { nullNumber } from '../../go-value-text.ts'
import { metaText } from '../../metadata.ts'
import { UnusableConfiguration, withConfiguration } from '../../ownership/unowned-apply.ts'
import { applyJsonPatch, PatchFailure, TestFailure } from '../../patches/json-patch.ts'
import type { Mutation } from '../../validation/policy-expressions.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import { forbidden } from '../refusals.ts'
import { reviewedAs, type ReviewedObjects, takeChanged } from '../reviewed-objects.ts'
import {
  type BoundNames,
  type BoundPolicy,
  ignoresFailures,
  isPolicy,
  policyGroup,
  type PolicyKind,
  visitBound,
} from './bound.ts'
import { conditionsCostMax, meetsConditions, runMutation } from './evaluation.ts'
import { inputOf } from './input.ts'

const name = 'MutatingAdmissionPolicy'

export const mutatingAdmissionPolicy: AdmissionPlugin = {
  name,
  // There is nothing to change in what is deleted.
  mutate: attributes =>
    attributes.operation === 'DELETE' || isPolicy(attributes) ? undefined : mutateAll(attributes),
}

/** Served from 1.36 on: earlier ones have it behind a gate, in versions that are off. */
const kind: PolicyKind = {
  policies: [policyGroup, 'v1', 'mutatingadmissionpolicies'],
  bindings: [policyGroup, 'v1', 'mutatingadmissionpolicybindings'],
}

/** One policy with one parameter. */
interface Invocation {
  readonly policy: BoundPolicy
  readonly param: JsonObject | undefined
}

interface Denial {
  readonly message: string
  readonly reason: 'Forbidden' | 'Invalid'
}

async function mutateAll(attributes: AdmissionAttributes): Promise<void> {
  const denials: Denial[] = []
  const invocations: Invocation[] = []
  await visitBound(attributes, kind, {
    fail: (names, message) =>
      denials.push({ message: `${wordsOf(names)}: ${message}`, reason: 'Forbidden' }),
    visit: policy => {
      invocations.push(...policy.params.map(param => ({ policy, param })))
      return undefined
    },
  })
  if (invocations.length > 0) await invokeAll(attributes, invocations, denials)
  const [first] = denials
  if (first !== undefined) throw refused(attributes, first, denials)
}

function wordsOf({ policy, binding }: BoundNames): string {
  const words =
    binding === undefined ? `policy "${policy}"` : `policy '${policy}' with binding '${binding}'`
  return `${words} denied request`
}

function refused(
  attributes: AdmissionAttributes,
  first: Denial,
  denials: readonly Denial[],
): StatusError {
  const causes = denials.map(({ message }) => ({ message }))
  const { details } = forbidden(attributes, '').status
  return new StatusError('unauthorized', {
    code: 403,
    message: first.message,
    reason: first.reason,
    details: { ...details, causes },
    isByAdmission: true,
  })
}

async function invokeAll(
  attributes: AdmissionAttributes,
  invocations: readonly Invocation[],
  denials: Denial[],
): Promise<void> {
  const { reinvocation, object, session } = attributes
  const round = reinvocation.of(name)
  const text = (): string => (object === undefined ? '' : textInOrder(object))
  if (reinvocation.isSecond && round.output !== text()) round.requirePrevious()
  let isChanged = false
  for (const { policy, param } of invocations) {
    await session.slice.giveWay()
    const fail = (message: string): void => {
      if (ignoresFailures(policy.spec)) return
      denials.push({ message: `${wordsOf(policy)}: ${message}`, reason: 'Invalid' })
    }
    const isMeant = await meets(attributes, policy, param)
    if (typeof isMeant === 'string') fail(isMeant)
    if (isMeant !== true) continue
    const id = idOf(policy, param)
    if (reinvocation.isSecond && !round.required.has(id)) continue
    const before = text()
    for (const mutation of policy.compiled.mutations) {
      await session.slice.giveWay()
      const problem = await mutate(attributes, { policy, param }, mutation)
      if (problem === undefined) isChanged = true
      else fail(problem)
    }
    if (text() !== before) round.requirePrevious()
    if (policy.spec.get('reinvocationPolicy') === 'IfNeeded') round.previous.add(id)
  }
  // As upstream: whoever has run is asked again, even if it has changed nothing.
  if (isChanged) {
    round.requirePrevious()
    reinvocation.isNeeded = true
  }
  round.output = text()
}

function idOf({ policy, binding }: BoundPolicy, param: JsonObject | undefined): string {
  const params = param === undefined ? [] : [metaText(param, 'namespace'), metaText(param, 'name')]
  return [policy, binding, ...params].join('/')
}

async function meets(
  attributes: AdmissionAttributes,
  policy: BoundPolicy,
  param: JsonObject | undefined,
): Promise<boolean | string> {
  const { compiled } = policy
  if (compiled.conditions.length === 0) return true
  const input = await inputOf(attributes, policy, param)
  return attributes.session.slice.take(meetsConditions(compiled, input, conditionsCostMax))
}

/** Makes one change; returns the problem if it cannot. */
async function mutate(
  attributes: AdmissionAttributes,
  { policy, param }: Invocation,
  mutation: Mutation,
): Promise<string | undefined> {
  const { compiled, resource } = policy
  const input = await inputOf(attributes, policy, param)
  const answer = runMutation(compiled, mutation, input)
  if (answer.error !== undefined) return answer.error
  const reviewed = await reviewedAs(attributes, resource)
  if (reviewed.object === undefined) return undefined
  try {
    const changed = mutation.isApplied
      ? merged(reviewed, reviewed.object, answer.value)
      : patched(reviewed.object, answer.value)
    checkVersion(attributes, reviewed)
    await takeChanged(attributes, reviewed, changed, !mutation.isApplied)
    return undefined
  } catch (error) {
    if (error instanceof PolicyFailure || error instanceof CelError) return error.message
    throw error
  }
}

/** A result that cannot be used. */
class PolicyFailure extends Error {}

/** kube-apiserver has no conversions between served versions of built-in kinds: what a policy makes
 *  of an object in another version than the one that was sent, it cannot use. */
function checkVersion(
  { session }: AdmissionAttributes,
  { resource, kind, requestKind }: ReviewedObjects,
): void {
  if (resource === session.resource || kind.type === undefined) return
  const { version, kind: name } = kind
  if (resource.group !== session.resource.group) {
    throw new PolicyFailure(
      `${version}.${name} is not suitable for converting to "${requestKind.apiVersion}" in scheme "pkg/api/legacyscheme/scheme.go:30"`,
    )
  }
  const [from, to] = [version, requestKind.version].map(one => `(${one}.${name})`)
  throw new PolicyFailure(`converting ${from} to ${to}: unknown conversion`)
}

function merged({ kind, resource }: ReviewedObjects, object: JsonObject, value: Value): JsonObject {
  if (!(value instanceof StructValue)) throw new PolicyFailure('the result is no Object')
  const configuration = jsonOf(value, { areTexts: false, nothing: nullNumber })
  checkNames(value)
  if (!(configuration instanceof Map)) throw new PolicyFailure('the result is no Object')
  for (const member of ['apiVersion', 'kind']) {
    configuration.set(member, object.get(member) ?? '')
  }
  // Kinds of subresources are in no document that has the types of another group.
  if (kind.group !== resource.group) {
    throw new PolicyFailure(
      `error applying patch: failed to convert patch object to typed object: no corresponding type for ${kind.apiVersion}, Kind=${kind.kind}`,
    )
  }
  try {
    return withConfiguration(kind, object, configuration)
  } catch (error) {
    if (!(error instanceof UnusableConfiguration)) throw error
    throw new PolicyFailure(`error applying patch: ${error.message}`)
  }
}

function patched(object: JsonObject, value: Value): JsonObject {
  const operations = value instanceof CelList ? itemsOf(value).map(operationOf) : []
  if (operations.length > operationsMax) {
    throw new PolicyFailure(`JSON Patch: more than ${operationsMax} operations`)
  }
  try {
    const result = atOnce(applyJsonPatch(object, operations))
    if (result instanceof Map) return result
    throw new PolicyFailure('JSON Patch: the patch does not make an object')
  } catch (error) {
    if (error instanceof TestFailure) return object
    if (!(error instanceof PatchFailure)) throw error
    throw new PolicyFailure(`JSON Patch: ${error.message}`)
  }
}

/** Operations of one patch: as many as a client's patch may have. */
const operationsMax = 10_000

function operationOf(value: Value): JsonObject {
  if (!(value instanceof StructValue) || value.typeName !== operationName) {
    throw new PolicyFailure(
      'type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch',
    )
  }
  const operation: JsonObject = new Map()
  for (const member of ['op', 'path', 'from']) {
    const text = value.fields.get(member) ?? ''
    if (typeof text === 'string' && (text !== '' || member !== 'from')) operation.set(member, text)
  }
  const given = value.fields.get('value')
  if (given === undefined) return operation
  operation.set('value', jsonOf(given, { areTexts: true }))
  if (given instanceof StructValue) checkNames(given)
  return operation
}

/** Values whose names are looked at: what is shared counts each time. */
const namedMax = 200_000

/** Objects must have the types of the places where they stand: `Object.spec` in `spec`. How deep
 *  they are nested was looked at before. */
function checkNames(root: StructValue): void {
  const problems: string[] = []
  let left = namedMax
  const look = (value: Value, path: string): void => {
    if (--left < 0) throw new PolicyFailure('the value is too large')
    if (value instanceof StructValue) {
      if (value.typeName !== path) {
        problems.push(
          `unexpected type name "${value.typeName}", expected "${path}", which matches field name path from root Object type`,
        )
      }
      for (const [field, inner] of value.fields) look(inner, `${path}.${field}`)
    } else if (value instanceof CelList) for (const item of itemsOf(value)) look(item, path)
    else if (value instanceof CelMap) {
      for (const key of value.keys()) look(value.get(key) ?? null, path)
    }
  }
  look(root, root.typeName)
  if (problems.length > 0) throw new PolicyFailure(`type mismatch: ${problems.join('\n')}`)
}
