import t from 'tap'
import { ask, startServed } from '../../../support/http/served.ts'

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
