/** Metrics of the clusters that a process serves: few for each, as there may be thousands. All of
 *  one cluster's are at its own path. */

import { Counter, Gauge } from 'prom-client'

/** A cluster, as its metrics need it. */
export interface ClusterFacts {
  readonly name: string
  readonly state: string
  /** Everything is mirrored. */
  readonly isReady: boolean
  readonly objects: number
  readonly memoryBytes: number
  readonly requestsInFlight: number
  readonly requests: number
  readonly starts: number
  readonly failedStarts: number
}

interface CommonOptions {
  readonly name: string
  readonly help: string
  readonly labelNames: 'cluster'[]
  readonly registers: []
}

const states = ['idle', 'starting', 'awake', 'stopping', 'failed'] as const

/** The most clusters with metrics of their own: names come from files, and anyone who writes these
 *  could fill the memory of Prometheus. */
const shownMax = 1_000

export function clusterMetrics(count: () => Promise<readonly ClusterFacts[]>): (Gauge | Counter)[] {
  /** All metrics of one scrape are asked for in one turn, and count once. */
  let counted: Promise<readonly ClusterFacts[]> | undefined
  const all = (): Promise<readonly ClusterFacts[]> => {
    if (counted === undefined) queueMicrotask(() => (counted = undefined))
    return (counted ??= count())
  }
  const shown = async (): Promise<readonly ClusterFacts[]> => (await all()).slice(0, shownMax)
  const common = (name: string, help: string): CommonOptions => ({
    name: `watchglass_cluster_${name}`,
    help,
    labelNames: ['cluster'],
    registers: [],
  })
  const gauge = (name: string, help: string, valueOf: (facts: ClusterFacts) => number): Gauge =>
    new Gauge({
      ...common(name, help),
      async collect() {
        const known = await shown()
        this.reset()
        for (const facts of known) this.set({ cluster: facts.name }, valueOf(facts))
      },
    })
  const counter = (name: string, help: string, valueOf: (facts: ClusterFacts) => number): Counter =>
    new Counter({
      ...common(name, help),
      async collect() {
        const known = await shown()
        this.reset()
        for (const facts of known) this.inc({ cluster: facts.name }, valueOf(facts))
      },
    })
  return [
    stateCount(all),
    gauge('ready', '1 while everything of the cluster is mirrored.', one => Number(one.isReady)),
    gauge('awake', '1 while the cluster is served from memory.', one =>
      Number(one.state === 'awake'),
    ),
    gauge('objects', 'Objects that are mirrored.', one => one.objects),
    gauge(
      'memory_bytes',
      'Memory of what is mirrored, its history, indexes and encoded objects.',
      one => one.memoryBytes,
    ),
    gauge('requests_in_flight', 'Requests under way.', one => one.requestsInFlight),
    counter('requests_total', 'Requests that came for the cluster.', one => one.requests),
    counter('starts_total', 'How often the cluster was started.', one => one.starts),
    counter('failed_starts_total', 'Starts that have failed.', one => one.failedStarts),
  ]
}

function stateCount(all: () => Promise<readonly ClusterFacts[]>): Gauge {
  return new Gauge({
    name: 'watchglass_clusters',
    help: `Clusters in each state: ${states.join(', ')}.`,
    labelNames: ['state'],
    registers: [],
    async collect() {
      const known = await all()
      for (const state of states) {
        this.set({ state }, known.filter(one => one.state === state).length)
      }
    },
  })
}
