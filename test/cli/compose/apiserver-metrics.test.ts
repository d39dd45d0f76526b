/** The metrics under the names of kube-apiserver, after requests that are known. The families are
 *  written down here once more, as Kubernetes 1.36 defines them, and the two older ones that tools
 *  still read. */

import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { families } from '../../../lib/cache/ops/metrics/apiserver/families.ts'
import { moment } from '../../support/http/moment.ts'
import { ask, type Served, startServed } from '../../support/http/served.ts'

const group = 'group resource'
const version = 'group version resource'
const request = 'verb group version resource subresource scope component'
const timed = '0.005 0.025 0.05 0.1 0.2 0.4 0.6 0.8 1 1.25 1.5 2 3 4 5 6 8 10 15 20 30 45 60'

/** Type, labels and bounds of each. */
const defined: Readonly<Record<string, readonly [string, string, string?]>> = {
  apiserver_request_total: [
    'counter',
    'verb dry_run group version resource subresource scope component code',
  ],
  apiserver_request_duration_seconds: [
    'histogram',
    'verb dry_run group version resource subresource scope component',
    timed,
  ],
  apiserver_request_sli_duration_seconds: [
    'histogram',
    request,
    '0.05 0.1 0.2 0.4 0.6 0.8 1 1.25 1.5 2 3 4 5 6 8 10 15 20 30 45 60',
  ],
  apiserver_response_sizes: [
    'histogram',
    request,
    '1000 10000 100000 1000000 10000000 100000000 1000000000',
  ],
  apiserver_longrunning_requests: ['gauge', request],
  apiserver_current_inflight_requests: ['gauge', 'request_kind'],
  apiserver_registered_watchers: ['gauge', 'group version kind'],
  apiserver_watch_events_total: ['counter', version],
  apiserver_watch_events_sizes: [
    'histogram',
    version,
    '1024 2048 4096 8192 16384 32768 65536 131072',
  ],
  apiserver_watch_list_duration_seconds: [
    'histogram',
    `${version} scope`,
    '0.05 0.1 0.2 0.4 0.6 0.8 1 2 4 6 8 10 15 20 30 45 60',
  ],
  apiserver_init_events_total: ['counter', group],
  apiserver_terminated_watchers_total: ['counter', group],
  apiserver_watch_cache_events_received_total: ['counter', group],
  apiserver_watch_cache_events_dispatched_total: ['counter', group],
  apiserver_watch_cache_initializations_total: ['counter', group],
  apiserver_watch_cache_resource_version: ['gauge', group],
  apiserver_watch_cache_read_wait_seconds: [
    'histogram',
    group,
    '0.005 0.025 0.05 0.1 0.2 0.4 0.6 0.8 1 1.25 1.5 2 3',
  ],
  apiserver_watch_cache_consistent_read_total: ['counter', `${group} success fallback`],
  apiserver_resource_objects: ['gauge', group],
  apiserver_resource_size_estimate_bytes: ['gauge', group],
  apiserver_flowcontrol_nominal_limit_seats: ['gauge', 'priority_level'],
  apiserver_storage_objects: ['gauge', 'resource'],
  etcd_object_counts: ['gauge', 'resource'],
  etcd_requests_total: ['counter', `operation ${group}`],
  etcd_request_duration_seconds: ['histogram', `operation ${group}`, timed],
}

/** An exposition: the types of families, and the value of each series by its text. */
interface Exposition {
  readonly types: ReadonlyMap<string, string>
  readonly series: ReadonlyMap<string, number>
}

async function exposition(port: number): Promise<Exposition> {
  const { body } = await ask(port, { path: '/metrics' })
  const types = new Map<string, string>()
  const series = new Map<string, number>()
  for (const line of body.toString().split('\n')) {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
    if (name !== undefined && type !== undefined) {
      t.notOk(types.has(name), `${name} is there once`)
      types.set(name, type)
    }
    const [, text, value] = /^(\w+(?:\{.*\})?) (\S+)$/.exec(line) ?? []
    if (text !== undefined) series.set(text, Number(value))
  }
  return { types, series }
}

/** The names of a series' labels, without the bound of a bucket. */
function labelsIn(series: string): string[] {
  return [...series.matchAll(/[{,](\w+)="/g)].flatMap(([, name = '']) =>
    name === 'le' ? [] : name,
  )
}

const json = { 'content-type': 'application/json' }
const maps = '/api/v1/namespaces/default/configmaps'
const map = (name: string): string =>
  JSON.stringify({ metadata: { name }, data: { text: 'x'.repeat(2000) } })

/** By etcd, so that no request counts. */
async function storeLevel({ client }: Served): Promise<void> {
  const key = keyFromText('/registry/prioritylevelconfigurations/a')
  const kind = 'PriorityLevelConfiguration'
  const level = { apiVersion: 'flowcontrol.apiserver.k8s.io/v1', kind, metadata: { name: 'a' } }
  const value = Buffer.from(JSON.stringify({ ...level, spec: { type: 'Limited', limited: {} } }))
  await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
}

t.test('requests are shown as kube-apiserver shows them', async t => {
  const served = await startServed(t, { isWritable: true })
  const { service } = served
  await service.ready
  const { port } = service
  const send = async (method: string, path: string, body?: string): Promise<number> =>
    (await ask(port, { method, path, headers: json, body })).status
  await storeLevel(served)
  t.equal(await send('POST', '/api/v1/namespaces', '{"metadata":{"name":"default"}}'), 201)
  for (const name of ['a', 'b']) t.equal(await send('POST', maps, map(name)), 201)
  t.equal(await send('POST', `${maps}?dryRun=All`, map('c')), 201)
  t.equal(await send('POST', maps, map('a')), 409)
  t.equal(await send('GET', `${maps}/a`), 200)
  t.equal(await send('GET', `${maps}/a`), 200)
  t.equal(await send('GET', `${maps}/none`), 404)
  t.equal(await send('GET', '/api/v1/configmaps'), 200)
  t.equal(await send('GET', '/readyz'), 200)
  t.equal(await send('GET', '/no/such/path'), 404)
  const initial = 'sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=1'
  const watch = `watch=1&resourceVersionMatch=NotOlderThan&${initial}`
  t.equal(await send('GET', `${maps}?${watch}`), 200)
  t.equal(await send('DELETE', `${maps}/a`), 200)
  const { types, series } = await exposition(port)

  const name = (labels: string): string => `apiserver_request_total{${labels}}`
  const labelsOf = (verb: string, scope: string, dryRun = '', resource = 'configmaps'): string =>
    `verb="${verb}",dry_run="${dryRun}",group="",version="v1",resource="${resource}",subresource="",scope="${scope}",component="apiserver"`
  for (const [labels, code, count] of [
    [labelsOf('POST', 'resource'), 201, 2],
    [labelsOf('POST', 'resource'), 409, 1],
    [labelsOf('POST', 'resource', 'All'), 201, 1],
    [labelsOf('POST', 'resource', '', 'namespaces'), 201, 1],
    [labelsOf('GET', 'resource'), 200, 2],
    [labelsOf('GET', 'resource'), 404, 1],
    [labelsOf('LIST', 'cluster'), 200, 1],
    [labelsOf('WATCH', 'namespace'), 200, 1],
    [labelsOf('DELETE', 'resource'), 200, 1],
  ] as const) {
    t.equal(series.get(name(`${labels},code="${code}"`)), count, `${labels} ${code}`)
  }
  const readyz =
    'verb="GET",dry_run="",group="",version="",resource="",subresource="/readyz",scope="",component="",code="200"'
  t.equal(series.get(name(readyz)), 1)
  const requests = [...series].filter(([text]) => text.startsWith('apiserver_request_total{'))
  t.equal(requests.length, 10, 'nothing else is counted')

  const ofGets =
    'verb="GET",group="",version="v1",resource="configmaps",subresource="",scope="resource",component="apiserver"'
  t.equal(series.get(`apiserver_response_sizes_count{${ofGets}}`), 3)
  t.equal(series.get(`apiserver_response_sizes_bucket{${ofGets},le="1000"}`), 1, 'the 404')
  t.equal(series.get(`apiserver_response_sizes_bucket{${ofGets},le="10000"}`), 3)
  const ofPosts = ofGets.replace('GET', 'POST')
  t.equal(series.get(`apiserver_request_sli_duration_seconds_count{${ofPosts}}`), 3)
  t.notOk(series.has(`apiserver_response_sizes_count{${ofPosts}}`))
  for (const bound of [1, 5, 30]) {
    t.equal(series.get(`apiserver_request_sli_duration_seconds_bucket{${ofGets},le="${bound}"}`), 3)
  }

  const events = 'group="",version="v1",resource="configmaps"'
  t.equal(series.get(`apiserver_watch_events_total{${events}}`), 3, 'two objects, a bookmark')
  t.equal(series.get(`apiserver_watch_events_sizes_count{${events}}`), 3)
  t.equal(series.get(`apiserver_watch_events_sizes_bucket{${events},le="2048"}`), 1, 'the bookmark')
  t.equal(series.get(`apiserver_watch_events_sizes_bucket{${events},le="4096"}`), 3)
  const listed = `apiserver_watch_list_duration_seconds_count{${events},scope="namespace"}`
  t.equal(series.get(listed), 1)
  const ofMaps = 'group="",resource="configmaps"'
  t.equal(series.get(`apiserver_init_events_total{${ofMaps}}`), 2)
  t.equal(series.get(`apiserver_terminated_watchers_total{${ofMaps}}`), 0)
  t.equal(series.get(`apiserver_resource_objects{${ofMaps}}`), 1)
  t.equal(series.get('etcd_object_counts{resource="configmaps"}'), 1)
  t.equal(series.get(`apiserver_watch_cache_events_received_total{${ofMaps}}`), 3)
  t.equal(series.get(`apiserver_watch_cache_initializations_total{${ofMaps}}`), 1)
  t.equal(series.get(`etcd_requests_total{operation="create",${ofMaps}}`), 3)
  t.equal(series.get(`etcd_requests_total{operation="delete",${ofMaps}}`), 1)
  t.ok(series.get('apiserver_current_inflight_requests{request_kind="readOnly"}')! >= 1)

  for (const [family, [type, labels, bounds]] of Object.entries(defined)) {
    t.equal(types.get(family), type, family)
    const own = [...series.keys()].filter(text => text.replace(/\{.*/, '') === family)
    const parts = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
    const all = parts.map(part =>
      [...series.keys()].filter(text => text.startsWith(`${family}${part}{`)),
    )
    if (type === 'histogram') t.strictSame(own, [], `${family} has only buckets, sum and count`)
    for (const found of all) {
      t.ok(found.length > 0, `${family} has series`)
      for (const text of found) t.equal(labelsIn(text).join(' '), labels, text)
    }
    if (bounds === undefined) continue
    const [buckets = []] = all
    const les = new Set(buckets.map(text => /le="(.*?)"/.exec(text)?.[1]))
    t.equal([...les].join(' '), `${bounds} +Inf`, `${family} has the buckets`)
  }
  t.strictSame(Object.keys(defined).sort(), [...families.keys()].sort())
})

t.test('an open watch is one that lasts, and is answered when it ends', async t => {
  const { service } = await startServed(t, { isWritable: true })
  await service.ready
  const { port } = service
  const ofWatches =
    'verb="WATCH",group="",version="v1",resource="pods",subresource="",scope="cluster",component="apiserver"'
  const ended = `apiserver_response_sizes_count{${ofWatches}}`
  const left = ask(port, { path: '/api/v1/pods?watch=1&timeoutSeconds=2' })
  const find = async (name: string, value: number): Promise<Exposition> => {
    for (;;) {
      const shown = await exposition(port)
      if (shown.series.get(name) === value) return shown
      await moment()
    }
  }
  const open = await find(`apiserver_longrunning_requests{${ofWatches}}`, 1)
  t.equal(open.series.get('apiserver_registered_watchers{group="",version="v1",kind="Pod"}'), 1)
  t.notOk(open.series.has(ended))
  await left
  const closed = await find(ended, 1)
  t.equal(closed.series.get(`apiserver_longrunning_requests{${ofWatches}}`), 0)
  const levels = `apiserver_request_sli_duration_seconds_count{${ofWatches}}`
  t.notOk(closed.series.has(levels), 'how long a watch lasts is its client’s choice, as upstream')
})
