/** The parts that the page for people is made from. */

import { type Clock, version } from '@watchglass/base'
import {
  type FaultSwitch,
  type Health,
  type LiveRegistry,
  type Look,
  lookAt,
  type Metrics,
  type MetricsText,
  type Mirrors,
  type OpenWatches,
  type PageSource,
  Recent,
  type RecentFigures,
  type SlowRequests,
  toWatches,
  type Traffic,
  type WatchingClient,
} from '@watchglass/cache'
import { keyspaceNames } from '@watchglass/kube'
import type { WingOptions } from './service-options.ts'
import type { PageFigures } from '@watchglass/workers'
import type { Front } from '@watchglass/proxy'

export interface PageParts {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly health: Health
  readonly registry: Pick<LiveRegistry, 'state'>
  readonly watches: Pick<OpenWatches, 'clients' | 'outbox'>
  readonly slow: Pick<SlowRequests, 'kept'>
  readonly upstreamSide: Front | undefined
  readonly mirrors: Pick<Mirrors, 'statuses'>
  /** The metrics of the whole process. */
  readonly all: MetricsText
  readonly faults: Pick<FaultSwitch, 'counts'> | undefined
  /** Workers, if they serve clients. */
  readonly workers: PageWorkers | undefined
}

export interface PageWorkers {
  readonly figures: readonly PageFigures[]
  onTraffic(traffic: () => Promise<Traffic>): void
}

/** The page, and what has to be started for its plots. */
export function createPage(
  parts: PageParts,
  { copies, workers }: Pick<WingOptions, 'copies' | 'workers'>,
): {
  readonly page: PageSource
  readonly recent: Recent
} {
  const { clock, health, registry, watches, upstreamSide } = parts
  const recent = new Recent({ clock, look: () => lookAtAll(parts) })
  const ofProcess = async (): Promise<Traffic> => ({
    recent: recentFigures(recent),
    slow: [...parts.slow.kept, ...(parts.workers?.figures ?? []).flatMap(({ slow }) => slow)],
    clients: clientsOfAll([
      watches.clients(),
      ...(parts.workers?.figures ?? []).map(({ clients }) => clients),
    ]),
  })
  parts.workers?.onTraffic(ofProcess)
  const page: PageSource = {
    version,
    nowMs: () => clock.wallMs(),
    startedMs: clock.wallMs(),
    metrics: () => parts.all.text(),
    threads: copies?.count ?? workers?.count ?? 1,
    faults: () => parts.faults?.counts ?? [],
    checks: health.readyz,
    nameOf: keyspaceNames(() => registry.state),
    resources: upstreamSide && (() => upstreamSide.report.all()),
    servers: () => upstreamSide?.servers() ?? [],
    versions: () =>
      upstreamSide?.knowledge.versions.map(({ name }) => name) ?? [answeredAs(registry.state)],
    isSwitchedOff: upstreamSide && (() => upstreamSide.readSwitch.isSwitchedOff),
    traffic: copies?.traffic ?? ofProcess,
  }
  return { page, recent }
}

function answeredAs({ discovery }: PageParts['registry']['state']): string {
  return (JSON.parse(discovery.version()) as { readonly gitVersion: string }).gitVersion
}

function recentFigures(recent: Recent): RecentFigures {
  return {
    stepMs: recent.stepMs,
    requests: recent.requests,
    events: recent.events,
    latencies: new Map(
      (['get', 'list', 'wait'] as const).map(name => [name, recent.percentiles(name)]),
    ),
    lag: recent.lag,
  }
}

/** The counts of all threads. What comes from etcd, the main thread alone counts. */
function lookAtAll(parts: PageParts): Look {
  const here = lookAt(parts)
  const others = (parts.workers?.figures ?? []).map(({ look }) => look)
  const buckets = new Map(here.buckets)
  for (const [name, { bounds, counts }] of others.flatMap(look => [...look.buckets])) {
    const known = buckets.get(name)?.counts
    buckets.set(name, { bounds, counts: counts.map((count, i) => count + (known?.[i] ?? 0)) })
  }
  const requests = new Map(here.requests)
  for (const [source, count] of others.flatMap(look => [...look.requests])) {
    requests.set(source, (requests.get(source) ?? 0) + count)
  }
  const sent = [here, ...others].map(({ events }) => events.get(toWatches) ?? 0)
  const events = new Map(here.events).set(
    toWatches,
    sent.reduce((sum, count) => sum + count, 0),
  )
  return { ...here, requests, events, buckets }
}

/** The clients of all threads, by name and kind. */
function clientsOfAll(all: readonly (readonly WatchingClient[])[]): WatchingClient[] {
  const sums = new Map<string, WatchingClient>()
  for (const one of all.flat()) {
    const key = `${one.keyspace}\n${one.client}`
    const known = sums.get(key)
    sums.set(key, {
      ...one,
      watches: one.watches + (known?.watches ?? 0),
      lagging: one.lagging + (known?.lagging ?? 0),
      behind: Math.max(one.behind, known?.behind ?? 0),
    })
  }
  return [...sums.values()]
}
