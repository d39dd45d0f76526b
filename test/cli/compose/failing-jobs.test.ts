/** Jobs whose pods fail, through a server: in the conditions, numbers and Events of a real
 *  kube-controller-manager. */

import t from 'tap'
import { startSimulatedCluster } from '../../support/http/simulated-cluster.ts'

interface Answer {
  readonly metadata: { readonly name: string; readonly finalizers?: readonly string[] }
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly finalizers?: readonly string[] }
    readonly spec?: { readonly hostname?: string }
    readonly type?: string
    readonly message?: string
  }[]
  readonly status?: {
    readonly phase?: string
    readonly failed?: number
    readonly active?: number
    readonly completedIndexes?: string
    readonly uncountedTerminatedPods?: object
    readonly conditions?: readonly { readonly type: string; readonly reason?: string }[]
  }
}

// No nodes run: pods end as the test says.
const { send, until } = await startSimulatedCluster<Answer>(t, { declared: [inert()] })
const namespace = '/api/v1/namespaces/default'
const jobs = '/apis/batch/v1/namespaces/default/jobs'

/** A stage by which pods stay as they are. */
function inert(): object {
  return {
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'Stage',
    metadata: { name: 'stays' },
    spec: {
      resourceRef: { apiGroup: 'v1', kind: 'Pod' },
      selector: { matchExpressions: [{ key: '.metadata.name', operator: 'In', values: ['none'] }] },
      next: { delete: true },
    },
  }
}

async function make(name: string, spec: object): Promise<void> {
  const pod = { restartPolicy: 'Never', containers: [{ name: 'c', image: 'image:1' }] }
  const job = { metadata: { name }, spec: { ...spec, template: { spec: pod } } }
  t.equal((await send('POST', jobs, job)).code, 201)
}

/** The first pod of a job ends. */
async function end(name: string, phase: string, exitCode: number): Promise<void> {
  const path = `${namespace}/pods?labelSelector=job-name=${name}`
  const { items } = await until(path, one => one.items.length > 0)
  const finishedAt = '2026-01-01T00:00:00Z'
  const terminated = { exitCode, finishedAt, startedAt: finishedAt }
  const status = {
    phase,
    containerStatuses: [
      {
        name: 'c',
        image: 'image:1',
        imageID: '',
        restartCount: 0,
        ready: false,
        state: { terminated },
      },
    ],
  }
  await send('PATCH', `${namespace}/pods/${items[0]?.metadata.name}/status`, { status })
}

function isOver({ status }: Answer): boolean {
  return status?.conditions?.some(({ type }) => type === 'Failed' || type === 'Complete') === true
}

async function eventOf(name: string, reason: string): Promise<Answer['items'][number] | undefined> {
  const selected = `fieldSelector=reason=${reason},involvedObject.name=${name}`
  return (await until(`${namespace}/events?${selected}`, one => one.items.length > 0)).items[0]
}

t.test('a job whose pods fail too often has failed', async t => {
  await make('often', { backoffLimit: 0 })
  await end('often', 'Failed', 1)
  const { status } = await until(`${jobs}/often`, isOver)
  t.same(
    status?.conditions?.map(({ type, reason }) => [type, reason]),
    ['FailureTarget', 'Failed'].map(type => [type, 'BackoffLimitExceeded']),
  )
  t.match(status, { failed: 1, uncountedTerminatedPods: {} })
  const event = await eventOf('often', 'BackoffLimitExceeded')
  t.match(event, { type: 'Warning', message: 'Job has reached the specified backoff limit' })
  const { items } = await send('GET', `${namespace}/pods?labelSelector=job-name=often`)
  t.equal(items.length, 1)
  t.equal(items[0]?.metadata.finalizers, undefined)
})

t.test('a policy says which failure ends a job', async t => {
  const onExitCodes = { operator: 'In', values: [42] }
  await make('policy', { podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes }] } })
  await end('policy', 'Failed', 42)
  await until(`${jobs}/policy`, isOver)
  t.match(
    (await eventOf('policy', 'PodFailurePolicy'))?.message,
    /^Container c for pod default\/policy-[a-z0-9]{5} failed with exit code 42 matching FailJob rule at index 0$/,
  )
})

t.test('an Indexed job counts its indexes', async t => {
  await make('indexed', { completionMode: 'Indexed', completions: 1 })
  const { items } = await until(
    `${namespace}/pods?labelSelector=job-name=indexed`,
    one => one.items.length > 0,
  )
  t.equal(items[0]?.spec?.hostname, 'indexed-0')
  await end('indexed', 'Succeeded', 0)
  t.match((await until(`${jobs}/indexed`, isOver)).status, { completedIndexes: '0' })
})

t.test('pods of a deleted job go, although they were not counted', async t => {
  await make('gone', { parallelism: 2, completions: 2 })
  const pods = `${namespace}/pods?labelSelector=job-name=gone`
  await until(pods, one => one.items.length === 2)
  await send('DELETE', `${jobs}/gone?propagationPolicy=Background`)
  const left = await until(pods, ({ items }) => {
    return items.every(({ metadata }) => metadata.finalizers === undefined)
  })
  t.equal(left.code, 200)
})
