/** Whatever clients, definitions and servers behind us choose, metrics have a bound of series, and
 *  nobody fills those of others. */

import t from 'tap'
import { Metrics } from '../../lib/cache/ops/metrics.ts'
import { ApiServerCounts } from '../../lib/cache/ops/metrics/apiserver/apiserver-counts.ts'
import type { RequestLabels } from '../../lib/cache/ops/metrics/apiserver/request-series.ts'
import type { KeyspaceFacts } from '../../lib/cache/ops/metrics/keyspace-gauges.ts'
import { seriesMax } from '../../lib/cache/ops/tally.ts'

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']
const codes = Array.from({ length: 900 }, (_, i) => i + 100)

/** The names of the resources that one cluster may define. */
const defined = Array.from({ length: 5_000 }, (_, i) => `resources${i}`)

/** A request for a resource, answered with a code. */
function answer(metrics: Metrics, [resource, verb]: readonly [string, string], code: number): void {
  const names = { group: 'example.com', version: 'v1', resource }
  const source = 'upstream'
  const selectors = { hasLabelSelector: false, hasFieldSelector: false }
  metrics.requests.request({ ...names, verb, source, ...selectors }, code, 1)
  const scope = verb === 'list' ? 'cluster' : 'resource'
  const rest = { dryRun: '', subresource: 'proxy', scope, component: 'apiserver', kind: 'Thing' }
  const labels: RequestLabels = { ...names, ...rest, verb: verb.toUpperCase() }
  metrics.apiServer!.requests.answered(labels, { code, tookMs: 1, bytes: 1 })
}

/** The number of series of each family. */
async function seriesOf(metrics: Metrics): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const line of (await metrics.text()).split('\n')) {
    const [, name] = /^(\w+)(?:\{| )/.exec(line) ?? []
    if (name !== undefined && !line.includes('le="')) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

t.test('whoever answers with every code there is fills no series of others', async t => {
  const metrics = new Metrics(new ApiServerCounts(() => 0))
  for (const verb of verbs) for (const code of codes) answer(metrics, ['proxied', verb], code)
  for (const [name, count] of await seriesOf(metrics)) {
    t.ok(count <= seriesMax / 2, `${count} series of ${name}`)
  }
  answer(metrics, ['pods', 'get'], 200)
  const text = await metrics.text()
  t.match(text, /watchglass_requests_total\{verb="get",[^}]*resource="pods",code="200"/)
  t.match(text, /watchglass_requests_total\{[^}]*code="7xx"/, 'what is no code of HTTP is told')
  t.match(text, /apiserver_request_total\{[^}]*resource="pods"[^}]*code="200"/)
})

t.test('thousands of definitions, each with all verbs, have a bound', async t => {
  const metrics = new Metrics(new ApiServerCounts(() => 0))
  const facts = (name: string): KeyspaceFacts => {
    const none = { revision: 0, oldest: 0, entries: 1, lagRevisions: 0, lagMs: 0 }
    return { name, state: 'ready', ...none }
  }
  metrics.watchKeyspaces(() => defined.map(facts))
  const byKeyspace = new Map(defined.map(name => [name, 1]))
  metrics.watchWatches(() => {
    const none = { open: 1, lagging: 0, frameBytes: 0, ended: {}, sentFrames: 0, sentBytes: 0 }
    return { ...none, byKeyspace }
  })
  for (const resource of defined) for (const verb of verbs) answer(metrics, [resource, verb], 200)
  for (const [name, count] of await seriesOf(metrics)) {
    t.ok(count <= seriesMax + 500, `${count} series of ${name}`)
  }
})
