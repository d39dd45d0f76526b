/** Simulated controllers and nodes: deployments get their pods, pods run, jobs finish, and nodes
 *  renew their leases. They follow the mirror, and act on an object only if it is not as it should
 *  be. What the generator of clusters has made is left to it until somebody else changes it. */

import type { Key, Logger, Random } from '@watchglass/base'
import type { Batch, Keyspace } from '@watchglass/store'
import { wireAutoscalers } from '../controllers/autoscalers.ts'
import { wireBudgets } from '../controllers/budgets.ts'
import { wireCronJobs } from '../controllers/cron-jobs.ts'
import { wireDaemonSets } from '../controllers/daemon-sets.ts'
import { wireDeployments } from '../controllers/deployments.ts'
import { wireServices } from '../controllers/endpoints.ts'
import { wireJobs } from '../controllers/jobs.ts'
import { wireReplicaSets, wireReplicationControllers } from '../controllers/replica-sets.ts'
import { wireStatefulSets } from '../controllers/stateful-sets.ts'
import { VolumeWiring } from '../controllers/volume-wiring.ts'
import { NodeWiring } from '../nodes/node-wiring.ts'
import { PodStamps } from '../nodes/pod-stamps.ts'
import type { SimulatedFaults } from '../nodes/troubles.ts'
import type { PodRules } from '../pod-rules/pod-rules.ts'
import { ControllerRuntime, type ControllerRuntimeOptions } from '../runtime/controller-runtime.ts'
import { GeneratedWorkloads } from '../runtime/generated-workloads.ts'
import type { LifecycleStage } from '../stages/stage.ts'
import type { UsageOf } from '../usage/usage.ts'
import type { ControllerName } from './controller-names.ts'

/** The simulated part of a cluster. */
export interface Simulation {
  readonly controllers: ReadonlySet<ControllerName>
  /** Source of all times that are drawn. */
  readonly random: Random
  /** Lifecycles that users have declared. */
  readonly stages?: readonly LifecycleStage[]
  /** Simulated nodes take only pods whose requests they have left. */
  readonly countsRequests?: boolean | undefined
  /** The answers of simulated pods that users have declared. */
  readonly podRules?: PodRules | undefined
}

export interface SimulatedControllersOptions extends Omit<
  ControllerRuntimeOptions,
  'random' | 'stamper' | 'onComplete'
> {
  readonly simulation: Simulation
  /** The mirrored contents of a keyspace; undefined where it is not mirrored. */
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  readonly logger: Logger
  /** The figures of pods, by declared rules. */
  readonly usageOf?: UsageOf | undefined
  /** Faults that are switched on now. */
  readonly faults?: (() => SimulatedFaults | undefined) | undefined
}

export class SimulatedControllers {
  readonly #options: SimulatedControllersOptions
  readonly #runtime: ControllerRuntime
  readonly #generated: GeneratedWorkloads
  readonly #nodes: NodeWiring
  /** Makes what a cluster has that has none. */
  readonly #makers: (() => Promise<void>)[] = []

  constructor(options: SimulatedControllersOptions) {
    this.#options = options
    const { clientOf, storeOf, logger, simulation, faults = () => undefined } = options
    const { random, stages = [], controllers } = simulation
    const stamps = new PodStamps({ kubelet: clientOf('kubelet'), storeOf, random, logger })
    const onComplete = (): void => this.#begin()
    const runtime = new ControllerRuntime({ ...options, random, stamper: stamps, onComplete })
    this.#runtime = runtime
    runtime.pods.listen({ gone: ({ key }) => stamps.forget(key) })
    this.#generated = new GeneratedWorkloads(runtime, controllers.has('deployments'))
    this.#nodes = new NodeWiring({
      ...options,
      runtime,
      stamps,
      stages,
      faults,
      generated: this.#generated,
      isRunning: controllers.has('nodes'),
      countsRequests: simulation.countsRequests,
    })
    runtime.tellOwners(runtime.pods)
    this.#wire()
  }

  /** Everything is mirrored. */
  start(): void {
    this.#runtime.start()
  }

  applied(keyspace: Key, batch: Batch): void {
    this.#runtime.applied(keyspace, batch)
  }

  reset(keyspace: Key): void {
    this.#runtime.reset(keyspace)
  }

  stateChanged(keyspace: Key): void {
    this.#runtime.stateChanged(keyspace)
  }

  stop(): void {
    this.#runtime.stop()
  }

  /** Each kind that is asked for is followed, and has its loop. */
  #wire(): void {
    const runtime = this.#runtime
    const generated = this.#generated
    const wires: Readonly<Record<ControllerName, () => void>> = {
      nodes: () => this.#makers.push(() => this.#nodes.makeNodes()),
      deployments: () => {
        wireDeployments(runtime, generated)
        wireReplicaSets(runtime, generated)
        wireReplicationControllers(runtime)
      },
      jobs: () => wireJobs(runtime),
      statefulsets: () => wireStatefulSets(runtime),
      daemonsets: () => wireDaemonSets(runtime),
      cronjobs: () => wireCronJobs(runtime),
      services: () => wireServices(runtime, pod => generated.isLeftPod(pod)),
      volumes: () => {
        const volumes = new VolumeWiring(runtime)
        this.#makers.push(() => volumes.makeClass())
      },
      budgets: () => wireBudgets(runtime),
      autoscalers: () => wireAutoscalers(runtime, this.#options.usageOf),
    }
    const { controllers } = this.#options.simulation
    for (const [name, wire] of Object.entries(wires)) {
      if (controllers.has(name as ControllerName)) wire()
    }
  }

  /** All that there was at the start is known. */
  #begin(): void {
    this.#nodes.begin()
    for (const make of this.#makers) {
      make().catch((error: unknown) => {
        if (this.#runtime.signal.aborted) return
        const reason = error instanceof Error ? error.message : String(error)
        this.#options.logger.warn('what a simulated cluster needs could not be created', { reason })
      })
    }
  }
}
