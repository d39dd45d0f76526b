/** Replicas follow from the figures of pods, as upstream's autoscaler computes them. */

import t from 'tap'
import type { Key } from '../../../lib/base/keys.ts'
import {
  type Autoscaler,
  reconcileAutoscaler,
} from '../../../lib/simulator/controllers/autoscalers.ts'
import { measure, type Metric } from '../../../lib/simulator/controllers/measurement.ts'
import type { UsingPod } from '../../../lib/simulator/usage/usage.ts'

const nowMs = Date.parse('2026-01-01T00:10:00Z')

function podsThatUse(...millicores: readonly number[]): UsingPod[] {
  return millicores.map((used, i) => ({
    metadata: {
      name: `p${String(i)}`,
      uid: String(i),
      annotations: { 'watchglass.local/usage-cpu': `${String(used)}m` },
    },
    spec: { containers: [{ name: 'one', resources: { requests: { cpu: '200m' } } }] },
    status: { phase: 'Running' },
  }))
}

function cpu(target: object): Metric[] {
  return [{ type: 'Resource', resource: { name: 'cpu', target } }]
}

const half = cpu({ averageUtilization: 50 })

t.test('a share of what is requested decides', async t => {
  const { replicas, shown } = measured(half, podsThatUse(200, 100))
  t.equal(replicas, 3)
  const current = { averageUtilization: 75, averageValue: '150m' }
  t.strictSame(shown, [{ type: 'Resource', resource: { name: 'cpu', current } }])
})

t.test('what is near the target changes nothing', async t => {
  t.equal(measured(half, podsThatUse(105, 105)).replicas, 2)
  t.equal(measured(half, podsThatUse(120, 120)).replicas, 3)
})

t.test(
  'a value decides without requests, and of several metrics the one that asks for most',
  async t => {
    const value = cpu({ averageValue: '10m' })
    t.equal(measured(value, podsThatUse(50)).replicas, 5)
    t.equal(measured([...half, ...value], podsThatUse(50)).replicas, 5)
  },
)

t.test('metrics that nobody measures are refused in words', async t => {
  const silent = podsThatUse(1).map(pod => ({
    ...pod,
    spec: { containers: [{ name: 'one' }] },
  }))
  t.match(measure(half, silent, nowMs), {
    problem: 'failed to get cpu utilization: missing request for cpu in container one of Pod p0',
  })
  t.match(measure(half, [], nowMs), { problem: /no metrics returned from resource metrics API/ })
  t.match(measure([{ type: 'External' }], [], nowMs), { problem: /failed to get External metric/ })
})

t.test('it is scaled up at once, and down when the last change was long ago', async t => {
  t.equal(scaledTo(2, podsThatUse(200, 200), {}), 4)
  t.equal(scaledTo(2, podsThatUse(2_000, 2_000), {}), 6, 'four more at most')
  t.equal(scaledTo(4, podsThatUse(10, 10, 10, 10), {}), 1)
  const lastScaleTime = new Date(nowMs - 60_000).toISOString()
  t.equal(scaledTo(4, podsThatUse(10, 10, 10, 10), { lastScaleTime }), undefined)
  t.equal(scaledTo(0, [], {}), undefined)
})

function measured(
  metrics: readonly Metric[],
  pods: readonly UsingPod[],
): Extract<ReturnType<typeof measure>, { readonly type: 'measured' }> {
  const found = measure(metrics, pods, nowMs)
  if (found.type !== 'measured') throw new Error(found.problem)
  return found
}

/** The replicas that are written; undefined if none are. */
function scaledTo(
  replicas: number,
  pods: readonly UsingPod[],
  status: NonNullable<Autoscaler['status']>,
): number | undefined {
  const target = { key: 'target' as Key, object: { spec: { replicas } } }
  const scaleTargetRef = { kind: 'Deployment', name: 'web' }
  const spec = { minReplicas: 1, maxReplicas: 10, scaleTargetRef, metrics: half }
  const object = { metadata: { name: 'web', uid: '1' }, spec, status }
  const seen = { key: 'hpa' as Key, object, target, pods, now: '', nowMs }
  const { writes, againMs } = reconcileAutoscaler(seen)
  t.equal(againMs, 15_000)
  const scaling = writes.find(write => write.type === 'patch' && write.key === 'target')
  if (scaling?.type !== 'patch') return undefined
  return (scaling.patch as { spec: { replicas: number } }).spec.replicas
}
