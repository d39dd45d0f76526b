/** What the page for people is made from. */

import type { Clock } from '../base/clock.ts'
import type { FaultSwitch } from '../http/admin/fault-switch.ts'
import type { Health } from '../http/admin/health.ts'
import type { MetricsText } from '../http/api/api.ts'
import type { PageSource } from '../http/page/page-source.ts'
import { keyspaceNames } from '../kube/resources/keyspace-names.ts'
import { version } from '../config/version.ts'
import type { OpenWatches } from '../http/watch/open-watches.ts'
import type { Mirrors } from '../mirror/mirrors.ts'
import type { Metrics } from '../ops/metrics.ts'
import { lookAt } from '../ops/metrics/look.ts'
import { Recent } from '../ops/recent.ts'
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
  readonly faults: Pick<FaultSwitch, 'counts'> | undefined
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
    faults: () => parts.faults?.counts ?? [],
    checks: health.readyz,
    nameOf: keyspaceNames(() => registry.state),
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
