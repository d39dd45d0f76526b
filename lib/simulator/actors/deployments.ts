/** Deployments have a replica set for each of their templates; the newest one gets all replicas,
 *  step by step. */

import type { Key } from '@watchglass/base'
import { StatusError } from '@watchglass/kube'
import type { ActorApi } from './actor-api.ts'
import { adopt } from './adoption.ts'
import { deploymentStatus } from './deployment-status.ts'
import type { EventRecorder } from './event-recorder.ts'
import type { FactIndex } from './fact-index.ts'
import {
  hashLabel,
  type PodFact,
  type ReplicaSetFact,
  revisionAnnotation,
  templateKey,
} from './facts.ts'
import { type Deployment, type Labels, sortedText } from './objects.ts'
import { nameHash } from './name-hash.ts'
import { doWrites } from './outcome.ts'
import { nextRollout, type Share, sum } from './rollout.ts'

export interface DeploymentsOptions {
  readonly api: ActorApi
  readonly sets: FactIndex<ReplicaSetFact>
  readonly pods: FactIndex<PodFact>
  readonly events: Pick<EventRecorder, 'tell'>
}

export class Deployments {
  readonly #options: DeploymentsOptions

  constructor(options: DeploymentsOptions) {
    this.#options = options
  }

  async work(key: Key): Promise<void> {
    const { api } = this.#options
    const found = await api.read<Deployment>(key)
    if (found === undefined || found.object.metadata.deletionTimestamp !== undefined) return
    const deployment = found.object
    await this.#adopt(deployment)
    const template = templateKey(deployment.spec.template)
    const isPaused = deployment.spec.paused === true
    let current = this.#setsOf(deployment).find(set => set.template === template)
    if (current === undefined && !isPaused) {
      await this.#createSet(key, deployment)
      current = this.#setsOf(deployment).find(set => set.template === template)
    }
    if (current !== undefined && !isPaused) await this.#tellRevision(key, deployment, current)
    if (current !== undefined) await this.#scale(deployment, current)
    await this.#forgetOldest(deployment, current)
    const sets = this.#setsOf(deployment)
    const status = deploymentStatus(deployment, {
      now: api.now,
      current: sets.find(set => set.template === template),
      sets,
    })
    if (status !== undefined) await api.patch(key, { status }, 'status')
  }

  #setsOf({ metadata }: Deployment): ReplicaSetFact[] {
    return [...this.#options.sets.ownedBy(metadata.uid)].filter(({ isDeleting }) => !isDeleting)
  }

  async #adopt({ metadata, spec }: Deployment): Promise<void> {
    const { api, sets } = this.#options
    const { name, uid, namespace = '' } = metadata
    const adopter = { apiVersion: 'apps/v1', kind: 'Deployment', name, uid }
    const owned = sets.ownedBy(uid)
    await doWrites(api, adopt(adopter, spec.selector, owned, sets.orphansIn(namespace)))
  }

  /** A set of the same name that is somebody else's, or has another template, is noted in the
   *  status: the next name is another. */
  async #createSet(key: Key, deployment: Deployment): Promise<void> {
    const { api } = this.#options
    try {
      await this.#createSetOnce(deployment)
    } catch (error) {
      if (!(error instanceof StatusError) || error.status.reason !== 'AlreadyExists') throw error
      const collisionCount = (deployment.status?.collisionCount ?? 0) + 1
      await api.patch(key, { status: { collisionCount } }, 'status')
      throw error
    }
  }

  async #createSetOnce(deployment: Deployment): Promise<void> {
    const { metadata, spec, status } = deployment
    const sets = this.#setsOf(deployment)
    const collisions = status?.collisionCount === undefined ? '' : String(status.collisionCount)
    const hash = nameHash(`${sortedText(spec.template)}${collisions}`)
    const labels = { ...spec.template.metadata?.labels, [hashLabel]: hash }
    const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: metadata.name }
    const isFirst = sets.length === 0
    const object = {
      metadata: {
        name: `${metadata.name}-${hash}`,
        namespace: metadata.namespace,
        labels,
        annotations: {
          ...passedOn(metadata.annotations),
          ...sizesOf(deployment),
          [revisionAnnotation]: String(newestRevision(sets) + 1),
        },
        ownerReferences: [
          { ...owner, uid: metadata.uid, controller: true, blockOwnerDeletion: true },
        ],
      },
      spec: {
        replicas: isFirst ? (spec.replicas ?? 1) : 0,
        selector: {
          ...spec.selector,
          matchLabels: { ...spec.selector.matchLabels, [hashLabel]: hash },
        },
        template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
      },
    }
    const namespace = metadata.namespace ?? ''
    const { api } = this.#options
    const name = await api.create({ group: 'apps', resource: 'replicasets', namespace, object })
    const { replicas } = object.spec
    if (replicas > 0) this.#tellScaling(deployment, name, { from: 0, to: replicas })
  }

  /** A template that is in use again has the newest revision, too. */
  async #tellRevision(key: Key, deployment: Deployment, current: ReplicaSetFact): Promise<void> {
    const { api } = this.#options
    const others = this.#setsOf(deployment).filter(set => set.key !== current.key)
    const revision = Math.max(current.revisionNumber, newestRevision(others) + 1)
    const metadata = { annotations: { [revisionAnnotation]: String(revision) } }
    const passed = passedOn(deployment.metadata.annotations)
    const isPassed = Object.entries(passed).every(
      ([name, text]) => current.annotations[name] === text,
    )
    if (revision !== current.revisionNumber || !isPassed) {
      const annotations = { ...passed, ...metadata.annotations }
      await api.patch(current.key, { metadata: { annotations } })
    }
    if (deployment.metadata.annotations?.[revisionAnnotation] === String(revision)) return
    await api.patch(key, { metadata })
  }

  async #scale(deployment: Deployment, current: ReplicaSetFact): Promise<void> {
    const old = this.#setsOf(deployment)
      .filter(set => set.key !== current.key)
      .sort((a, b) => a.revisionNumber - b.revisionNumber)
    const next = nextRollout(
      deployment.spec,
      this.#shareOf(current),
      old.map(set => this.#shareOf(set)),
    )
    await this.#resize(deployment, current, next.current)
    if (deployment.spec.paused === true) return
    for (const [i, set] of old.entries()) {
      await this.#resize(deployment, set, next.old[i] ?? set.replicas)
    }
  }

  #shareOf({ uid, replicas, available, statusReplicas }: ReplicaSetFact): Share {
    // Recreating waits until the last pod has gone, not only until it is being deleted.
    const present = Math.max(statusReplicas, sum([...this.#options.pods.ownedBy(uid)].map(() => 1)))
    return { replicas, available, present }
  }

  async #resize(deployment: Deployment, set: ReplicaSetFact, replicas: number): Promise<void> {
    if (set.replicas === replicas) return
    const metadata = { annotations: sizesOf(deployment) }
    await this.#options.api.patch(set.key, { metadata, spec: { replicas } })
    this.#tellScaling(deployment, set.name, { from: set.replicas, to: replicas })
  }

  #tellScaling(
    { metadata }: Deployment,
    set: string,
    { from, to }: { readonly from: number; readonly to: number },
  ): void {
    const about = { apiVersion: 'apps/v1', kind: 'Deployment', metadata }
    const direction = to > from ? 'up' : 'down'
    const message = `Scaled ${direction} replica set ${set} from ${String(from)} to ${String(to)}`
    const source = { component: 'deployment-controller' }
    this.#options.events.tell(source, about, { reason: 'ScalingReplicaSet', message })
  }

  async #forgetOldest(deployment: Deployment, current: ReplicaSetFact | undefined): Promise<void> {
    const idle = this.#setsOf(deployment)
      .filter(set => set.key !== current?.key && set.replicas === 0 && set.statusReplicas === 0)
      .sort((a, b) => a.revisionNumber - b.revisionNumber)
    const surplus = Math.max(0, idle.length - (deployment.spec.revisionHistoryLimit ?? 10))
    for (const set of idle.slice(0, surplus)) await this.#options.api.delete(set.key, set.uid)
  }
}

/** Annotations that a replica set takes over, such as the cause of the change. */
function passedOn(annotations: Labels = {}): Labels {
  const own = ['kubectl.kubernetes.io/last-applied-configuration', revisionAnnotation]
  return Object.fromEntries(
    Object.entries(annotations).filter(
      ([name]) => !own.includes(name) && !name.startsWith('deployment.kubernetes.io/'),
    ),
  )
}

function newestRevision(sets: readonly ReplicaSetFact[]): number {
  return Math.max(0, ...sets.map(({ revisionNumber }) => revisionNumber))
}

function sizesOf({ spec: { replicas = 1, strategy } }: Deployment): Record<string, string> {
  const surge = strategy?.rollingUpdate?.maxSurge ?? '25%'
  const extra =
    typeof surge === 'number' ? surge : Math.ceil((Number.parseInt(surge, 10) / 100) * replicas)
  const most = strategy?.type === 'Recreate' ? replicas : replicas + extra
  return {
    'deployment.kubernetes.io/desired-replicas': String(replicas),
    'deployment.kubernetes.io/max-replicas': String(most),
  }
}
