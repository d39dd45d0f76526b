/** Metrics of etcd's API (`--etcd-listen`). */

import { CountTally, headText } from '../tally.ts'

/** Counts calls of etcd's API. */
export class EtcdServerCounts {
  readonly #calls = new CountTally({
    name: 'watchglass_etcd_calls_total',
    help: 'Calls of the API of etcd (--etcd-listen) that have ended, by who answered (mirror, etcd, none) and by the status of gRPC; left: the client did not wait.',
    labelNames: ['method', 'source', 'status'],
  })

  #watchers = 0

  call(method: string, source: string, status: string): void {
    this.#calls.add([method, source, status])
  }

  /** Adds so many open watchers, or takes them away. */
  addWatchers(count: number): void {
    this.#watchers += count
  }

  get tallies(): readonly CountTally[] {
    return [this.#calls]
  }

  /** In the Prometheus text format. */
  text(): string {
    const watchers = `${watchersMetric.name} ${this.#watchers}\n`
    return `${this.#calls.text()}${headText(watchersMetric, 'gauge')}${watchers}`
  }
}

const watchersMetric = {
  name: 'watchglass_etcd_watchers',
  help: 'Watchers that clients of the API of etcd (--etcd-listen) have open; etcd has one for all of them.',
  labelNames: [],
}
