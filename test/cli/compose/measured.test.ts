/** Usages of made-up nodes and pods, as a metrics server answers for them. */

import t from 'tap'
import { startSimulatedCluster } from '../../support/http/simulated-cluster.ts'
import { ask } from '../../support/http/served.ts'

interface Answer {
  readonly kind?: string
  readonly message?: string
  readonly items?: readonly Measured[]
  readonly resources?: readonly { readonly name: string; readonly verbs: readonly string[] }[]
  readonly status?: { readonly phase?: string }
  readonly metadata?: { readonly name?: string }
  readonly containers?: readonly { readonly name: string; readonly usage: object }[]
}

interface Measured {
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly timestamp: string
  readonly window: string
  readonly usage?: { readonly cpu: string; readonly memory: string }
}

const { port, send, until } = await startSimulatedCluster<Answer>(t, {
  shortened: delayMs => (delayMs > 200_000 ? delayMs : delayMs / 50),
})
const measured = '/apis/metrics.k8s.io/v1beta1'
const pods = '/api/v1/namespaces/default/pods'
const annotations = { 'watchglass.local/usage-cpu': '10', 'watchglass.local/usage-memory': '1Gi' }

function pod(name: string, nodeSelector: object = {}): object {
  const spec = { containers: [{ name: 'one', image: 'i' }], nodeSelector }
  return { metadata: { name, annotations, labels: { app: name } }, spec }
}

t.test('pods that run are measured', async t => {
  await until('/api/v1/nodes', ({ items = [] }) => items.length === 3)
  await send('POST', pods, pod('a'))
  await send('POST', pods, pod('waits', { no: 'where' }))
  await until(`${pods}/a`, ({ status }) => status?.phase === 'Running')
  const usage = { cpu: '10000000000n', memory: '1048576Ki' }
  const one = await send('GET', `${measured}/namespaces/default/pods/a`)
  t.match(one, { kind: 'PodMetrics', containers: [{ name: 'one', usage }], window: '15s' })
  const all = await send('GET', `${measured}/pods`)
  t.equal(all.kind, 'PodMetricsList')
  t.strictSame(
    all.items?.map(({ metadata }) => metadata.name),
    ['a'],
  )
  const waits = await send('GET', `${measured}/namespaces/default/pods/waits`)
  t.match(waits, { code: 404, message: 'pods.metrics.k8s.io "waits" not found' })
})

t.test('what is measured for each request has no views, and the refusal says so', async t => {
  const message = `views of "pods.metrics.k8s.io" are not answered here: they are measured for each request, and not stored`
  const refused = await send('GET', `/views${measured}/pods?sort=name`)
  t.match(refused, { code: 405, message })
})

t.test('a node uses what its pods use', async t => {
  const { items = [] } = await send('GET', `${measured}/nodes`)
  t.equal(items.length, 3)
  const cores = items.map(({ usage }) => Math.floor(Number.parseInt(usage?.cpu ?? '', 10) / 1e9))
  t.strictSame(
    cores.sort((a, b) => a - b),
    [0, 0, 10],
  )
})

t.test('selectors select, and unknown fields are refused', async t => {
  const named = async (query: string): Promise<unknown> =>
    (await send('GET', `${measured}/pods?${query}`)).items?.map(({ metadata }) => metadata.name)
  t.strictSame(await named('labelSelector=app%3Da'), ['a'])
  t.strictSame(await named('labelSelector=app%3Db'), [])
  t.strictSame(await named('fieldSelector=metadata.name%3Da'), ['a'])
  t.strictSame(await named('fieldSelector=metadata.namespace!%3Ddefault'), [])
  const refused = await send('GET', `${measured}/pods?fieldSelector=spec.x%3Da`)
  t.match(refused, { code: 400, message: /"spec.x" is not a known field selector/ })
})

t.test('the group is discovered; nothing of it is written or watched', async t => {
  const { resources = [] } = await send('GET', measured)
  t.strictSame(
    resources.map(({ name }) => name),
    ['nodes', 'pods'],
  )
  t.equal((await send('DELETE', `${measured}/nodes/node-1`)).code, 405)
  t.equal((await send('GET', `${measured}/nodes?watch=true`)).code, 405)
})

t.test('YAML is answered, protobuf is not', async t => {
  const asked = async (accept: string): ReturnType<typeof ask> =>
    ask(port, { method: 'GET', path: `${measured}/nodes`, headers: { accept } })
  t.match((await asked('application/yaml')).body.toString(), /kind: NodeMetricsList/)
  t.equal((await asked('application/vnd.kubernetes.protobuf')).status, 406)
  const both = 'application/vnd.kubernetes.protobuf,application/json'
  t.match((await asked(both)).body.toString(), /"kind":"NodeMetricsList"/)
})
