/** Made-up controllers and nodes: deployments get their pods, pods run, jobs finish, and nodes
 *  renew their leases. They follow the mirror, and act on an object only if it is not as it should
 *  be. What the generator of clusters has made is left to it until somebody else changes it. */

import type { Clock } from '../../base/clock.ts'
import { type Key, keyFromText } from '../../base/keys.ts'
import type { Logger } from '../../base/logger.ts'
import type { Random } from '../../base/random.ts'
import type { Batch, KeyValue } from '../../store/event.ts'
import type { ApiCluster } from '../controllers/api-cluster.ts'
import { WorkQueue } from '../controllers/work-queue.ts'
import { ActorApi } from './actor-api.ts'
import type { ActorName } from './actor-names.ts'
import { Deployments } from './deployments.ts'
import {
  deploymentFact,
  type DeploymentFact,
  type Fact,
  factOf,
  nodeFact,
  type NodeFact,
  podFact,
  type PodFact,
  replicaSetFact,
  type ReplicaSetFact,
} from './facts.ts'
import { type AnyFollow, Follow, type FollowOptions } from './follow.ts'
import { Jobs } from './jobs.ts'
import { Nodes } from './nodes.ts'
import type { Deployment, Job, Node, Pod, ReplicaSet } from './objects.ts'
import { Places } from './places.ts'
import { Pods } from './pods.ts'
import { ReplicaSets } from './replica-sets.ts'
import { selects } from './selectors.ts'
import { Source } from './source.ts'

/** The simulated part of a cluster. */
export interface Simulation {
  readonly actors: ReadonlySet<ActorName>
  /** Source of all times that are drawn. */
  readonly random: Random
}

export interface ActorsOptions {
  readonly simulation: Simulation
  /** The API as a client of that name. */
  readonly clusterOf: (manager: string) => ApiCluster
  /** The prefix of all keys, without a slash at its end. */
  readonly prefix: string
  readonly contentsOf: (keyspace: Key) => Iterable<KeyValue> | undefined
  readonly clock: Clock
  readonly logger: Logger
}

/** The number of nodes of a cluster that has none. */
const madeUpNodes = 3

export class Actors {
  readonly #options: ActorsOptions
  readonly #abort = new AbortController()
  readonly #follows = new Map<Key, AnyFollow>()
  readonly #pods: Follow<PodFact, Pod>
  readonly #sets: Follow<ReplicaSetFact, ReplicaSet>
  readonly #deployments: Follow<DeploymentFact, Deployment>
  readonly #jobs: Follow<Fact, Job>
  readonly #nodes: Follow<NodeFact, Node>
  /** Deployments that the generator has made, and that are ours now. */
  readonly #taken = new Set<Key>()
  readonly #places = new Places()
  readonly #source: Source
  readonly #kubelets: Pods
  readonly #nodeKeeper: Nodes
  readonly #queues: Readonly<
    Record<'deployments' | 'sets' | 'jobs' | 'pods' | 'nodes', WorkQueue<Key>>
  >

  constructor(options: ActorsOptions) {
    this.#options = options
    const { clock, prefix, contentsOf } = options
    this.#pods = this.#follow('pods', podFact, {
      noted: pod => this.#places.put(pod.key, pod.node),
      changed: pod => this.#podChanged(pod),
      gone: pod => this.#podGone(pod),
    })
    this.#sets = this.#follow('replicasets', replicaSetFact, {
      changed: set => this.#setChanged(set),
      gone: set => this.#ownerChanged(set),
    })
    this.#deployments = this.#follow('deployments', deploymentFact, {
      changed: deployment => this.#deploymentChanged(deployment),
      gone: ({ key }) => this.#taken.delete(key),
    })
    const jobFact = (key: Key, revision: number, { metadata }: Job): Fact =>
      factOf(key, revision, metadata)
    this.#jobs = this.#follow('jobs', jobFact, { changed: job => this.#jobChanged(job) })
    this.#nodes = this.#follow('minions', nodeFact, {
      noted: node => this.#nodeNoted(node),
      changed: () => {},
      gone: node => this.#nodeGone(node),
    })
    const [manager, kubelet] = [this.#api('kube-controller-manager'), this.#api('kubelet')]
    const pods = this.#pods.index
    const deployments = new Deployments({ api: manager, sets: this.#sets.index, pods })
    const sets = new ReplicaSets({
      api: manager,
      kind: { apiVersion: 'apps/v1', kind: 'ReplicaSet' },
      pods,
      lookAt: key => this.#queues.sets.add(key),
    })
    const jobs = new Jobs(manager, pods)
    this.#kubelets = new Pods({
      api: kubelet,
      places: this.#places,
      clock,
      lookAt: key => this.#queues.pods.add(key),
    })
    this.#nodeKeeper = new Nodes({
      api: kubelet,
      nodes: this.#nodes.index,
      leases: `${prefix}/leases/`,
      clock,
      lookAt: key => this.#queues.nodes.add(key),
    })
    this.#queues = {
      deployments: this.#queue('a simulated deployment', key =>
        this.#workOnDeployment(deployments, key),
      ),
      sets: this.#queue('a simulated replica set', key => sets.work(key)),
      jobs: this.#queue('a simulated job', key => jobs.work(key)),
      pods: this.#queue('a simulated pod', key => this.#kubelets.work(key)),
      nodes: this.#queue('a simulated node', key => this.#nodeKeeper.work(key)),
    }
    this.#source = new Source({
      keyspaces: [...this.#follows.keys()],
      contentsOf,
      clock,
      signal: this.#abort.signal,
      onEntry: (keyspace, entry) => this.#found(keyspace, entry),
      onGone: (keyspace, key, revision) => this.#follows.get(keyspace)?.lost(key, revision),
      onComplete: () => this.#begin(),
    })
  }

  /** Everything is mirrored. */
  start(): void {
    this.#source.start()
  }

  applied(keyspace: Key, batch: Batch): void {
    this.#source.applied(keyspace, batch)
  }

  reset(keyspace: Key): void {
    this.#source.reset(keyspace)
  }

  stateChanged(keyspace: Key): void {
    this.#source.stateChanged(keyspace)
  }

  stop(): void {
    this.#abort.abort()
    this.#kubelets.stop()
    this.#nodeKeeper.stop()
  }

  #follow<F extends Fact, T>(
    folder: string,
    factOf: (key: Key, revision: number, object: T) => F,
    reactions: Pick<FollowOptions<F, T>, 'changed' | 'noted' | 'gone'>,
  ): Follow<F, T> {
    const keyspace = keyFromText(`${this.#options.prefix}/${folder}/`)
    const follow = new Follow({ keyspace, factOf, ...reactions })
    this.#follows.set(keyspace, follow)
    return follow
  }

  #api(manager: string): ActorApi {
    const { clusterOf, clock, simulation } = this.#options
    const { random } = simulation
    const onWritten = (entry: KeyValue): void => this.#source.written(entry)
    return new ActorApi({ cluster: clusterOf(manager), clock, random, onWritten })
  }

  #queue(name: string, work: (key: Key) => Promise<void>): WorkQueue<Key> {
    const { clock, logger } = this.#options
    return new WorkQueue({ name, clock, logger, signal: this.#abort.signal, work })
  }

  #has(actor: ActorName): boolean {
    return this.#options.simulation.actors.has(actor)
  }

  #found(keyspace: Key, entry: KeyValue): void {
    const { key, modRevision } = entry
    const cluster = this.#options.clusterOf('kubelet')
    const place = cluster.placeOf(key)
    const object = place && cluster.plainOf(place.resource, entry)
    if (object === undefined) return
    this.#follows.get(keyspace)?.found(key, modRevision, object, this.#source.isComplete)
  }

  /** All that there was at the start is known. */
  #begin(): void {
    for (const follow of this.#follows.values()) follow.tellAll()
    if (!this.#has('nodes') || this.#nodes.index.size > 0) return
    this.#nodeKeeper.make(madeUpNodes).catch((error: unknown) => {
      if (this.#abort.signal.aborted) return
      const reason = error instanceof Error ? error.message : String(error)
      this.#options.logger.warn(
        'no simulated nodes could be created: pods stay pending until there is a node',
        { reason },
      )
    })
  }

  #podChanged(pod: PodFact): void {
    const deployment = this.#deploymentOf(pod)
    const isLeft = deployment !== undefined && this.#isLeft(deployment)
    if (isLeft && pod.isDeleting) this.#take(deployment)
    if (this.#has('nodes') && (!isLeft || pod.isDeleting)) this.#kubelets.changed(pod)
    this.#ownerChanged(pod)
    if (pod.owner === undefined && this.#has('deployments')) {
      for (const set of this.#sets.index.inNamespace(pod.namespace)) {
        if (selects(set.selector, pod.labels)) this.#setChanged(set)
      }
    }
  }

  #podGone(pod: PodFact): void {
    this.#kubelets.removed(pod.key)
    const deployment = this.#deploymentOf(pod)
    // The generator may have made another in the same step, which is yet to be handed on.
    if (deployment !== undefined && this.#isLeft(deployment) && this.#has('deployments')) {
      this.#queues.deployments.add(deployment.key)
    }
    this.#ownerChanged(pod)
  }

  #setChanged(set: ReplicaSetFact): void {
    if (!this.#source.isComplete || !this.#has('deployments')) return
    const deployment = this.#ownerOfSet(set)
    if (deployment === undefined || !this.#isLeft(deployment)) this.#queues.sets.add(set.key)
    this.#ownerChanged(set)
    if (set.owner !== undefined) return
    for (const one of this.#deployments.index.inNamespace(set.namespace)) {
      if (selects(one.selector, set.labels)) this.#deploymentChanged(one)
    }
  }

  #deploymentChanged(deployment: DeploymentFact): void {
    if (!this.#source.isComplete || !this.#has('deployments')) return
    if (this.#isLeft(deployment)) return
    if (deployment.isGenerated && !this.#taken.has(deployment.key)) this.#take(deployment)
    this.#queues.deployments.add(deployment.key)
  }

  /** The generator has made it, and everything about it is as the generator left it. */
  #isLeft({ key, isGenerated, isUnobserved, isDeleting }: DeploymentFact): boolean {
    return isGenerated && !isUnobserved && !isDeleting && !this.#taken.has(key)
  }

  /** Somebody else than the generator, which replaces pods in one step, has deleted one. */
  #isShort(deployment: DeploymentFact): boolean {
    let pods = 0
    for (const { uid } of this.#sets.index.ownedBy(deployment.uid)) {
      pods += this.#pods.index.countOwnedBy(uid)
    }
    return pods < deployment.statusReplicas
  }

  async #workOnDeployment(deployments: Deployments, key: Key): Promise<void> {
    const fact = this.#deployments.index.get(key)
    if (fact !== undefined && this.#isLeft(fact)) {
      if (!this.#isShort(fact)) return
      this.#take(fact)
    }
    await deployments.work(key)
  }

  /** It is ours from now on. The generator sees that when its status is told. */
  #take(deployment: DeploymentFact): void {
    if (!this.#has('deployments')) return
    this.#taken.add(deployment.key)
    this.#queues.deployments.add(deployment.key)
    for (const set of this.#sets.index.ownedBy(deployment.uid)) {
      if (!this.#has('nodes')) break
      for (const pod of this.#pods.index.ownedBy(set.uid)) this.#kubelets.adopted(pod)
    }
  }

  #jobChanged({ key }: Fact): void {
    if (this.#source.isComplete && this.#has('jobs')) this.#queues.jobs.add(key)
  }

  #nodeNoted(node: NodeFact): void {
    const isOther = this.#places.nodeChanged(node)
    if (!this.#has('nodes')) return
    this.#nodeKeeper.changed(node)
    if (isOther) this.#kubelets.nodeChanged()
  }

  #nodeGone(node: NodeFact): void {
    this.#nodeKeeper.removed(node.key)
    this.#places.nodeRemoved(node.name)
  }

  #ownerChanged({ namespace, owner }: Fact): void {
    if (!this.#source.isComplete || owner === undefined) return
    const { kind, name } = owner
    if (kind === 'ReplicaSet') this.#tell(this.#sets, namespace, name, set => this.#setChanged(set))
    else if (kind === 'Deployment') {
      this.#tell(this.#deployments, namespace, name, one => this.#deploymentChanged(one))
    } else if (kind === 'Job') {
      this.#tell(this.#jobs, namespace, name, job => this.#jobChanged(job))
    }
  }

  #tell<F extends Fact, T>(
    follow: Follow<F, T>,
    namespace: string,
    name: string,
    changed: (fact: F) => void,
  ): void {
    const fact = follow.at(namespace, name)
    if (fact !== undefined) changed(fact)
  }

  #deploymentOf({ namespace, owner }: PodFact): DeploymentFact | undefined {
    const set = owner?.kind === 'ReplicaSet' ? this.#sets.at(namespace, owner.name) : undefined
    return set && this.#ownerOfSet(set)
  }

  #ownerOfSet({ namespace, owner }: ReplicaSetFact): DeploymentFact | undefined {
    return owner?.kind === 'Deployment' ? this.#deployments.at(namespace, owner.name) : undefined
  }
}
