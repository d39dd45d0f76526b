/** The pods of a controller: those that count, and those that are to be made. */

import type { PodFact } from '../runtime/facts.ts'
import { metadataForPods, type PodTemplate } from '../runtime/objects.ts'
import type { Write } from '../runtime/reconcile-result.ts'
import { controllerReference, type OwnerIdentity } from './owner-reference.ts'

/** The pods that run, or will. */
export function activePods(pods: Iterable<PodFact>): PodFact[] {
  return [...pods].filter(
    ({ phase, isDeleting }) => !isDeleting && phase !== 'Succeeded' && phase !== 'Failed',
  )
}

/** A new pod of a template, whose name the server generates. */
export function podCreation(
  owner: OwnerIdentity,
  namespace: string,
  template: PodTemplate,
  generateName: string = `${owner.name}-`,
): Write & { readonly type: 'create' } {
  const object = {
    metadata: {
      ...metadataForPods(template),
      generateName,
      namespace,
      ownerReferences: [controllerReference(owner)],
    },
    spec: template.spec,
  }
  const note = { reason: 'SuccessfulCreate', message: 'Created pod: %' }
  return { type: 'create', group: '', resource: 'pods', namespace, object, note }
}
