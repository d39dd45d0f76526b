import t from 'tap'
import { oldWays } from '../../../../../lib/cluster/write/validation/warnings.ts'
import { treeOf } from '../recorded/load.ts'

t.test('drivers of devices should have names in lower case', async t => {
  const sliceOf = (driver: string): Map<string, Map<string, string>> =>
    new Map([['spec', new Map([['driver', driver]])]])
  const warningsOf = (driver: string): string[] =>
    oldWays('resource.k8s.io', 'ResourceSlice', sliceOf(driver), undefined)
  t.strictSame(warningsOf('gpu.example.com'), [])
  t.strictSame(warningsOf('GPU.example.com'), [
    'spec.driver: driver names should be lowercase; "GPU.example.com" contains uppercase characters',
  ])
})

t.test('members of Services that mean nothing are warned of', async t => {
  const warningsOf = (spec: object): string[] =>
    oldWays('', 'Service', treeOf({ metadata: { name: 'a' }, spec }), undefined)
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
