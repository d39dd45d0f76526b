/** Workloads whose pods may not be created: conditions and Events say so, in a real cluster's
 *  words, until they may. */

import t from 'tap'
import { startSimulatedCluster } from '../../support/http/simulated-cluster.ts'

interface Condition {
  readonly type: string
  readonly reason?: string
  readonly message?: string
}

interface Answer {
  readonly metadata: { readonly generation?: number }
  readonly items: readonly {
    readonly metadata: { readonly name: string }
    readonly type: string
    readonly message: string
    readonly count: number
    readonly source: object
    readonly status: { readonly conditions?: readonly Condition[] }
  }[]
  readonly status: {
    readonly used?: object
    readonly hard?: { readonly pods?: string }
    readonly observedGeneration?: number
    readonly replicas?: number
    readonly active?: number
    readonly availableReplicas?: number
    readonly conditions?: readonly Condition[]
  }
}

const { send, until } = await startSimulatedCluster<Answer>(t)

const namespace = '/api/v1/namespaces/default'
const apps = '/apis/apps/v1/namespaces/default'
const labels = { app: 'web' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'image:1' }] } }
const spec = { replicas: 2, selector: { matchLabels: labels }, template }

const quota = `${namespace}/resourcequotas/few`
await send('POST', `${namespace}/resourcequotas`, {
  metadata: { name: 'few' },
  spec: { hard: { pods: '0' } },
})
await until(quota, ({ status }) => status?.used !== undefined)

const forbidden =
  / is forbidden: exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0$/

function hasFailed({ status }: Pick<Answer, 'status'>): boolean {
  return status.conditions?.some(({ type }) => type === 'ReplicaFailure') === true
}

/** The first Event about a kind whose pods are refused. */
async function refusalOf(kind: string): Promise<Answer['items'][number] | undefined> {
  const selected = `fieldSelector=reason=FailedCreate,involvedObject.kind=${kind}`
  const { items } = await until(`${namespace}/events?${selected}`, one => one.items.length > 0)
  return items[0]
}

t.test('a deployment and its replica set say so, until its pods may be created', async t => {
  await send('POST', `${apps}/deployments`, { metadata: { name: 'web' }, spec })
  const { status, metadata } = await until(`${apps}/deployments/web`, hasFailed)
  t.equal(status.observedGeneration, metadata.generation)
  t.match(
    status.conditions?.find(({ type }) => type === 'ReplicaFailure'),
    { status: 'True', reason: 'FailedCreate', message: forbidden, lastUpdateTime: String },
  )
  const { items } = await send('GET', `${apps}/replicasets`)
  t.match(items[0]?.status, {
    replicas: 0,
    observedGeneration: 1,
    conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' }],
  })
  const event = await refusalOf('ReplicaSet')
  t.match(event, { type: 'Warning', source: { component: 'replicaset-controller' } })
  t.match(event?.message, /^Error creating: pods "web-[a-z0-9]+-[a-z0-9]{5}" is forbidden/)
  await send('PATCH', quota, { spec: { hard: { pods: '20' } } })
  const after = await until(`${apps}/deployments/web`, one => one.status.availableReplicas === 2)
  t.notOk(hasFailed(after))
  await send('PATCH', quota, { spec: { hard: { pods: '0' } } })
  await until(quota, one => one.status.hard?.pods === '0')
})

t.test('stateful sets, daemon sets and jobs tell it by Events', async t => {
  await send('POST', `${apps}/statefulsets`, {
    metadata: { name: 'db' },
    spec: { ...spec, serviceName: 'db' },
  })
  const { replicas: _, ...daemon } = spec
  await send('POST', `${apps}/daemonsets`, { metadata: { name: 'agent' }, spec: daemon })
  const jobs = '/apis/batch/v1/namespaces/default/jobs'
  const job = { template: { spec: { ...template.spec, restartPolicy: 'Never' } } }
  await send('POST', jobs, { metadata: { name: 'once' }, spec: job })
  t.match(
    (await refusalOf('StatefulSet'))?.message,
    /^create Pod db-0 in StatefulSet db failed error: pods "db-0" is/,
  )
  t.match((await refusalOf('DaemonSet'))?.message, /^Error creating: pods "agent-[a-z0-9]{5}" is/)
  t.match((await refusalOf('Job'))?.message, /^Error creating: pods "once-[a-z0-9]{5}" is/)
  for (const path of [`${apps}/statefulsets/db`, `${apps}/daemonsets/agent`]) {
    const { status } = await until(path, one => one.status.observedGeneration === 1)
    t.equal(status.replicas ?? 0, 0)
  }
})
