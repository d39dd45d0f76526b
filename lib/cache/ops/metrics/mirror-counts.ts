/** Metrics of mirrors: events, reads and how long they waited, probes, and what went wrong between
 *  us and etcd. */

import { Counter, Histogram, type Registry } from 'prom-client'
import { BucketTally, CountTally } from '../tally.ts'
import type { StorageSeriesTable } from './apiserver/storage-series.ts'

/** From 0.1 ms, for an etcd on the same machine, to the 3 s after which a read is refused. */
const waitBuckets = [0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3]

/** Name, help and labels of each counter of the mirror. */
const mirrorCounters = {
  events: [
    'events_total',
    'Events that etcd has sent: of a mirrored keyspace (keyspace), or of no resource that is mirrored (none).',
    ['of'],
  ],
  violations: [
    'violations_total',
    'Events out of order and answers with an old revision that etcd has sent, by kind. Should stay 0.',
    ['kind'],
  ],
  probes: [
    'probes_total',
    'Reads of the newest revision of etcd, for consistent reads, by outcome.',
    ['outcome'],
  ],
  probeReads: [
    'probe_reads_total',
    'Reads that waited for a probe. Divided by the probes, it says how many share one.',
    [],
  ],
  progressRequests: [
    'progress_requests_total',
    'Progress notifications that etcd was asked for.',
    [],
  ],
  staleReads: [
    'stale_reads_total',
    'Reads with resourceVersion=0 that were answered while etcd could not be reached.',
    [],
  ],
  directReads: [
    'direct_reads_total',
    'Reads that were answered by etcd instead of the mirror, by size and outcome.',
    ['size', 'outcome'],
  ],
  bootstraps: ['bootstraps_total', 'Reads of a whole range of etcd, by reason.', ['reason']],
  loadedEntries: [
    'bootstrap_entries_total',
    'Entries that were loaded by reads of whole ranges.',
    [],
  ],
  loadedBytes: [
    'bootstrap_bytes_total',
    'Bytes of keys and values that were loaded by reads of whole ranges.',
    [],
  ],
  reconnects: [
    'reconnects_total',
    'Watch streams of etcd that ended and were opened again, by reason.',
    ['reason'],
  ],
  selfChecks: [
    'self_checks_total',
    'Comparisons of a whole keyspace with etcd, by outcome.',
    ['outcome'],
  ],
  epochs: [
    'new_epochs_total',
    'How often etcd had a history other than before, as after a restored backup.',
    [],
  ],
} as const

/** Labels that are known before anything has happened: a series that is there with 0 shows its
 *  first count as an increase. */
const knownValues: Partial<Record<keyof typeof mirrorCounters, readonly string[]>> = {
  events: ['keyspace', 'none'],
  violations: [
    'revision-went-back',
    'revision-repeated',
    'event-overtaken',
    'unknown-delete',
    'progress-went-back',
    'header-below-event',
    'foreign-revision',
    'stale-quorum-read',
  ],
  probes: ['answered', 'failed', 'went-back'],
  bootstraps: ['start', 'compacted', 'violation', 'new-epoch', 'joined'],
  reconnects: ['failed', 'compacted', 'violation', 'silent', 'behind', 'another cluster'],
  selfChecks: ['agreed', 'differed', 'abandoned'],
}

/** Counters of mirrors. */
export class MirrorCounts {
  readonly #counters: Readonly<Record<keyof typeof mirrorCounters, Counter>>
  readonly #probeSeconds: Histogram
  readonly #storage: StorageSeriesTable | undefined
  #mirroredEvents = 0
  readonly #reads = new CountTally({
    name: 'watchglass_mirror_reads_total',
    help: 'Reads by freshness and result: answered from the mirror, sent elsewhere, or refused.',
    labelNames: ['freshness', 'result'],
  })
  readonly waitSeconds: BucketTally = new BucketTally(
    {
      name: 'watchglass_mirror_read_wait_seconds',
      help: 'Time that reads waited until the mirror was as new as they require.',
      labelNames: ['freshness'],
    },
    waitBuckets,
  )

  constructor(registry: Registry, storage?: StorageSeriesTable) {
    this.#storage = storage
    const registers = [registry]
    const counters = Object.entries(mirrorCounters).map(([key, [name, help, labelNames]]) => [
      key,
      new Counter({ name: `watchglass_mirror_${name}`, help, labelNames, registers }),
    ])
    this.#counters = Object.fromEntries(counters) as Record<keyof typeof mirrorCounters, Counter>
    for (const [key, values] of Object.entries(knownValues)) {
      const name = key as keyof typeof mirrorCounters
      const [label = ''] = mirrorCounters[name][2]
      for (const value of values) {
        this.#counters[name].inc({ [label]: value }, 0)
      }
    }
    for (const size of ['whole', 'small']) {
      for (const outcome of ['answered', 'failed', 'refused']) {
        this.#counters.directReads.inc({ size, outcome }, 0)
      }
    }
    this.#probeSeconds = new Histogram({
      name: 'watchglass_mirror_probe_duration_seconds',
      help: 'Time that etcd took to answer a probe.',
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
    this.#storage?.asked('get', undefined, tookMs)
  }

  progressRequest(): void {
    this.#counters.progressRequests.inc()
  }

  read(freshness: string, result: string, waitedMs: number): void {
    this.#reads.add([freshness, result])
    this.waitSeconds.observe([freshness], waitedMs / 1000)
  }

  get tallies(): readonly (CountTally | BucketTally)[] {
    return [this.#reads, this.waitSeconds]
  }

  /** The metrics that are not in the registry, in the Prometheus text format. */
  text(): string {
    return `${this.#reads.text()}\n${this.waitSeconds.text()}`
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

  /** Events of mirrored keyspaces so far. */
  get mirroredEvents(): number {
    return this.#mirroredEvents
  }

  events(matched: number, unmatched: number): void {
    this.#mirroredEvents += matched
    if (matched > 0) this.#counters.events.inc({ of: 'keyspace' }, matched)
    if (unmatched > 0) this.#counters.events.inc({ of: 'none' }, unmatched)
  }
}
