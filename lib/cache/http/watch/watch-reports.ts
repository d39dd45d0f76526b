/** Counters of watches, as the metrics of kube-apiserver have them. */

import type { Resource, ReportedScope } from '@watchglass/kube'

/** The events of one resource. */
export interface EventReports {
  sent(bytes: number): void
  /** Initial events were written at once. */
  sentInitially(events: number, bytes: number): void
  /** A watch was ended because its client reads too slowly. */
  terminatedSlow(): void
}

export interface WatchReports {
  /** The counters of a resource, for as long as a watch lasts. */
  of(resource: Resource): EventReports
  /** A watch has been sent its initial events, and the bookmark after them. */
  listed(resource: Resource, scope: ReportedScope, tookMs: number): void
}
