/** What the page for people is made from, and the looks of its plots. */

import type { Clock } from '../base/clock.ts'
import { type Key, textFromKey } from '../base/keys.ts'
import type { FaultSwitch } from '../http/admin/fault-switch.ts'
import type { Health } from '../http/admin/health.ts'
import type { MetricsText } from '../http/api/api.ts'
import type { PageSource } from '../http/page/page-source.ts'
import { version } from '../config/version.ts'
import type { OpenWatches } from '../http/watch/open-watches.ts'
import type { Mirrors } from '../mirror/mirrors.ts'
import type { Metrics } from '../ops/metrics.ts'
import { type BucketCounts, type Look, Recent } from '../ops/recent.ts'
import type { BucketTally } from '../ops/tally.ts'
import type { LiveRegistry } from '../upkeep/live-registry.ts'
import type { ServiceOptions } from './service-options.ts'
import type { UpstreamSide } from './upstream-side.ts'

export interface PageParts {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly health: Health
  readonly registry: Pick<LiveRegistry, 'state'>
  readonly watches: Pick<OpenWatches, 'clients' | 'outbox'>
  readonly upstreamSide: UpstreamSide | undefined
  readonly mirrors: Pick<Mirrors, 'statuses'>
  /** The metrics of the whole process. */
  readonly all: MetricsText
  readonly faults: { readonly faultSwitch: Pick<FaultSwitch, 'counts'> } | undefined
}

/** The page, and what has to be started for its plots. */
export function createPage(
  parts: PageParts,
  { copies, threads }: Pick<ServiceOptions, 'copies' | 'threads'>,
): {
  readonly page: PageSource
  readonly recent: Recent
} {
  const { clock, health, registry, watches, upstreamSide } = parts
  const recent = new Recent({ clock, look: () => lookAt(parts) })
  const page: PageSource = {
    version,
    nowMs: () => clock.wallMs(),
    startedMs: clock.wallMs(),
    metrics: () => parts.all.text(),
    threads: copies?.count ?? threads?.count ?? 1,
    faults: () => parts.faults?.faultSwitch.counts ?? [],
    checks: health.readyz,
    nameOf: namerOf(registry),
    resources: upstreamSide && (() => upstreamSide.report.all()),
    clients: () => watches.clients(),
    servers: () => upstreamSide?.servers() ?? [],
    isSwitchedOff: upstreamSide && (() => upstreamSide.readSwitch.isSwitchedOff),
    recent: () => ({
      stepMs: recent.stepMs,
      requests: recent.requests,
      events: recent.events,
      latencies: new Map(
        (['get', 'list', 'wait'] as const).map(name => [name, recent.percentiles(name)]),
      ),
      lag: recent.lag,
    }),
  }
  return { page, recent }
}

function lookAt({ metrics: { requests, mirror }, watches, mirrors }: PageParts): Look {
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
      ['to watches', watches.outbox.sent.frames],
    ]),
    buckets,
    lags: mirrors.statuses().map(({ lagMs }) => lagMs / 1000),
  }
}

/** `pods`, or `deployments.apps`, of a keyspace. The names are made again when the resources have changed. */
function namerOf(live: Pick<LiveRegistry, 'state'>): (keyspace: string) => string {
  let state: LiveRegistry['state'] | undefined
  let names = new Map<string, string>()
  return keyspace => {
    if (state !== live.state) {
      state = live.state
      names = new Map(
        state.registry
          .keyspaces()
          .map(({ prefix, resources: [first] }) => [
            prefix,
            first === undefined || first.group === ''
              ? (first?.resource ?? textFromKey(prefix))
              : `${first.resource}.${first.group}`,
          ]),
      )
    }
    return names.get(keyspace) ?? textFromKey(keyspace as Key)
  }
}
