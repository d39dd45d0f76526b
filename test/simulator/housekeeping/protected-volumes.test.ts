import t from 'tap'
import { isClaimUsed, isVolumeUsed } from '../../../lib/simulator/housekeeping/protected-volumes.ts'

const claim = { metadata: { name: 'p-data', uid: 'c' } }
const byName = { name: 'x', persistentVolumeClaim: { claimName: 'p-data' } }

for (const [name, isUsed, spec] of [
  ['a pod on a node uses it', true, { nodeName: 'n', volumes: [byName] }],
  ['one without a node does not', false, { volumes: [byName] }],
  ['nor one with another claim', false, { nodeName: 'n', volumes: [{ name: 'data' }] }],
  [
    'an ephemeral volume has its name',
    true,
    { nodeName: 'n', volumes: [{ name: 'data', ephemeral: {} }] },
  ],
] as const) {
  t.test(name, async t => t.equal(isClaimUsed(claim, [{ metadata: { name: 'p' }, spec }]), isUsed))
}

for (const [name, isUsed, phase, bound, present] of [
  ['a volume that is bound to a claim that there is', true, 'Bound', 'c', 'c'],
  ['its claim is gone', false, 'Bound', 'c', undefined],
  ['another claim has the name', false, 'Bound', 'c', 'd'],
  ['it was released', false, 'Released', 'c', 'c'],
] as const) {
  t.test(name, async t => {
    const volume = { spec: { claimRef: { uid: bound } }, status: { phase } }
    t.equal(isVolumeUsed(volume, present), isUsed)
  })
}
