/** The things that expressions of policies and conditions of webhooks see of a request. */

import { type JsonObject, memberOf } from '../../../codec/json/tree.ts'
import type { Resource } from '../../../kube/resources/resource.ts'
import type { Attributes } from '../plugin.ts'
import { shownAs } from '../shown-objects.ts'
import { reviewOf } from '../webhooks/review.ts'
import { decideBy } from './decide.ts'
import type { PolicyInput } from './evaluation.ts'

/** @param resource the one that rules have named, in whose version the object is shown */
export async function inputOf(
  attributes: Attributes,
  resource: Resource,
  params: JsonObject | undefined,
): Promise<PolicyInput> {
  const { session } = attributes
  const reviewed = await shownAs(attributes, resource)
  const review = reviewOf(attributes, {
    uid: '',
    apiVersion: 'admission.k8s.io/v1',
    reviewed: { ...reviewed, object: undefined, old: undefined },
  })
  return {
    object: reviewed.object,
    old: reviewed.old,
    request: memberOf(review, 'request') as JsonObject,
    namespace: session.kind.isNamespaced ? await attributes.namespace() : undefined,
    params,
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
