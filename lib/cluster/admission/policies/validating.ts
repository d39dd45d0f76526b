/** ValidatingAdmissionPolicy: the policies of a cluster, bound to what they are about. */

import { itemsOf, type JsonObject } from '../../../codec/json/tree.ts'
import type { Resource } from '../../../kube/resources/resource.ts'
import { StatusError } from '../../../kube/status.ts'
import { matchesSelector } from '../../write/label-match.ts'
import { metaText, textOf } from '../../write/metadata.ts'
import { type CompiledPolicy, compilePolicy } from '../../write/validation/policy-expressions.ts'
import { labelsOf, partOf, partsOf } from '../pod-parts.ts'
import type { AdmissionPlugin, Attributes } from '../plugin.ts'
import { nameOf } from '../refusals.ts'
import { ruleOf } from '../webhooks/hooks.ts'
import { matchedResource, type Matching } from '../webhooks/matching.ts'
import { evaluatePolicy, type PolicyDenial } from './evaluation.ts'
import { inputOf } from './input.ts'

const group = 'admissionregistration.k8s.io'
const policies = [group, 'v1', 'validatingadmissionpolicies'] as const
const bindings = [group, 'v1', 'validatingadmissionpolicybindings'] as const

export const validatingAdmissionPolicy: AdmissionPlugin = {
  name: 'ValidatingAdmissionPolicy',
  validate(attributes) {
    // Whoever has locked themselves out can still change policies.
    const { kind } = attributes.session
    const isPolicy = kind.group === group && kind.resource.includes('admissionpolic')
    return isPolicy ? undefined : checkAll(attributes)
  },
}

/** A refusal with the words that tell whose it is. */
interface Refusal extends PolicyDenial {
  readonly words: string
}

async function checkAll(attributes: Attributes): Promise<void> {
  const { objects, session } = attributes
  const all = await objects.list(session, policies)
  if (all.length === 0) return
  const bound = await objects.list(session, bindings)
  const refusals: Refusal[] = []
  for (const policy of all) {
    const name = metaText(policy, 'name')
    const own = bound.filter(one => textOf(partOf(one, 'spec').get('policyName')) === name)
    if (own.length > 0) await new PolicyRun(attributes, policy, refusals).checkAll(own)
    await session.slice.giveWay()
  }
  const [first] = refusals
  if (first !== undefined) throw refused(attributes, first)
}

const codes: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  RequestEntityTooLarge: 413,
}

function refused(attributes: Attributes, { words, message, reason }: Refusal): StatusError {
  const { kind } = attributes.session
  const name = nameOf(attributes)
  const detail = `ValidatingAdmissionPolicy ${words} denied request: ${message}`
  const of = kind.group === '' ? kind.resource : `${kind.resource}.${kind.group}`
  return new StatusError('unauthorized', {
    code: codes[reason] ?? 422,
    message: `${of} "${name}" is forbidden: ${detail}`,
    reason: reason === '' ? 'Invalid' : reason,
    details: { name, group: kind.group, kind: kind.resource, causes: [{ message: detail }] },
    isByAdmission: true,
  })
}

const compiled = new WeakMap<JsonObject, CompiledPolicy>()

class PolicyRun {
  readonly #attributes: Attributes
  readonly #name: string
  readonly #spec: JsonObject
  readonly #policy: JsonObject
  readonly #refusals: Refusal[]

  constructor(attributes: Attributes, policy: JsonObject, refusals: Refusal[]) {
    this.#attributes = attributes
    this.#policy = policy
    this.#name = metaText(policy, 'name')
    this.#spec = partOf(policy, 'spec')
    this.#refusals = refusals
  }

  get #ignoresFailures(): boolean {
    return this.#spec.get('failurePolicy') === 'Ignore'
  }

  async checkAll(own: readonly JsonObject[]): Promise<void> {
    const resource = await matches(this.#attributes, partOf(this.#spec, 'matchConstraints'))
    if (resource === undefined) return
    const kind = this.#spec.get('paramKind')
    const paramResource = kind instanceof Map ? this.#resourceOf(kind) : undefined
    if (kind instanceof Map && paramResource === undefined) {
      const [version, name] = ['apiVersion', 'kind'].map(member => textOf(kind.get(member)))
      this.#fail(
        `'${this.#name}'`,
        `failed to configure policy: failed to find resource referenced by paramKind: '${version}, Kind=${name}'`,
      )
      return
    }
    for (const binding of own) await this.#check(binding, resource, paramResource)
  }

  #fail(words: string, message: string): void {
    if (!this.#ignoresFailures) this.#refusals.push({ words, message, reason: '' })
  }

  #resourceOf(kind: JsonObject): Resource | undefined {
    const { registry } = this.#attributes.session.state
    const [version = '', groupName = ''] = textOf(kind.get('apiVersion')).split('/').reverse()
    return registry.resources.find(
      one =>
        one.group === groupName &&
        one.version === version &&
        one.kind === textOf(kind.get('kind')) &&
        one.storage !== undefined,
    )
  }

  async #check(
    binding: JsonObject,
    resource: Resource,
    paramResource: Resource | undefined,
  ): Promise<void> {
    const spec = partOf(binding, 'spec')
    const match = spec.get('matchResources')
    if (match instanceof Map && (await matches(this.#attributes, match)) === undefined) return
    const words = `'${this.#name}' with binding '${metaText(binding, 'name')}'`
    const params = await this.#params(spec, paramResource)
    if (typeof params === 'string') {
      this.#fail(words, `failed to configure binding: ${params}`)
      return
    }
    const actions = itemsOf(spec.get('validationActions')).map(textOf)
    for (const param of params) {
      const input = await inputOf(this.#attributes, resource, param)
      const { denials, annotations } = evaluatePolicy(this.#compiled, input, this.#ignoresFailures)
      for (const denial of denials) this.#act(denial, actions, words)
      for (const [key, value] of annotations) {
        this.#attributes.session.annotations.set(`${this.#name}/${key}`, value)
      }
    }
  }

  #act(denial: PolicyDenial, actions: readonly string[], words: string): void {
    const { session } = this.#attributes
    if (actions.includes('Deny')) this.#refusals.push({ ...denial, words })
    if (actions.includes('Audit')) {
      session.annotations.set(
        'validation.policy.admission.k8s.io/validation_failure',
        denial.message,
      )
    }
    if (actions.includes('Warn')) {
      session.warn([`Validation failed for ValidatingAdmissionPolicy ${words}: ${denial.message}`])
    }
  }

  get #compiled(): CompiledPolicy {
    let known = compiled.get(this.#policy)
    if (known === undefined) {
      known = compilePolicy(this.#spec)
      compiled.set(this.#policy, known)
    }
    return known
  }

  /** The parameters of a binding, or why there are none that may be used. */
  async #params(
    spec: JsonObject,
    resource: Resource | undefined,
  ): Promise<readonly (JsonObject | undefined)[] | string> {
    const reference = spec.get('paramRef')
    if (resource === undefined || !(reference instanceof Map)) return [undefined]
    const { objects, session } = this.#attributes
    const from = [resource.group, resource.version, resource.resource] as const
    const namespace = resource.isNamespaced
      ? textOf(reference.get('namespace')) || session.namespace
      : ''
    const name = textOf(reference.get('name'))
    let found: readonly JsonObject[]
    if (name === '') {
      const all = await objects.list(session, from, namespace)
      found = all.filter(one => matchesSelector(reference.get('selector'), labelsOf(one)))
    } else {
      const one = await objects.get(session, from, { namespace, name })
      found = one === undefined ? [] : [one]
    }
    if (found.length > 0) return found
    return reference.get('parameterNotFoundAction') === 'Allow'
      ? []
      : 'no params found for policy binding with `Deny` parameterNotFoundAction'
  }
}

/** The resource as the constraints have it; undefined if they are about others. */
async function matches(
  attributes: Attributes,
  constraints: JsonObject,
): Promise<Resource | undefined> {
  const common = {
    matchesEquivalents: constraints.get('matchPolicy') !== 'Exact',
    namespaceSelector: partOf(constraints, 'namespaceSelector'),
    objectSelector: partOf(constraints, 'objectSelector'),
  }
  const rules = (name: string): Matching => ({
    ...common,
    rules: partsOf(constraints, name).map(ruleOf),
  })
  const excluded = rules('excludeResourceRules')
  const isExcluded =
    excluded.rules.length > 0 && (await matchedResource(attributes, excluded)) !== undefined
  if (isExcluded) return undefined
  const included = rules('resourceRules')
  if (included.rules.length > 0) return matchedResource(attributes, included)
  // Without rules everything is meant.
  const everything = ['*']
  const all = {
    groups: everything,
    versions: everything,
    resources: ['*', '*/*'],
    operations: everything,
    scope: '*',
  }
  return matchedResource(attributes, { ...common, rules: [all] })
}
