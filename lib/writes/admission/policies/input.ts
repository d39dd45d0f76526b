/** The things that expressions of policies and conditions of webhooks see of a request. */

import { type JsonObject, memberOf } from '@watchglass/go'
import type { Resource } from '@watchglass/kube'
import type { CompiledPolicy } from '../../validation/policy-expressions.ts'
import type { AdmissionAttributes } from '../plugin.ts'
import { reviewedPlainly, reviewedAs, type ReviewedObjects } from '../reviewed-objects.ts'
import { reviewOf } from '../webhooks/review.ts'
import { decideBy } from './decide.ts'
import type { PolicyInput } from './evaluation.ts'

const inputs = new WeakMap<AdmissionAttributes, Map<Resource, PolicyInput>>()

/** The policy that asks for an input. */
interface Asked {
  /** The one that rules have named, in whose version the object is shown. */
  readonly resource: Resource
  readonly compiled: Pick<CompiledPolicy, 'usesNamespace'>
}

/** The input of a policy where nothing changes the object any more: made once for all. A promise
 *  only where something has to be looked up. */
export function validatedInput(
  attributes: AdmissionAttributes,
  asked: Asked,
  params: JsonObject | undefined,
): Promise<PolicyInput> | PolicyInput {
  const { resource, compiled } = asked
  let known = inputs.get(attributes)
  if (known === undefined) inputs.set(attributes, (known = new Map()))
  let made = known.get(resource)
  // What is checked is complete already, and expressions see no order.
  if (made === undefined && resource === attributes.session.resource) {
    made = inputFrom(attributes, reviewedPlainly(attributes))
    known.set(resource, made)
  }
  if (made === undefined) {
    const own = known
    return reviewedAs(attributes, resource).then(reviewed => {
      own.set(resource, inputFrom(attributes, reviewed))
      return validatedInput(attributes, asked, params)
    })
  }
  return withOthers(attributes, params === undefined ? made : { ...made, params }, compiled)
}

/** The input of a policy that may change the object. */
export async function inputOf(
  attributes: AdmissionAttributes,
  { resource, compiled }: Asked,
  params: JsonObject | undefined,
): Promise<PolicyInput> {
  const made = inputFrom(attributes, await reviewedAs(attributes, resource))
  return withOthers(attributes, { ...made, params }, compiled)
}

/** The namespace is looked up for those that name it. */
function withOthers(
  attributes: AdmissionAttributes,
  input: PolicyInput,
  { usesNamespace }: Asked['compiled'],
): Promise<PolicyInput> | PolicyInput {
  if (!usesNamespace || !attributes.session.kind.isNamespaced) return input
  return attributes.namespace().then(namespace => ({ ...input, namespace }))
}

function inputFrom(attributes: AdmissionAttributes, reviewed: ReviewedObjects): PolicyInput {
  const { session } = attributes
  const { resource } = reviewed
  const review = reviewOf(attributes, {
    uid: '',
    apiVersion: 'admission.k8s.io/v1',
    reviewed: { ...reviewed, object: undefined, old: undefined },
  })
  return {
    object: reviewed.object,
    old: reviewed.old,
    request: memberOf(review, 'request') as JsonObject,
    namespace: undefined,
    params: undefined,
    decide: decideBy(session),
    resource: {
      group: resource.group,
      resource: resource.resource,
      subresource: session.subresource,
      namespace: session.namespace,
      name: session.name,
    },
  }
}
