/** `watchglass check` of an upstream that is to be mirrored itself. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'

interface Answered {
  readonly code?: number
  readonly body: object | string
}

/** An API server with pods, config maps, secrets, a custom and an aggregated resource. */
interface Upstream {
  /** `list secrets`, or `list secrets in team-b` */
  readonly refused: ReadonlySet<string>
  readonly hasMetrics: boolean
}

const both = ['get', 'list', 'watch', 'create']
const core = ['pods', 'configmaps', 'secrets', 'events', 'bindings'].map(resource => ({
  resource,
  scope: 'Namespaced',
  verbs: resource === 'bindings' ? ['create'] : both,
}))
const groupOf = (name: string, ...resources: string[]): object => ({
  metadata: { name },
  versions: [
    { version: 'v1', resources: resources.map(resource => ({ resource, verbs: both })) },
    { version: 'v1beta1', resources: resources.map(resource => ({ resource, verbs: both })) },
  ],
})

const discovery: Readonly<Record<string, object>> = {
  '/version': { gitVersion: 'v1.36.2' },
  '/api': { items: [{ metadata: {}, versions: [{ version: 'v1', resources: core }] }] },
  '/apis': {
    items: [
      groupOf('events.k8s.io', 'events'),
      groupOf('example.com', 'widgets'),
      groupOf('metrics.example.com', 'samples'),
      groupOf('unknown.example.com', 'puzzles'),
    ],
  },
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions': {
    items: [{ metadata: { name: 'widgets.example.com' } }],
  },
  '/apis/apiregistration.k8s.io/v1/apiservices': {
    items: [
      { spec: { group: 'example.com', version: 'v1' } },
      { spec: { group: 'metrics.example.com', version: 'v1', service: { name: 'metrics' } } },
    ],
  },
}

/** A page of 25 objects of 1,024 bytes each, or of less. */
function page(objects: number, limit: number): Answered {
  const shown = Math.min(objects, limit)
  if (limit > 1) return { body: 'x'.repeat(1024 * shown) }
  const remainingItemCount = objects - shown
  const metadata = remainingItemCount > 0 ? { continue: 'more', remainingItemCount } : {}
  return { body: { metadata, items: [{}] } }
}

const hour = 3600
const metrics = (): string =>
  [
    `process_start_time_seconds ${Date.now() / 1000 - 5 * hour}`,
    '# TYPE apiserver_request_total counter',
    'apiserver_request_total{code="200",group="",resource="pods",subresource="",verb="LIST",version="v1"} 600',
    'apiserver_request_total{code="200",group="",resource="pods",subresource="",verb="WATCH",version="v1"} 100',
    'apiserver_request_total{code="200",group="",resource="pods",subresource="status",verb="PATCH",version="v1"} 200',
    'apiserver_request_total{code="200",group="metrics.example.com",resource="samples",subresource="",verb="LIST",version="v1"} 100',
    'apiserver_response_sizes_sum{group="",resource="pods",subresource="",verb="LIST"} 9e+06',
    'apiserver_response_sizes_sum{group="",resource="pods",subresource="log",verb="GET"} 1e+06',
    'apiserver_longrunning_requests{group="",resource="pods",subresource="",verb="WATCH"} 312',
    'apiserver_longrunning_requests{group="",resource="pods",subresource="exec",verb="CONNECT"} 3',
    '',
  ].join('\n')

async function answer(request: IncomingMessage, upstream: Upstream): Promise<Answered> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://upstream')
  if (pathname.endsWith('/selfsubjectaccessreviews')) {
    let text = ''
    for await (const piece of request) text += String(piece)
    const { spec } = JSON.parse(text) as {
      spec: { resourceAttributes: { verb: string; resource: string; namespace?: string } }
    }
    const { verb, resource, namespace = '' } = spec.resourceAttributes
    const asked = `${verb} ${resource}`
    const allowed = ![asked, `${asked} in ${namespace}`].some(one => upstream.refused.has(one))
    return { code: 201, body: { status: { allowed } } }
  }
  if (pathname === '/metrics') {
    return upstream.hasMetrics ? { body: metrics() } : { code: 403, body: {} }
  }
  const document = discovery[pathname]
  if (document !== undefined) return { body: document }
  const limit = Number(searchParams.get('limit'))
  switch (pathname) {
    case '/api/v1/pods':
      return page(10_000, limit)
    case '/api/v1/namespaces/team-a/pods':
      return page(1, limit)
    case '/api/v1/configmaps':
    case '/api/v1/namespaces/team-a/configmaps':
    case '/api/v1/namespaces/team-b/configmaps':
      return page(3, limit)
    case '/api/v1/namespaces/team-a/events':
    case '/api/v1/namespaces/team-b/events':
    case '/api/v1/events':
    case '/apis/example.com/v1/widgets':
      return { body: { metadata: {}, items: [] } }
    default:
      return { code: 404, body: {} }
  }
}

async function check(
  upstream: Upstream,
  ...args: readonly string[]
): Promise<{ readonly text: string; readonly code: unknown; readonly url: string }> {
  const server = createServer((request, response) => {
    void answer(request, upstream).then(({ code = 200, body }) => {
      response.writeHead(code)
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const own = [
      '.',
      'check',
      '--upstream',
      url,
      '--auth',
      'none',
      '--listen',
      'http://127.0.0.1:0',
    ]
    const child = spawn(process.execPath, [...own, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece))
    const [code] = (await once(child, 'close')) as [number | null]
    return { text, code, url }
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

function has(t: Test, text: string, lines: readonly string[]): void {
  for (const line of lines) t.ok(text.includes(`${line}\n`), `${line}\nin\n${text}`)
}

t.test('check says what can be mirrored, how much it is, and what that spares', async t => {
  const verbs = ['get', 'list', 'watch'].map(verb => `${verb} secrets`)
  const { text, code, url } = await check({ refused: new Set(verbs), hasMetrics: true })
  t.equal(code, 0, text)
  const upstream = `upstream ${url}:`
  has(t, text, [
    'ok    --etcd: none: the upstream itself is mirrored',
    `ok    ${upstream} what our account may get, list and watch: 4 of 5 resources; secrets pass, as they should unless you want them in memory`,
    `ok    ${upstream} what there is to mirror: 10,003 objects of 2 resources, about 9.8 MiB: 10,000 pods (9.8 MiB), 3 configmaps (3.0 KiB)`,
    `ok    ${upstream} what it would be spared: 70 % of the 1,000 requests that it has counted in 5 hours, and 90 % of the bytes of its answers, are for gets, lists and watches of these resources; 312 watches of them are open, and Watchglass has one for each of up to 4 resources. Requests that clients send to Watchglass count`,
    `ok    ${upstream} what would pass: writes, subresources such as logs and exec, and consistent reads of events, which have no bookmarks; what our account may not list and watch: secrets; what other servers serve: samples.metrics.example.com; what is neither built in nor defined by a definition that it may list: puzzles.unknown.example.com`,
    'ok    memory: 124 MiB once all are mirrored, at most 164 MiB with whole lists of them in all forms, and 13 KiB of history, if resources change as they have until now (SIZING.md)',
  ])
})

t.test('check names the rules that a role lacks', async t => {
  const refused = new Set(['watch pods', 'get widgets', 'list secrets'])
  const { text, code, url } = await check(
    { refused, hasMetrics: false },
    '--exclude=configmaps',
    '--memory-budget=100MiB',
  )
  t.equal(code, 0, text)
  const upstream = `upstream ${url}:`
  has(t, text, [
    `warn  ${upstream} what our account may get, list and watch: 1 of 4 resources; secrets pass, as they should unless you want them in memory; it lacks pods (watch), widgets.example.com (get): their requests pass, unless a ClusterRole of the account has
      - {apiGroups: [''], resources: [pods], verbs: [get, list, watch]}
      - {apiGroups: ['example.com'], resources: [widgets], verbs: [get, list, watch]}`,
    `ok    ${upstream} what there is to mirror: no objects`,
    `ok    ${upstream} what it would be spared: not known, as our account may not get /metrics: bind it to the ClusterRole system:monitoring for this`,
  ])
  t.match(text, /what options leave out: configmaps/)
  t.match(text, /^warn {2}memory: 110 MiB .*: above --memory-budget, so the largest resources/m)
})

t.test('an account that may read nothing is told so', async t => {
  const names = ['pods', 'configmaps', 'secrets', 'events', 'widgets']
  const refused = new Set(names.map(name => `list ${name}`))
  const { text } = await check({ refused, hasMetrics: false })
  t.match(text, /0 of 5 resources; .*; it lacks .*: everything passes, unless a ClusterRole/)
})

t.test('check asks only about the namespaces that are mirrored', async t => {
  const everywhere = ['pods', 'configmaps', 'secrets', 'events'].map(name => `list ${name} in `)
  const refused = new Set([...everywhere, 'list pods in team-b', 'watch pods in team-b'])
  const { text, url } = await check(
    { refused, hasMetrics: false },
    '--namespaces=team-a,team-b',
    '--exclude=secrets',
  )
  const upstream = `upstream ${url}:`
  has(t, text, [
    `warn  ${upstream} what our account may get, list and watch: 3 of 4 resources; it lacks pods (list, watch): their requests pass, unless a Role of the account in each of team-a, team-b (a ClusterRole for resources of the cluster) has
      - {apiGroups: [''], resources: [pods], verbs: [get, list, watch]}`,
    `ok    ${upstream} what there is to mirror: 6 objects of 1 resource, about 6.0 KiB: 6 configmaps (6.0 KiB)`,
  ])
  t.match(text, /what is asked of all namespaces, or of others than team-a, team-b/)
})
