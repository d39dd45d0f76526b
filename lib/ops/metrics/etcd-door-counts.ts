/** Metrics of etcd's API (`--etcd-listen`). */

import { CountTally } from '../tally.ts'

/** Counts calls of etcd's API. */
export class EtcdDoorCounts {
  readonly #calls = new CountTally({
    name: 'watchglass_etcd_calls_total',
    help: 'Calls of the API of etcd (--etcd-listen) that have ended, by who answered (mirror, etcd, none) and by the status of gRPC; left: the client did not wait.',
    labelNames: ['method', 'source', 'status'],
  })

  call(method: string, source: string, status: string): void {
    this.#calls.add([method, source, status])
  }

  get tallies(): readonly CountTally[] {
    return [this.#calls]
  }

  /** In the Prometheus text format. */
  text(): string {
    return this.#calls.text()
  }
}
