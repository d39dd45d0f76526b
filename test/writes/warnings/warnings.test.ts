import { readFileSync } from 'node:fs'
import t from 'tap'
import type { JsonObject } from '../../../lib/go/json/tree.ts'
import { warningsAbout } from '../../../lib/writes/warnings/warnings.ts'
import { preparedObject } from '../../support/rules/validated.ts'
import { treeOf } from '../recorded/load.ts'

function warningsOfKind(
  group: string,
  kind: string,
  object: JsonObject,
  old?: JsonObject,
): string[] {
  return warningsAbout({ group, kind }, { object, old, subresource: '' })
}

t.test('drivers of devices should have names in lower case', async t => {
  const sliceOf = (driver: string): Map<string, Map<string, string>> =>
    new Map([['spec', new Map([['driver', driver]])]])
  const warningsOf = (driver: string): string[] =>
    warningsOfKind('resource.k8s.io', 'ResourceSlice', sliceOf(driver))
  t.strictSame(warningsOf('gpu.example.com'), [])
  t.strictSame(warningsOf('GPU.example.com'), [
    'spec.driver: driver names should be lowercase; "GPU.example.com" contains uppercase characters',
  ])
})

t.test('members of Services that mean nothing are warned of', async t => {
  const warningsOf = (spec: object): string[] =>
    warningsOfKind('', 'Service', treeOf({ metadata: { name: 'a' }, spec }))
  const externalIPs = ['10.0.0.1']
  const deprecated =
    'spec.externalIPs is deprecated and may no longer be implemented in some clusters'
  const rows: readonly (readonly [object, readonly string[]])[] = [
    [{ type: 'ClusterIP' }, []],
    [{ type: 'ClusterIP', externalIPs }, [deprecated]],
    [
      { type: 'ClusterIP', clusterIP: 'None', externalIPs, sessionAffinity: 'None' },
      ['spec.externalIPs is ignored for headless services'],
    ],
    [
      { type: 'ExternalName', externalIPs },
      ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
    ],
    [
      { type: 'ClusterIP', clusterIP: 'None', sessionAffinity: 'ClientIP' },
      ['spec.SessionAffinity is ignored for headless services'],
    ],
    [
      { type: 'ClusterIP', clusterIP: 'None', sessionAffinity: 'None', loadBalancerIP: '10.0.0.1' },
      ['spec.loadBalancerIP is ignored for headless services'],
    ],
  ]
  for (const [spec, warnings] of rows) {
    t.strictSame(warningsOf(spec), warnings, JSON.stringify(spec))
  }
})

t.test('networks of a node, and tokens that a driver asks for', async t => {
  const node = { spec: { podCIDRs: ['10.0.1.1/24'] } }
  t.strictSame(warningsOfKind('', 'Node', treeOf(node)), [
    'spec.podCIDRs[0]: CIDR value "10.0.1.1/24" is ambiguous in this context (should be "10.0.1.0/24" or "10.0.1.1/32"?)',
  ])
  const driver = (spec: object): number => {
    const asked = treeOf({ spec: { tokenRequests: [{ audience: 'a' }], ...spec } })
    return warningsOfKind('storage.k8s.io', 'CSIDriver', asked).length
  }
  t.strictSame([driver({}), driver({ serviceAccountTokenInSecrets: false })], [1, 0])
})

t.test('a quota of requests above that of limits is warned of', t => {
  const warningsOf = (requests: string, limits: string): string[] => {
    const hard = { 'requests.cpu': requests, 'limits.cpu': limits }
    return warningsOfKind('', 'ResourceQuota', treeOf({ spec: { hard } }))
  }
  t.strictSame(warningsOf('1', '1000m'), [])
  t.strictSame(warningsOf('1001m', '1'), [
    'ResourceQuota requests.cpu (1001m) should be less than limits.cpu (1)',
  ])
  t.end()
})

t.test('secrets that may be mounted are warned of once', t => {
  const account = (annotations: object) => treeOf({ metadata: { annotations } })
  const enforced = account({ 'kubernetes.io/enforce-mountable-secrets': 'true' })
  const warningsOf = (old?: JsonObject): string[] =>
    warningsOfKind('', 'ServiceAccount', enforced, old)
  const warning =
    'metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets'
  t.strictSame(
    [warningsOf(), warningsOf(account({})), warningsOf(enforced)],
    [[warning], [warning], []],
  )
  t.end()
})

t.test('addresses in the status of a pod that should be written otherwise', async t => {
  const status = { podIPs: [{ ip: 'fd00::0' }], hostIPs: [{ ip: '::ffff:10.0.0.1' }] }
  t.strictSame(
    warningsAbout(
      { group: '', kind: 'Pod' },
      { object: treeOf({ status }), old: undefined, subresource: 'status' },
    ),
    [
      'status.podIPs[0].ip: IPv6 address "fd00::0" should be in RFC 5952 canonical format ("fd00::")',
      'status.hostIPs[0].ip: non-standard IP address "::ffff:10.0.0.1" is invalid: use "10.0.0.1"',
    ],
  )
})

interface Recorded {
  readonly path: string
  readonly object: { readonly kind: string }
  readonly warnings: readonly string[]
}

/** Objects, each with what a kube-apiserver 1.36 warned of when it was created. */
const recorded = JSON.parse(
  readFileSync('test/writes/warnings/recorded.json', 'utf8'),
) as Recorded[]

t.test('a kube-apiserver and we warn of the same', async t => {
  for (const { path, object, warnings } of recorded) {
    const [, group = ''] = /^\/apis\/([^/]+)/.exec(path) ?? []
    const prepared = treeOf(await preparedObject({ path, object }))
    const ours = warningsOfKind(group, object.kind, prepared)
    t.strictSame([...new Set(ours)], warnings, JSON.stringify(object))
  }
})

t.test('pods and templates that did not change are not warned of again', async t => {
  const metadata = { name: 'a.b', generation: 2 }
  const template = { spec: { terminationGracePeriodSeconds: -1 } }
  const [deployment, pod] = [
    treeOf({ metadata, spec: { template } }),
    treeOf({ metadata, spec: template.spec }),
  ]
  t.strictSame(warningsOfKind('apps', 'Deployment', deployment, deployment), [])
  t.strictSame(warningsOfKind('', 'Pod', pod, pod), [])
  const before = treeOf({ metadata: { name: 'a.b', generation: 1 } })
  t.strictSame(warningsOfKind('apps', 'Deployment', deployment, before), [
    'spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
  ])
})
