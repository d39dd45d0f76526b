/** The deployments that the generator of clusters has made. It looks after their pods itself
 *  (`generate/churn.ts`), so controllers and nodes leave them as they are, until somebody else
 *  changes something about one: from then on it is taken, and is a deployment as any other. The
 *  generator sees that when the status of the deployment is told. */

import type { Key } from '@watchglass/base'
import type { ControllerRuntime } from './controller-runtime.ts'
import {
  deploymentFact,
  type DeploymentFact,
  type PodFact,
  replicaSetFact,
  type ReplicaSetFact,
} from './facts.ts'
import type { Informer } from './informer.ts'
import type { Deployment, ReplicaSet } from './objects.ts'

export class GeneratedWorkloads {
  readonly #runtime: ControllerRuntime
  readonly #deployments: Informer<DeploymentFact, Deployment>
  readonly #sets: Informer<ReplicaSetFact, ReplicaSet>
  readonly #taken = new Set<Key>()
  readonly #listeners: ((deployment: DeploymentFact) => void)[] = []
  /** False while nobody looks after deployments here: then none is taken. */
  readonly #canTake: boolean

  constructor(runtime: ControllerRuntime, canTake: boolean) {
    this.#runtime = runtime
    this.#canTake = canTake
    this.#deployments = runtime.informer('deployments', deploymentFact)
    this.#sets = runtime.informer('replicasets', replicaSetFact)
    this.#deployments.listen({
      changed: deployment => {
        if (deployment.isGenerated && !this.isLeft(deployment)) this.#take(deployment)
      },
      gone: ({ key }) => this.#taken.delete(key),
    })
    runtime.pods.listen({
      changed: pod => {
        const deployment = pod.isDeleting ? this.deploymentOf(pod) : undefined
        if (deployment !== undefined && this.isLeft(deployment)) this.#take(deployment)
      },
    })
  }

  /** Tells of each deployment that is taken. */
  onTaken(listener: (deployment: DeploymentFact) => void): void {
    this.#listeners.push(listener)
  }

  /** The generator has made the deployment, and everything about it is as the generator left it. */
  isLeft({ key, isGenerated, isUnobserved, isDeleting }: DeploymentFact): boolean {
    return isGenerated && !isUnobserved && !isDeleting && !this.#taken.has(key)
  }

  isLeftSet({ namespace, owner }: ReplicaSetFact): boolean {
    const isOfDeployment = owner?.kind === 'Deployment'
    const deployment = isOfDeployment ? this.#deployments.at(namespace, owner.name) : undefined
    return deployment !== undefined && this.isLeft(deployment)
  }

  isLeftPod(pod: PodFact): boolean {
    const deployment = this.deploymentOf(pod)
    return deployment !== undefined && this.isLeft(deployment)
  }

  /** Takes a deployment that has fewer pods than its status says: somebody else than the generator,
   *  which replaces pods in one step, has deleted one. */
  takeIfShort(key: Key): void {
    const deployment = this.#deployments.index.get(key)
    if (deployment === undefined || !this.isLeft(deployment)) return
    let pods = 0
    for (const { uid } of this.#sets.index.ownedBy(deployment.uid)) {
      pods += this.#runtime.pods.index.countOwnedBy(uid)
    }
    if (pods < deployment.statusReplicas) this.#take(deployment)
  }

  /** The deployment to which a pod belongs. */
  deploymentOf({ namespace, owner }: PodFact): DeploymentFact | undefined {
    const set = owner?.kind === 'ReplicaSet' ? this.#sets.at(namespace, owner.name) : undefined
    if (set?.owner?.kind !== 'Deployment') return undefined
    return this.#deployments.at(namespace, set.owner.name)
  }

  /** The pods of a deployment. */
  *podsOf({ uid }: DeploymentFact): Iterable<PodFact> {
    for (const set of this.#sets.index.ownedBy(uid)) {
      yield* this.#runtime.pods.index.ownedBy(set.uid)
    }
  }

  #take(deployment: DeploymentFact): void {
    if (!this.#canTake || this.#taken.has(deployment.key)) return
    this.#taken.add(deployment.key)
    for (const listener of this.#listeners) listener(deployment)
  }
}
