/** The policies of a cluster that are about a request: bound to it by bindings, each with the
 *  parameters that it is asked with. */

import { itemsOf, type JsonObject } from '../../../codec/json/tree.ts'
import type { Resource } from '../../../kube/resources/resource.ts'
import { matchesSelector } from '../../write/label-match.ts'
import { metaText, textOf } from '../../write/metadata.ts'
import { type CompiledPolicy, compilePolicy } from '../../write/validation/policy-expressions.ts'
import { labelsOf, partOf, partsOf } from '../pod-parts.ts'
import type { Attributes } from '../plugin.ts'
import type { ResourceName } from '../stored-objects.ts'
import { ruleOf } from '../webhooks/hooks.ts'
import { matchedResource, type Matching } from '../webhooks/matching.ts'

export const policyGroup = 'admissionregistration.k8s.io'

/** Names a policy, and the binding that it is looked at for; a policy that cannot be used has no
 *  binding. */
export interface BoundNames {
  readonly policy: string
  readonly binding: string | undefined
}

/** A policy with one of its bindings, for a request that both are about. */
export interface BoundPolicy extends BoundNames {
  readonly binding: string
  readonly spec: JsonObject
  readonly compiled: CompiledPolicy
  /** The resource of the request as the policy has named it. */
  readonly resource: Resource
  /** The parameters, with each of which it is asked; undefined is none. */
  readonly params: readonly (JsonObject | undefined)[]
  /** The actions of a binding of a validating policy. */
  readonly actions: readonly string[]
}

export interface PolicyKind {
  readonly policies: ResourceName
  readonly bindings: ResourceName
}

export interface PolicyVisitor {
  /** A policy that cannot be used, and may not be ignored. */
  fail(names: BoundNames, message: string): void
  visit(policy: BoundPolicy): Promise<void> | undefined
}

/** Visits what is bound to a request, in the order of the policies' names. */
export async function visitBound(
  attributes: Attributes,
  kind: PolicyKind,
  visitor: PolicyVisitor,
): Promise<void> {
  const { objects, session } = attributes
  const all = await objects.list(session, kind.policies)
  if (all.length === 0) return
  const byPolicy = new Map<string, JsonObject[]>()
  for (const binding of await objects.list(session, kind.bindings)) {
    const name = textOf(partOf(binding, 'spec').get('policyName'))
    const known = byPolicy.get(name)
    if (known === undefined) byPolicy.set(name, [binding])
    else known.push(binding)
  }
  for (const policy of all) {
    const own = byPolicy.get(metaText(policy, 'name'))
    if (own !== undefined) await new PolicyVisit(attributes, policy, visitor).visitAll(own)
    await session.slice.giveWay()
  }
}

const compiled = new WeakMap<JsonObject, CompiledPolicy>()

function compiledFor(policy: JsonObject): CompiledPolicy {
  let known = compiled.get(policy)
  if (known === undefined) {
    known = compilePolicy(partOf(policy, 'spec'))
    compiled.set(policy, known)
  }
  return known
}

class PolicyVisit {
  readonly #attributes: Attributes
  readonly #name: string
  readonly #spec: JsonObject
  readonly #policy: JsonObject
  readonly #visitor: PolicyVisitor

  constructor(attributes: Attributes, policy: JsonObject, visitor: PolicyVisitor) {
    this.#attributes = attributes
    this.#policy = policy
    this.#name = metaText(policy, 'name')
    this.#spec = partOf(policy, 'spec')
    this.#visitor = visitor
  }

  async visitAll(own: readonly JsonObject[]): Promise<void> {
    const resource = await matches(this.#attributes, partOf(this.#spec, 'matchConstraints'))
    if (resource === undefined) return
    const kind = this.#spec.get('paramKind')
    const paramResource = kind instanceof Map ? this.#resourceOf(kind) : undefined
    if (kind instanceof Map && paramResource === undefined) {
      const [version, name] = ['apiVersion', 'kind'].map(member => textOf(kind.get(member)))
      this.#fail(
        undefined,
        `failed to configure policy: failed to find resource referenced by paramKind: '${version}, Kind=${name}'`,
      )
      return
    }
    for (const binding of own) await this.#visit(binding, resource, paramResource)
  }

  #fail(binding: string | undefined, message: string): void {
    if (ignoresFailures(this.#spec)) return
    this.#visitor.fail({ policy: this.#name, binding }, message)
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

  async #visit(
    binding: JsonObject,
    resource: Resource,
    paramResource: Resource | undefined,
  ): Promise<void> {
    const spec = partOf(binding, 'spec')
    const match = spec.get('matchResources')
    if (match instanceof Map && (await matches(this.#attributes, match)) === undefined) return
    const name = metaText(binding, 'name')
    const params = await this.#params(spec, paramResource)
    if (typeof params === 'string') {
      this.#fail(name, `failed to configure binding: ${params}`)
      return
    }
    await this.#visitor.visit({
      policy: this.#name,
      binding: name,
      spec: this.#spec,
      compiled: compiledFor(this.#policy),
      resource,
      params,
      actions: itemsOf(spec.get('validationActions')).map(textOf),
    })
  }

  /** The parameters of a binding, or why there are none that may be used. */
  async #params(
    spec: JsonObject,
    resource: Resource | undefined,
  ): Promise<readonly (JsonObject | undefined)[] | string> {
    const reference = spec.get('paramRef')
    if (resource === undefined || !(reference instanceof Map)) return [undefined]
    const { objects, session } = this.#attributes
    const given = textOf(reference.get('namespace'))
    const namespace = resource.isNamespaced ? given || session.namespace : ''
    if (given !== '' && !resource.isNamespaced) {
      return 'paramRef.namespace must not be provided for a cluster-scoped `paramKind`'
    }
    if (namespace === '' && resource.isNamespaced) {
      return 'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources'
    }
    const from = [resource.group, resource.version, resource.resource] as const
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

/** True if a policy that goes wrong is as if it were not there. */
export function ignoresFailures(spec: JsonObject): boolean {
  return spec.get('failurePolicy') === 'Ignore'
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

/** The request is about a policy: whoever has locked themselves out can still change these. */
export function isPolicy({ session }: Attributes): boolean {
  const { group, resource } = session.kind
  return group === policyGroup && resource.includes('admissionpolic')
}
