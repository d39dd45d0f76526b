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

export interface AvailablePods {
  readonly pods: readonly PodFact[]
  /** The time until the next one is available; undefined: none becomes so by waiting. */
  readonly againMs: number | undefined
}

/** The pods that have been ready for as long as they are to be (podutil.IsPodAvailable). */
export function availablePods(
  pods: readonly PodFact[],
  { minReadySeconds = 0 }: { readonly minReadySeconds?: number },
  nowMs: number,
): AvailablePods {
  const ready = pods.filter(({ isReady }) => isReady)
  if (minReadySeconds === 0) return { pods: ready, againMs: undefined }
  const leftMs = (pod: PodFact): number => pod.readySinceMs + minReadySeconds * 1_000 - nowMs
  return {
    pods: ready.filter(pod => leftMs(pod) <= 0),
    againMs: ready
      .map(leftMs)
      .reduce<number | undefined>((least, ms) => (ms > 0 ? sooner(least, ms) : least), undefined),
  }
}

/** The sooner of two times to look again. */
export function sooner(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : Math.min(a, b ?? a)
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
