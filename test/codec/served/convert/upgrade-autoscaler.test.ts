/** Autoscalers of autoscaling/v1 in the shape of v2: the way back from what is served
 *  (pkg/apis/autoscaling/v1/conversion.go). */

import t from 'tap'
import { textFromTree } from '../../../../lib/go/json/tree.ts'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { schemaOf } from '../../../../lib/codec/schema/schema.ts'
import { upgradeAutoscaler } from '../../../../lib/codec/served/convert/upgrade-autoscaler.ts'
import { GiveUp } from '../../../../lib/base/not-exact.ts'
import { metadata, protobuf, served, time } from '../../../support/kube/stored-kinds.ts'
import { treeOf } from '../../../writes/recorded/load.ts'

interface Autoscaler {
  readonly metadata: object
  readonly spec: { readonly metrics?: readonly object[]; readonly behavior?: object }
  readonly status: { readonly currentMetrics?: readonly object[] }
}

function upgraded(object: object, minor = '1.36'): Autoscaler | string {
  try {
    const made = upgradeAutoscaler(treeOf(object), schemaOf(minor))
    if (made instanceof NotExact) return made.reason
    return JSON.parse(textFromTree(made)) as Autoscaler
  } catch (error) {
    if (error instanceof GiveUp) return error.reason
    throw error
  }
}

const prefix = 'autoscaling.alpha.kubernetes.io/'
const metric = { name: 'm', selector: { matchLabels: { q: 'a' } } }
const describedObject = { kind: 'Service', name: 's', apiVersion: 'v1' }
const cpu = (target: object): object => ({ type: 'Resource', resource: { name: 'cpu', target } })

const v1 = (spec: object, annotations?: object, status: object = {}): object => ({
  kind: 'HorizontalPodAutoscaler',
  apiVersion: 'autoscaling/v1',
  metadata: { ...metadata, annotations },
  spec: { scaleTargetRef: { kind: 'Deployment', name: 'd' }, maxReplicas: 4, ...spec },
  status,
})

t.test('what v1 serves of v2 becomes the same again', async t => {
  const policies = [{ type: 'Pods', value: 4, periodSeconds: 15 }]
  const rules = { stabilizationWindowSeconds: 5, selectPolicy: 'Max', policies }
  const spec = {
    scaleTargetRef: { kind: 'Deployment', name: 'd' },
    minReplicas: 2,
    maxReplicas: 4,
    metrics: [
      {
        type: 'Object',
        object: { describedObject, metric, target: { type: 'Value', value: '3' } },
      },
      {
        type: 'Object',
        object: { describedObject, metric, target: { type: 'AverageValue', averageValue: '4' } },
      },
      { type: 'Pods', pods: { metric, target: { type: 'AverageValue', averageValue: '5' } } },
      { type: 'External', external: { metric, target: { type: 'Value', value: '6' } } },
      {
        type: 'External',
        external: { metric, target: { type: 'AverageValue', averageValue: '7' } },
      },
      {
        type: 'Resource',
        resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
      },
      {
        type: 'ContainerResource',
        containerResource: {
          name: 'cpu',
          container: 'c',
          target: { type: 'Utilization', averageUtilization: 8 },
        },
      },
      cpu({ type: 'Utilization', averageUtilization: 60 }),
    ],
    behavior: { scaleUp: rules, scaleDown: { ...rules, selectPolicy: 'Min' } },
  }
  const status = {
    observedGeneration: 1,
    lastScaleTime: time,
    currentReplicas: 2,
    desiredReplicas: 3,
    currentMetrics: [
      {
        type: 'Resource',
        resource: { name: 'cpu', current: { averageValue: '2', averageUtilization: 5 } },
      },
      { type: 'Pods', pods: { metric, current: { averageValue: '3' } } },
      { type: 'Object', object: { describedObject, metric, current: { value: '4' } } },
      { type: 'External', external: { metric, current: { value: '6' } } },
    ],
    conditions: [{ type: 'AbleToScale', status: 'True', lastTransitionTime: time, message: 'm' }],
  }
  const whole = {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v2',
    metadata: { ...metadata, annotations: { own: 'x' } },
    spec,
    status,
  }
  const old = served(protobuf(whole), 'autoscaling/v1', 'HorizontalPodAutoscaler') as object
  const again = upgraded(old) as Autoscaler
  t.match(again.metadata, { annotations: { own: 'x' } })
  t.notMatch(JSON.stringify(again.metadata), prefix)
  t.same(again.spec, spec)
  t.match(again.status, status)
})

t.test('an autoscaler without metrics aims at 80 percent of the CPU', async t => {
  const metrics = (object: object): unknown => (upgraded(object) as Autoscaler).spec.metrics
  t.same(metrics(v1({})), [cpu({ type: 'Utilization', averageUtilization: 80 })])
  t.same(metrics(v1({ targetCPUUtilizationPercentage: 30 })), [
    cpu({ type: 'Utilization', averageUtilization: 30 }),
  ])
  const pods = '[{"type":"Pods","pods":{"metricName":"m"}}]'
  t.same(metrics(v1({}, { [`${prefix}metrics`]: pods })), [
    {
      type: 'Pods',
      pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '0' } },
    },
  ])
})

t.test('a CPU utilization alone is the only current metric', async t => {
  const metrics = (status: object): unknown =>
    (upgraded(v1({}, undefined, status)) as Autoscaler).status.currentMetrics
  t.same(metrics({}), [])
  t.same(metrics({ currentCPUUtilizationPercentage: 7 }), [
    { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 7 } } },
  ])
})

t.test('an annotation that cannot be read gives the object up', async t => {
  t.equal(
    upgraded(v1({}, { [`${prefix}metrics`]: '{' })),
    'an annotation of the autoscaler is not JSON',
  )
  t.equal(
    upgraded(v1({}, { [`${prefix}behavior`]: '{"ScaleUp":{},"ScaleDown":{}}' })),
    'the behavior of the autoscaler has no Policies',
  )
  for (const way of ['up', 'down']) {
    t.equal(
      upgraded(v1({}, { [`${prefix}scale-${way}-tolerance`]: '1' })),
      'autoscaler has a tolerance in an annotation',
    )
  }
})
