/** Metrics of the requests to the API. */

import { BucketTally, CountTally } from '../tally.ts'
import { codeLabel } from './code-label.ts'

/** From 0.1 ms, for a small get, to the minute after which a request is refused. */
const requestBuckets = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  30, 60,
]

/** The labels of a request. None of them is text that a client chose. */
export interface CountedRequest {
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly source: string
  readonly hasLabelSelector: boolean
  readonly hasFieldSelector: boolean
}

/** Reads of all, and of these the ones that were answered from memory. */
export interface ReadCounts {
  readonly all: number
  readonly fromMemory: number
}

const readVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch'])

/** Counters of the API. */
export class RequestCounts {
  readonly #reads = { all: 0, fromMemory: 0 }
  readonly counts: CountTally = new CountTally({
    name: 'watchglass_requests_total',
    help: 'Requests by what they asked for, status code (of unknown ones the class), who answered (mirror, etcd, own, upstream, refused), and which selectors they had.',
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
  readonly seconds: BucketTally = new BucketTally(
    {
      name: 'watchglass_request_duration_seconds',
      help: 'Time from a request to the end of its answer; of a watch, until its initial events are sent.',
      labelNames: ['verb', 'resource'],
    },
    requestBuckets,
  )

  request(labels: CountedRequest, code: number, tookMs: number): void {
    const { verb, group, version, resource, source } = labels
    const hasLabels = String(labels.hasLabelSelector)
    const hasFields = String(labels.hasFieldSelector)
    const values = [verb, group, version, resource, codeLabel(code), source, hasLabels, hasFields]
    this.counts.add(values)
    this.seconds.observe([verb, resource], tookMs / 1000)
    if (!readVerbs.has(verb)) return
    this.#reads.all++
    if (source === 'mirror') this.#reads.fromMemory++
  }

  get reads(): ReadCounts {
    return this.#reads
  }

  get tallies(): readonly (CountTally | BucketTally)[] {
    return [this.counts, this.seconds]
  }

  /** In the Prometheus text format. */
  text(): string {
    return `${this.counts.text()}\n${this.seconds.text()}`
  }
}
