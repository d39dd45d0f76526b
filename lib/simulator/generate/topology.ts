/** The objects of a generated cluster and how they are related: names, owners, nodes and addresses,
 *  but no bodies. It is small enough to keep for a million pods, because churn needs it. */

import { imageOf } from './names.ts'
import { type Random, randomInt, randomItem } from '@watchglass/base'
import {
  digest,
  nameSuffix,
  nodeAddress,
  podAddress,
  templateHash,
  uid,
  workloadName,
} from './names.ts'
import type { Plan } from './plan.ts'

/** A record of which the object is written again and again. */
export interface WrittenRecord {
  /** Revision of etcd at which we wrote it; 0: not yet. If it is at another, somebody else did. */
  writtenAt: number
}

export interface NodeRecord extends WrittenRecord {
  readonly name: string
  readonly uid: string
  readonly number: number
  readonly zone: string
  /** A control plane: pods that come later do not go there. */
  readonly isControlPlane: boolean
  readonly address: string
  readonly createdMs: number
  readonly leaseUid: string
  pods: number
  /** Somebody else has changed it: its object is left alone, and it gets no more pods while there
   *  are others. */
  isLetGo: boolean
}

/** The number of control planes among so many nodes: what users create has to fit on another
 *  node. */
function controlPlanesOf(nodes: number): number {
  if (nodes >= 6) return 3
  return nodes >= 2 ? 1 : 0
}

/** The template that pods are made from: one replica set of a deployment. */
export interface GeneratedTemplate {
  readonly hash: string
  readonly replicaSetUid: string
  readonly image: string
  readonly imageDigest: string
}

/** A deployment and its pods, some of which may still be of an older template. */
export interface Workload extends WrittenRecord {
  readonly namespace: string
  readonly name: string
  readonly number: number
  readonly uid: string
  readonly createdMs: number
  readonly team: string
  readonly port: number
  readonly environmentSize: number
  readonly hasSidecar: boolean
  readonly pods: PodRecord[]
  template: GeneratedTemplate
  revision: number
  replicas: number
}

export type PodHealth = 'running' | 'pending' | 'crashing' | 'evicted'

export interface PodRecord extends WrittenRecord {
  readonly workload: Workload
  readonly name: string
  readonly uid: string
  readonly template: GeneratedTemplate
  readonly node: NodeRecord
  readonly address: string
  readonly createdMs: number
  health: PodHealth
  restarts: number
  /** When the status was last written. */
  updatedMs: number
}

const dayMs = 86_400_000

/** A whole cluster, and the only place where random numbers decide about it. */
export class Topology {
  readonly namespaces: readonly string[]
  readonly nodes: readonly NodeRecord[]
  readonly workloads: readonly Workload[]
  readonly random: Random
  #podNumber = 0

  constructor(plan: Plan, random: Random, nowMs: number) {
    this.random = random
    this.namespaces = Array.from({ length: plan.namespaces }, (_, i) =>
      i === 0 ? 'default' : `team-${i}`,
    )
    this.nodes = Array.from({ length: plan.nodes }, (_, i) =>
      this.#node({ number: i, of: plan.nodes }, nowMs),
    )
    this.workloads = Array.from({ length: plan.deployments }, (_, i) => this.#workload(i, nowMs))
    for (let i = 0; i < plan.pods; i++) {
      // Sizes are skewed, as in real clusters: the square of a random number leaves a few large
      // deployments and many small ones.
      const workload =
        i < this.workloads.length
          ? this.workloads[i]
          : this.workloads[Math.floor(random.next() ** 2 * this.workloads.length)]
      if (workload !== undefined) {
        this.addPod(workload, workload.createdMs + random.next() * (nowMs - workload.createdMs))
      }
    }
    for (const workload of this.workloads) workload.replicas = workload.pods.length
  }

  /** A new pod of the workload's current template, on the least loaded of three nodes. */
  addPod(workload: Workload, createdMs: number): PodRecord {
    const { random } = this
    const candidates = Array.from({ length: 3 }, () => randomItem(random, this.nodes))
    const ours = candidates.filter(({ isLetGo }) => !isLetGo)
    const node = (ours.length > 0 ? ours : candidates).reduce((best, other) =>
      other.pods < best.pods ? other : best,
    )
    node.pods++
    const pod: PodRecord = {
      workload,
      name: `${workload.name}-${workload.template.hash}-${nameSuffix(random)}`,
      uid: uid(random),
      template: workload.template,
      node,
      address: podAddress(++this.#podNumber),
      createdMs,
      health: healthOf(random.next()),
      restarts: random.next() < 0.04 ? randomInt(random, 1, 12) : 0,
      updatedMs: createdMs + 4_000,
      writtenAt: 0,
    }
    workload.pods.push(pod)
    return pod
  }

  removePod(pod: PodRecord): void {
    pod.node.pods--
    pod.workload.pods.splice(pod.workload.pods.indexOf(pod), 1)
  }

  /** A new template: another image, another replica set. */
  rollOut(workload: Workload): void {
    workload.revision++
    workload.template = this.#template(workload.name, workload.revision)
  }

  #template(name: string, revision: number): GeneratedTemplate {
    const { random } = this
    return {
      hash: templateHash(random),
      replicaSetUid: uid(random),
      image: imageOf(name, `v1.${revision}.0`),
      imageDigest: digest(random),
    }
  }

  #node({ number, of }: { number: number; of: number }, nowMs: number): NodeRecord {
    const { random } = this
    const zone = `zone-${'abc'[number % 3]}`
    return {
      name: `node-${zone}-${String(number).padStart(5, '0')}`,
      uid: uid(random),
      number,
      zone,
      isControlPlane: number < controlPlanesOf(of),
      address: nodeAddress(number),
      createdMs: nowMs - random.next() * 90 * dayMs,
      leaseUid: uid(random),
      pods: 0,
      isLetGo: false,
      writtenAt: 0,
    }
  }

  #workload(number: number, nowMs: number): Workload {
    const { random } = this
    const name = workloadName(random, number)
    const revision = randomInt(random, 1, 30)
    return {
      namespace: this.namespaces[number % this.namespaces.length] ?? 'default',
      name,
      number,
      uid: uid(random),
      createdMs: nowMs - random.next() * 60 * dayMs,
      team: `team-${number % 17}`,
      port: randomItem(random, [80, 3000, 8080, 8443, 9090]),
      environmentSize: randomInt(random, 0, 2),
      hasSidecar: random.next() < 0.1,
      pods: [],
      template: this.#template(name, revision),
      revision,
      replicas: 0,
      writtenAt: 0,
    }
  }
}

/** Most pods run; a few wait, crash or have been evicted. */
function healthOf(chance: number): PodHealth {
  if (chance < 0.95) return 'running'
  if (chance < 0.97) return 'crashing'
  return chance < 0.985 ? 'pending' : 'evicted'
}
