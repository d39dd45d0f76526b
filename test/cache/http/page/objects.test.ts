import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import {
  hashOf,
  kindsOf,
  listHash,
  pathOf,
  placeOf,
  questionOf,
  revisionBefore,
  selectorValue,
} from '../../../../lib/cache/http/page/browser/addresses.ts'
import { ageOf } from '../../../../lib/cache/http/page/browser/ages.ts'
import { compareCells, type ShownCell } from '../../../../lib/cache/http/page/browser/cells.ts'
import {
  changesBetween,
  withoutManagedFields,
} from '../../../../lib/cache/http/page/browser/changes.ts'
import { relatedTo } from '../../../../lib/cache/http/page/browser/related.ts'
import { isEqualTo } from '../../../../lib/cache/http/page/browser/views.ts'
import { humanDuration } from '../../../../lib/codec/table/format.ts'
import { rbacOf } from '../../../support/http/rbac.ts'
import { ask, type HttpAnswer, startServed } from '../../../support/http/served.ts'
import { startProxied } from '../../../support/upstream/proxied.ts'

/** A value without members that are undefined. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

t.test('rows are sorted by what their cells amount to', t => {
  const sorted = (cells: ShownCell[]): ShownCell[] => cells.toSorted((a, b) => compareCells(a, b))
  t.strictSame(sorted([10, 9, 100]), [9, 10, 100])
  t.strictSame(sorted(['10d', '2d1h', '90m', '5s']), ['5s', '90m', '2d1h', '10d'])
  t.strictSame(sorted(['web-10', 'web-9', 'amber']), ['amber', 'web-9', 'web-10'])
  t.strictSame(sorted(['<none>', '3', '20']), ['3', '20', '<none>'])
  t.end()
})

t.test('changes name the place, by name where items have one', t => {
  const status = (ready: string) => ({ type: 'Ready', status: ready })
  const before = {
    metadata: { resourceVersion: '1', managedFields: [{ manager: 'a' }], labels: { 'a/b': '1' } },
    status: { conditions: [{ type: 'Initialized', status: 'True' }, status('False')] },
  }
  const after = {
    kind: 'Pod',
    metadata: { resourceVersion: '2', managedFields: [{ manager: 'b' }], finalizers: [] },
    status: { conditions: [status('True'), { type: 'Initialized', status: 'True' }] },
  }
  t.strictSame(plain(changesBetween(before, after)), [
    { path: '.metadata.finalizers', after: '[]' },
    { path: '.status.conditions[type=Ready].status', before: '"False"', after: '"True"' },
    { path: '.metadata.labels["a/b"]', before: '"1"' },
  ])
  t.strictSame(plain(changesBetween(before, before)), [])
  t.end()
})

t.test('YAML is shown without its managedFields', t => {
  const yaml = [
    'metadata:',
    '  labels:',
    '    a: b',
    '  managedFields:',
    '  - apiVersion: v1',
    '    fieldsV1: {}',
    '  name: x',
    'spec:',
    '  managedFields: 1',
  ]
  const kept = yaml.filter((_, i) => i < 3 || i > 5)
  t.equal(withoutManagedFields(yaml.join('\n')), kept.join('\n'))
  t.end()
})

t.test('addresses lead to the objects that they name, whatever these are called', t => {
  for (const name of ['a', 'system:a/b', '../x', '%2e', '<b>', 'ä?#&']) {
    const place = plain(placeOf(hashOf('roles.rbac', 'ns', name)))
    t.strictSame(place, { kind: 'roles.rbac', namespace: 'ns', name })
  }
  t.strictSame(plain(placeOf(hashOf('nodes', '', 'n'))), {
    kind: 'nodes',
    namespace: '',
    name: 'n',
  })
  t.equal(placeOf('#resources'), undefined)
  t.strictSame(plain(placeOf('#/%')), { kind: '', namespace: '', name: '' })
  t.equal(selectorValue('a=b,c\\d'), 'a\\=b\\,c\\\\d')
  t.equal(revisionBefore('9007199254740993'), '9007199254740992')
  t.equal(revisionBefore('x'), undefined)
  const pods = { group: '', version: 'v1', resource: 'pods', isNamespaced: true }
  t.equal(pathOf(pods, 'a b'), '/api/v1/namespaces/a%20b/pods')
  const nodes = { ...pods, group: 'g.x', resource: 'nodes', isNamespaced: false }
  t.equal(pathOf(nodes, 'a'), '/apis/g.x/v1/nodes')
  t.end()
})

t.test('what is asked of a list is in its address, behind its place', t => {
  const question = new URLSearchParams({ search: 'a b?', where: 'status="x"' })
  const hash = listHash('pods', 'a b', question)
  t.strictSame(plain(placeOf(hash)), { kind: 'pods', namespace: 'a b', name: '' })
  t.equal(questionOf(hash), question.toString())
  t.equal(questionOf('#/pods'), '')
  t.equal(listHash('pods', '', new URLSearchParams()), '#/pods')
  t.equal(isEqualTo('status', 'a"b\\c'), 'status="a\\"b\\\\c"')
  t.end()
})

t.test('ages are those of kubectl', t => {
  const nowMs = Date.parse('2026-11-28T00:00:00Z')
  const ageAfter = (seconds: number): string | undefined =>
    ageOf(new Date(nowMs - seconds * 1000).toISOString(), nowMs)
  for (const seconds of [
    0, 5, 119, 120, 599, 600, 10_799, 10_800, 28_799, 172_800, 691_200, 1e8, 1e9,
  ]) {
    t.equal(ageAfter(seconds), humanDuration(seconds * 1000), `${seconds} s`)
  }
  t.equal(ageOf('<none>', nowMs), undefined)
  t.equal(ageOf(null, nowMs), undefined)
  t.end()
})

t.test('an object names others, each once', t => {
  const kind = (id: string, kind: string, isNamespaced = true) =>
    [id, { id, group: id.split('.')[1] ?? '', kind, isNamespaced }] as const
  const kinds = new Map([
    kind('configmaps', 'ConfigMap'),
    kind('nodes', 'Node', false),
    kind('replicasets.apps', 'ReplicaSet'),
  ]) as unknown as Parameters<typeof relatedTo>[1]
  const envFrom = [{ configMapRef: { name: 'c' } }, { configMapRef: { name: 'c' } }]
  const pod = {
    metadata: {
      namespace: 'n',
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r' },
        { apiVersion: 'example.com/v1', kind: 'Unknown', name: 'u' },
      ],
    },
    spec: { nodeName: 'one', containers: [{ envFrom }, {}] },
  }
  t.strictSame(relatedTo(pod, kinds), [
    { role: 'ReplicaSet', name: 'r', hash: '#/replicasets.apps/n/r' },
    { role: 'Node', name: 'one', hash: '#/nodes//one' },
    { role: 'ConfigMap', name: 'c', hash: '#/configmaps/n/c' },
  ])
  const template = { spec: { volumes: [{ configMap: { name: 'd' } }] } }
  const deployment = { metadata: { namespace: 'n' }, spec: { template } }
  t.match(relatedTo(deployment, kinds), [{ name: 'd' }])
  t.strictSame(relatedTo({ metadata: null, spec: 'x' }, kinds), [])
  t.end()
})

t.test('kinds of discovery that can be listed are shown in the preferred version', t => {
  const pods = {
    resource: 'pods',
    responseKind: { kind: 'Pod' },
    scope: 'Namespaced',
    verbs: ['list'],
  }
  const reviews = { resource: 'reviews', scope: 'Cluster', verbs: ['create'] }
  const jobs = {
    resource: 'jobs',
    responseKind: { kind: 'Job' },
    scope: 'Namespaced',
    verbs: ['list'],
  }
  const kinds = kindsOf({
    items: [
      { metadata: {}, versions: [{ version: 'v1', resources: [pods, reviews] }] },
      {
        metadata: { name: 'batch' },
        versions: [
          { version: 'v1', resources: [jobs] },
          { version: 'v1beta1', resources: [jobs] },
        ],
      },
    ],
  })
  t.strictSame([...kinds.keys()], ['pods', 'jobs.batch'])
  t.match(kinds.get('jobs.batch'), { group: 'batch', version: 'v1', kind: 'Job' })
  t.end()
})

const browser = { accept: 'text/html', 'accept-encoding': 'gzip, deflate, br' }

/** The page, and that its policy allows its script and no other. */
function checked(t: Test, { status, headers, body }: HttpAnswer): string {
  t.equal(status, 200)
  t.equal(headers['content-encoding'], 'gzip')
  t.ok(body.length < 60_000, `${body.length} bytes over the wire`)
  const page = gunzipSync(body).toString()
  const scripts = [...page.matchAll(/<script>([^]*?)<\/script>/g)].map(([, text = '']) => text)
  t.equal(scripts.length, 1)
  const hash = createHash('sha256')
    .update(scripts[0] ?? '')
    .digest('base64')
  const policy = String(headers['content-security-policy'])
  t.match(policy, /^default-src 'none'; /)
  t.ok(policy.includes(`script-src 'sha256-${hash}';`))
  t.notMatch(page, /\bon\w+="|javascript:/, 'no script outside of the script')
  return page
}

t.test('without authorization the page has figures and objects', async t => {
  const { service } = await startServed(t, {
    adminListen: { protocol: 'http', host: '127.0.0.1', port: 0 },
  })
  const page = checked(t, await ask(service.port, { path: '/', headers: browser }))
  t.match(page, /id="live-figures"/)
  t.match(page, /<section id="objects"[^>]*hidden/)
  t.match(page, /<a href="#\/pods"><span title="\/registry\/pods\/">pods<\/span><\/a>/)
  const plainAnswer = await ask(service.port, { path: '/', headers: { accept: 'text/html' } })
  t.equal(plainAnswer.headers['content-encoding'], undefined)
  const refuses = { accept: 'text/html', 'accept-encoding': 'br, gzip;q=0' }
  const refused = await ask(service.port, { path: '/', headers: refuses })
  t.equal(refused.headers['content-encoding'], undefined)

  const admin = checked(t, await ask(service.adminPort ?? 0, { path: '/', headers: browser }))
  t.match(admin, /id="live-figures"/)
  t.match(
    admin,
    /This listener does not ask who is looking, so it shows no objects\. The page at \//,
  )
  t.notMatch(admin, /href="#\/|resourceVersionMatch/, 'it has neither links nor a script for them')
})

t.test('with an upstream the page of the admin listener says who shows objects', async t => {
  const adminListen = { protocol: 'http', host: '127.0.0.1', port: 0 } as const
  const { service } = await startProxied(t, { service: { adminListen } })
  const page = checked(t, await ask(service.adminPort ?? 0, { path: '/', headers: browser }))
  t.match(page, /shows no objects\. With an upstream no page does: ask with kubectl/)
})

t.test(
  'where callers are authorized the page has no figures, and its script asks as the caller',
  async t => {
    const { service } = await startServed(t, {
      isWritable: true,
      basics: { rootAuthority: 'none' },
      access: rbacOf('admin,root,,system:masters\nt,ann,u,'),
    })
    await service.ready
    const as = (token: string | undefined, path: string, headers: object = browser) => {
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
      return ask(service.port, { path, headers: { ...headers, ...authorization } })
    }
    t.equal((await as(undefined, '/')).status, 403, 'nobody sees nothing')
    t.equal((await as('t', '/')).status, 403, 'nor does who may not read /')
    const page = checked(t, await as('admin', '/'))
    t.match(page, /<section id="objects"/)
    t.notMatch(page, /data-metric|data-live|id="figures"|href="\/metrics"/)
    const accept = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
    t.equal((await as('admin', '/api/v1/namespaces?limit=250', accept)).status, 200)
    t.equal((await as('t', '/api/v1/namespaces?limit=250', accept)).status, 403)
  },
)
