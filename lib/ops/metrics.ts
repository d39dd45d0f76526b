/** Every metric, with its name and help: the only file that knows prom-client. Code that counts gets interfaces that this class implements
 *  (the mirror's is `MirrorMetrics`). Values that can be looked up are read when metrics are scraped.
 *
 *  Names begin with `watchglass_` and end with their unit; counters end with `_total`. */

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { AccessCounts } from './metrics/access-counts.ts'
import { UpstreamCounts } from './metrics/upstream-counts.ts'
import { BucketTally, CountTally } from './tally.ts'

/** A mirrored keyspace, as its metrics need it. */
export interface KeyspaceFacts {
  readonly name: string
  readonly state: string
  readonly revision: number
  readonly oldest: number
  readonly entries: number
  readonly lagRevisions: number
  readonly lagMs: number
}

/** What the memory budget is spent on. */
export interface MemoryFacts {
  readonly budgetBytes: number
  readonly mirrorBytes: number
  readonly historyBytes: number
  readonly segmentBytes: number
  readonly droppedKeyspaces: number
}

/** From 0.1 ms, for an etcd on the same machine, to the 3 s after which a read is refused. */
const waitBuckets = [0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 3]

/** From 1 ms to the slowest answer that clients wait for. */
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Open watches, as their metrics need them. */
export interface WatchFigures {
  readonly open: number
  readonly lagging: number
  readonly frameBytes: number
}

/** The labels of a request. None of them is text that a client chose. */
export interface RequestLabels {
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly source: string
  readonly hasLabelSelector: boolean
  readonly hasFieldSelector: boolean
}

const states = ['starting', 'catching-up', 'ready', 'cut-off', 'suspect'] as const

export class Metrics {
  /** For `MirrorOptions.metrics`. */
  readonly mirror: MirrorCounts
  /** For the API. */
  readonly requests: RequestCounts
  /** For authorization, the audit log and the limits of requests. */
  readonly access: AccessCounts
  /** For the upstream. */
  readonly upstream: UpstreamCounts
  readonly #registry = new Registry()

  constructor() {
    this.access = new AccessCounts(this.#registry)
    this.upstream = new UpstreamCounts(this.#registry)
    this.mirror = new MirrorCounts(this.#registry)
    this.requests = new RequestCounts()
  }

  /** Adds metrics of the process: memory, and how long its event loop is held. Called once in a process. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.#registry })
  }

  /** Adds metrics of encoded segments. Called once. */
  watchSegments(segments: { readonly bytes: number; readonly count: number }): void {
    const kept = 'of encoded objects that are kept.'
    this.#gauge('watchglass_segments_bytes', `Bytes ${kept}`, () => segments.bytes)
    this.#gauge('watchglass_segments', `Runs ${kept}`, () => segments.count)
  }

  /** Adds metrics of the memory budget. Called once. */
  watchMemory(figures: () => MemoryFacts): void {
    const held = 'Bytes that count against the memory budget, in'
    const name = 'watchglass_memory'
    this.#gauge(`${name}_budget_bytes`, 'The memory budget.', () => figures().budgetBytes)
    this.#gauge(`${name}_mirror_bytes`, `${held} the mirror.`, () => figures().mirrorBytes)
    this.#gauge(`${name}_history_bytes`, `${held} the history.`, () => figures().historyBytes)
    this.#gauge(`${name}_segment_bytes`, `${held} segments.`, () => figures().segmentBytes)
    this.#gauge(
      `${name}_dropped_keyspaces`,
      'Keyspaces that pass to the upstream because they do not fit.',
      () => figures().droppedKeyspaces,
    )
  }

  /** Adds metrics of open watches. Called once. */
  watchWatches(figures: () => WatchFigures): void {
    const lagging = 'Open watches whose clients are behind in the history.'
    const frames = 'Bytes of encoded events that are kept.'
    this.#gauge('watchglass_watches', 'Open watches.', () => figures().open)
    this.#gauge('watchglass_watches_lagging', lagging, () => figures().lagging)
    this.#gauge('watchglass_watch_frame_bytes', frames, () => figures().frameBytes)
  }

  /** The media type of `text`. */
  get contentType(): string {
    return this.#registry.contentType
  }

  /** All metrics in the text format of Prometheus. */
  async text(): Promise<string> {
    const others = await this.#registry.metrics()
    return `${others}\n${this.requests.text()}\n${this.mirror.text()}`
  }

  /** Adds metrics of keyspaces. Called once, with a function that returns those of every mirror. */
  watchKeyspaces(keyspaces: () => readonly KeyspaceFacts[]): void {
    const gauges = keyspaceGauges(keyspaces)
    for (const gauge of gauges) this.#registry.registerMetric(gauge)
  }

  /** Adds the metric of requests under way. Called once. */
  watchExchanges(exchanges: () => number): void {
    const help =
      'Requests under way, with open watches and connections that have changed their protocol.'
    this.#gauge('watchglass_exchanges', help, exchanges)
  }

  /** Adds the metric of access reviews under way. Called once. */
  watchReviews(reviews: () => number): void {
    const help = 'Questions about callers that are put to the upstream, or wait for it.'
    this.#gauge('watchglass_reviews_under_way', help, reviews)
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

/** What the API counts. */
export class RequestCounts {
  readonly #requests = new CountTally({
    name: 'watchglass_requests_total',
    help: 'Requests by what they asked for, who answered (mirror, etcd, own, refused), and how.',
    labelNames: [
      'verb',
      'group',
      'version',
      'resource',
      'code',
      'source',
      'label_selector',
      'field_selector',
    ],
  })
  readonly #seconds = new BucketTally(
    {
      name: 'watchglass_request_duration_seconds',
      help: 'Time from a request to the end of its answer.',
      labelNames: ['verb', 'resource'],
    },
    requestBuckets,
  )

  request(labels: RequestLabels, code: number, tookMs: number): void {
    const { verb, group, version, resource, source } = labels
    const hasLabels = String(labels.hasLabelSelector)
    const hasFields = String(labels.hasFieldSelector)
    const values = [verb, group, version, resource, String(code), source, hasLabels, hasFields]
    this.#requests.add(values)
    this.#seconds.observe([verb, resource], tookMs / 1000)
  }

  /** In the Prometheus text format. */
  text(): string {
    return `${this.#requests.text()}\n${this.#seconds.text()}`
  }
}

/** Name, help and labels of each counter of the mirror. */
const mirrorCounters = {
  events: [
    'events_total',
    'Events of etcd, by whether they belong to a keyspace (keyspace) or to none (none).',
    ['of'],
  ],
  violations: [
    'violations_total',
    'Times that etcd broke the order of its events, or answered with an old revision, by kind.',
    ['kind'],
  ],
  probes: ['probes_total', 'Linearizable reads of the revision of etcd, by outcome.', ['outcome']],
  probeReads: [
    'probe_reads_total',
    'Reads that were waiting for a probe: divided by the probes, how many share one.',
    [],
  ],
  progressRequests: ['progress_requests_total', 'Progress marks asked of etcd.', []],
  staleReads: [
    'stale_reads_total',
    'Reads of any state that were answered while cut off from etcd.',
    [],
  ],
  directReads: [
    'direct_reads_total',
    'Reads of etcd past the mirror, by size and outcome.',
    ['size', 'outcome'],
  ],
  bootstraps: [
    'bootstraps_total',
    'Full reads of a range of etcd that began, by reason.',
    ['reason'],
  ],
  loadedEntries: ['bootstrap_entries_total', 'Entries that bootstraps have read.', []],
  loadedBytes: ['bootstrap_bytes_total', 'Bytes of keys and values that bootstraps have read.', []],
  reconnects: ['reconnects_total', 'Watch streams of etcd that ended, by reason.', ['reason']],
  selfChecks: [
    'self_checks_total',
    'Comparisons of a keyspace with etcd, by outcome.',
    ['outcome'],
  ],
  epochs: ['new_epochs_total', 'Times that etcd was found with another history.', []],
} as const

/** What mirrors count. */
export class MirrorCounts {
  readonly #counters: Readonly<Record<keyof typeof mirrorCounters, Counter>>
  readonly #probeSeconds: Histogram
  readonly #reads = new CountTally({
    name: 'watchglass_mirror_reads_total',
    help: 'Reads by freshness and result: from the mirror, sent elsewhere, or refused.',
    labelNames: ['freshness', 'result'],
  })
  readonly #waitSeconds = new BucketTally(
    {
      name: 'watchglass_mirror_read_wait_seconds',
      help: 'Time that reads waited at the freshness gate.',
      labelNames: ['freshness'],
    },
    waitBuckets,
  )

  constructor(registry: Registry) {
    const registers = [registry]
    const counters = Object.entries(mirrorCounters).map(([key, [name, help, labelNames]]) => [
      key,
      new Counter({ name: `watchglass_mirror_${name}`, help, labelNames, registers }),
    ])
    this.#counters = Object.fromEntries(counters) as Record<keyof typeof mirrorCounters, Counter>
    this.#probeSeconds = new Histogram({
      name: 'watchglass_mirror_probe_duration_seconds',
      help: 'Time that etcd took for a probe.',
      buckets: waitBuckets,
      registers,
    })
  }

  violation(kind: string): void {
    this.#counters.violations.inc({ kind })
  }

  probe(outcome: string, reads: number, tookMs: number): void {
    this.#counters.probes.inc({ outcome })
    this.#counters.probeReads.inc(reads)
    this.#probeSeconds.observe(tookMs / 1000)
  }

  progressRequest(): void {
    this.#counters.progressRequests.inc()
  }

  read(freshness: string, result: string, waitedMs: number): void {
    this.#reads.add([freshness, result])
    this.#waitSeconds.observe([freshness], waitedMs / 1000)
  }

  /** The metrics that are not in the registry, in the Prometheus text format. */
  text(): string {
    return `${this.#reads.text()}\n${this.#waitSeconds.text()}`
  }

  staleRead(): void {
    this.#counters.staleReads.inc()
  }

  directRead(size: string, outcome: string): void {
    this.#counters.directReads.inc({ size, outcome })
  }

  bootstrap(reason: string): void {
    this.#counters.bootstraps.inc({ reason })
  }

  loaded(entries: number, bytes: number): void {
    this.#counters.loadedEntries.inc(entries)
    this.#counters.loadedBytes.inc(bytes)
  }

  reconnect(reason: string): void {
    this.#counters.reconnects.inc({ reason })
  }

  selfCheck(outcome: string): void {
    this.#counters.selfChecks.inc({ outcome })
  }

  newEpoch(): void {
    this.#counters.epochs.inc()
  }

  events(matched: number, unmatched: number): void {
    if (matched > 0) this.#counters.events.inc({ of: 'keyspace' }, matched)
    if (unmatched > 0) this.#counters.events.inc({ of: 'none' }, unmatched)
  }
}

/** A gauge for each fact of a keyspace, and one for each state that it may be in. */
function keyspaceGauges(keyspaces: () => readonly KeyspaceFacts[]): Gauge[] {
  const gauge = (name: string, help: string, valueOf: (facts: KeyspaceFacts) => number): Gauge =>
    new Gauge({
      name: `watchglass_keyspace_${name}`,
      help,
      labelNames: ['keyspace'],
      registers: [],
      collect() {
        this.reset()
        for (const facts of keyspaces()) this.set({ keyspace: facts.name }, valueOf(facts))
      },
    })
  const state = new Gauge({
    name: 'watchglass_keyspace_state',
    help: `1 for the state that a keyspace is in, 0 for the others: ${states.join(', ')}.`,
    labelNames: ['keyspace', 'state'],
    registers: [],
    collect() {
      this.reset()
      for (const { name, ...facts } of keyspaces()) {
        for (const one of states) {
          this.set({ keyspace: name, state: one }, facts.state === one ? 1 : 0)
        }
      }
    },
  })
  return [
    state,
    gauge('revision', 'The revision up to which nothing is missing.', one => one.revision),
    gauge('oldest_revision', 'The oldest revision that can be read.', one => one.oldest),
    gauge('entries', 'Entries at the newest revision.', one => one.entries),
    gauge('lag_revisions', 'Revisions that etcd is known to be ahead.', one => one.lagRevisions),
    gauge(
      'lag_seconds',
      'For how long the keyspace has not been known to be level with etcd.',
      one => one.lagMs / 1000,
    ),
  ]
}
