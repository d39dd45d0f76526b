import t from 'tap'
import { schemaOf } from '../../../../lib/codec/schema/schema.ts'
import { isAppliedBy, rulesOf } from '../../../../lib/codec/served/default-rules.ts'
import { type Stored, viewText } from '../../transcode/stored.ts'

const container = { name: 'c', imagePullPolicy: 'Always' }
const amounts = { 'hugepages-2Mi': '1' }
const huge = { limits: amounts, requests: amounts }
const podSpec = (spec: object): Stored => ({ apiVersion: 'v1', kind: 'Pod', metadata: {}, spec })
const service = (spec: object): Stored => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {},
  spec: { internalTrafficPolicy: 'Cluster', ipFamilies: ['IPv4'], ...spec },
})

/** For each rule that a view does not apply: objects that it would change, and the like that it
 *  would not. */
const cases: readonly (readonly [
  id: string,
  changed: readonly Stored[],
  same: readonly Stored[],
])[] = [
  [
    'imagePullPolicy',
    [
      podSpec({ containers: [{ name: 'c' }] }),
      podSpec({ containers: [], ephemeralContainers: [{ name: 'c' }] }),
    ],
    [podSpec({ containers: [container], ephemeralContainers: [container] })],
  ],
  [
    'imageVolumePullPolicy',
    [podSpec({ containers: [], volumes: [{ name: 'v', image: {} }] })],
    [podSpec({ containers: [], volumes: [{ name: 'v', image: { pullPolicy: 'Never' } }] })],
  ],
  [
    'negativeGracePeriod',
    [podSpec({ containers: [], terminationGracePeriodSeconds: -5 })],
    [
      podSpec({ containers: [], terminationGracePeriodSeconds: 0 }),
      podSpec({ containers: [], terminationGracePeriodSeconds: 4_000_000_000 }),
    ],
  ],
  [
    'emptyDir',
    [podSpec({ containers: [], volumes: [{ name: 'v' }] })],
    [podSpec({ containers: [], volumes: [{ name: 'v', emptyDir: {} }] })],
  ],
  [
    'requestsFromLimits',
    [
      podSpec({
        containers: [
          { ...container, resources: { limits: { cpu: '1', x: '1' }, requests: { cpu: '1' } } },
        ],
      }),
    ],
    [
      podSpec({
        containers: [
          { ...container, resources: { limits: { cpu: '2' }, requests: { cpu: '1', x: '1' } } },
        ],
      }),
      {
        apiVersion: 'v1',
        kind: 'PodTemplate',
        metadata: {},
        template: { spec: { containers: [{ ...container, resources: { limits: { cpu: '1' } } }] } },
      },
    ],
  ],
  [
    'podLevelRequests',
    [
      podSpec({ containers: [], resources: { limits: { cpu: '1' } } }),
      podSpec({
        containers: [{ ...container, resources: { requests: { memory: '1' } } }],
        resources: { limits: { cpu: '1' }, requests: { cpu: '1' } },
      }),
      podSpec({
        containers: [{ ...container, resources: huge }],
        resources: { requests: { cpu: '1' } },
      }),
    ],
    [
      podSpec({
        containers: [{ ...container, resources: huge }],
        resources: { requests: { 'hugepages-2Mi': '1' } },
      }),
      podSpec({
        containers: [{ ...container, resources: { requests: { 'hugepages-2Mi': '1' } } }],
        resources: { limits: { cpu: '1' }, requests: { cpu: '1' } },
      }),
      podSpec({
        containers: [{ ...container, resources: huge }],
        resources: {},
      }),
      podSpec({
        containers: [{ ...container, resources: { requests: { cpu: '1', other: '1' } } }],
        resources: { limits: { cpu: '1' }, requests: { cpu: '1' } },
      }),
    ],
  ],
  [
    'hostNetworkPorts',
    [podSpec({ hostNetwork: true, containers: [{ ...container, ports: [{ containerPort: 1 }] }] })],
    [
      podSpec({
        hostNetwork: true,
        containers: [{ ...container, ports: [{ containerPort: 1, hostPort: 1 }] }],
      }),
      podSpec({ containers: [{ ...container, ports: [{ containerPort: 1 }] }] }),
      {
        apiVersion: 'v1',
        kind: 'PodTemplate',
        metadata: {},
        template: {
          spec: {
            hostNetwork: true,
            containers: [{ ...container, ports: [{ containerPort: 1 }] }],
          },
        },
      },
    ],
  ],
  [
    'podCIDRs',
    [
      { apiVersion: 'v1', kind: 'Node', metadata: {}, spec: { podCIDR: '10.0.0.0/24' } },
      { apiVersion: 'v1', kind: 'Node', metadata: {}, spec: { podCIDRs: ['10.0.0.0/24'] } },
    ],
    [
      { apiVersion: 'v1', kind: 'Node', metadata: {} },
      {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: {},
        spec: { podCIDR: 'a', podCIDRs: ['a', 'b'] },
      },
    ],
  ],
  [
    'stringData',
    [{ apiVersion: 'v1', kind: 'Secret', metadata: {}, stringData: { a: 'b' } }],
    [{ apiVersion: 'v1', kind: 'Secret', metadata: {}, data: { a: 'MQ==' } }],
  ],
  [
    'resourceListRounding',
    [
      podSpec({ containers: [{ ...container, resources: { requests: { cpu: '1u' } } }] }),
      podSpec({ containers: [], overhead: { cpu: '15n' } }),
    ],
    [podSpec({ containers: [{ ...container, resources: { requests: { cpu: '1m' } } }] })],
  ],
  [
    'namespaceLabel',
    [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } },
      {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: 'n', labels: { 'kubernetes.io/metadata.name': 'm' } },
      },
    ],
    [
      {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: 'n', labels: { 'kubernetes.io/metadata.name': 'n' } },
      },
    ],
  ],
  [
    'nodeAllocatable',
    [{ apiVersion: 'v1', kind: 'Node', metadata: {}, status: { capacity: { cpu: '1' } } }],
    [
      {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: {},
        status: { capacity: { cpu: '1' }, allocatable: { cpu: '1' } },
      },
    ],
  ],
  [
    'rcLabels',
    [
      {
        apiVersion: 'v1',
        kind: 'ReplicationController',
        metadata: { labels: { a: 'b' } },
        spec: { template: { metadata: { labels: { a: 'b' } } } },
      },
    ],
    [
      {
        apiVersion: 'v1',
        kind: 'ReplicationController',
        metadata: { labels: { a: 'b' } },
        spec: { selector: { a: 'b' }, template: { metadata: { labels: { a: 'b' } } } },
      },
      { apiVersion: 'v1', kind: 'ReplicationController', metadata: {}, spec: {} },
    ],
  ],
  [
    'service',
    [
      service({ sessionAffinityConfig: {} }),
      service({ sessionAffinity: 'ClientIP' }),
      service({ ports: [{ port: 1 }] }),
      service({ ports: [{ port: 1, targetPort: '' }] }),
      service({ internalTrafficPolicy: undefined }),
      service({ type: 'NodePort' }),
      service({ externalIPs: ['1.2.3.4'] }),
      service({ type: 'LoadBalancer', externalTrafficPolicy: 'Local' }),
      { ...service({}), status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } },
    ],
    [
      service({
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 } },
        ports: [
          { port: 1, targetPort: 'a' },
          { port: 2, targetPort: 2 },
        ],
      }),
      service({ type: 'NodePort', externalTrafficPolicy: 'Local' }),
      service({
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        allocateLoadBalancerNodePorts: false,
      }),
      service({ type: 'ExternalName', internalTrafficPolicy: undefined, ipFamilies: [] }),
      { ...service({}), status: { loadBalancer: { ingress: [{ ip: '1.2.3.4', ipMode: 'VIP' }] } } },
    ],
  ],
  [
    'serviceIPFamilies',
    [
      service({ clusterIP: 'None' }),
      service({ ipFamilies: [] }),
      service({ type: 'ExternalName', internalTrafficPolicy: 'Cluster' }),
    ],
    [service({ clusterIP: 'None', clusterIPs: ['None'] })],
  ],
  [
    'limitRangeItem',
    ['max', 'default', 'min'].map(field => ({
      apiVersion: 'v1',
      kind: 'LimitRange',
      metadata: {},
      spec: { limits: [{ type: 'Container', [field]: { cpu: '1' } }] },
    })),
    [
      {
        apiVersion: 'v1',
        kind: 'LimitRange',
        metadata: {},
        spec: {
          limits: [
            { type: 'Pod', max: { cpu: '1' } },
            {
              type: 'Container',
              max: { cpu: '1' },
              default: { cpu: '1' },
              defaultRequest: { cpu: '1' },
            },
          ],
        },
      },
    ],
  ],
  [
    'otherStrategy',
    ['DaemonSet', 'Deployment'].map(kind => ({
      apiVersion: 'apps/v1',
      kind,
      metadata: { annotations: { 'deprecated.daemonset.template.generation': '1' } },
      spec: strategyOf(kind, { type: 'Other', rollingUpdate: { maxSurge: 1 } }),
    })),
    ['DaemonSet', 'Deployment'].map(kind => ({
      apiVersion: 'apps/v1',
      kind,
      metadata: { annotations: { 'deprecated.daemonset.template.generation': '1' } },
      spec: strategyOf(kind, {
        type: 'Other',
        rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
      }),
    })),
  ],
  [
    'statefulSetRollingUpdate',
    [{}, { type: 'OnDelete', rollingUpdate: {} }].map(updateStrategy => ({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: {},
      spec: { updateStrategy },
    })),
    [
      {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: {},
        spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate: {} } },
      },
    ],
  ],
  [
    'daemonSetAnnotation',
    [{}, { 'deprecated.daemonset.template.generation': '01' }].map(annotations => ({
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { annotations },
    })),
    [
      {
        apiVersion: 'apps/v1',
        kind: 'DaemonSet',
        metadata: { annotations: { 'deprecated.daemonset.template.generation': '12' } },
      },
    ],
  ],
  [
    'pvcDataSource',
    [{ dataSource: { kind: 'A', name: 'b' } }, { dataSourceRef: { kind: 'A', name: 'b' } }].map(
      spec => ({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: {}, spec }),
    ),
    [
      { dataSource: { kind: 'A', name: 'b' }, dataSourceRef: { kind: 'A', name: 'b' } },
      { dataSourceRef: { kind: 'A', name: 'b', namespace: 'c' } },
    ].map(spec => ({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: {}, spec })),
  ],
  [
    'hpaAnnotations',
    [
      {
        apiVersion: 'autoscaling/v2',
        kind: 'HorizontalPodAutoscaler',
        metadata: { annotations: { 'autoscaling.alpha.kubernetes.io/behavior': '{}' } },
      },
    ],
    [
      {
        apiVersion: 'autoscaling/v2',
        kind: 'HorizontalPodAutoscaler',
        metadata: { annotations: { other: '{}' } },
      },
    ],
  ],
  [
    'serviceAccountAlias',
    [
      podSpec({ containers: [], serviceAccountName: 'a' }),
      podSpec({ containers: [], serviceAccount: 'a', serviceAccountName: 'b' }),
    ],
    [podSpec({ containers: [], serviceAccount: 'a', serviceAccountName: 'a' })],
  ],
  [
    'podIPs',
    [
      { podIP: '1.2.3.4' },
      { podIPs: [{ ip: '1.2.3.4' }] },
      { podIP: '1.2.3.4', podIPs: [{ ip: '' }] },
    ].map(status => ({ ...podSpec({}), status })),
    [{ ...podSpec({}), status: { podIP: '1.2.3.4', podIPs: [{ ip: '1.2.3.4' }, { ip: '::1' }] } }],
  ],
  [
    'deviceTaintTimeAdded',
    [{ effect: 'NoSchedule' }].map(taint => deviceSlice(taint)),
    [deviceSlice({ effect: 'NoSchedule', timeAdded: '2026-01-01T00:00:00Z' })],
  ],
]

function deviceSlice(taint: object): Stored {
  return {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: {},
    spec: { devices: [{ name: 'd', taints: [taint] }] },
  }
}

function strategyOf(kind: string, strategy: object): object {
  return kind === 'DaemonSet' ? { updateStrategy: strategy } : { strategy }
}

t.test(
  'an object that an unapplied default would change is not exact, one that it would not is',
  async t => {
    for (const [id, changed, same] of cases) {
      for (const object of changed) {
        t.match(viewText(object), /^(?:a default that we do not apply|a quantity is smaller)/, id)
      }
      for (const object of same) t.match(viewText(object), /^\{"kind"/, id)
    }
  },
)

t.test('every rule is either applied, or checked and tested', async t => {
  const tested = new Set(cases.map(([id]) => id))
  for (const minor of ['1.33', '1.36']) {
    const types = schemaOf(minor).messageTypeNames()
    const rules = types.flatMap(name => rulesOf(schemaOf(minor).messageType(name)))
    t.equal(rules.length, schemaOf(minor).readDefaults.length)
    const unapplied = rules.filter(rule => !isAppliedBy(rule, 'view') && rule.isChecked !== false)
    t.ok(unapplied.length > 40)
    for (const { id = '', type, field = '', conditions } of unapplied) {
      // An empty list is absent in protobuf.
      const isOfProtobuf = conditions.every(({ state }) => state !== 'empty')
      if (isOfProtobuf) t.ok(tested.has(id), `${type} ${id} ${field}`)
    }
  }
})
