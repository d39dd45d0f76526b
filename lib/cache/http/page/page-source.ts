/** Source of the page's data. Nothing in it is the content of an object, or the name of a user. */

import type { HealthCheck } from '@watchglass/base'
import type { PassReason } from '@watchglass/kube'
import type { SlowRequest } from '../request/slow-request.ts'
import type { FaultCount } from '../request/faults.ts'
import type { WatchingClient } from '../watch/open-watches.ts'

export interface PageSource {
  readonly version: string
  /** The cluster that it is of those in one process; undefined: it is the only one. */
  readonly cluster?: string | undefined
  /** The wall clock. */
  readonly nowMs: () => number
  readonly startedMs: number
  /** The text of /metrics. */
  readonly metrics: () => Promise<string>
  /** Number of threads that serve clients. Everything is summed over them. */
  readonly threads: number
  /** The faults that are switched on, and how many requests have met each. */
  readonly faults: () => readonly FaultCount[]
  readonly checks: readonly HealthCheck[]
  /** `pods` or `deployments.apps`, of a keyspace by the name that metrics have for it. */
  readonly nameOf: (keyspace: string) => string
  /** Standing of each resource that the upstream lists; undefined without an upstream: all are
   *  answered here. */
  readonly resources: (() => readonly ReportedResource[]) | undefined
  readonly servers: () => readonly ServerStanding[]
  /** The versions of these servers, as far as they are known; without an upstream, the version of
   *  Kubernetes that is answered as. */
  readonly versions: () => readonly string[]
  /** Undefined without an upstream, to which reads could pass. */
  readonly isSwitchedOff: (() => boolean) | undefined
  readonly traffic: () => Promise<Traffic>
  /** Etcd's API is all that is served: there are no verbs, watches and objects of Kubernetes'. */
  readonly isEtcdOnly?: boolean
}

export interface Traffic {
  /** The last ten minutes. */
  readonly recent: RecentFigures
  /** Requests that took long in this time, in no order. */
  readonly slow: readonly SlowRequest[]
  /** The clients of open watches. */
  readonly clients: readonly WatchingClient[]
}

/** A value for each step of the last ten minutes, the newest last; undefined where nothing was
 *  measured. */
export type PlottedFigures = readonly (number | undefined)[]

export interface RecentFigures {
  readonly stepMs: number
  /** Requests a second, by who answered them. */
  readonly requests: ReadonlyMap<string, PlottedFigures>
  /** Events a second, by where they go. */
  readonly events: ReadonlyMap<string, PlottedFigures>
  /** Latency of gets and of lists, and how long consistent reads waited, in seconds. */
  readonly latencies: ReadonlyMap<'get' | 'list' | 'wait', PlottedPercentiles>
  /** The lag of the keyspace that was furthest behind, in seconds. */
  readonly lag: PlottedPercentiles
}

export interface PlottedPercentiles {
  readonly p50: PlottedFigures
  readonly p99: PlottedFigures
}

/** Standing of one resource in one version, where an upstream lists it. */
export interface ReportedResource {
  readonly groupVersion: string
  readonly resource: string
  readonly isAnsweredHere: boolean
  readonly storedUnder: string | undefined
  readonly storedAs: string | undefined
  readonly reason: PassReason | undefined
  readonly why: string | undefined
  readonly whatWouldChangeThat: string | undefined
  /** A contradiction between the upstream's discovery and its etcd. */
  readonly remark: string | undefined
  /** Forms that pass nevertheless, because the upstream writes them differently. */
  readonly formsThatDiffer: readonly string[]
  /** While servers have different minor versions: what these know or write differently. Objects
   *  that show it pass. */
  readonly versionsDifferIn: readonly string[]
}

/** Standing of a server. */
export interface ServerStanding {
  readonly name: string
  /** Undefined while it answers. */
  readonly problem: string | undefined
  readonly inFlight: number
}
