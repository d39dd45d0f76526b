/** The parts that the page for people is made from. */

import { version } from '@watchglass/base'
import {
  type LiveRegistry,
  type Look,
  lookAt,
  type PageSource,
  Recent,
  type RecentFigures,
  toWatches,
  type Traffic,
  type WatchingClient,
} from '@watchglass/cache'
import { keyspaceNames } from '@watchglass/kube'
import type { KubeServiceParts } from './kube-service-parts.ts'
import type { ServiceOptions } from './service-options.ts'

/** The parts whose counts the plots show. */
type LookedAt = Pick<KubeServiceParts, 'metrics' | 'watches' | 'mirrors' | 'workers'>

type PageParts = Pick<
  KubeServiceParts,
  | 'clock'
  | 'recent'
  | 'health'
  | 'registry'
  | 'watches'
  | 'slow'
  | 'upstreamProxy'
  | 'allMetrics'
  | 'faults'
  | 'workers'
>

/** The counts of the last minutes, for the plots. */
export function createRecent({
  clock,
  ...parts
}: LookedAt & Pick<KubeServiceParts, 'clock'>): Recent {
  return new Recent({ clock, look: () => lookAtAll(parts) })
}

export function createPage(
  parts: PageParts,
  { attached, cluster }: Pick<ServiceOptions, 'attached' | 'cluster'>,
): PageSource {
  const { copies, workers } = attached ?? {}
  const { clock, health, registry, watches, upstreamProxy, recent } = parts
  const ofProcess = async (): Promise<Traffic> => ({
    recent: recentFigures(recent),
    slow: [...parts.slow.kept, ...(parts.workers?.figures ?? []).flatMap(({ slow }) => slow)],
    clients: clientsOfAll([
      watches.clients(),
      ...(parts.workers?.figures ?? []).map(({ clients }) => clients),
    ]),
  })
  parts.workers?.onTraffic(ofProcess)
  return {
    version,
    cluster: cluster?.name,
    nowMs: () => clock.wallMs(),
    startedMs: clock.wallMs(),
    metrics: () => parts.allMetrics.text(),
    threads: copies?.count ?? workers?.count ?? 1,
    faults: () => parts.faults?.counts ?? [],
    checks: health.readyz,
    nameOf: keyspaceNames(() => registry.state),
    resources: upstreamProxy && (() => upstreamProxy.report.all()),
    servers: () => upstreamProxy?.servers() ?? [],
    versions: () =>
      upstreamProxy?.knowledge.versions.map(({ name }) => name) ?? [answeredAs(registry.state)],
    isSwitchedOff: upstreamProxy && (() => upstreamProxy.readSwitch.isSwitchedOff),
    traffic: copies?.traffic ?? ofProcess,
  }
}

function answeredAs({ discovery }: LiveRegistry['state']): string {
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
function lookAtAll(parts: LookedAt): Look {
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
