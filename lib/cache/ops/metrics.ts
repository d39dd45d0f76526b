/** Every metric, with its name and help: this file and its folder are the only ones that know
 *  prom-client. Code that counts gets interfaces that this class implements (the mirror's is
 *  `MirrorMetrics`). Values that can be looked up are read when metrics are scraped.
 *
 *  Names begin with `watchglass_` and end with their unit; counters end with `_total`. Those of
 *  kube-apiserver are its own (metrics/apiserver). */

import { Gauge, Registry } from 'prom-client'
import { type ApiServerCounts, labelsOfFamily } from './metrics/apiserver/apiserver-counts.ts'
import { type ClusterFacts, clusterMetrics } from './metrics/cluster-metrics.ts'
import { FaultCounts } from './metrics/fault-counts.ts'
import { AccessCounts } from './metrics/access-counts.ts'
import { certificateGauges, type CertificateDates } from './metrics/certificate-dates.ts'
import { underFormerNames } from './metrics/former-names.ts'
import { type KeyspaceFacts, keyspaceGauges } from './metrics/keyspace-gauges.ts'
import { MirrorCounts } from './metrics/mirror-counts.ts'
import { showVersions, watchProcess } from './metrics/process-metrics.ts'
import { RequestCounts } from './metrics/request-counts.ts'
import { EtcdServerCounts } from './metrics/etcd-server-counts.ts'
import { UpstreamCounts } from './metrics/upstream-counts.ts'
import { withLabel } from './metrics/with-label.ts'
import { watchGauges, type WatchFigures } from './metrics/watch-gauges.ts'

/** The memory that each part of the budget takes. */
export interface MemoryFacts {
  readonly budgetBytes: number
  readonly mirrorBytes: number
  readonly historyBytes: number
  readonly segmentBytes: number
  readonly indexBytes: number
  readonly droppedKeyspaces: number
}

export class Metrics {
  /** For `MirrorOptions.metrics`. */
  readonly mirror: MirrorCounts
  /** For the API. */
  readonly requests: RequestCounts
  /** For authorization, the audit log and the limits of requests. */
  readonly access: AccessCounts
  /** For faults on purpose. */
  readonly faults: FaultCounts
  /** For the upstream. */
  readonly upstream: UpstreamCounts
  /** For `--etcd-listen`. */
  readonly etcdServer: EtcdServerCounts = new EtcdServerCounts()
  /** Counts under the names of kube-apiserver; undefined where these are not asked for. */
  readonly apiServer: ApiServerCounts | undefined
  readonly #registry = new Registry()
  readonly #cluster: string | undefined

  /** With the name of a cluster every series has it as a label: other services of the process have
   *  metrics of the same names. */
  constructor(apiServer?: ApiServerCounts, cluster?: string) {
    this.apiServer = apiServer
    this.#cluster = cluster
    this.access = new AccessCounts(this.#registry)
    this.faults = new FaultCounts(this.#registry)
    this.upstream = new UpstreamCounts(this.#registry)
    this.mirror = new MirrorCounts(this.#registry, apiServer?.storage)
    this.requests = new RequestCounts()
  }

  /** Adds metrics of the process: memory, and how long its event loop is held. Called once in a
   *  process. */
  watchProcess(): void {
    watchProcess(this.#registry)
  }

  /** Adds the metric of versions. Called once. */
  showVersions(version: string): void {
    showVersions(this.#registry, version)
  }

  /** Adds the dates of certificates. Called once. */
  watchCertificates(dates: CertificateDates): void {
    for (const gauge of certificateGauges(dates)) this.#registry.registerMetric(gauge)
  }

  /** Adds the metric of readiness. Called once. */
  watchReadiness(isReady: () => boolean): void {
    const help = '1 while /readyz answers ok.'
    this.#gauge('watchglass_ready', help, () => Number(isReady()))
  }

  /** Adds the metric of etcd's silence. Called once. */
  watchEtcd(unansweredMs: () => number): void {
    const help =
      'Time for which etcd has given no answer to questions; of several etcds the longest. 0 while all answer.'
    this.#gauge('watchglass_etcd_unanswered_seconds', help, () => unansweredMs() / 1000)
  }

  /** Adds metrics of encoded segments. Called once. */
  watchSegments(segments: { readonly bytes: number; readonly count: number }): void {
    const kept = 'of encoded objects that are kept.'
    this.#gauge('watchglass_segments_bytes', `Bytes ${kept}`, () => segments.bytes)
    this.#gauge('watchglass_segments', `Runs ${kept}`, () => segments.count)
  }

  /** Adds the metric of slabs. Called once. */
  watchSlabs(bytes: () => number): void {
    const help = 'Memory of the slabs that stored values lie in, those of the history included.'
    this.#gauge('watchglass_slabs_bytes', help, bytes)
  }

  /** Adds metrics of the memory budget. Called once. */
  watchMemory(figures: () => MemoryFacts): void {
    const held = 'Bytes that count against the memory budget, in'
    const name = 'watchglass_memory'
    this.#gauge(
      `${name}_budget_bytes`,
      'The memory budget (--memory-budget).',
      () => figures().budgetBytes,
    )
    this.#gauge(`${name}_mirror_bytes`, `${held} the mirror.`, () => figures().mirrorBytes)
    this.#gauge(`${name}_history_bytes`, `${held} the history.`, () => figures().historyBytes)
    this.#gauge(`${name}_index_bytes`, `${held} indexes.`, () => figures().indexBytes)
    this.#gauge(`${name}_segment_bytes`, `${held} segments.`, () => figures().segmentBytes)
    this.#gauge(
      `${name}_dropped_keyspaces`,
      'Keyspaces whose reads pass to the upstream because they do not fit into the memory budget.',
      () => figures().droppedKeyspaces,
    )
  }

  /** Adds metrics of open watches. Called once. */
  watchWatches(figures: () => WatchFigures): void {
    for (const metric of watchGauges(figures)) this.#registry.registerMetric(metric)
  }

  /** The labels of a metric, by its name. */
  labelsOf(name: string): readonly string[] {
    const { requests, mirror, etcdServer } = this
    const tallies = [requests, mirror, etcdServer].flatMap(counts => counts.tallies)
    const tally = tallies.find(one => one.options.name === name)
    if (tally !== undefined) return tally.options.labelNames
    const known = labelsOfFamily(name)
    if (known !== undefined) return known
    const metric: unknown = this.#registry.getSingleMetric(name)
    return (metric as { readonly labelNames?: readonly string[] } | undefined)?.labelNames ?? []
  }

  /** The media type of `text`. */
  get contentType(): string {
    return this.#registry.contentType
  }

  /** All metrics in the text format of Prometheus. */
  async text(): Promise<string> {
    const others = await this.#registry.metrics()
    const tallied = [this.requests, this.mirror, this.etcdServer].map(counts => counts.text())
    const text = [others, ...tallied].join('\n')
    const all = `${text}\n${underFormerNames(text)}${this.apiServer?.text() ?? ''}`
    return this.#cluster === undefined ? all : withLabel(all, 'cluster', this.#cluster)
  }

  /** Adds metrics of the clusters that a process serves. Called once. */
  watchClusters(clusters: () => Promise<readonly ClusterFacts[]>): void {
    for (const metric of clusterMetrics(clusters)) this.#registry.registerMetric(metric)
  }

  /** Adds metrics of keyspaces. Called once, with a function that returns those of every mirror. */
  watchKeyspaces(keyspaces: () => readonly KeyspaceFacts[]): void {
    const gauges = keyspaceGauges(keyspaces)
    for (const gauge of gauges) this.#registry.registerMetric(gauge)
  }

  /** Adds the metric of requests under way. Called once. */
  watchRequestsInFlight(inFlight: () => number): void {
    const help = 'Requests that have not ended, among them open watches and upgraded connections.'
    this.#gauge('watchglass_requests_in_flight', help, inFlight)
  }

  /** Adds the metric of access reviews under way. Called once. */
  watchReviews(reviews: () => number): void {
    const help =
      'Access reviews and questions who a caller is that the upstream has not answered yet.'
    this.#gauge('watchglass_access_reviews_in_flight', help, reviews)
  }

  /** Adds the metric of reads that wait for mirrors. Called once. */
  watchWaitingReads(waiting: () => number): void {
    this.#gauge('watchglass_mirror_waiting_reads', 'Reads that wait for the mirror now.', waiting)
  }

  #gauge(name: string, help: string, value: () => number): void {
    const collect = function collect(this: Gauge): void {
      this.set(value())
    }
    this.#registry.registerMetric(new Gauge({ name, help, registers: [], collect }))
  }
}
