/** Made-up controllers and nodes: deployments get their pods, pods run, jobs finish, and nodes
 *  renew their leases. They follow the mirror, and act on an object only if it is not as it should
 *  be. What the generator of clusters has made stays as it is. */

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
import { FactIndex } from './fact-index.ts'
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
import { Jobs } from './jobs.ts'
import { Nodes } from './nodes.ts'
import type { Deployment, Job, Node, Pod, ReplicaSet } from './objects.ts'
import { Places } from './places.ts'
import { Pods } from './pods.ts'
import { ReplicaSets } from './replica-sets.ts'
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
  readonly #keyspaces: Readonly<Record<'pods' | 'sets' | 'deployments' | 'jobs' | 'nodes', Key>>
  readonly #podIndex = new FactIndex<PodFact>()
  readonly #setIndex = new FactIndex<ReplicaSetFact>()
  readonly #deploymentIndex = new FactIndex<DeploymentFact>()
  readonly #jobIndex = new FactIndex<Fact>()
  readonly #nodeIndex = new FactIndex<NodeFact>()
  readonly #places = new Places()
  readonly #source: Source
  readonly #pods: Pods
  readonly #nodes: Nodes
  readonly #queues: Readonly<
    Record<'deployments' | 'sets' | 'jobs' | 'pods' | 'nodes', WorkQueue<Key>>
  >

  constructor(options: ActorsOptions) {
    this.#options = options
    const { clock, prefix, contentsOf } = options
    this.#keyspaces = {
      pods: keyFromText(`${prefix}/pods/`),
      sets: keyFromText(`${prefix}/replicasets/`),
      deployments: keyFromText(`${prefix}/deployments/`),
      jobs: keyFromText(`${prefix}/jobs/`),
      nodes: keyFromText(`${prefix}/minions/`),
    }
    const [manager, kubelet] = [this.#api('kube-controller-manager'), this.#api('kubelet')]
    const pods = this.#podIndex
    const deployments = new Deployments({ api: manager, sets: this.#setIndex, pods })
    const sets = new ReplicaSets({ api: manager, pods, lookAt: key => this.#queues.sets.add(key) })
    const jobs = new Jobs(manager, pods)
    this.#pods = new Pods({
      api: kubelet,
      places: this.#places,
      clock,
      lookAt: key => this.#queues.pods.add(key),
    })
    this.#nodes = new Nodes({
      api: kubelet,
      nodes: this.#nodeIndex,
      leases: `${prefix}/leases/`,
      clock,
      lookAt: key => this.#queues.nodes.add(key),
    })
    this.#queues = {
      deployments: this.#queue('a simulated deployment', key => deployments.work(key)),
      sets: this.#queue('a simulated replica set', key => sets.work(key)),
      jobs: this.#queue('a simulated job', key => jobs.work(key)),
      pods: this.#queue('a simulated pod', key => this.#pods.work(key)),
      nodes: this.#queue('a simulated node', key => this.#nodes.work(key)),
    }
    this.#source = new Source({
      keyspaces: Object.values(this.#keyspaces),
      contentsOf,
      clock,
      signal: this.#abort.signal,
      onEntry: (keyspace, entry) => this.#found(keyspace, entry),
      onGone: (keyspace, key, revision) => this.#gone(keyspace, key, revision),
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
    this.#pods.stop()
    this.#nodes.stop()
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
    const cluster = this.#plain
    const place = cluster.placeOf(key)
    const object = place && cluster.plainOf(place.resource, entry)
    if (object === undefined) return
    if (keyspace === this.#keyspaces.pods) {
      const fact = podFact(key, modRevision, object as Pod)
      if (this.#podIndex.put(fact)) this.#podChanged(fact)
    } else if (keyspace === this.#keyspaces.sets) {
      const fact = replicaSetFact(key, modRevision, object as ReplicaSet)
      if (this.#setIndex.put(fact)) this.#setChanged(fact)
    } else if (keyspace === this.#keyspaces.deployments) {
      const fact = deploymentFact(key, modRevision, object as Deployment)
      if (this.#deploymentIndex.put(fact)) this.#deploymentChanged(fact)
    } else if (keyspace === this.#keyspaces.jobs) {
      const fact = factOf(key, modRevision, (object as Job).metadata)
      if (this.#jobIndex.put(fact)) this.#jobChanged(fact)
    } else {
      const fact = nodeFact(key, modRevision, object as Node)
      if (this.#nodeIndex.put(fact)) this.#nodeChanged(fact)
    }
  }

  #gone(keyspace: Key, key: Key, revision: number): void {
    if (keyspace === this.#keyspaces.pods) {
      const fact = this.#podIndex.remove(key, revision)
      if (fact === undefined) return
      this.#pods.removed(key)
      this.#ownerChanged(fact)
    } else if (keyspace === this.#keyspaces.sets) {
      const fact = this.#setIndex.remove(key, revision)
      if (fact !== undefined) this.#ownerChanged(fact)
    } else if (keyspace === this.#keyspaces.deployments) {
      this.#deploymentIndex.remove(key, revision)
    } else if (keyspace === this.#keyspaces.jobs) this.#jobIndex.remove(key, revision)
    else {
      const fact = this.#nodeIndex.remove(key, revision)
      if (fact === undefined) return
      this.#nodes.removed(key)
      this.#places.nodeRemoved(fact.name)
    }
  }

  /** All that there was at the start is known. */
  #begin(): void {
    for (const fact of this.#deploymentIndex.values()) this.#deploymentChanged(fact)
    for (const fact of this.#setIndex.values()) this.#setChanged(fact)
    for (const fact of this.#jobIndex.values()) this.#jobChanged(fact)
    for (const fact of this.#podIndex.values()) this.#podChanged(fact)
    if (!this.#has('nodes')) return
    if (this.#nodeIndex.size > 0) return
    this.#nodes.make(madeUpNodes).catch((error: unknown) => {
      if (this.#abort.signal.aborted) return
      const reason = error instanceof Error ? error.message : String(error)
      this.#options.logger.warn(
        'no simulated nodes could be created: pods stay pending until there is a node',
        {
          reason,
        },
      )
    })
  }

  #podChanged(pod: PodFact): void {
    // Its node is noted before all is known, too.
    this.#places.put(pod.key, pod.node)
    if (!this.#source.isComplete) return
    if (this.#has('nodes')) this.#pods.changed(pod)
    this.#ownerChanged(pod)
  }

  #setChanged(set: ReplicaSetFact): void {
    if (!this.#source.isComplete || !this.#has('deployments')) return
    if (!this.#isGenerated(set)) this.#queues.sets.add(set.key)
    this.#ownerChanged(set)
  }

  #deploymentChanged({ key, isGenerated }: DeploymentFact): void {
    if (!this.#source.isComplete || !this.#has('deployments') || isGenerated) return
    this.#queues.deployments.add(key)
  }

  #jobChanged({ key }: Fact): void {
    if (this.#source.isComplete && this.#has('jobs')) this.#queues.jobs.add(key)
  }

  #nodeChanged(node: NodeFact): void {
    this.#places.nodeChanged(node)
    if (this.#has('nodes')) this.#nodes.changed(node)
  }

  #ownerChanged({ namespace, owner }: Fact): void {
    if (!this.#source.isComplete || owner === undefined) return
    const { deployments, sets, jobs } = this.#keyspaces
    const rest = keyFromText(`${namespace}/${owner.name}`)
    if (owner.kind === 'ReplicaSet') {
      const set = this.#setIndex.get(keyFromKeys(sets, rest))
      if (set !== undefined) this.#setChanged(set)
    } else if (owner.kind === 'Deployment') {
      const deployment = this.#deploymentIndex.get(keyFromKeys(deployments, rest))
      if (deployment !== undefined) this.#deploymentChanged(deployment)
    } else if (owner.kind === 'Job') {
      const job = this.#jobIndex.get(keyFromKeys(jobs, rest))
      if (job !== undefined) this.#jobChanged(job)
    }
  }

  #isGenerated({ namespace, owner }: Fact): boolean {
    if (owner?.kind !== 'Deployment') return false
    const rest = keyFromText(`${namespace}/${owner.name}`)
    const key = keyFromKeys(this.#keyspaces.deployments, rest)
    return this.#deploymentIndex.get(key)?.isGenerated === true
  }

  get #plain(): ApiCluster {
    return this.#options.clusterOf('kubelet')
  }
}

function keyFromKeys(keyspace: Key, rest: Key): Key {
  return `${keyspace}${rest}` as Key
}
