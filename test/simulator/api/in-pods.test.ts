import t from 'tap'
import { rbacOf } from '../../support/http/rbac.ts'
import { ask, startServed } from '../../support/http/served.ts'

const pods = '/api/v1/namespaces/default/pods'

interface Row {
  readonly method?: 'POST'
  readonly path: string
  readonly status: number
  readonly message?: string
}

const needs = (what: string): string =>
  `${what} of "pods" needs a kubelet: pods are stored here, and no program runs in them`

const rows: readonly Row[] = [
  { path: 'none/log', status: 404, message: 'pods "none" not found' },
  { path: 'none/log?container=a', status: 404, message: 'pods "none" not found' },
  { method: 'POST', path: 'none/exec?command=ls', status: 404, message: 'pods "none" not found' },
  { path: 'none/attach', status: 404, message: 'pods "none" not found' },
  { method: 'POST', path: 'none/portforward', status: 404, message: 'pods "none" not found' },
  {
    path: 'waits/log',
    status: 400,
    message: 'a container name must be specified for pod waits, choose one of: [first a b]',
  },
  { path: 'waits/log?container=first', status: 204 },
  {
    method: 'POST',
    path: 'waits/exec?command=ls&container=c',
    status: 400,
    message: 'container c is not valid for pod waits',
  },
  {
    method: 'POST',
    path: 'waits/exec?command=ls&container=a',
    status: 400,
    message: 'pod waits does not have a host assigned',
  },
  {
    method: 'POST',
    path: 'waits/portforward',
    status: 400,
    message: 'pod waits does not have a host assigned',
  },
  { path: 'placed/log?container=a', status: 405, message: needs('log') },
  { path: 'placed/exec?command=ls&container=a', status: 405, message: needs('exec') },
  { method: 'POST', path: 'placed/portforward', status: 405, message: needs('portforward') },
]

t.test('what needs a kubelet is refused once the pod is found, as kube-apiserver does', async t => {
  const served = await startServed(t, { isWritable: true, basics: { rootAuthority: 'none' } })
  await served.service.ready
  const { port } = served.service
  const spec = {
    initContainers: [{ name: 'first', image: 'x' }],
    containers: [
      { name: 'a', image: 'x' },
      { name: 'b', image: 'x' },
    ],
  }
  for (const [name, nodeName] of [['waits'], ['placed', 'n']]) {
    const body = JSON.stringify({ metadata: { name }, spec: { ...spec, nodeName } })
    const headers = { 'content-type': 'application/json' }
    t.equal((await ask(port, { method: 'POST', path: pods, headers, body })).status, 201)
  }
  for (const { method = 'GET', path, status, message } of rows) {
    const answer = await ask(port, { method, path: `${pods}/${path}` })
    t.equal(answer.status, status, path)
    const body = answer.body.toString()
    const said = body === '' ? undefined : (JSON.parse(body) as { message: string }).message
    t.equal(said, message, path)
  }
})

t.test('an eviction may be of either version, and of no other', async t => {
  const served = await startServed(t, { isWritable: true, basics: { rootAuthority: 'none' } })
  await served.service.ready
  const { port } = served.service
  const headers = { 'content-type': 'application/json' }
  const post = (path: string, value: object): ReturnType<typeof ask> =>
    ask(port, { method: 'POST', path, headers, body: JSON.stringify(value) })
  for (const [version, status] of [
    ['policy/v1', 201],
    ['policy/v1beta1', 201],
    ['v1', 400],
  ] as const) {
    const spec = { containers: [{ name: 'a', image: 'x' }] }
    await post(pods, { metadata: { name: 'p' }, spec })
    const eviction = { apiVersion: version, kind: 'Eviction', metadata: { name: 'p' } }
    t.equal((await post(`${pods}/p/eviction`, eviction)).status, status, version)
  }
})

const json = { 'content-type': 'application/json' }

t.test('what is to be proxied is refused where kube-apiserver would not connect', async t => {
  const served = await startServed(t, { isWritable: true, basics: { rootAuthority: 'none' } })
  await served.service.ready
  const { port } = served.service
  const home = '/api/v1/namespaces/default'
  const make = async (path: string, value: object): Promise<void> => {
    const body = JSON.stringify(value)
    t.equal((await ask(port, { method: 'POST', path, headers: json, body })).status, 201, path)
  }
  const spec = { containers: [{ name: 'a', image: 'x' }] }
  for (const [name, ip] of [
    ['waits', undefined],
    ['own', '127.0.0.1'],
    ['runs', '10.0.0.1'],
  ] as const) {
    await make(`${home}/pods`, { metadata: { name }, spec })
    if (ip === undefined) continue
    const path = `${home}/pods/${name}/status`
    const body = JSON.stringify({ status: { podIPs: [{ ip }], podIP: ip } })
    const headers = { 'content-type': 'application/merge-patch+json' }
    t.equal((await ask(port, { method: 'PATCH', path, headers, body })).status, 200)
  }
  const ports = [{ name: 'web', port: 80 }]
  for (const name of ['empty', 'full']) {
    await make(`${home}/services`, { metadata: { name }, spec: { ports } })
    const addresses = [{ ip: '10.0.0.1', targetRef: { namespace: 'default', name: 'runs' } }]
    const subsets = name === 'full' ? [{ addresses, ports: [{ name: 'web', port: 8080 }] }] : []
    await make(`${home}/endpoints`, { metadata: { name }, subsets })
  }
  for (const [name, address] of [
    ['n', '10.0.0.2'],
    ['near', '169.254.0.1'],
    ['nowhere', undefined],
  ] as const) {
    const addresses = address === undefined ? [] : [{ type: 'InternalIP', address }]
    await make('/api/v1/nodes', { metadata: { name }, status: { addresses } })
  }
  const needsIt = (what: string): string => needs('proxy').replace('pods', what)
  for (const [method, path, status, message] of [
    ['GET', `${home}/pods/none/proxy`, 404, 'pods "none" not found'],
    ['GET', `${home}/pods/runs/proxy?dryRun=All`, 400, 'dryRun is not supported'],
    ['GET', `${home}/pods/ftp:runs:21/proxy/`, 400, 'invalid pod request "ftp:runs:21"'],
    ['GET', `${home}/pods/:80/proxy/`, 400, 'invalid pod request ":80"'],
    ['POST', `${home}/pods/waits/proxy/`, 400, 'address not allowed'],
    ['GET', `${home}/pods/own:80/proxy/`, 400, 'address not allowed'],
    ['GET', `${home}/pods/https:runs:443/proxy/a/b?c=d`, 405, needsIt('pods')],
    ['PATCH', `${home}/pods/runs/proxy/`, 405, needsIt('pods')],
    ['DELETE', '/api/v1/nodes/none/proxy/', 404, 'nodes "none" not found'],
    ['GET', '/api/v1/nodes/https:n:10250/proxy/metrics', 405, needsIt('nodes')],
    [
      'GET',
      '/api/v1/nodes/nowhere/proxy/',
      500,
      'no preferred addresses found; known addresses: []',
    ],
    ['GET', '/api/v1/nodes/near/proxy/', 400, 'address not allowed'],
    ['GET', '/api/v1/nodes/a:b:c:d/proxy/', 400, 'invalid node request "a:b:c:d"'],
    ['GET', `${home}/services/none/proxy`, 404, 'services "none" not found'],
    ['GET', `${home}/services/none:80/proxy`, 404, 'services "none" not found'],
    ['PUT', `${home}/services/full:81/proxy`, 503, 'no service port 81 found for service "full"'],
    ['GET', `${home}/services/empty:web/proxy`, 503, 'no endpoints available for service "empty"'],
    ['GET', `${home}/services/full:x/proxy`, 503, 'no endpoints available for service "full:x"'],
    ['GET', `${home}/services/full/proxy`, 503, 'no endpoints available for service "full"'],
    ['GET', `${home}/services/full:80/proxy/`, 405, needsIt('services')],
    ['GET', `${home}/services/http:full:web/proxy/`, 405, needsIt('services')],
  ] as const) {
    const answer = await ask(port, { method, path })
    const said = JSON.parse(answer.body.toString()) as { message: string }
    t.strictSame([answer.status, said.message], [status, message], `${method} ${path}`)
  }
})

t.test('policies are asked before anything is looked for', async t => {
  const served = await startServed(t, { isWritable: true, basics: { rootAuthority: 'none' } })
  await served.service.ready
  const { port } = served.service
  const group = '/apis/admissionregistration.k8s.io/v1'
  const resources = ['pods/proxy', 'services/proxy', 'nodes/proxy']
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CONNECT'], resources }
  const expression = "has(object.path) && object.kind + object.path == 'no'"
  const validations = [{ expression, messageExpression: "object.kind + ' ' + object.path" }]
  const matchConstraints = { resourceRules: [rule] }
  const binding = { policyName: 'p', validationActions: ['Deny'] }
  for (const [path, spec] of [
    ['validatingadmissionpolicies', { matchConstraints, validations }],
    ['validatingadmissionpolicybindings', binding],
  ] as const) {
    const body = JSON.stringify({ metadata: { name: 'p' }, spec })
    const made = await ask(port, { method: 'POST', path: `${group}/${path}`, headers: json, body })
    t.equal(made.status, 201)
  }
  for (const [path, object] of [
    ['/api/v1/namespaces/default/pods/p/proxy/a//b/', 'PodProxyOptions /a//b/'],
    ['/api/v1/namespaces/default/services/s/proxy//a', 'ServiceProxyOptions /a'],
    ['/api/v1/nodes/n/proxy/', 'NodeProxyOptions /'],
  ] as const) {
    const answer = await ask(port, { method: 'GET', path })
    t.equal(answer.status, 422, path)
    const { message } = JSON.parse(answer.body.toString()) as { message: string }
    t.ok(message.endsWith(`denied request: ${object}`), message)
  }
})

t.test('whoever executes by GET needs to be allowed to create, too', async t => {
  const rules = [{ apiGroups: [''], resources: ['pods/exec'], verbs: ['get'] }]
  const token = (name: string): object => ({ authorization: `Bearer ${name}-token` })
  const served = await startServed(t, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    access: rbacOf('admin-token,admin,1,system:masters\nreader-token,reader,2'),
  })
  await served.service.ready
  const { port } = served.service
  const group = '/apis/rbac.authorization.k8s.io/v1'
  const apiGroup = 'rbac.authorization.k8s.io'
  for (const [path, value] of [
    ['clusterroles', { rules }],
    [
      'clusterrolebindings',
      {
        roleRef: { apiGroup, kind: 'ClusterRole', name: 'r' },
        subjects: [{ apiGroup, kind: 'User', name: 'reader' }],
      },
    ],
  ] as const) {
    const body = JSON.stringify({ metadata: { name: 'r' }, ...value })
    const headers = { ...json, ...token('admin') }
    const made = await ask(port, { method: 'POST', path: `${group}/${path}`, headers, body })
    t.equal(made.status, 201)
  }
  const path = `${pods}/none/exec?command=ls`
  for (const [name, status, message] of [
    ['reader', 403, 'pods "none" is forbidden: '],
    ['admin', 404, 'pods "none" not found'],
  ] as const) {
    const answer = await ask(port, { path, headers: token(name) as Record<string, string> })
    const said = JSON.parse(answer.body.toString()) as { message: string }
    t.strictSame([answer.status, said.message], [status, message], name)
  }
})
