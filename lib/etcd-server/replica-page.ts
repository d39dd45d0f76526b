/** The page for people, of a process that serves etcd's API and nothing else (`--listen none`): how
 *  much of what its clients ask etcd is spared, and how far the mirror is behind. */

import { type Clock, version } from '@watchglass/base'
import {
  type Health,
  lookAt,
  type Metrics,
  type MirrorSet,
  type PageSource,
  Recent,
} from '@watchglass/cache'

export interface ReplicaPageOptions {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly mirrors: MirrorSet
}

export class ReplicaPage {
  readonly #options: ReplicaPageOptions
  readonly #startedMs: number
  readonly #recent: Recent

  constructor(options: ReplicaPageOptions) {
    const { clock, metrics, mirrors } = options
    this.#options = options
    this.#startedMs = clock.wallMs()
    this.#recent = new Recent({
      clock,
      look: () => ({
        ...lookAt({ metrics, mirrors, watches: noWatches }),
        requests: new Map(metrics.etcdServer.tallies.flatMap(one => [...one.sums('source')])),
        events: new Map([['from etcd', metrics.mirror.mirroredEvents]]),
      }),
    })
  }

  /** Begins to note what the plots show. */
  start(): void {
    this.#recent.start()
  }

  stop(): void {
    this.#recent.stop()
  }

  /** The data of the page, with the checks of the process. */
  source({ readyz }: Health): PageSource {
    const { clock, metrics } = this.#options
    const recent = this.#recent
    return {
      version,
      nowMs: () => clock.wallMs(),
      startedMs: this.#startedMs,
      metrics: () => metrics.text(),
      threads: 1,
      faults: () => [],
      checks: readyz,
      nameOf: keyspace => keyspace,
      resources: undefined,
      servers: () => [],
      versions: () => ['–'],
      isSwitchedOff: undefined,
      isEtcdOnly: true,
      traffic: async () => ({
        recent: {
          stepMs: recent.stepMs,
          requests: recent.requests,
          events: recent.events,
          latencies: new Map([['wait', recent.percentiles('wait')]]),
          lag: recent.lag,
        },
        slow: [],
        clients: [],
      }),
    }
  }
}

/** Watches of Kubernetes' API: there is none. */
const noWatches = { outbox: { sent: { frames: 0 } } }
