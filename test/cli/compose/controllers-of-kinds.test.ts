/** Made-up controllers of one kind each: what they make, and the status that kubectl shows. */

import t from 'tap'
import { startSimulatedCluster } from '../../support/http/simulated-cluster.ts'

interface Answer {
  readonly metadata: Record<string, unknown>
  readonly items: readonly Item[]
  readonly subsets?: readonly { readonly addresses?: readonly object[] }[]
  readonly spec: Record<string, unknown>
  readonly status: Record<string, unknown>
}

interface Item {
  readonly metadata: {
    readonly name: string
    readonly labels?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[]
  }
  readonly spec: { readonly nodeName?: string; readonly containers?: readonly { image: string }[] }
  readonly status: { readonly phase?: string }
  readonly endpoints?: readonly { readonly conditions: { readonly ready?: boolean } }[]
  readonly reason?: string
  readonly message?: string
  readonly involvedObject?: { readonly kind: string; readonly name: string }
  readonly source?: { readonly component: string }
}

const { send, until } = await startSimulatedCluster<Answer>(t)

await until('/api/v1/nodes', ({ items }) => items.length === 3)

const apps = '/apis/apps/v1/namespaces/default'
const core = '/api/v1/namespaces/default'
const podsOf = (app: string): string => `${core}/pods?labelSelector=app=${app}`
const template = (app: string, image = 'image:1', spec: object = {}): object => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'c', image }], ...spec },
})
const workload = (app: string, spec: object = {}): object => ({
  metadata: { name: app },
  spec: { selector: { matchLabels: { app } }, template: template(app), ...spec },
})
const areRunning = (count: number) => (answer: Answer) =>
  answer.items.length === count && answer.items.every(({ status }) => status.phase === 'Running')
const namesOf = ({ items }: Answer): string[] => items.map(({ metadata }) => metadata.name).sort()

async function eventsOf(kind: string, name: string, reason: string): Promise<Answer> {
  const selector = `involvedObject.kind=${kind},involvedObject.name=${name},reason=${reason}`
  const path = `${core}/events?fieldSelector=${encodeURIComponent(selector)}`
  return until(path, ({ items }) => items.length > 0)
}

t.test('a stateful set makes numbered pods in their order, with claims of their own', async t => {
  const claim = {
    metadata: { name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }
  const rest = { serviceName: 'db', replicas: 3, volumeClaimTemplates: [claim] }
  await send('POST', `${apps}/statefulsets`, workload('db', rest))
  t.strictSame(namesOf(await until(podsOf('db'), areRunning(3))), ['db-0', 'db-1', 'db-2'])
  const { status } = await until(
    `${apps}/statefulsets/db`,
    one => one.status['availableReplicas'] === 3 && one.status['updatedReplicas'] === 3,
  )
  t.match(status, { replicas: 3, readyReplicas: 3, currentReplicas: 3, observedGeneration: 1 })
  const { items } = await until(`${core}/persistentvolumeclaims`, answer =>
    answer.items.every(one => one.status.phase === 'Bound'),
  )
  t.strictSame(items.map(({ metadata }) => metadata.name).sort(), [
    'data-db-0',
    'data-db-1',
    'data-db-2',
  ])
  const { items: events } = await eventsOf('StatefulSet', 'db', 'SuccessfulCreate')
  t.ok(events.some(({ message }) => message === 'create Pod db-0 in StatefulSet db successful'))
})

t.test('a stateful set rolls out from its last pod, and keeps revisions', async t => {
  await send('PATCH', `${apps}/statefulsets/db`, { spec: { template: template('db', 'image:2') } })
  await until(
    podsOf('db'),
    answer =>
      areRunning(3)(answer) &&
      answer.items.every(({ spec }) => spec.containers?.[0]?.image === 'image:2'),
  )
  const { status } = await until(
    `${apps}/statefulsets/db`,
    one => one.status['currentRevision'] === one.status['updateRevision'],
  )
  t.equal(status['updatedReplicas'], 3)
  t.equal((await send('GET', `${apps}/controllerrevisions?labelSelector=app=db`)).items.length, 2)
  await send('PATCH', `${apps}/statefulsets/db`, { spec: { replicas: 1 } })
  t.strictSame(namesOf(await until(podsOf('db'), areRunning(1))), ['db-0'])
})

t.test('a stateful set that is made anew takes what the old one has left', async t => {
  const [before] = (await send('GET', podsOf('db'))).items
  await send('DELETE', `${apps}/statefulsets/db?propagationPolicy=Orphan`)
  await until(`${apps}/statefulsets/db`, ({ code }) => code === 404)
  const rest = { serviceName: 'db', template: template('db', 'image:2') }
  await send('POST', `${apps}/statefulsets`, workload('db', rest))
  await until(`${apps}/statefulsets/db`, one => one.status['availableReplicas'] === 1)
  t.strictSame((await send('GET', podsOf('db'))).items[0]?.metadata.name, before?.metadata.name)
})

t.test('a daemon set has a pod on each node, also on one that comes', async t => {
  await send('POST', `${apps}/daemonsets`, workload('agent'))
  const { items } = await until(podsOf('agent'), areRunning(3))
  t.strictSame(items.map(({ spec }) => spec.nodeName ?? '').sort(), ['node-1', 'node-2', 'node-3'])
  await send('POST', '/api/v1/nodes', { metadata: { name: 'node-4' } })
  await until(podsOf('agent'), areRunning(4))
  const { status } = await until(
    `${apps}/daemonsets/agent`,
    one => one.status['numberAvailable'] === 4,
  )
  t.match(status, { desiredNumberScheduled: 4, currentNumberScheduled: 4, numberReady: 4 })
  const { items: events } = await eventsOf('DaemonSet', 'agent', 'SuccessfulCreate')
  t.match(events[0]?.message, /^Created pod: agent-\w{5}$/)
})

t.test('a daemon set rolls out, and leaves a node that it does not select', async t => {
  const fast = template('agent', 'image:2', { nodeSelector: { disk: 'fast' } })
  await send('PATCH', '/api/v1/nodes/node-2', { metadata: { labels: { disk: 'fast' } } })
  await send('PATCH', `${apps}/daemonsets/agent`, { spec: { template: fast } })
  const { items } = await until(
    podsOf('agent'),
    answer => areRunning(1)(answer) && answer.items[0]?.spec.containers?.[0]?.image === 'image:2',
  )
  t.equal(items[0]?.spec.nodeName, 'node-2')
  await send('DELETE', `${apps}/daemonsets/agent`)
  await until(podsOf('agent'), ({ items }) => items.length === 0)
})

t.test('pods of a node that is deleted go, and are made elsewhere', async t => {
  await send('POST', `${apps}/replicasets`, workload('moved', { replicas: 4 }))
  const before = await until(podsOf('moved'), areRunning(4))
  t.ok(before.items.some(({ spec }) => spec.nodeName === 'node-4'))
  await send('DELETE', '/api/v1/nodes/node-4')
  await until(
    podsOf('moved'),
    answer => areRunning(4)(answer) && answer.items.every(({ spec }) => spec.nodeName !== 'node-4'),
  )
})

t.test('a NoExecute taint drives pods out that do not tolerate it', async t => {
  const taints = [{ key: 'broken', effect: 'NoExecute' }]
  await send('PATCH', '/api/v1/nodes/node-3', { spec: { taints } })
  const { items } = await until(
    podsOf('moved'),
    answer => areRunning(4)(answer) && answer.items.every(({ spec }) => spec.nodeName !== 'node-3'),
  )
  t.equal(items.length, 4)
  const path = `${core}/events?fieldSelector=reason=TaintManagerEviction`
  const { items: events } = await until(path, answer => answer.items.length > 0)
  t.match(events[0]?.source, { component: 'taint-eviction-controller' })
  await send('PATCH', '/api/v1/nodes/node-3', { spec: { taints: null } })
})

t.test('a replication controller keeps as many pods as it asks for', async t => {
  const body = { metadata: { name: 'old' }, spec: { replicas: 2, template: template('old') } }
  await send('POST', `${core}/replicationcontrollers`, body)
  await until(podsOf('old'), areRunning(2))
  await until(
    `${core}/replicationcontrollers/old`,
    ({ status }) => status['readyReplicas'] === 2 && status['observedGeneration'] === 1,
  )
  await send('PATCH', `${core}/replicationcontrollers/old`, { spec: { replicas: 0 } })
  await until(podsOf('old'), ({ items }) => items.length === 0)
  t.pass()
})

t.test('a service has endpoints of the pods that it selects', async t => {
  const ports = [{ name: 'http', port: 80, targetPort: 8080 }]
  const service = { metadata: { name: 'moved' }, spec: { selector: { app: 'moved' }, ports } }
  await send('POST', `${core}/services`, service)
  const slices =
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name='
  const { items } = await until(
    `${slices}moved`,
    answer => answer.items.flatMap(one => one.endpoints ?? []).length === 4,
  )
  t.match(items[0], { ports: [{ name: 'http', port: 8080 }], endpoints: [{ conditions: {} }] })
  const { subsets = [] } = await until(
    `${core}/endpoints/moved`,
    ({ subsets = [] }) => subsets[0]?.addresses?.length === 4,
  )
  t.match(subsets, [{ ports: [{ name: 'http', port: 8080 }] }])
  await send('PATCH', `${apps}/replicasets/moved`, { spec: { replicas: 1 } })
  await until(`${core}/endpoints/moved`, ({ subsets = [] }) => subsets[0]?.addresses?.length === 1)
  await until(`${slices}moved`, answer => answer.items[0]?.endpoints?.length === 1)
  await send('DELETE', `${core}/services/moved`)
  await until(`${core}/endpoints/moved`, ({ code }) => code === 404)
  await until(`${slices}moved`, answer => answer.items.length === 0)
})

t.test('a budget says how many pods may go, and an eviction is refused beyond', async t => {
  await send('PATCH', `${apps}/replicasets/moved`, { spec: { replicas: 2 } })
  await until(podsOf('moved'), areRunning(2))
  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
  const spec = { minAvailable: 2, selector: { matchLabels: { app: 'moved' } } }
  await send('POST', budgets, { metadata: { name: 'moved' }, spec })
  const { status } = await until(`${budgets}/moved`, one => one.status['currentHealthy'] === 2)
  t.match(status, {
    desiredHealthy: 2,
    expectedPods: 2,
    disruptionsAllowed: 0,
    conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods' }],
  })
  const [pod] = (await send('GET', podsOf('moved'))).items
  const name = pod?.metadata.name ?? ''
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } }
  t.equal((await send('POST', `${core}/pods/${name}/eviction`, eviction)).code, 429)
  await send('PATCH', `${apps}/replicasets/moved`, { spec: { replicas: 3 } })
  await until(`${budgets}/moved`, one => one.status['disruptionsAllowed'] === 1)
  t.equal((await send('POST', `${core}/pods/${name}/eviction`, eviction)).code, 201)
  await until(`${core}/pods/${name}`, ({ code }) => code === 404)
})

t.test('an autoscaler keeps replicas between its bounds', async t => {
  const path = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers'
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'moved' }
  const spec = { scaleTargetRef, minReplicas: 4, maxReplicas: 5 }
  await send('POST', path, { metadata: { name: 'moved' }, spec })
  await until(podsOf('moved'), areRunning(4))
  const { status } = await until(`${path}/moved`, one => one.status['currentReplicas'] === 4)
  t.match(status['conditions'], [
    { type: 'AbleToScale', status: 'True' },
    { type: 'ScalingActive', status: 'False', reason: 'FailedGetResourceMetric' },
  ])
  await send('PATCH', `${apps}/replicasets/moved`, { spec: { replicas: 9 } })
  await until(podsOf('moved'), areRunning(5))
  const { items } = await eventsOf('HorizontalPodAutoscaler', 'moved', 'SuccessfulRescale')
  t.ok(items.some(({ message = '' }) => message.startsWith('New size: 4; reason: ')))
})

t.test('a claim is given a volume that fits, or one is made', async t => {
  const own = {
    metadata: { name: 'own' },
    spec: {
      capacity: { storage: '5Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'manual',
      hostPath: { path: '/data' },
    },
  }
  await send('POST', '/api/v1/persistentvolumes', own)
  await until('/api/v1/persistentvolumes/own', ({ status }) => status['phase'] === 'Available')
  const spec = {
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'manual',
    resources: { requests: { storage: '2Gi' } },
  }
  await send('POST', `${core}/persistentvolumeclaims`, { metadata: { name: 'fits' }, spec })
  const { spec: bound, status } = await until(
    `${core}/persistentvolumeclaims/fits`,
    one => one.status['phase'] === 'Bound',
  )
  t.equal(bound['volumeName'], 'own')
  t.match(status, { capacity: { storage: '5Gi' }, accessModes: ['ReadWriteOnce'] })
  await send('DELETE', `${core}/persistentvolumeclaims/fits`)
  await until('/api/v1/persistentvolumes/own', one => one.status['phase'] === 'Released')
  await send('POST', `${core}/persistentvolumeclaims`, { metadata: { name: 'late' }, spec })
  await eventsOf('PersistentVolumeClaim', 'late', 'ProvisioningFailed')
  await send('DELETE', `${core}/persistentvolumeclaims/late`)
  const { storageClassName: _, ...any } = spec
  await send('POST', `${core}/persistentvolumeclaims`, { metadata: { name: 'made' }, spec: any })
  const made = await until(
    `${core}/persistentvolumeclaims/made`,
    one => one.status['phase'] === 'Bound',
  )
  t.equal(made.spec['storageClassName'], 'standard')
  const volume = `/api/v1/persistentvolumes/${String(made.spec['volumeName'])}`
  await send('DELETE', `${core}/persistentvolumeclaims/made`)
  await until(volume, ({ code }) => code === 404)
})

t.test('a cron job makes a job when it is time, and a job goes when its time is over', async t => {
  const path = '/apis/batch/v1/namespaces/default'
  const job = {
    ttlSecondsAfterFinished: 0,
    template: template('cron', 'i', { restartPolicy: 'Never' }),
  }
  const spec = { schedule: '@every 1s', jobTemplate: { spec: job } }
  await send('POST', `${path}/cronjobs`, { metadata: { name: 'cron' }, spec })
  const { items } = await eventsOf('CronJob', 'cron', 'SuccessfulCreate')
  const [, name = ''] = /^Created job (cron-\d+)$/.exec(items[0]?.message ?? '') ?? []
  await until(`${path}/jobs/${name}`, ({ code }) => code === 404)
  const { status } = await until(
    `${path}/cronjobs/cron`,
    one => one.status['lastSuccessfulTime'] !== undefined,
  )
  t.ok(status['lastScheduleTime'])
  await send('PATCH', `${path}/cronjobs/cron`, { spec: { suspend: true } })
})

t.test('an ephemeral container of a running pod starts', async t => {
  const [pod] = (await send('GET', podsOf('moved'))).items
  const path = `${core}/pods/${pod?.metadata.name ?? ''}`
  const ephemeralContainers = [{ name: 'debug', image: 'busybox' }]
  await send('PATCH', `${path}/ephemeralcontainers`, { spec: { ephemeralContainers } })
  const { status } = await until(
    path,
    one => one.status['ephemeralContainerStatuses'] !== undefined,
  )
  t.match(status['ephemeralContainerStatuses'], [{ name: 'debug', state: { running: {} } }])
})

t.test('what happens to a pod is told by events, by who does it', async t => {
  const [pod] = (await send('GET', podsOf('moved'))).items
  const name = pod?.metadata.name ?? ''
  for (const [reason, component] of [
    ['Scheduled', 'default-scheduler'],
    ['Pulled', 'kubelet'],
    ['Created', 'kubelet'],
    ['Started', 'kubelet'],
  ]) {
    const { items } = await eventsOf('Pod', name, reason ?? '')
    t.match(items[0]?.source, { component })
  }
  await send('DELETE', `${core}/pods/${name}`)
  await eventsOf('Pod', name, 'Killing')
})

t.test('nodes have the version that is answered as', async t => {
  const { items } = await send('GET', '/api/v1/nodes')
  t.match(items[0]?.status, { nodeInfo: { kubeletVersion: /^v1\.\d+\.\d+/ } })
})
