/** Made-up controllers and nodes: deployments get pods that run, roll out and scale, and jobs
 *  end. */

import t from 'tap'
import { startSimulatedCluster } from '../../support/http/simulated-cluster.ts'

interface Answer {
  readonly metadata: Record<string, unknown>
  readonly items: readonly Item[]
  readonly spec: Record<string, unknown>
  readonly status: Record<string, unknown>
}

interface Item {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string }
  readonly spec: { readonly nodeName?: string; readonly containers: readonly { image: string }[] }
  readonly status: {
    readonly phase: string
    readonly podIP?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

const { send, until } = await startSimulatedCluster<Answer>(t)

// They are made one after the other, and a pod that comes meanwhile is given one of those that
// there are.
await until(
  '/api/v1/nodes',
  ({ items }) =>
    items.length === 3 &&
    items.every(({ status }) =>
      status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
    ),
)

const deployments = '/apis/apps/v1/namespaces/default/deployments'
const podsOf = (app: string): string => `/api/v1/namespaces/default/pods?labelSelector=app=${app}`

/** As `kubectl rollout status` sees it. */
function isRolledOut({ metadata, spec, status }: Answer): boolean {
  const wanted = spec['replicas']
  return (
    status['observedGeneration'] === metadata['generation'] &&
    ['replicas', 'updatedReplicas', 'availableReplicas'].every(name => status[name] === wanted)
  )
}

function deploymentOf(app: string, strategy: object = {}): object {
  const labels = { app }
  const containers = [{ name: 'c', image: 'image:1' }]
  const template = { metadata: { labels }, spec: { containers } }
  const spec = { replicas: 3, selector: { matchLabels: labels }, template, strategy }
  return { metadata: { name: app }, spec }
}

const imagePatch = {
  spec: { template: { spec: { containers: [{ name: 'c', image: 'image:2' }] } } },
}

t.test('a deployment gets pods that run, on the nodes that there are', async t => {
  t.match(await send('POST', deployments, deploymentOf('web')), { code: 201 })
  const { metadata, status } = await until(`${deployments}/web`, isRolledOut)
  t.match(metadata, { generation: 1 }, 'controllers write its status, not the deployment')
  const managers = metadata['managedFields'] as readonly Readonly<Record<string, unknown>>[]
  t.match(
    managers.find(({ manager }) => manager === 'kube-controller-manager'),
    {
      subresource: 'status',
      fieldsV1: {
        'f:metadata': {
          'f:annotations': { '.': {}, 'f:deployment.kubernetes.io/revision': {} },
        },
        'f:status': { 'f:observedGeneration': {} },
      },
    },
  )
  t.match(status, {
    readyReplicas: 3,
    conditions: [
      { type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable' },
      { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' },
    ],
  })
  const { items } = await send('GET', podsOf('web'))
  t.strictSame(
    items.map(pod => pod.status.phase),
    ['Running', 'Running', 'Running'],
  )
  t.strictSame(
    items.map(pod => pod.spec.nodeName ?? '').sort(),
    ['node-1', 'node-2', 'node-3'],
    'each node has as many as the others',
  )
  t.equal(new Set(items.map(pod => pod.status.podIP)).size, 3, 'each has its own address')
})

t.test('it scales, and surplus pods go', async t => {
  await send('PATCH', `${deployments}/web`, { spec: { replicas: 5 } })
  await until(`${deployments}/web`, isRolledOut)
  t.equal((await send('GET', podsOf('web'))).items.length, 5)
  await send('PATCH', `${deployments}/web`, { spec: { replicas: 2 } })
  await until(podsOf('web'), ({ items }) => items.length === 2)
  const { status } = await until(`${deployments}/web`, isRolledOut)
  t.equal(status['unavailableReplicas'], undefined)
})

t.test('a deleted pod is replaced', async t => {
  const before = (await send('GET', podsOf('web'))).items.length
  await send('DELETE', podsOf('web'))
  await until(
    podsOf('web'),
    ({ items }) =>
      items.length === before &&
      items.every(
        ({ metadata, status }) =>
          metadata.deletionTimestamp === undefined && status.phase === 'Running',
      ),
  )
  t.pass()
})

for (const type of ['RollingUpdate', 'Recreate']) {
  t.test(`a new image replaces all pods: ${type}`, async t => {
    const app = type.toLowerCase()
    await send('POST', deployments, deploymentOf(app, { type }))
    await until(`${deployments}/${app}`, isRolledOut)
    await send('PATCH', `${deployments}/${app}`, imagePatch)
    const seen = new Set<string>()
    let fewest = Infinity
    const isNew = ({ items }: Answer): boolean => {
      const images = new Set(items.map(({ spec }) => spec.containers[0]?.image ?? ''))
      seen.add([...images].sort().join())
      fewest = Math.min(fewest, items.filter(({ status }) => status.phase === 'Running').length)
      return items.length === 3 && images.size === 1 && images.has('image:2')
    }
    await until(podsOf(app), isNew)
    const { metadata } = await until(`${deployments}/${app}`, isRolledOut)
    t.match(metadata, { annotations: { 'deployment.kubernetes.io/revision': '2' } })
    if (type === 'Recreate') t.notOk(seen.has('image:1,image:2'), 'old and new are never together')
    else t.equal(fewest, 3, 'as many as are asked for run all the time')
  })
}

t.test('a deployment that is made anew takes what the old one has left', async t => {
  await send('POST', deployments, deploymentOf('left'))
  await until(`${deployments}/left`, isRolledOut)
  const names = async (): Promise<string[]> =>
    (await send('GET', podsOf('left'))).items.map(({ metadata }) => metadata.name).sort()
  const before = await names()
  await send('DELETE', `${deployments}/left?propagationPolicy=Orphan`)
  await until(`${deployments}/left`, ({ code }) => code === 404)
  await send('POST', deployments, deploymentOf('left'))
  await until(`${deployments}/left`, isRolledOut)
  t.strictSame(await names(), before)
})

t.test('a pod that no node takes says so, and gets one that comes', async t => {
  const pods = '/api/v1/namespaces/default/pods'
  const spec = { nodeSelector: { disk: 'fast' }, containers: [{ name: 'c', image: 'image:1' }] }
  await send('POST', pods, { metadata: { name: 'picky' }, spec })
  const isUnplaced = ({ status }: Answer): boolean => status['conditions'] !== undefined
  const { status } = await until(`${pods}/picky`, isUnplaced)
  t.match(status['conditions'], [
    {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message: "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
    },
  ])
  await send('PATCH', '/api/v1/nodes/node-2', { metadata: { labels: { disk: 'fast' } } })
  const placed = await until(`${pods}/picky`, ({ status }) => status['phase'] === 'Running')
  t.equal(placed.spec['nodeName'], 'node-2')
})

t.test('a pod that is resized is given what it asks for', async t => {
  const pods = '/api/v1/namespaces/default/pods'
  const container = { name: 'c', image: 'image:1', resources: { requests: { cpu: '100m' } } }
  await send('POST', pods, { metadata: { name: 'sized' }, spec: { containers: [container] } })
  const given = ({ status }: Answer): string => JSON.stringify(status['containerStatuses'] ?? [])
  const running = await until(`${pods}/sized`, one => given(one).includes('"running"'))
  t.match(given(running), '"allocatedResources":{"cpu":"100m"}')
  const [known] = running.spec['containers'] as readonly object[]
  const containers = [{ ...known, resources: { requests: { cpu: '250m' } } }]
  const { code } = await send('PATCH', `${pods}/sized/resize`, { spec: { containers } })
  t.equal(code, 200)
  const resized = await until(`${pods}/sized`, one => given(one).includes('"cpu":"250m"'))
  t.match(given(resized), '"resources":{"requests":{"cpu":"250m"}}')
})

t.test('a job has its pods made until enough have succeeded', async t => {
  const jobs = '/apis/batch/v1/namespaces/default/jobs'
  const containers = [{ name: 'c', image: 'image:1' }]
  const template = { spec: { restartPolicy: 'Never', containers } }
  const spec = { completions: 3, parallelism: 2, template }
  t.match(await send('POST', jobs, { metadata: { name: 'hello' }, spec }), { code: 201 })
  const isComplete = ({ status }: Answer): boolean => status['completionTime'] !== undefined
  const { status } = await until(`${jobs}/hello`, isComplete)
  t.match(status, {
    succeeded: 3,
    conditions: [{ type: 'SuccessCriteriaMet' }, { type: 'Complete', status: 'True' }],
  })
  t.equal(status['active'], undefined)
  const pods = '/api/v1/namespaces/default/pods?labelSelector=job-name=hello'
  const { items } = await send('GET', pods)
  t.strictSame(
    items.map(pod => pod.status.phase),
    ['Succeeded', 'Succeeded', 'Succeeded'],
  )
})

t.test('nodes are ready and renew their leases', async t => {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1'
  const first = await until(leases, ({ code }) => code === 200)
  const again = await until(
    leases,
    ({ metadata }) => metadata['resourceVersion'] !== first.metadata['resourceVersion'],
  )
  t.match(again.spec, { holderIdentity: 'node-1' })
})
