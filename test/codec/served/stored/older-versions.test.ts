import t from 'tap'
import { schemaOf } from '../../../../lib/codec/schema/schema.ts'
import { isSameUnderOtherName } from '../../../../lib/codec/served/stored/older-versions.ts'

function isSame(group: string, kind: string, version: string): boolean {
  return isSameUnderOtherName(schemaOf(), kind, { from: `${group}/${version}`, to: `${group}/v1` })
}

t.test('an older version is the same under another name where only merging differs', async t => {
  // Go merges the lists of both in other ways.
  t.ok(isSame('storage.k8s.io', 'CSIDriver', 'v1beta1'))
  t.ok(isSame('storage.k8s.io', 'CSIStorageCapacity', 'v1alpha1'))
  t.ok(isSame('admissionregistration.k8s.io', 'ValidatingAdmissionPolicy', 'v1alpha1'))
})

t.test('one with other defaults or another shape is not', async t => {
  t.notOk(isSame('admissionregistration.k8s.io', 'MutatingAdmissionPolicyBinding', 'v1alpha1'))
  t.notOk(isSame('networking.k8s.io', 'IngressClass', 'v1beta1'))
  t.notOk(isSame('discovery.k8s.io', 'EndpointSlice', 'v1beta1'))
})
