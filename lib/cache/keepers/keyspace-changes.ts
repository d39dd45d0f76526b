/** Counts what etcd has sent for each keyspace, as the metrics of kube-apiserver do. */

import type { Key } from '@watchglass/base'
import type { ResetReason } from '../mirror/mirrored-keyspace.ts'
import type { Batch } from '@watchglass/store'
import type { Follower } from './followers.ts'

export interface ChangeReports {
  changed(keyspace: string, changes: number): void
  /** A keyspace was loaded anew, after the first time. */
  reloaded(keyspace: string): void
}

export class KeyspaceChanges implements Follower {
  readonly #reports: ChangeReports

  constructor(reports: ChangeReports) {
    this.#reports = reports
  }

  applied(keyspace: Key, { events }: Batch): void {
    this.#reports.changed(keyspace, events.length)
  }

  reset(keyspace: Key, reason: ResetReason): void {
    if (reason === 'restored') this.#reports.reloaded(keyspace)
  }
}
