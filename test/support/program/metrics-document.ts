/** docs/METRICS.md: every metric with its labels and help, out of the registry of the program. */

import { Metrics } from '../../../lib/cache/ops/metrics.ts'
import { ApiServerCounts } from '../../../lib/cache/ops/metrics/apiserver/apiserver-counts.ts'
import { families } from '../../../lib/cache/ops/metrics/apiserver/families.ts'
import { CertificateDates } from '../../../lib/cache/ops/metrics/certificate-dates.ts'
import { formerNames } from '../../../lib/cache/ops/metrics/former-names.ts'

/** The document with the metrics of now. */
export async function metricsDocument(): Promise<string> {
  const metrics = everyMetric()
  const text = await metrics.text()
  const former = new Set(formerNames.values())
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  )
  const rowsOf = (isOf: (name: string) => boolean): string[] =>
    [...text.matchAll(/^# HELP (\S+) (.*)$/gm)]
      .filter(([, name = '']) => isOf(name))
      .map(([, name = '', help = '']) => {
        const labels = metrics.labelsOf(name).map(label => `\`${label}\``)
        return `| \`${name}\` | ${types.get(name)} | ${labels.join(', ')} | ${help} |`
      })
      .sort()
  return [
    '# Metrics',
    '',
    'What `/metrics` of `--admin-listen` (of `--listen` without an upstream) says, beside the process metrics of prom-client. Metrics of',
    'an upstream, of a memory budget and of certificates are there when these are. Made by',
    '`node dist/test/support/program/write-options.js`.',
    '',
    'No label has a text that a client chose. A metric of requests has at most 2,000 series, then one in which every label is `other`.',
    'Metrics of keyspaces have at most 500 keyspaces, and metrics of clusters (`serve --clusters`) at most 1,000 clusters. Histograms have the labels that are named here and `le`.',
    '',
    ...tableOf(rowsOf(name => !families.has(name) && !former.has(name))),
    '',
    '## The names of kube-apiserver',
    '',
    'The same facts as clusterloader2, kube-burner and the dashboards of kube-apiserver ask for them, with the labels and the buckets of',
    'Kubernetes 1.36; `apiserver_registered_watchers` and `etcd_object_counts` are older names that tools still read. They are there',
    'without an upstream, and with `--metrics-names kube-apiserver` (`--metrics-names watchglass` leaves them out).',
    '',
    'Verbs and scopes are those of kube-apiserver: a get of a collection is a `LIST`, a delete of one a `DELETE` with the scope',
    '`namespace` or `cluster`, a server-side apply an `APPLY`. Requests for resources count, of callers who were admitted, and',
    '`/healthz`, `/livez`, `/readyz` and aggregated discovery. A watch counts when it ends. With an upstream, watches that pass to it are',
    'not among `apiserver_longrunning_requests`. With workers, `apiserver_current_inflight_requests` adds up the most of each.',
    'Unlike those of kube-apiserver, `apiserver_watch_cache_consistent_read_total` and `apiserver_watch_cache_read_wait_seconds` count gets,',
    'too, which the mirror answers here. Compared with what a running 1.36 exposed after the same fifty requests: the same families, types,',
    'labels, buckets and counts. It has no `apiserver_watch_list_duration_seconds`, and does not count the sizes of `/watch/` paths’ answers.',
    '',
    ...tableOf(rowsOf(name => families.has(name))),
    '',
    '## Former names',
    '',
    'Former names, shown until the next release:',
    '',
    ...[...formerNames].map(([now, before]) => `- \`${before}\` is now \`${now}\``),
    '',
  ].join('\n')
}

function tableOf(rows: readonly string[]): readonly string[] {
  return [
    '<!-- prettier-ignore -->',
    '| Metric | Type | Labels | What it says |',
    '| --- | --- | --- | --- |',
    ...rows,
  ]
}

/** The registry with everything in it that there can be. */
export function everyMetric(): Metrics {
  const metrics = new Metrics(new ApiServerCounts(() => 0))
  metrics.apiServer?.storage.show({ keyspaces: () => [], resourceOf: () => undefined })
  metrics.watchSegments({ bytes: 0, count: 0 })
  metrics.watchSlabs(() => 0)
  metrics.watchMemory(() => ({
    budgetBytes: 0,
    mirrorBytes: 0,
    historyBytes: 0,
    segmentBytes: 0,
    indexBytes: 0,
    droppedKeyspaces: 0,
  }))
  metrics.watchWatches(() => ({
    open: 0,
    lagging: 0,
    frameBytes: 0,
    byKeyspace: new Map(),
    ended: {},
    sentFrames: 0,
    sentBytes: 0,
  }))
  metrics.watchCertificates(new CertificateDates([]))
  metrics.watchEtcd(() => 0)
  metrics.showVersions('')
  metrics.watchReadiness(() => true)
  metrics.watchKeyspaces(() => [])
  metrics.watchClusters(() => Promise.resolve([]))
  metrics.watchRequestsInFlight(() => 0)
  metrics.watchReviews(() => 0)
  metrics.watchWaitingReads(() => 0)
  metrics.upstream.watch(() => ({
    isUp: true,
    isVersionCovered: true,
    isSwitchedOff: false,
    unansweredSeconds: 0,
    questions: {},
    storageStates: {},
    underWay: {},
    evidence: { comparisons: {}, bytes: 0, forms: {} },
  }))
  return metrics
}
