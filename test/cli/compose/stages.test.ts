/** Lifecycles of one's own, in a service with made-up controllers and nodes. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { listOf, memberAt } from '../../../lib/base/untyped.ts'
import {
  type SimulatedCluster,
  startSimulatedCluster,
} from '../../support/http/simulated-cluster.ts'
import { programFlags } from '../../support/program/program-flags.ts'

interface Answer {
  readonly metadata?: {
    readonly finalizers?: readonly string[]
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly status?: Readonly<Record<string, unknown>>
  readonly items?: readonly { readonly reason?: string }[]
}

const pods = '/api/v1/namespaces/default/pods'

const jobs = '/apis/batch/v1/namespaces/default/jobs'

const varying = /Time$|At$|^uid$|^podIP|^hostIP|^ip$|^containerID$/

function byText(a: string, b: string): number {
  return a < b ? -1 : 1
}

/** A status without what differs from pod to pod, its lists in one order. */
function comparable(status: unknown): unknown {
  const text = JSON.stringify(status, (key, value: unknown) => {
    if (varying.test(key)) return value === null ? null : 'x'
    if (key === 'restartCount') return Number(value) > 0
    if (!Array.isArray(value)) return value
    return (value as readonly { readonly type?: string }[]).toSorted((a, b) =>
      (a.type ?? '') < (b.type ?? '') ? -1 : 1,
    )
  })
  return JSON.parse(text)
}

/** The lives of pods that the two ways of running them are compared in. */
const lives: Readonly<Record<string, object>> = {
  'two-containers': {
    initContainers: [
      { name: 'first', image: 'busybox' },
      { name: 'second', image: 'a/b@sha256:00' },
    ],
    containers: [
      { name: 'one', image: 'nginx:1' },
      { name: 'two', image: 'redis', resources: { limits: { cpu: '1', memory: '1Gi' } } },
    ],
  },
  'on-the-host': { hostNetwork: true, containers: [{ name: 'one', image: 'nginx:1' }] },
  once: {
    restartPolicy: 'Never',
    initContainers: [{ name: 'first', image: 'busybox' }],
    containers: [{ name: 'one', image: 'busybox' }],
  },
}

/** The state of everything, once all has happened that is to happen. */
async function liveThrough({ send, until }: SimulatedCluster<Answer>): Promise<unknown> {
  // A pod that has no node at first is told of.
  await until('/api/v1/nodes', nodes => JSON.stringify(nodes).split('KubeletReady').length === 4)
  const names = Object.keys(lives)
  for (const name of names) await send('POST', pods, { metadata: { name }, spec: lives[name] })
  const endsWith = (phase: string, name: string): Promise<Answer> =>
    until(`${pods}/${name}`, ({ status }) => status?.['phase'] === phase)
  const running = await Promise.all(
    names.map(name => endsWith(name === 'once' ? 'Succeeded' : 'Running', name)),
  )
  const job = { template: { spec: lives['once'] }, completions: 2, parallelism: 2 }
  await send('POST', jobs, { metadata: { name: 'work' }, spec: job })
  const ended = await until(`${jobs}/work`, one => one.status?.['succeeded'] === 2)
  const added = { name: 'look', image: 'busybox', targetContainerName: 'one' }
  const debugged = { spec: { ephemeralContainers: [added] } }
  await send('PATCH', `${pods}/two-containers/ephemeralcontainers`, debugged)
  const looking = await until(
    `${pods}/two-containers`,
    ({ status }) => status?.['ephemeralContainerStatuses'] !== undefined,
  )
  const node = await send('GET', '/api/v1/nodes/node-1')
  for (const name of names) await send('DELETE', `${pods}/${name}`)
  for (const name of names) await until(`${pods}/${name}`, ({ code }) => code === 404)
  const told = await until('/api/v1/namespaces/default/events', ({ items = [] }) =>
    items.some(({ reason }) => reason === 'Killing'),
  )
  return comparable({
    told: [...new Set((told.items ?? []).map(({ reason = '' }) => reason))].toSorted(byText),
    running: running.map(({ status }) => status),
    job: ended.status,
    looking: looking.status,
    node: node.status,
  })
}

/** Pods are disturbed: until one has restarted, and one is evicted that has not. */
async function disturb({ send, until }: SimulatedCluster<Answer>): Promise<unknown> {
  const restarts = ({ status }: Answer): number =>
    Number(memberAt(listOf(status?.['containerStatuses'])[0], ['restartCount']))
  let restarted: Answer['status']
  let evicted: Answer['status']
  for (let wave = 0; restarted === undefined || evicted === undefined; wave++) {
    const names = Array.from({ length: 8 }, (_, i) => `pod-${String(wave)}-${String(i)}`)
    for (const name of names) {
      await send('POST', pods, { metadata: { name }, spec: lives['two-containers'] })
    }
    const all = await Promise.all(
      names.map(name =>
        until(`${pods}/${name}`, one => one.status?.['phase'] === 'Failed' || restarts(one) > 0),
      ),
    )
    restarted ??= all.find(({ status }) => status?.['phase'] === 'Running')?.status
    evicted ??= all.find(one => one.status?.['phase'] === 'Failed' && restarts(one) === 0)?.status
  }
  return comparable({ restarted, evicted })
}

t.test('the stages that are printed do what the actors do', async t => {
  const { stdout } = await promisify(execFile)(process.execPath, [...programFlags(), '.', 'stages'])
  const printed = parseAllDocuments(stdout).map(document => document.toJS() as unknown)
  let isHurried = false
  // At first no pod is disturbed.
  const shortened = (delayMs: number): number =>
    delayMs < 400_000 ? delayMs / 50 : delayMs / (isHurried ? 50_000 : 1)
  const clusters = await Promise.all([
    startSimulatedCluster<Answer>(t, { shortened }),
    startSimulatedCluster<Answer>(t, { shortened, declared: printed }),
  ])
  const [wanted, found] = await Promise.all(clusters.map(liveThrough))
  t.same(found, wanted)
  isHurried = true
  const [disturbed, asPrinted] = await Promise.all(clusters.map(disturb))
  t.same(asPrinted, disturbed)
})

const group = 'example.com'

function definition(kind: string, plural: string, at = group): object {
  const schema = {
    openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  }
  const version = { name: 'v1', served: true, storage: true, schema, subresources: { status: {} } }
  const name = at === group ? 'v1' : 'v1alpha1'
  return {
    metadata: { name: `${plural}.${at}` },
    spec: {
      group: at,
      names: { kind, plural },
      scope: at === group ? 'Namespaced' : 'Cluster',
      versions: [{ ...version, name, ...(at === group ? {} : { subresources: {} }) }],
    },
  }
}

function stage(name: string, spec: object): object {
  return {
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'Stage',
    metadata: { name },
    spec: { resourceRef: { apiGroup: `${group}/v1`, kind: 'Widget' }, ...spec },
  }
}

const widgets = `/apis/${group}/v1/namespaces/default/widgets`

/** A widget is claimed, filled, told of, and goes once it is to go. */
const stages = [
  stage('claim', {
    selector: {
      matchExpressions: [{ key: '.metadata.finalizers', operator: 'DoesNotExist' }],
      matchLabels: { plays: 'yes' },
    },
    next: { finalizers: { add: [{ value: 'example.com/hold' }] } },
  }),
  stage('fill', {
    selector: {
      matchExpressions: [
        { key: '.metadata.finalizers.[]', operator: 'In', values: ['example.com/hold'] },
        { cel: { expression: '!has(self.status) && !has(self.metadata.deletionTimestamp)' } },
      ],
    },
    delay: { durationMilliseconds: 10_000, durationFrom: { expressionFrom: '.spec.wait' } },
    steps: [
      { event: { type: 'Warning', reason: 'Filled', message: 'it is full' } },
      {
        patch: {
          subresource: 'status',
          root: 'status',
          template: 'size: {{ add .spec.size 1 }}\nname: {{ .metadata.name | Quote }}',
        },
      },
      {
        apply: {
          template:
            'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: of-{{ .metadata.name }}\ndata:\n  a: b',
        },
      },
    ],
  }),
  stage('go', {
    selector: { matchExpressions: [{ key: '.metadata.deletionTimestamp', operator: 'Exists' }] },
    next: { finalizers: { empty: true } },
  }),
]

t.test('stored stages are played for any kind, as long as they are there', async t => {
  const { send, until } = await startSimulatedCluster<Answer>(t)
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  await send('POST', definitions, definition('Stage', 'stages', 'kwok.x-k8s.io'))
  await until('/apis/kwok.x-k8s.io/v1alpha1/stages', ({ code }) => code === 200)
  for (const one of stages) {
    const { code } = await send('POST', '/apis/kwok.x-k8s.io/v1alpha1/stages', one)
    t.equal(code, 201)
  }
  // Its kind is served later than its stages.
  await send('POST', definitions, definition('Widget', 'widgets'))
  await until(widgets, ({ code }) => code === 200)
  const widget = (name: string, labels: object): object => ({
    apiVersion: `${group}/v1`,
    kind: 'Widget',
    metadata: { name, labels },
    spec: { size: 4, wait: '20ms' },
  })
  await send('POST', widgets, widget('left', {}))
  await send('POST', widgets, widget('a', { plays: 'yes' }))
  const filled = await until(`${widgets}/a`, ({ status }) => status !== undefined)
  t.same(filled.status, { size: 5, name: 'a' })
  t.same(filled.metadata?.finalizers, ['example.com/hold'])
  await until('/api/v1/namespaces/default/configmaps/of-a', ({ code }) => code === 200)
  const events = '/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind=Widget'
  const told = await until(events, ({ items = [] }) => items.length > 0)
  t.match(told.items, [{ reason: 'Filled', type: 'Warning', message: 'it is full' }])
  await send('DELETE', `${widgets}/a`)
  await until(`${widgets}/a`, ({ code }) => code === 404)
  t.equal((await send('GET', `${widgets}/left`)).metadata?.finalizers, undefined)

  // A stage that fits what it makes is played on, but does not run away.
  await send('DELETE', '/apis/kwok.x-k8s.io/v1alpha1/stages/fill')
  const endless = stage('endless', {
    selector: { matchLabels: { plays: 'on' } },
    next: { statusTemplate: 'at: {{ Now | Quote }}' },
  })
  await send('POST', '/apis/kwok.x-k8s.io/v1alpha1/stages', endless)
  await send('POST', widgets, widget('b', { plays: 'on' }))
  const first = await until(`${widgets}/b`, ({ status }) => status !== undefined)
  const second = await until(
    `${widgets}/b`,
    ({ status }) => status?.['at'] !== first.status?.['at'],
  )
  t.equal(typeof memberAt(second, ['status', 'at']), 'string')
})

t.test('a stage that cannot be used is refused with the reason', async t => {
  const { stageOf } = await import('../../../lib/simulator/stages/stage.ts')
  const of = (spec: object): unknown => stageOf(stage('bad', spec))
  const fails = (spec: object, message: RegExp): unknown => t.throws(() => of(spec), { message })
  const expression = (one: object): object => ({ selector: { matchExpressions: [one] } })
  fails(expression({ key: '.a |', operator: 'Exists' }), /Stage bad: jq expression ".a \|"/)
  fails(expression({ key: '.a', operator: 'Is' }), /the operator "Is" is not known/)
  fails(expression({ key: '.a', operator: 'In' }), /In needs values/)
  fails(expression({ cel: { expression: 'self +' } }), /CEL expression "self \+"/)
  fails({ selector: {}, next: { statusTemplate: '{{ nothing }}' } }, /"nothing" not defined/)
  t.equal(of({}), undefined, 'without a selector it is for nothing')
})
