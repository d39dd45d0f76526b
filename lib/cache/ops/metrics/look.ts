/** The counts that the page's plots are drawn from. */

import type { BucketCounts, Look } from '../recent.ts'
import type { BucketTally } from '../tally.ts'
import type { MirrorCounts } from './mirror-counts.ts'
import type { RequestCounts } from './request-counts.ts'

export interface LookedAt {
  readonly metrics: { readonly requests: RequestCounts; readonly mirror: MirrorCounts }
  readonly watches: { readonly outbox: { readonly sent: { readonly frames: number } } }
  readonly mirrors: { statuses(): readonly { readonly lagMs: number }[] }
}

/** The events that watches were sent. */
export const toWatches = 'to watches'

export function lookAt({ metrics: { requests, mirror }, watches, mirrors }: LookedAt): Look {
  const buckets = new Map<string, BucketCounts>()
  const add = (name: string, tally: BucketTally, label: string, value: string): void => {
    const counts = tally.sums(label).get(value)
    if (counts !== undefined) buckets.set(name, { bounds: tally.bounds, counts })
  }
  add('get', requests.seconds, 'verb', 'get')
  add('list', requests.seconds, 'verb', 'list')
  add('wait', mirror.waitSeconds, 'freshness', 'consistent')
  return {
    requests: requests.counts.sums('source'),
    events: new Map([
      ['from etcd', mirror.mirroredEvents],
      [toWatches, watches.outbox.sent.frames],
    ]),
    buckets,
    lags: mirrors.statuses().map(({ lagMs }) => lagMs / 1000),
  }
}
