/** Made-up controllers and nodes: deployments get their pods, pods run, jobs finish, and nodes
 *  renew their leases. They follow the mirror, and act on an object only if it is not as it should
 *  be. What the generator of clusters has made is left to it until somebody else changes it. */

import type { Key, Random } from '@watchglass/base'
import type { Batch } from '@watchglass/store'
import type { WorkQueue } from '../controllers/work-queue.ts'
import type { PodRules } from '../pod-rules/pod-rules.ts'
import type { Stage } from '../stages/stage.ts'
import type { ActorApi } from './actor-api.ts'
import type { ActorName } from './actor-names.ts'
import { Addresses } from './addresses.ts'
import { Deployments } from './deployments.ts'
import {
  deploymentFact,
  type DeploymentFact,
  type Fact,
  jobFact,
  type JobFact,
  type NodeFact,
  type PodFact,
  replicaSetFact,
  type ReplicaSetFact,
} from './facts.ts'
import type { Follow } from './follow.ts'
import { Jobs } from './jobs.ts'
import { Nodes } from './nodes.ts'
import type { Deployment, Job, ReplicaSet } from './objects.ts'
import { Places } from './places.ts'
import { Pods } from './pods.ts'
import { wireAutoscalers } from './reconcilers/autoscalers.ts'
import { wireBudgets } from './reconcilers/budgets.ts'
import { wireCronJobs } from './reconcilers/cron-jobs.ts'
import { wireDaemonSets } from './reconcilers/daemon-sets.ts'
import { wireServices } from './reconcilers/endpoints.ts'
import { wireStatefulSets } from './reconcilers/stateful-sets.ts'
import { type ActorFaults, Troubles } from './troubles.ts'
import { VolumeWiring } from './reconcilers/volume-wiring.ts'
import { ReplicaSets } from './replica-sets.ts'
import { selects } from './selectors.ts'
import { StagePlayer } from './stage-player.ts'
import { lookAtPodOwners } from './wiring.ts'
import { World, type WorldOptions } from './world.ts'
import type { UsageOf } from '../usage/usage.ts'

/** The simulated part of a cluster. */
export interface Simulation {
  readonly actors: ReadonlySet<ActorName>
  /** Source of all times that are drawn. */
  readonly random: Random
  /** Lifecycles that users have declared. */
  readonly stages?: readonly Stage[]
  /** The answers of made-up pods that users have declared. */
  readonly podRules?: PodRules | undefined
}

export interface ActorsOptions extends Omit<WorldOptions, 'random' | 'onComplete'> {
  readonly simulation: Simulation
  /** The figures of pods, by declared rules. */
  readonly usageOf?: UsageOf | undefined
  /** Faults that are switched on now. */
  readonly faults?: (() => ActorFaults | undefined) | undefined
}

/** An owner of many pods is not told of each. */
const restMs = 50

interface NodeActors {
  readonly player: StagePlayer
  readonly kubelets: Pods
  readonly nodeKeeper: Nodes
}

/** The number of nodes of a cluster that has none. */
const madeUpNodes = 3

export class Actors {
  readonly #options: ActorsOptions
  readonly #world: World
  readonly #sets: Follow<ReplicaSetFact, ReplicaSet>
  readonly #deployments: Follow<DeploymentFact, Deployment>
  readonly #jobs: Follow<JobFact, Job>
  /** Deployments that the generator has made, and that are ours now. */
  readonly #taken = new Set<Key>()
  readonly #places = new Places()
  readonly #kubelets: Pods
  readonly #nodeKeeper: Nodes
  readonly #player: StagePlayer
  /** Makes what a cluster has that has none. */
  readonly #makers: (() => Promise<void>)[] = []
  readonly #queues: Readonly<
    Record<'deployments' | 'sets' | 'jobs' | 'pods' | 'nodes', WorkQueue<Key>>
  >

  constructor(options: ActorsOptions) {
    this.#options = options
    const { clock, simulation } = options
    const world = new World({
      ...options,
      random: simulation.random,
      onComplete: () => this.#begin(),
    })
    this.#world = world
    const { events } = world
    this.#sets = world.follow('replicasets', replicaSetFact)
    this.#deployments = world.follow('deployments', deploymentFact)
    this.#jobs = world.follow('jobs', jobFact)
    const [manager, kubelet] = [world.api('kube-controller-manager'), world.api('kubelet')]
    const pods = world.pods.index
    const deployments = new Deployments({ api: manager, sets: this.#sets.index, pods, events })
    const sets = new ReplicaSets({
      api: manager,
      kind: { apiVersion: 'apps/v1', kind: 'ReplicaSet' },
      source: { component: 'replicaset-controller' },
      pods,
      events,
      lookAt: key => this.#queues.sets.add(key),
    })
    const jobs = new Jobs({
      api: manager,
      pods,
      clock,
      events,
      lookAt: key => this.#queues.jobs.add(key),
    })
    const { player, kubelets, nodeKeeper } = this.#nodeActors(kubelet)
    this.#player = player
    this.#kubelets = kubelets
    this.#nodeKeeper = nodeKeeper
    for (const actor of [jobs, this.#kubelets, this.#nodeKeeper]) world.atEnd(() => actor.stop())
    this.#queues = {
      deployments: world.queue(
        'a simulated deployment',
        key => this.#workOnDeployment(deployments, key),
        restMs,
      ),
      sets: world.queue('a simulated replica set', key => sets.work(key), restMs),
      jobs: world.queue('a simulated job', key => jobs.work(key)),
      pods: world.queue('a simulated pod', key => this.#kubelets.work(key)),
      nodes: world.queue('a simulated node', key => this.#nodeKeeper.work(key)),
    }
    this.#wire()
  }

  /** Whatever goes on with pods and nodes. */
  #nodeActors(kubelet: ActorApi): NodeActors {
    const world = this.#world
    const { clock, prefix, clusterOf, simulation, faults = () => undefined } = this.#options
    const addresses = new Addresses(kubelet.draw(0, 2 ** 16))
    const player = new StagePlayer({
      ...this.#options,
      world,
      cluster: clusterOf('watchglass'),
      stages: simulation.stages ?? [],
      places: this.#places,
      addresses,
      onKinds: () => this.#kindsChanged(),
    })
    const kubelets = new Pods({
      api: kubelet,
      addresses,
      isLeft: () => player.plays('v1', 'Pod'),
      troubles: new Troubles(faults),
      places: this.#places,
      clock,
      events: world.events,
      lookAt: key => this.#queues.pods.add(key),
    })
    const nodeKeeper = new Nodes({
      api: kubelet,
      nodes: world.nodes.index,
      leases: `${prefix}/leases/`,
      clock,
      version: () => clusterOf('kubelet').gitVersion,
      isLeft: () => player.plays('v1', 'Node'),
      faults,
      events: world.events,
      lookAt: key => this.#queues.nodes.add(key),
    })
    return { player, kubelets, nodeKeeper }
  }

  /** Everything is mirrored. */
  start(): void {
    this.#world.start()
  }

  applied(keyspace: Key, batch: Batch): void {
    this.#world.applied(keyspace, batch)
  }

  reset(keyspace: Key): void {
    this.#world.reset(keyspace)
  }

  stateChanged(keyspace: Key): void {
    this.#world.stateChanged(keyspace)
  }

  stop(): void {
    this.#world.stop()
  }

  #wire(): void {
    const world = this.#world
    world.pods.listen({
      noted: pod => this.#places.put(pod.key, pod.node),
      changed: pod => this.#podChanged(pod),
      gone: pod => this.#podGone(pod),
    })
    this.#sets.listen({
      changed: set => this.#setChanged(set),
      gone: set => world.tellOwner(set),
    })
    this.#deployments.listen({
      changed: deployment => this.#deploymentChanged(deployment),
      gone: ({ key }) => this.#taken.delete(key),
    })
    this.#jobs.listen({ changed: job => this.#jobChanged(job) })
    world.nodes.listen({
      noted: node => this.#nodeNoted(node),
      gone: node => this.#nodeGone(node),
    })
    world.owners('ReplicaSet', this.#sets, set => this.#setChanged(set))
    world.owners('Deployment', this.#deployments, one => this.#deploymentChanged(one))
    world.owners('Job', this.#jobs, job => this.#jobChanged(job))
    if (this.#has('nodes')) this.#makers.push(() => this.#makeNodes())
    if (this.#has('deployments')) this.#wireReplicationControllers()
    if (this.#has('statefulsets')) wireStatefulSets(world)
    if (this.#has('daemonsets')) wireDaemonSets(world)
    if (this.#has('cronjobs')) wireCronJobs(world)
    if (this.#has('services')) wireServices(world, pod => this.#isLeftPod(pod))
    if (this.#has('volumes')) {
      const volumes = new VolumeWiring(world)
      this.#makers.push(() => volumes.makeClass())
    }
    if (this.#has('budgets')) wireBudgets(world)
    if (this.#has('autoscalers')) wireAutoscalers(world, this.#options.usageOf)
  }

  /** They do the same as replica sets. */
  #wireReplicationControllers(): void {
    const world = this.#world
    const follow = world.follow('controllers', replicaSetFact)
    const controllers = new ReplicaSets({
      api: world.api('kube-controller-manager'),
      kind: { apiVersion: 'v1', kind: 'ReplicationController' },
      source: { component: 'replication-controller' },
      pods: world.pods.index,
      events: world.events,
      lookAt: key => queue.add(key),
    })
    const queue = world.queue('a simulated replication controller', key => controllers.work(key))
    lookAtPodOwners(world, 'ReplicationController', follow, ({ key }) => queue.add(key))
  }

  #has(actor: ActorName): boolean {
    return this.#options.simulation.actors.has(actor)
  }

  /** All that there was at the start is known. */
  #begin(): void {
    this.#player.begin()
    for (const make of this.#makers) {
      make().catch((error: unknown) => {
        if (this.#world.signal.aborted) return
        const reason = error instanceof Error ? error.message : String(error)
        this.#options.logger.warn('what a simulated cluster needs could not be created', { reason })
      })
    }
  }

  /** Whatever runs pods and nodes looks at all of them again. */
  #kindsChanged(): void {
    if (!this.#world.isComplete) return
    for (const pod of this.#world.pods.index.values()) this.#podChanged(pod)
    for (const node of this.#world.nodes.index.values()) this.#nodeNoted(node)
  }

  async #makeNodes(): Promise<void> {
    await this.#nodeKeeper.makeNamespace()
    if (this.#world.nodes.index.size === 0) await this.#nodeKeeper.make(madeUpNodes)
  }

  #podChanged(pod: PodFact): void {
    const deployment = this.#deploymentOf(pod)
    const isLeft = deployment !== undefined && this.#isLeft(deployment)
    if (isLeft && pod.isDeleting) this.#take(deployment)
    if (this.#has('nodes') && (!isLeft || pod.isDeleting)) this.#kubelets.changed(pod)
    this.#world.tellOwner(pod)
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
    this.#world.tellOwner(pod)
  }

  #setChanged(set: ReplicaSetFact): void {
    if (!this.#world.isComplete || !this.#has('deployments')) return
    const deployment = this.#ownerOfSet(set)
    if (deployment === undefined || !this.#isLeft(deployment)) this.#queues.sets.add(set.key)
    this.#world.tellOwner(set)
    if (set.owner !== undefined) return
    for (const one of this.#deployments.index.inNamespace(set.namespace)) {
      if (selects(one.selector, set.labels)) this.#deploymentChanged(one)
    }
  }

  #deploymentChanged(deployment: DeploymentFact): void {
    if (!this.#world.isComplete || !this.#has('deployments')) return
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
      pods += this.#world.pods.index.countOwnedBy(uid)
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
      for (const pod of this.#world.pods.index.ownedBy(set.uid)) this.#kubelets.adopted(pod)
    }
  }

  /** A pod that the generator has made, and looks after. */
  #isLeftPod(pod: PodFact): boolean {
    const deployment = this.#deploymentOf(pod)
    return deployment !== undefined && this.#isLeft(deployment)
  }

  #jobChanged({ key }: Fact): void {
    if (this.#world.isComplete && this.#has('jobs')) this.#queues.jobs.add(key)
  }

  #nodeNoted(node: NodeFact): void {
    const wasReady = this.#places.node(node.name)?.isReady
    const isOther = this.#places.nodeChanged(node)
    if (!this.#has('nodes')) return
    if (wasReady !== undefined && wasReady !== node.isReady) this.#readinessChanged(node)
    this.#nodeKeeper.changed(node)
    if (!isOther) return
    this.#kubelets.nodeChanged()
    this.#repel(node.name)
  }

  #readinessChanged({ name }: NodeFact): void {
    if (!this.#world.isComplete) return
    const pods = this.#world.pods.index
    const there = [...this.#places.podsOn(name)].flatMap(key => pods.get(key) ?? [])
    this.#kubelets.readinessChanged(there.filter(pod => !this.#isLeftPod(pod)))
  }

  /** Pods leave a node that is gone, or has taints that they do not tolerate. */
  #repel(node: string): void {
    if (!this.#world.isComplete) return
    const pods = this.#world.pods.index
    this.#kubelets.taintsChanged([...this.#places.podsOn(node)].flatMap(key => pods.get(key) ?? []))
  }

  #nodeGone(node: NodeFact): void {
    this.#nodeKeeper.removed(node.key)
    this.#places.nodeRemoved(node.name)
    if (this.#has('nodes')) this.#repel(node.name)
  }

  #deploymentOf({ namespace, owner }: PodFact): DeploymentFact | undefined {
    const set = owner?.kind === 'ReplicaSet' ? this.#sets.at(namespace, owner.name) : undefined
    return set && this.#ownerOfSet(set)
  }

  #ownerOfSet({ namespace, owner }: ReplicaSetFact): DeploymentFact | undefined {
    return owner?.kind === 'Deployment' ? this.#deployments.at(namespace, owner.name) : undefined
  }
}
