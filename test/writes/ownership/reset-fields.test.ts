/** Fields that a write cannot change, and of which nobody becomes the owner by it
 *  (GetResetFields of the strategies in pkg/registry). */

import t from 'tap'
import { withoutResetFields } from '../../../lib/writes/ownership/reset-fields.ts'
import { FieldSet } from '../../../lib/writes/ownership/sets/field-set.ts'
import { memberElement, pathText } from '../../../lib/writes/ownership/sets/path-element.ts'

const paths = [
  'metadata.labels',
  'spec',
  'spec.a',
  'status',
  'status.conditions',
  'status.certificate',
]
const all = FieldSet.of(...paths.map(path => path.split('.').map(memberElement)))

function kept(resource: string, subresource = '', hasCustomStatus?: boolean): string {
  const [name = '', ...group] = resource.split('.')
  const filter = withoutResetFields({
    group: group.join('.'),
    resource: name,
    apiVersion: 'v1',
    subresource,
    hasCustomStatus,
  })
  return filter(all, 'v1').paths().map(pathText).sort().join(' ')
}

const metadata = '.metadata.labels'
const spec = '.spec .spec.a'
const status = '.status .status.certificate .status.conditions'

t.test('each resource and subresource resets its own fields', async t => {
  const requests = 'certificatesigningrequests.certificates.k8s.io'
  const rows: readonly (readonly [string, string, string])[] = [
    ['configmaps', '', `${metadata} ${spec} ${status}`],
    ['pods', '', `${metadata} ${spec}`],
    ['pods', 'status', `${metadata} ${status}`],
    ['deployments.apps', '', `${metadata} ${spec}`],
    ['deployments.apps', 'status', status],
    ['namespaces', 'finalize', `${metadata} ${spec}`],
    [requests, '', metadata],
    [requests, 'status', `${metadata} .status .status.certificate`],
    [requests, 'approval', `${metadata} .status .status.conditions`],
    ['flowschemas.flowcontrol.apiserver.k8s.io', 'status', status],
  ]
  for (const [resource, subresource, expected] of rows) {
    t.equal(kept(resource, subresource), expected, `${resource}/${subresource}`)
  }
})

t.test('of custom resources those with a status reset it', async t => {
  t.equal(kept('widgets.example.com', '', false), `${metadata} ${spec} ${status}`)
  t.equal(kept('widgets.example.com', '', true), `${metadata} ${spec}`)
  t.equal(kept('widgets.example.com', 'status', true), status)
})
