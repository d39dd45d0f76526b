/** Follows pods and nodes, and tells their loops what concerns them: a pod is run by the node that
 *  it is on, and looked at again when that node changes. */

import type { Clock, Logger } from '@watchglass/base'
import type { ApiClient } from '../runtime/api-client.ts'
import type { Controller, ControllerRuntime } from '../runtime/controller-runtime.ts'
import { type NodeFact, type PodFact, podFact } from '../runtime/facts.ts'
import type { FoundPod } from '../runtime/read-object.ts'
import type { GeneratedWorkloads } from '../runtime/generated-workloads.ts'
import type { Pod } from '../runtime/objects.ts'
import type { LifecycleStage } from '../stages/stage.ts'
import { Addresses } from './addresses.ts'
import { NodeController } from './node-controller.ts'
import { isOfState } from './node-taints.ts'
import { renewMs } from './nodes.ts'
import { Places } from './places.ts'
import { heldBy } from '../containers/requests.ts'
import { PodController } from './pod-controller.ts'
import type { PodStamps } from './pod-stamps.ts'
import type { PodTimetable } from './pod-timetable.ts'
import { StagePlayer } from './stage-player.ts'
import { type SimulatedFaults, NodeTroubles } from './troubles.ts'

export interface NodeWiringOptions {
  readonly runtime: ControllerRuntime
  readonly clientOf: (manager: string) => ApiClient
  /** The prefix of all keys, without a slash at its end. */
  readonly prefix: string
  readonly clock: Clock
  readonly logger: Logger
  readonly stamps: PodStamps
  /** The stages that are there from the start. */
  readonly stages: readonly LifecycleStage[]
  readonly faults: () => SimulatedFaults | undefined
  readonly generated: GeneratedWorkloads
  /** False: pods and nodes are followed only, for stages and endpoints. */
  readonly isRunning: boolean
  /** Nodes take only pods whose requests they have left. */
  readonly countsRequests?: boolean | undefined
}

/** The number of nodes of a cluster that has none. */
const madeUpNodes = 3

export class NodeWiring {
  readonly #options: NodeWiringOptions
  readonly #places: Places
  readonly #player: StagePlayer
  readonly #timetable: PodTimetable
  readonly #podController: PodController
  readonly #pods: Controller
  readonly #nodeController: NodeController
  readonly #nodes: Controller

  constructor(options: NodeWiringOptions) {
    this.#options = options
    this.#places = new Places(options)
    const { runtime, clientOf, prefix, clock, faults } = options
    const draw = (least: number, most: number): number => runtime.draw(least, most)
    const addresses = new Addresses(draw(0, 2 ** 16))
    this.#player = new StagePlayer({
      ...options,
      cluster: clientOf('watchglass'),
      places: this.#places,
      addresses,
      onKinds: () => this.#kindsChanged(),
    })
    const pods = this.#createPodController(addresses)
    this.#podController = pods
    this.#timetable = pods.timetable
    this.#pods = runtime.controller(pods.loop)
    this.#nodeController = new NodeController({
      api: runtime.api('kubelet'),
      nodes: runtime.nodes.index,
      leases: `${prefix}/leases/`,
      clock,
      draw,
      version: () => clientOf('kubelet').gitVersion,
      isLeft: () => this.#player.plays('v1', 'Node'),
      faults,
    })
    this.#nodes = runtime.controller(this.#nodeController.loop)
    runtime.atEnd(() => this.#timetable.stop())
    this.#listen()
  }

  /** All that was stored at the start is known. */
  begin(): void {
    this.#player.begin()
  }

  /** The nodes of a cluster that has none, and the namespace of their leases. */
  async makeNodes(): Promise<void> {
    await this.#nodeController.makeNamespace()
    const isEmpty = this.#options.runtime.nodes.index.size === 0
    if (isEmpty) await this.#nodeController.make(madeUpNodes)
  }

  #createPodController(addresses: Addresses): PodController {
    const { runtime, clock, stamps, faults } = this.#options
    const api = runtime.api('kubelet')
    return new PodController({
      clock,
      addresses,
      places: this.#places,
      troubles: new NodeTroubles(faults),
      draw: (least, most) => runtime.draw(least, most),
      isLeft: () => this.#player.plays('v1', 'Pod'),
      lookAt: key => this.#pods.lookAt(key),
      isStamped: key => stamps.has(key),
      read: async (kind, namespace, name) => {
        const place = api.keyOf({ apiVersion: 'v1', kind, namespace, name })
        return place && (await api.find(place))?.object
      },
      findPod: async (key): Promise<FoundPod | undefined> => {
        const stamped = stamps.find(key)
        if (stamped !== undefined) return stamped
        const found = await api.find<Pod>(key)
        return found && { ...found, fact: podFact(key, found.revision, found.object) }
      },
    })
  }

  #listen(): void {
    const { runtime, generated, isRunning } = this.#options
    runtime.pods.listen({
      noted: pod => this.#places.put(pod.key, pod.node, heldBy(pod)),
      changed: pod => this.#podChanged(pod),
      gone: ({ key }) => this.#podController.removed(key),
    })
    runtime.nodes.listen({
      noted: node => this.#nodeNoted(node),
      changed: node => this.#nodeChanged(node),
      gone: node => this.#nodeGone(node),
    })
    if (!isRunning) return
    generated.onTaken(deployment => {
      for (const pod of generated.podsOf(deployment)) this.#timetable.adopted(pod)
    })
  }

  /** Whatever runs pods and nodes looks at all of them again. */
  #kindsChanged(): void {
    const { runtime } = this.#options
    if (!runtime.isComplete) return
    for (const pod of runtime.pods.index.values()) this.#podChanged(pod)
    for (const node of runtime.nodes.index.values()) this.#nodeChanged(node)
  }

  #podChanged(pod: PodFact): void {
    const { isRunning, generated } = this.#options
    if (isRunning && (pod.isDeleting || !generated.isLeftPod(pod))) this.#timetable.changed(pod)
  }

  #nodeNoted(node: NodeFact): void {
    const wasReady = this.#places.node(node.name)?.isReady
    const isOther = this.#places.nodeChanged(node)
    if (!this.#options.isRunning) return
    if (wasReady !== undefined && wasReady !== node.isReady) this.#readinessChanged(node)
    if (!isOther) return
    this.#timetable.nodeChanged()
    this.#repel(node.name)
  }

  #nodeChanged({ key, isReady, taints }: NodeFact): void {
    if (!this.#options.isRunning) return
    // Either it is to say how it is, or its taints follow from that.
    if (!isReady || taints.some(isOfState)) this.#nodes.lookAt(key)
    // At some time of the period, so that not all renew at once.
    this.#nodes.lookAfter(key, this.#options.runtime.draw(0, renewMs))
  }

  #nodeGone({ key, name }: NodeFact): void {
    this.#nodes.forget(key)
    this.#nodeController.removed(key)
    this.#places.nodeRemoved(name)
    if (this.#options.isRunning) this.#repel(name)
  }

  #readinessChanged({ name }: NodeFact): void {
    if (!this.#options.runtime.isComplete) return
    const { generated } = this.#options
    const pods = this.#podsOn(name)
    this.#timetable.readinessChanged(pods.filter(pod => !generated.isLeftPod(pod)))
  }

  /** Pods leave a node that is gone, or has taints that they do not tolerate. */
  #repel(node: string): void {
    if (this.#options.runtime.isComplete) this.#timetable.taintsChanged(this.#podsOn(node))
  }

  #podsOn(node: string): PodFact[] {
    const pods = this.#options.runtime.pods.index
    return [...this.#places.podsOn(node)].flatMap(key => pods.get(key) ?? [])
  }
}
