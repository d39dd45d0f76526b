/** Everything that is shown under the names of kube-apiserver. */

import { families } from './families.ts'
import { FlowGauges } from './flow-gauges.ts'
import { RequestSeriesTable } from './request-series.ts'
import { StorageSeriesTable } from './storage-series.ts'
import { WatchSeriesTable } from './watch-series.ts'

export class ApiServerCounts {
  readonly requests: RequestSeriesTable
  readonly watches: WatchSeriesTable = new WatchSeriesTable()
  readonly storage: StorageSeriesTable = new StorageSeriesTable()
  readonly flows: FlowGauges = new FlowGauges()

  constructor(monotonicMs: () => number) {
    this.requests = new RequestSeriesTable(monotonicMs)
  }

  text(): string {
    return [this.requests, this.watches, this.storage, this.flows]
      .map(table => table.text())
      .join('\n')
  }
}

/** The labels of a metric of kube-apiserver; undefined if there is none of that name. */
export function labelsOfFamily(name: string): readonly string[] | undefined {
  return families.get(name)?.labels
}
