import t from 'tap'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { prepareView } from '../../../lib/codec/served/view.ts'
import { type Stored, viewText } from '../transcode/stored.ts'

function viewOf(object: Stored): Record<string, unknown> {
  return JSON.parse(viewText(object)) as Record<string, unknown>
}

const configMap = { apiVersion: 'v1', kind: 'ConfigMap', data: { key: 'value' } }

t.test('the resourceVersion is put into the metadata of the object, and there only', async t => {
  t.equal(
    viewText({ ...configMap, metadata: { name: 'a', namespace: 'b', uid: 'u' } }),
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"7"},"data":{"key":"value"}}',
  )
  const text = viewText({
    apiVersion: 'v1',
    kind: 'PodTemplate',
    metadata: { name: 'a', resourceVersion: '3' },
    template: { metadata: { name: 'b' }, spec: {} },
  })
  t.match(
    text,
    /^\{"kind":"PodTemplate","apiVersion":"v1","metadata":\{"name":"a","resourceVersion":"7"\}/,
  )
  t.match(text, /"template":\{"metadata":\{"name":"b"\}/)
})

t.test('an item of a list has neither kind nor apiVersion', async t => {
  t.equal(
    viewText({ ...configMap, metadata: { name: 'a' } }, { isItem: true }),
    '{"metadata":{"name":"a","resourceVersion":"7"},"data":{"key":"value"}}',
  )
})

t.test(
  'a version of the same shape is served under its own name, another is not exact',
  async t => {
    const policy = {
      apiVersion: 'admissionregistration.k8s.io/v1beta1',
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name: 'a' },
      spec: { policyName: 'b' },
    }
    t.equal(
      viewText(policy, { apiVersion: 'admissionregistration.k8s.io/v1' }),
      '{"kind":"MutatingAdmissionPolicyBinding","apiVersion":"admissionregistration.k8s.io/v1","metadata":{"name":"a","resourceVersion":"7"},"spec":{"policyName":"b"}}',
    )
    t.equal(
      viewText({ ...configMap, metadata: { name: 'a' } }, { apiVersion: 'v2' }),
      'ConfigMap is stored as v1',
    )
  },
)

t.test('every relabelled resource can be viewed as its served version', async t => {
  const relabelled = schemaOf().resources.filter(({ storage }) => storage?.conversion === 'relabel')
  t.ok(relabelled.length > 10)
  for (const { group, version, kind, storage } of relabelled) {
    const apiVersion = `${group}/${version}`
    const spec =
      kind === 'DeviceTaintRule' ? { taint: { timeAdded: '2026-01-01T00:00:00Z' } } : undefined
    const stored = {
      apiVersion: `${storage?.group}/${storage?.version}`,
      kind,
      metadata: {},
      spec,
    }
    t.match(
      viewText(stored, { apiVersion }),
      `"apiVersion":"${apiVersion}"`,
      `${apiVersion} ${kind}`,
    )
  }
})

t.test('defaults are filled in from the top down, where a field is zero', async t => {
  const view = viewOf({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'a' },
    spec: { replicas: 0, selector: {}, template: { spec: { containers: [] } } },
  })
  t.match(view['spec'], {
    replicas: 0,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
    template: {
      spec: {
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 30,
        dnsPolicy: 'ClusterFirst',
        securityContext: {},
        schedulerName: 'default-scheduler',
      },
    },
  })
  t.notMatch(viewText({ ...view, apiVersion: 'apps/v1', kind: 'Deployment' }), 'enableServiceLinks')
})

t.test(
  'defaults that depend on a sibling, on the object or on the place are told apart',
  async t => {
    const deployment = (strategy: object): unknown =>
      (
        viewOf({
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: {},
          spec: { strategy, template: {} },
        })['spec'] as Record<string, unknown>
      )['strategy']
    t.strictSame(deployment({ type: 'Recreate' }), { type: 'Recreate' })
    t.strictSame(deployment({ rollingUpdate: { maxSurge: 2 } }), {
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: '25%', maxSurge: 2 },
    })
    const pod = viewOf({ apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: {} })
    t.match(pod['spec'], { enableServiceLinks: true })
    const scaler = viewOf({
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: {},
      spec: { maxReplicas: 3, behavior: { scaleUp: {}, scaleDown: {} } },
    })
    t.match(scaler['spec'], {
      minReplicas: 1,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: 80 } } },
      ],
      behavior: {
        scaleUp: {
          stabilizationWindowSeconds: 0,
          policies: [{ type: 'Pods' }, { type: 'Percent' }],
        },
        scaleDown: { selectPolicy: 'Max', policies: [{ type: 'Percent' }] },
      },
    })
    t.notMatch(
      viewText({ ...scaler, apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' }),
      /scaleDown":\{"stab/,
    )
  },
)

t.test('an empty phase is filled in, and claims in a template say what they are', async t => {
  for (const [kind, phase] of [
    ['PersistentVolumeClaim', 'Pending'],
    ['PersistentVolume', 'Pending'],
    ['Namespace', 'Active'],
  ] as const) {
    t.match(viewOf({ apiVersion: 'v1', kind, metadata: {} })['status'], { phase }, kind)
  }
  const text = viewText({
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: {},
    spec: {
      volumeClaimTemplates: [{ metadata: { name: 'data' } }],
      updateStrategy: { type: 'OnDelete' },
    },
  })
  t.match(
    text,
    '"volumeClaimTemplates":[{"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"data"},"spec":{"resources":{},"volumeMode":"Filesystem"},"status":{"phase":"Pending"}}]',
  )
})

t.test(
  'a job takes the labels of its template, and defaults that depend on each other',
  async t => {
    const job = (metadata: object, spec: object): Record<string, unknown> =>
      viewOf({
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata,
        spec: { template: { metadata: { labels: { b: '2', a: '1' } } }, ...spec },
      })
    t.strictSame(job({ name: 'j' }, {})['metadata'], {
      name: 'j',
      resourceVersion: '7',
      labels: { a: '1', b: '2' },
    })
    t.match(job({ labels: { c: '3' } }, {})['metadata'], { labels: { c: '3', a: undefined } })
    t.strictSame(job({ name: 'j' }, { template: {} })['metadata'], {
      name: 'j',
      resourceVersion: '7',
    })
    t.match(job({}, {})['spec'], {
      completions: 1,
      parallelism: 1,
      backoffLimit: 6,
      podReplacementPolicy: 'TerminatingOrFailed',
      completionMode: 'NonIndexed',
    })
    t.match(
      job({}, { parallelism: 2, backoffLimitPerIndex: 1, podFailurePolicy: { rules: [] } })['spec'],
      {
        completions: undefined,
        parallelism: 2,
        backoffLimit: 2_147_483_647,
        podReplacementPolicy: 'Failed',
      },
    )
    const cron = viewText({
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: {},
      spec: {
        schedule: '',
        jobTemplate: { spec: { template: { metadata: { labels: { a: '1' } } } } },
      },
    })
    t.notMatch(cron, /completions|backoffLimit/)
  },
)

t.test('rules in words that are applied', async t => {
  const policy = (spec: object): unknown =>
    viewOf({ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: {}, spec })[
      'spec'
    ]
  t.match(policy({}), { policyTypes: ['Ingress'] })
  t.match(policy({ egress: [{}] }), { policyTypes: ['Ingress', 'Egress'] })
  t.match(policy({ policyTypes: ['Egress'] }), { policyTypes: ['Egress'] })
  const binding = viewOf({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: {},
    subjects: [
      { kind: 'User', name: 'a' },
      { kind: 'ServiceAccount', name: 'b' },
    ],
    roleRef: {},
  })
  t.match(binding, {
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io' }, { apiGroup: undefined }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io' },
  })
})

t.test('everything that a view needs can be compiled ahead, for every kind', async t => {
  let steps = 0
  for (const { apiVersion, kind } of schemaOf().allKinds()) {
    for (const step of prepareView(schemaOf(), apiVersion, kind)) {
      t.equal(step, undefined)
      steps++
    }
    t.strictSame([...prepareView(schemaOf(), apiVersion, kind)], [], `${kind} is prepared once`)
  }
  t.ok(steps > 500)
  t.strictSame([...prepareView(schemaOf(), 'v1', 'Gadget')], [])
})

t.test('what is no object of the API has no view', async t => {
  t.equal(viewText({ apiVersion: 'v1', kind: 'PodList', items: [] }), 'PodList is not an object')
  t.equal(viewText({ apiVersion: 'v1', kind: 'Status' }), 'Status is not an object')
})
