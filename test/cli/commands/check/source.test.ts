/** `watchglass check` of an upstream that is to be mirrored itself. */

import t, { type Test } from 'tap'
import type { UpstreamCall } from '../../../../lib/cache/http/auth/upstream-calls.ts'
import { CheckList } from '../../../../lib/cli/commands/check/check-list.ts'
import { checkSource } from '../../../../lib/cli/commands/check/upstream/check-source.ts'
import { UpstreamQuestions } from '../../../../lib/cli/commands/check/upstream/upstream-questions.ts'
import { load } from '../../../../lib/cli/commands/command-line.ts'

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

function answer({ path, body }: UpstreamCall, upstream: Upstream): Answered {
  const { pathname, searchParams } = new URL(path, url)
  if (pathname.endsWith('/selfsubjectaccessreviews')) {
    const { spec } = JSON.parse(Buffer.from(body ?? []).toString()) as {
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

const url = 'http://upstream'
const prefix = `upstream ${url}:`

interface Checked {
  readonly text: string
  readonly hasFailed: boolean
}

async function check(upstream: Upstream, ...args: readonly string[]): Promise<Checked> {
  const invocation = load(['check', '--upstream', url, ...args], {})
  if (invocation.kind !== 'run') throw new Error('the command line checks nothing')
  let text = ''
  const list = new CheckList(line => (text += `${line}\n`))
  const caller = {
    async call(request: UpstreamCall) {
      const { code = 200, body } = answer(request, upstream)
      const answered = typeof body === 'string' ? body : JSON.stringify(body)
      return { code, headers: {}, body: Buffer.from(answered) }
    },
  }
  const questions = new UpstreamQuestions(caller, {
    maxMs: 60_000,
    signal: new AbortController().signal,
  })
  await checkSource(list, invocation.values, { url, questions })
  return { text, hasFailed: list.hasFailed }
}

function has(t: Test, text: string, lines: readonly string[]): void {
  for (const line of lines) t.ok(text.includes(`${line}\n`), `${line}\nin\n${text}`)
}

t.test('check says what can be mirrored, how much it is, and what that spares', async t => {
  const verbs = ['get', 'list', 'watch'].map(verb => `${verb} secrets`)
  const { text, hasFailed } = await check({ refused: new Set(verbs), hasMetrics: true })
  t.notOk(hasFailed, text)
  has(t, text, [
    `ok    ${prefix} what our account may get, list and watch: 4 of 5 resources; secrets pass, as they should unless you want them in memory`,
    `ok    ${prefix} what there is to mirror: 10,003 objects of 2 resources, about 9.8 MiB: 10,000 pods (9.8 MiB), 3 configmaps (3.0 KiB)`,
    `ok    ${prefix} what it would be spared: 70 % of the 1,000 requests that it has counted in 5 hours, and 90 % of the bytes of its answers, are for gets, lists and watches of these resources; 312 watches of them are open, and Watchglass has one for each of up to 4 resources. Requests that clients send to Watchglass count`,
    `ok    ${prefix} what would pass: writes, subresources such as logs and exec, and consistent reads of events, which have no bookmarks; what our account may not list and watch: secrets; what other servers serve: samples.metrics.example.com; what is neither built in nor defined by a definition that it may list: puzzles.unknown.example.com`,
    'ok    memory: 124 MiB once all are mirrored, at most 164 MiB with whole lists of them in all forms, and 13 KiB of history, if resources change as they have until now (SIZING.md)',
  ])
})

t.test('check names the rules that a role lacks', async t => {
  const refused = new Set(['watch pods', 'get widgets', 'list secrets'])
  const { text, hasFailed } = await check(
    { refused, hasMetrics: false },
    '--exclude=configmaps',
    '--memory-budget=100MiB',
  )
  t.notOk(hasFailed, text)
  has(t, text, [
    `warn  ${prefix} what our account may get, list and watch: 1 of 4 resources; secrets pass, as they should unless you want them in memory; it lacks pods (watch), widgets.example.com (get): their requests pass, unless a ClusterRole of the account has
      - {apiGroups: [''], resources: [pods], verbs: [get, list, watch]}
      - {apiGroups: ['example.com'], resources: [widgets], verbs: [get, list, watch]}`,
    `ok    ${prefix} what there is to mirror: no objects`,
    `ok    ${prefix} what it would be spared: not known, as our account may not get /metrics: bind it to the ClusterRole system:monitoring for this`,
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
  const { text } = await check(
    { refused, hasMetrics: false },
    '--namespaces=team-a,team-b',
    '--exclude=secrets',
  )
  has(t, text, [
    `warn  ${prefix} what our account may get, list and watch: 3 of 4 resources; it lacks pods (list, watch): their requests pass, unless a Role of the account in each of team-a, team-b (a ClusterRole for resources of the cluster) has
      - {apiGroups: [''], resources: [pods], verbs: [get, list, watch]}`,
    `ok    ${prefix} what there is to mirror: 6 objects of 1 resource, about 6.0 KiB: 6 configmaps (6.0 KiB)`,
  ])
  t.match(text, /what is asked of all namespaces, or of others than team-a, team-b/)
})
