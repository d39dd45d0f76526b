/** The policies of a cluster that are about a request: bound to it by bindings, each with the
 *  parameters that it is asked with. */

import { itemsOf, type JsonObject } from '@watchglass/go'
import type { Resource } from '@watchglass/kube'
import { matchesSelector } from '../../label-match.ts'
import { metaText, textOf } from '../../metadata.ts'
import { type CompiledPolicy, compilePolicy } from '../../validation/policy-expressions.ts'
import { labelsOf, partOf, partsOf } from '../pod-parts.ts'
import type { AdmissionAttributes } from '../plugin.ts'
import type { ResourceName } from '../stored-objects.ts'
import { type HookRule, ruleOf } from '../webhooks/hooks.ts'
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
  attributes: AdmissionAttributes,
  kind: PolicyKind,
  visitor: PolicyVisitor,
): Promise<void> {
  const { objects, session } = attributes
  const all = await objects.list(session, kind.policies)
  if (all.length === 0) return
  const byPolicy = bindingsByPolicy(await objects.list(session, kind.bindings))
  for (const policy of all) {
    const own = byPolicy.get(metaText(policy, 'name'))
    const work = own && new PolicyVisit(attributes, policy, visitor).visitAll(own)
    if (work !== undefined) await work
    if (session.slice.isOver) await session.slice.next()
  }
}

const grouped = new WeakMap<readonly JsonObject[], ReadonlyMap<string, readonly JsonObject[]>>()

function bindingsByPolicy(
  bindings: readonly JsonObject[],
): ReadonlyMap<string, readonly JsonObject[]> {
  const known = grouped.get(bindings)
  if (known !== undefined) return known
  const byPolicy = new Map<string, JsonObject[]>()
  for (const binding of bindings) {
    const name = textOf(partOf(binding, 'spec').get('policyName'))
    const own = byPolicy.get(name)
    if (own === undefined) byPolicy.set(name, [binding])
    else own.push(binding)
  }
  grouped.set(bindings, byPolicy)
  return byPolicy
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

function hasNothingToLookUp(binding: JsonObject): boolean {
  const spec = partOf(binding, 'spec')
  return !(spec.get('matchResources') instanceof Map) && !(spec.get('paramRef') instanceof Map)
}

const actions = new WeakMap<JsonObject, readonly string[]>()

function actionsOf(binding: JsonObject): readonly string[] {
  let known = actions.get(binding)
  if (known === undefined) {
    known = itemsOf(partOf(binding, 'spec').get('validationActions')).map(textOf)
    actions.set(binding, known)
  }
  return known
}

/** The parameters of a policy that takes none. */
const noParams: BoundPolicy['params'] = [undefined]

class PolicyVisit {
  readonly #attributes: AdmissionAttributes
  readonly #name: string
  readonly #spec: JsonObject
  readonly #policy: JsonObject
  readonly #visitor: PolicyVisitor

  constructor(attributes: AdmissionAttributes, policy: JsonObject, visitor: PolicyVisitor) {
    this.#attributes = attributes
    this.#policy = policy
    this.#name = metaText(policy, 'name')
    this.#spec = partOf(policy, 'spec')
    this.#visitor = visitor
  }

  /** A promise only where something has to be looked up. */
  visitAll(own: readonly JsonObject[]): Promise<void> | undefined {
    const matched = matches(this.#attributes, partOf(this.#spec, 'matchConstraints'))
    if (matched instanceof Promise) return matched.then(found => this.#visitEach(found, own))
    const [binding] = own
    const isPlain = own.length === 1 && binding !== undefined && hasNothingToLookUp(binding)
    if (!isPlain || this.#spec.get('paramKind') instanceof Map) return this.#visitEach(matched, own)
    return matched === undefined ? undefined : this.#visit(binding, matched, noParams)
  }

  async #visitEach(resource: Resource | undefined, own: readonly JsonObject[]): Promise<void> {
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
    const { slice } = this.#attributes.session
    for (const binding of own) {
      const spec = partOf(binding, 'spec')
      const hasParams = paramResource !== undefined && spec.get('paramRef') instanceof Map
      const work =
        hasParams || spec.get('matchResources') instanceof Map
          ? this.#visitMatching(binding, resource, paramResource)
          : this.#visit(binding, resource, noParams)
      if (work !== undefined) await work
      if (slice.isOver) await slice.next()
    }
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

  async #visitMatching(
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
    await this.#visit(binding, resource, params)
  }

  #visit(
    binding: JsonObject,
    resource: Resource,
    params: BoundPolicy['params'],
  ): Promise<void> | undefined {
    return this.#visitor.visit({
      policy: this.#name,
      binding: metaText(binding, 'name'),
      spec: this.#spec,
      compiled: compiledFor(this.#policy),
      resource,
      params,
      actions: actionsOf(binding),
    })
  }

  /** The parameters of a binding, or why there are none that may be used. */
  async #params(
    spec: JsonObject,
    resource: Resource | undefined,
  ): Promise<readonly (JsonObject | undefined)[] | string> {
    const reference = spec.get('paramRef')
    if (resource === undefined || !(reference instanceof Map)) return noParams
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
      const selected: JsonObject[] = []
      for (const one of await objects.list(session, from, namespace)) {
        if (matchesSelector(reference.get('selector'), labelsOf(one))) selected.push(one)
        if (session.slice.isOver) await session.slice.next()
      }
      found = selected
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
function matches(
  attributes: AdmissionAttributes,
  constraints: JsonObject,
): Promise<Resource | undefined> | Resource | undefined {
  const { included, excluded } = matchingOf(constraints)
  if (excluded === undefined) return matchedResource(attributes, included)
  return Promise.resolve(matchedResource(attributes, excluded)).then(found =>
    found === undefined ? matchedResource(attributes, included) : undefined,
  )
}

interface Constraints {
  readonly included: Matching
  readonly excluded: Matching | undefined
}

const readConstraints = new WeakMap<JsonObject, Constraints>()

function matchingOf(constraints: JsonObject): Constraints {
  const known = readConstraints.get(constraints)
  if (known !== undefined) return known
  const common = {
    matchesEquivalents: constraints.get('matchPolicy') !== 'Exact',
    namespaceSelector: partOf(constraints, 'namespaceSelector'),
    objectSelector: partOf(constraints, 'objectSelector'),
  }
  const rules = (name: string): HookRule[] => partsOf(constraints, name).map(ruleOf)
  const [own, excluded] = [rules('resourceRules'), rules('excludeResourceRules')]
  const made: Constraints = {
    included: { ...common, rules: own.length === 0 ? [everything] : own },
    excluded: excluded.length === 0 ? undefined : { ...common, rules: excluded },
  }
  readConstraints.set(constraints, made)
  return made
}

/** The rule of a policy without rules: it matches everything. */
const everything: HookRule = {
  groups: ['*'],
  versions: ['*'],
  resources: ['*', '*/*'],
  operations: ['*'],
  scope: '*',
  names: [],
}

/** The request is about a policy: whoever has locked themselves out can still change these. */
export function isPolicy({ session }: AdmissionAttributes): boolean {
  const { group, resource } = session.kind
  return group === policyGroup && resource.includes('admissionpolic')
}
