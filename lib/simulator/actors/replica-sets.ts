/** Replica sets keep as many pods as they ask for. */

import type { Key } from '@watchglass/base'
import type { ActorApi } from './actor-api.ts'
import type { EventRecorder, EventSource } from './event-recorder.ts'
import type { FactIndex } from './fact-index.ts'
import type { PodFact } from './facts.ts'
import { metadataForPods, type PodTemplate, type ReplicaSet } from './objects.ts'
import { adopt } from './adoption.ts'
import { doWrites } from './outcome.ts'
import { selectorOf } from './selectors.ts'

/** So many pods are made or deleted at once, as upstream's controller does it; then it is the turn
 *  of other sets. */
const stepPods = 500

export interface ReplicaSetsOptions {
  readonly api: ActorApi
  /** The kind of set: replication controllers do the same. */
  readonly kind: { readonly apiVersion: string; readonly kind: string }
  /** Under whose name it tells what it does. */
  readonly source: EventSource
  readonly pods: FactIndex<PodFact>
  readonly events: Pick<EventRecorder, 'tell'>
  readonly lookAt: (key: Key) => void
}

export class ReplicaSets {
  readonly #options: ReplicaSetsOptions

  constructor(options: ReplicaSetsOptions) {
    this.#options = options
  }

  async work(key: Key): Promise<void> {
    const { api, pods, lookAt, kind, events, source } = this.#options
    const found = await api.read<ReplicaSet>(key)
    if (found === undefined || found.object.metadata.deletionTimestamp !== undefined) return
    const { metadata, spec } = found.object
    await this.#adopt(found.object)
    const active = activePods(pods.ownedBy(metadata.uid))
    const missing = (spec.replicas ?? 1) - active.length
    const owner = { ...kind, name: metadata.name }
    const tell = (reason: string, message: string): void =>
      events.tell(source, { ...kind, metadata }, { reason, message })
    for (let i = 0; i < Math.min(missing, stepPods); i++) {
      const namespace = metadata.namespace ?? ''
      const name = await createPod(api, namespace, { ...owner, uid: metadata.uid }, spec.template)
      tell('SuccessfulCreate', `Created pod: ${name}`)
    }
    const surplus =
      missing < 0 ? active.sort(leastMissedFirst).slice(0, Math.min(-missing, stepPods)) : []
    for (const pod of surplus) {
      await api.delete(pod.key, pod.uid)
      tell('SuccessfulDelete', `Deleted pod: ${pod.name}`)
    }
    if (Math.abs(missing) > stepPods) lookAt(key)
    await this.#tellStatus(key, found.object)
  }

  async #adopt({ metadata, spec }: ReplicaSet): Promise<void> {
    const { api, pods, kind } = this.#options
    const { name, uid, namespace = '' } = metadata
    const orphans = activePods(pods.orphansIn(namespace))
    await doWrites(api, adopt({ ...kind, name, uid }, selectorOf(spec), pods.ownedBy(uid), orphans))
  }

  async #tellStatus(key: Key, { metadata, status }: ReplicaSet): Promise<void> {
    const { api, pods } = this.#options
    const active = activePods(pods.ownedBy(metadata.uid))
    const ready = active.filter(({ isReady }) => isReady).length
    const wanted = {
      replicas: active.length,
      fullyLabeledReplicas: active.length,
      readyReplicas: ready,
      availableReplicas: ready,
      observedGeneration: metadata.generation ?? 1,
    }
    const isTold = Object.entries(wanted).every(
      ([name, value]) => (status?.[name as keyof typeof wanted] ?? 0) === value,
    )
    if (!isTold) await api.patch(key, { status: wanted }, 'status')
  }
}

/** Those that run, or will. */
export function activePods(pods: Iterable<PodFact>): PodFact[] {
  return [...pods].filter(
    ({ phase, isDeleting }) => !isDeleting && phase !== 'Succeeded' && phase !== 'Failed',
  )
}

/** Those that are not ready, and then the youngest. */
function leastMissedFirst(a: PodFact, b: PodFact): number {
  return Number(a.isReady) - Number(b.isReady) || b.createdMs - a.createdMs
}

export async function createPod(
  api: ActorApi,
  namespace: string,
  owner: { readonly kind: string; readonly name: string; readonly uid: string },
  template: PodTemplate,
): Promise<string> {
  const ownerReferences = [{ ...owner, controller: true, blockOwnerDeletion: true }]
  const object = {
    metadata: {
      ...metadataForPods(template),
      generateName: `${owner.name}-`,
      namespace,
      ownerReferences,
    },
    spec: template.spec,
  }
  return api.create({ group: '', resource: 'pods', namespace, object })
}
