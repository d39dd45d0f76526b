import t from 'tap'
import { metadata, protobuf, served, time } from '../../../support/kube/stored-kinds.ts'

const selector = { matchLabels: { q: 'a' } }
const metric = { name: 'm', selector }
const described = { kind: 'Service', name: 's', apiVersion: 'v1' }
const cpu = (utilization: number | undefined) => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: utilization } },
})
const autoscaler = (spec: object, status: object, annotations?: object) =>
  protobuf({
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v2',
    metadata: { ...metadata, annotations },
    spec: {
      scaleTargetRef: { kind: 'Deployment', name: 'd' },
      minReplicas: 2,
      maxReplicas: 4,
      ...spec,
    },
    status: { desiredReplicas: 3, currentMetrics: null, ...status },
  })
const prefix = 'autoscaling.alpha.kubernetes.io/'

interface Autoscaler {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
  readonly spec: object
  readonly status: object
}
const servedAutoscaler = (bytes: Uint8Array) =>
  served(bytes, 'autoscaling/v1', 'HorizontalPodAutoscaler') as Autoscaler

t.test(
  'metrics of an autoscaler become a percentage, or an annotation in the shape of v1',
  async t => {
    const metrics = [
      cpu(80),
      { type: 'Pods', pods: { metric, target: { type: 'AverageValue', averageValue: '1k' } } },
      {
        type: 'Object',
        object: {
          describedObject: described,
          metric,
          target: { type: 'Value', value: '5', averageValue: '6' },
        },
      },
      { type: 'External', external: { metric, target: { type: 'Value', value: '30' } } },
      {
        type: 'Resource',
        resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
      },
      {
        type: 'ContainerResource',
        containerResource: {
          name: 'cpu',
          container: 'c',
          target: { type: 'Utilization', averageUtilization: 7 },
        },
      },
    ]
    const { metadata: got, spec } = servedAutoscaler(autoscaler({ metrics }, {}))
    t.equal(
      got.annotations?.[`${prefix}metrics`],
      JSON.stringify([
        { type: 'Pods', pods: { metricName: 'm', targetAverageValue: '1k', selector } },
        {
          type: 'Object',
          object: {
            target: described,
            metricName: 'm',
            targetValue: '5',
            selector,
            averageValue: '6',
          },
        },
        {
          type: 'External',
          external: { metricName: 'm', metricSelector: selector, targetValue: '30' },
        },
        { type: 'Resource', resource: { name: 'memory', targetAverageValue: '1Gi' } },
        {
          type: 'ContainerResource',
          containerResource: { name: 'cpu', targetAverageUtilization: 7, container: 'c' },
        },
      ]),
    )
    t.same(spec, {
      scaleTargetRef: { kind: 'Deployment', name: 'd' },
      minReplicas: 2,
      maxReplicas: 4,
      targetCPUUtilizationPercentage: 80,
    })
  },
)

t.test(
  'the status of an autoscaler keeps its raw metrics and conditions in annotations',
  async t => {
    const conditions = [
      { type: 'AbleToScale', status: 'True', lastTransitionTime: time, message: '<m>' },
    ]
    const currentMetrics = [
      {
        type: 'Resource',
        resource: { name: 'cpu', current: { averageValue: '2', averageUtilization: 5 } },
      },
      {
        type: 'ContainerResource',
        containerResource: {
          name: 'cpu',
          container: 'c',
          current: { averageValue: '1', averageUtilization: 9 },
        },
      },
      { type: 'Pods', pods: { metric, current: { averageValue: '3' } } },
      {
        type: 'Object',
        object: { describedObject: described, metric, current: { averageValue: '4' } },
      },
      { type: 'External', external: { metric, current: { value: '6' } } },
    ]
    const status = {
      observedGeneration: 1,
      currentReplicas: 2,
      lastScaleTime: time,
      currentMetrics,
      conditions,
    }
    const { metadata: got, status: gotStatus } = servedAutoscaler(
      autoscaler({ metrics: [cpu(9)] }, status),
    )
    t.same(Object.keys(got.annotations ?? {}), [`${prefix}conditions`, `${prefix}current-metrics`])
    t.equal(
      got.annotations?.[`${prefix}conditions`],
      JSON.stringify(conditions).replace('<m>', '\\u003cm\\u003e'),
    )
    t.equal(
      got.annotations?.[`${prefix}current-metrics`],
      JSON.stringify([
        {
          type: 'Resource',
          resource: { name: 'cpu', currentAverageUtilization: 5, currentAverageValue: '2' },
        },
        {
          type: 'ContainerResource',
          containerResource: {
            name: 'cpu',
            currentAverageUtilization: 9,
            currentAverageValue: '1',
            container: 'c',
          },
        },
        { type: 'Pods', pods: { metricName: 'm', currentAverageValue: '3', selector } },
        {
          type: 'Object',
          object: {
            target: described,
            metricName: 'm',
            currentValue: '0',
            selector,
            averageValue: '4',
          },
        },
        {
          type: 'External',
          external: { metricName: 'm', metricSelector: selector, currentValue: '6' },
        },
      ]),
    )
    t.same(gotStatus, {
      observedGeneration: 1,
      lastScaleTime: time,
      currentReplicas: 2,
      desiredReplicas: 3,
      currentCPUUtilizationPercentage: 5,
    })
  },
)

t.test('the behavior of an autoscaler is spelled as Go spells its internal type', async t => {
  const policies = [{ type: 'Pods', value: 4, periodSeconds: 15 }]
  const behavior = {
    scaleUp: { stabilizationWindowSeconds: 0, selectPolicy: 'Max', policies, tolerance: '500m' },
    scaleDown: { stabilizationWindowSeconds: 60, selectPolicy: 'Min', policies },
  }
  const internal = (window: number, selectPolicy: string, tolerance: string | null) => ({
    StabilizationWindowSeconds: window,
    SelectPolicy: selectPolicy,
    Policies: [{ Type: 'Pods', Value: 4, PeriodSeconds: 15 }],
    Tolerance: tolerance,
  })
  const { metadata: got } = servedAutoscaler(autoscaler({ metrics: [cpu(9)], behavior }, {}))
  t.equal(
    got.annotations?.[`${prefix}behavior`],
    JSON.stringify({ ScaleUp: internal(0, 'Max', '500m'), ScaleDown: internal(60, 'Min', null) }),
  )
})

t.test('of several metrics of the CPU one is the target, and one the current one', async t => {
  const value = {
    type: 'Resource',
    resource: { name: 'cpu', target: { type: 'AverageValue', averageValue: '1' } },
  }
  const current = (utilization: number | undefined) => ({
    type: 'Resource',
    resource: { name: 'cpu', current: { averageUtilization: utilization, averageValue: '1' } },
  })
  const metrics = [value, cpu(50), cpu(60)]
  const currentMetrics = [current(1), current(2), current(undefined)]
  const got = servedAutoscaler(autoscaler({ metrics }, { currentMetrics }))
  t.match(got.spec, { targetCPUUtilizationPercentage: 50 })
  t.match(got.status, { currentCPUUtilizationPercentage: 2 })
  t.equal(
    got.metadata.annotations?.[`${prefix}metrics`],
    '[{"type":"Resource","resource":{"name":"cpu","targetAverageValue":"1"}}]',
  )
  t.notOk(
    'targetCPUUtilizationPercentage' in servedAutoscaler(autoscaler({ metrics: [value] }, {})).spec,
  )
  const older = (metric: object[]): unknown =>
    served(autoscaler({ metrics: metric }, {}), 'autoscaling/v1', 'HorizontalPodAutoscaler', '1.35')
  t.equal(older(metrics), 'autoscaler has a metric of the CPU before its target')
  t.match(older([cpu(50), value]), { spec: { targetCPUUtilizationPercentage: 50 } })
})

t.test('annotations in the words of the old version are not shown by us', t => {
  const names = ['metrics', 'current-metrics', 'conditions', 'behavior', 'other']
  const tolerances = ['scale-down-tolerance', 'scale-up-tolerance']
  const shown = [...names, ...tolerances].filter(name => {
    const bytes = autoscaler({ metrics: [cpu(50)] }, {}, { [prefix + name]: 'x' })
    return typeof servedAutoscaler(bytes) === 'object'
  })
  t.strictSame(shown, ['other'])
  t.end()
})
