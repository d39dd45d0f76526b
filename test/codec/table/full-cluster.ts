/** Access, admission and the cluster itself, each kind with all that its Table shows. */

import { type Row, createdAt, day } from './full-shared.ts'

const subjects = [
  { kind: 'User', name: 'u' },
  { kind: 'ServiceAccount', namespace: 'ns', name: 's' },
  { kind: 'Group', name: 'g' },
  { kind: 'User', name: 'v' },
]
const binding = { roleRef: { kind: 'ClusterRole', name: 'r' }, subjects }
const bindingCells = ['x', 'ClusterRole/r', day, 'u, v', 'g', 'ns/s']
const paramKind = { apiVersion: 'g.io/v1', kind: 'P' }
const labelRef = {
  selector: {
    matchLabels: { a: '1' },
    matchExpressions: [{ key: 'b', operator: 'In', values: ['x', 'y'] }],
  },
}
const labelRefText =
  '&LabelSelector{MatchLabels:map[string]string{a: 1,},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:b,Operator:In,Values:[x y],},},}'

export const access: readonly Row[] = [
  ['rbac.authorization.k8s.io/v1', 'ClusterRole', {}, ['x', createdAt]],
  ['rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', binding, bindingCells],
  ['rbac.authorization.k8s.io/v1', 'Role', {}, ['x', createdAt]],
  ['rbac.authorization.k8s.io/v1', 'RoleBinding', binding, bindingCells],
  [
    'certificates.k8s.io/v1',
    'CertificateSigningRequest',
    {
      spec: { request: '', signerName: 's.io/x', username: 'u', expirationSeconds: 3600 },
      status: { conditions: [{ type: 'Approved' }, { type: 'Failed' }], certificate: 'AA==' },
    },
    ['x', day, 's.io/x', 'u', '60m', 'Approved,Failed,Issued'],
  ],
  ['certificates.k8s.io/v1beta1', 'ClusterTrustBundle', { spec: { signerName: 's' } }, ['x', 's']],
  ['certificates.k8s.io/v1alpha1', 'ClusterTrustBundle', { spec: { signerName: 's' } }, ['x', 's']],
  [
    'certificates.k8s.io/v1beta1',
    'PodCertificateRequest',
    {
      spec: {
        podName: 'p',
        serviceAccountName: 'sa',
        nodeName: 'n',
        signerName: 's',
        unverifiedUserAnnotations: { a: '1' },
      },
      status: { conditions: [{ type: 'Issued', status: 'True' }] },
    },
    ['x', 'p', 'sa', 'n', 's', 'Issued', 'a=1'],
  ],
  ...['v1', 'v1beta1', 'v1alpha1'].flatMap((version): Row[] => [
    [
      `admissionregistration.k8s.io/${version}`,
      'MutatingAdmissionPolicy',
      { spec: { mutations: [{}, {}], paramKind } },
      ['x', 2, 'g.io/v1/P', day],
    ],
    [
      `admissionregistration.k8s.io/${version}`,
      'MutatingAdmissionPolicyBinding',
      { spec: { policyName: 'p', paramRef: { namespace: 'ns', name: 'n' } } },
      ['x', 'p', 'ns/n', day],
    ],
  ]),
  [
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicy',
    { spec: { validations: [{}], paramKind } },
    ['x', 1, 'g.io/v1/P', day],
  ],
  [
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicyBinding',
    { spec: { policyName: 'p', paramRef: labelRef } },
    ['x', 'p', labelRefText, day],
  ],
  [
    'admissionregistration.k8s.io/v1',
    'MutatingWebhookConfiguration',
    { webhooks: [{}, {}] },
    ['x', 2, day],
  ],
  [
    'admissionregistration.k8s.io/v1',
    'ValidatingWebhookConfiguration',
    { webhooks: [{}] },
    ['x', 1, day],
  ],
]

export const cluster: readonly Row[] = [
  [
    'apiregistration.k8s.io/v1',
    'APIService',
    {
      spec: { service: { namespace: 'ns', name: 's' } },
      status: { conditions: [{ type: 'Available', status: 'False', reason: 'MissingEndpoints' }] },
    },
    ['x', 'ns/s', 'False (MissingEndpoints)', day],
  ],
  ['apiextensions.k8s.io/v1beta1', 'CustomResourceDefinition', {}, ['x', createdAt]],
  ['coordination.k8s.io/v1', 'Lease', { spec: { holderIdentity: 'h' } }, ['x', 'h', day]],
  ...['v1beta1', 'v1alpha2'].map((version): Row => [
    `coordination.k8s.io/${version}`,
    'LeaseCandidate',
    { spec: { leaseName: 'l', binaryVersion: '1.36', emulationVersion: '1.35' } },
    ['x', 'l', '1.36', '1.35', day],
  ]),
  [
    'flowcontrol.apiserver.k8s.io/v1',
    'FlowSchema',
    {
      spec: {
        priorityLevelConfiguration: { name: 'pl' },
        matchingPrecedence: 7,
        distinguisherMethod: { type: 'ByUser' },
      },
      status: { conditions: [{ type: 'Dangling', status: 'True' }] },
    },
    ['x', 'pl', 7, 'ByUser', day, 'True'],
  ],
  [
    'flowcontrol.apiserver.k8s.io/v1',
    'PriorityLevelConfiguration',
    {
      spec: {
        type: 'Limited',
        limited: {
          nominalConcurrencyShares: 0,
          limitResponse: { queuing: { queues: 8, handSize: 2, queueLengthLimit: 10 } },
        },
      },
    },
    ['x', 'Limited', 0, 8, 2, 10, day],
  ],
  [
    'internal.apiserver.k8s.io/v1alpha1',
    'StorageVersion',
    {
      status: {
        commonEncodingVersion: 'v1',
        storageVersions: [
          { apiServerID: 'a', encodingVersion: 'v1' },
          { apiServerID: 'b', encodingVersion: 'v2' },
        ],
      },
    },
    ['x', 'v1', 'a=v1,b=v2', day],
  ],
  ['node.k8s.io/v1', 'RuntimeClass', { handler: 'h' }, ['x', 'h', day]],
  ...['v1', 'v1beta2', 'v1beta1'].flatMap((version): Row[] => [
    [`resource.k8s.io/${version}`, 'DeviceClass', {}, ['x', day]],
    [
      `resource.k8s.io/${version}`,
      'ResourceClaim',
      { status: { allocation: {}, reservedFor: [{ name: 'p' }] } },
      ['x', 'allocated,reserved', day],
    ],
    [`resource.k8s.io/${version}`, 'ResourceClaimTemplate', {}, ['x', day]],
    [
      `resource.k8s.io/${version}`,
      'ResourceSlice',
      { spec: { nodeName: 'n', driver: 'd', pool: { name: 'p' } } },
      ['x', 'n', 'd', 'p', day],
    ],
  ]),
  ...['v1beta2', 'v1alpha3'].map((version): Row => [
    `resource.k8s.io/${version}`,
    'DeviceTaintRule',
    { spec: { taint: { key: 'k', value: 'v', effect: 'NoSchedule', timeAdded: createdAt } } },
    ['x', 'k', 'v', 'NoSchedule', day, day],
  ]),
  [
    'resource.k8s.io/v1alpha3',
    'ResourcePoolStatusRequest',
    {
      spec: { driver: 'd' },
      status: {
        poolCount: 2,
        pools: [
          { totalDevices: 4, availableDevices: 1, allocatedDevices: 2, unavailableDevices: 1 },
          { totalDevices: 2, validationError: 'e' },
        ],
        conditions: [{ type: 'Complete', status: 'True', lastTransitionTime: createdAt }],
      },
    },
    ['x', 'd', '6', '1', '2', '1', '1', 2, 'Complete', day],
  ],
  [
    'scheduling.k8s.io/v1',
    'PriorityClass',
    { value: -5, globalDefault: true, preemptionPolicy: 'Never' },
    ['x', -5, true, day, 'Never'],
  ],
  [
    'scheduling.k8s.io/v1alpha2',
    'PodGroup',
    {
      spec: {
        podGroupTemplateRef: { workload: { workloadName: 'w' } },
        schedulingPolicy: { gang: { minCount: 2 } },
      },
      status: { conditions: [{ type: 'PodGroupScheduled', status: 'True' }] },
    },
    ['x', 'Gang', 'w', 'Scheduled', day],
  ],
  ['scheduling.k8s.io/v1alpha2', 'Workload', {}, ['x', day]],
  [
    'storagemigration.k8s.io/v1beta1',
    'StorageVersionMigration',
    {
      spec: { resource: { group: 'apps', resource: 'deployments' } },
      status: { conditions: [{ type: 'Running', status: 'True' }] },
    },
    ['x', 'deployments.apps', 'Running'],
  ],
]
