/** ValidatingAdmissionPolicy: the policies of a cluster, bound to what they are about. */

import { goJsonString } from '@watchglass/go'
import { StatusError } from '@watchglass/kube'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import { nameOf } from '../refusals.ts'
import { type BoundPolicy, ignoresFailures, isPolicy, policyGroup, visitBound } from './bound.ts'
import {
  evaluatePolicy,
  type PolicyDenial,
  type PolicyResult,
  type PolicyInput,
} from './evaluation.ts'
import { validatedInput } from './input.ts'

const kind = {
  policies: [policyGroup, 'v1', 'validatingadmissionpolicies'],
  bindings: [policyGroup, 'v1', 'validatingadmissionpolicybindings'],
} as const

export const validatingAdmissionPolicy: AdmissionPlugin = {
  name: 'ValidatingAdmissionPolicy',
  validate: attributes => (isPolicy(attributes) ? undefined : checkAll(attributes)),
}

/** A refusal with the words that tell whose it is. */
interface Refusal extends Pick<PolicyDenial, 'message' | 'reason'> {
  readonly words: string
}

/** The results of all policies for one request. */
interface Findings {
  /** The first refusal, which is told: there may be one for each of thousands of bindings and of
   *  their parameters. */
  refusal: Refusal | undefined
  /** Values by the keys of annotations: those of one policy's bindings may differ. */
  readonly annotations: Map<string, Set<string>>
}

async function checkAll(attributes: AdmissionAttributes): Promise<void> {
  const findings: Findings = { refusal: undefined, annotations: new Map() }
  await visitBound(attributes, kind, {
    fail(names, message) {
      findings.refusal ??= { words: wordsOf(names), message, reason: '' }
    },
    visit: policy => check(attributes, policy, findings),
  })
  const { refusal, annotations } = findings
  for (const [key, values] of annotations) attributes.session.annotate(key, [...values].join(', '))
  if (refusal !== undefined) throw refused(attributes, refusal)
}

function wordsOf({
  policy,
  binding,
}: Pick<BoundPolicy, 'policy'> & { binding?: string | undefined }): string {
  return binding === undefined ? `'${policy}'` : `'${policy}' with binding '${binding}'`
}

const codes: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  RequestEntityTooLarge: 413,
}

function refused(
  attributes: AdmissionAttributes,
  { words, message, reason }: Refusal,
): StatusError {
  const { group, resource } = attributes.session.kind
  const name = nameOf(attributes)
  const detail = `ValidatingAdmissionPolicy ${words} denied request: ${message}`
  const of = group === '' ? resource : `${resource}.${group}`
  return new StatusError('unauthorized', {
    code: codes[reason] ?? 422,
    message: `${of} "${name}" is forbidden: ${detail}`,
    reason: reason === '' ? 'Invalid' : reason,
    details: { name, group, kind: resource, causes: [{ message: detail }] },
    isByAdmission: true,
  })
}

function check(
  attributes: AdmissionAttributes,
  policy: BoundPolicy,
  findings: Findings,
): Promise<void> | undefined {
  if (policy.params.length !== 1) return checkEach(attributes, policy, findings)
  const input = validatedInput(attributes, policy, policy.params[0])
  if (input instanceof Promise) {
    return input.then(made => judge(attributes, policy, made, findings))
  }
  return judge(attributes, policy, input, findings)
}

async function checkEach(
  attributes: AdmissionAttributes,
  policy: BoundPolicy,
  findings: Findings,
): Promise<void> {
  for (const param of policy.params) {
    const input = await validatedInput(attributes, policy, param)
    await judge(attributes, policy, input, findings)
    await attributes.session.slice.giveWay()
  }
}

/** Evaluates a policy with one parameter; a promise only where that takes long. */
function judge(
  attributes: AdmissionAttributes,
  policy: BoundPolicy,
  input: PolicyInput,
  findings: Findings,
): Promise<void> | undefined {
  const { slice } = attributes.session
  const steps = evaluatePolicy(policy.compiled, input, ignoresFailures(policy.spec))
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) {
      act(attributes, policy, value, findings)
      return undefined
    }
    if (slice.isOver) {
      return slice.take(steps).then(result => act(attributes, policy, result, findings))
    }
  }
}

/** Bytes of an annotation. */
const annotationMax = 10 * 1024

function act(
  { session }: AdmissionAttributes,
  policy: BoundPolicy,
  { denials, annotations }: PolicyResult,
  findings: Findings,
): void {
  const { actions } = policy
  const words = wordsOf(policy)
  for (const { message, reason, index } of denials) {
    const isAnnotation = index === undefined
    if (isAnnotation || actions.includes('Deny')) findings.refusal ??= { words, message, reason }
    if (isAnnotation) continue
    if (actions.includes('Audit')) {
      session.annotate(
        'validation.policy.admission.k8s.io/validation_failure',
        failureText(policy, message, index),
      )
    }
    if (actions.includes('Warn')) {
      session.warn([`Validation failed for ValidatingAdmissionPolicy ${words}: ${message}`])
    }
  }
  for (const [name, value] of annotations) {
    const key = `${policy.policy}/${name}`
    const values = findings.annotations.get(key) ?? new Set()
    findings.annotations.set(key, values.add(goCut(value, annotationMax)))
  }
}

function failureText(
  { policy, binding, actions }: BoundPolicy,
  message: string,
  expressionIndex: number,
): string {
  const [text, whose, by] = [message, policy, binding].map(goJsonString)
  const done = actions.map(goJsonString).join(',')
  return `[{"message":${text},"policy":${whose},"binding":${by},"expressionIndex":${expressionIndex},"validationActions":[${done}]}]`
}

function goCut(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text)
  return bytes.length <= maxBytes ? text : bytes.subarray(0, maxBytes).toString()
}
