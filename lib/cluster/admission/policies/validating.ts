/** ValidatingAdmissionPolicy: the policies of a cluster, bound to what they are about. */

import { StatusError } from '../../../kube/status.ts'
import type { AdmissionPlugin, Attributes } from '../plugin.ts'
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
interface Refusal extends PolicyDenial {
  readonly words: string
}

async function checkAll(attributes: Attributes): Promise<void> {
  const refusals: Refusal[] = []
  await visitBound(attributes, kind, {
    fail: (names, message) => refusals.push({ words: wordsOf(names), message, reason: '' }),
    visit: policy => check(attributes, policy, refusals),
  })
  const [first] = refusals
  if (first !== undefined) throw refused(attributes, first)
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

function refused(attributes: Attributes, { words, message, reason }: Refusal): StatusError {
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
  attributes: Attributes,
  policy: BoundPolicy,
  refusals: Refusal[],
): Promise<void> | undefined {
  if (policy.params.length !== 1) return checkEach(attributes, policy, refusals)
  const input = validatedInput(attributes, policy, policy.params[0])
  if (input instanceof Promise) {
    return input.then(made => judge(attributes, policy, made, refusals))
  }
  return judge(attributes, policy, input, refusals)
}

async function checkEach(
  attributes: Attributes,
  policy: BoundPolicy,
  refusals: Refusal[],
): Promise<void> {
  for (const param of policy.params) {
    const input = await validatedInput(attributes, policy, param)
    await judge(attributes, policy, input, refusals)
    await attributes.session.slice.giveWay()
  }
}

/** Evaluates a policy with one parameter; a promise only where that takes long. */
function judge(
  attributes: Attributes,
  policy: BoundPolicy,
  input: PolicyInput,
  refusals: Refusal[],
): Promise<void> | undefined {
  const { slice } = attributes.session
  const steps = evaluatePolicy(policy.compiled, input, ignoresFailures(policy.spec))
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) {
      act(attributes, policy, value, refusals)
      return undefined
    }
    if (slice.isOver) {
      return slice.take(steps).then(result => act(attributes, policy, result, refusals))
    }
  }
}

function act(
  { session }: Attributes,
  policy: BoundPolicy,
  { denials, annotations }: PolicyResult,
  refusals: Refusal[],
): void {
  const { actions } = policy
  for (const denial of denials) {
    const words = wordsOf(policy)
    const { message } = denial
    if (actions.includes('Deny')) refusals.push({ ...denial, words })
    if (actions.includes('Audit')) {
      session.annotate('validation.policy.admission.k8s.io/validation_failure', message)
    }
    if (actions.includes('Warn')) {
      session.warn([`Validation failed for ValidatingAdmissionPolicy ${words}: ${message}`])
    }
  }
  for (const [key, value] of annotations) session.annotate(`${policy.policy}/${key}`, value)
}
