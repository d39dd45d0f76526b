import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { type Adoptable, adopt } from '../../../lib/simulator/controllers/adoption.ts'

const adopter = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'set' }
const reference = { ...adopter, controller: true, blockOwnerDeletion: true }
const selector = { matchLabels: { app: 'web' } }

function pod(rest: Partial<Adoptable> = {}): Adoptable {
  const identity = { key: keyFromText('/pods/a/p'), revision: 1, uid: 'p', name: 'p' }
  const state = { isDeleting: false, createdMs: 0, owner: undefined, labels: { app: 'web' } }
  return { ...identity, ...state, namespace: 'a', ...rest }
}

const other = { kind: 'Note', name: 'n', uid: 'n' }
const cases: readonly [string, 'owned' | 'orphan', Partial<Adoptable>, unknown][] = [
  ['a pod that nobody controls is adopted', 'orphan', {}, [reference]],
  ['its other owners stay', 'orphan', { otherOwners: [other] }, [other, reference]],
  ['one that is not selected is not', 'orphan', { labels: { app: 'x' } }, undefined],
  ['nor one that is being deleted', 'orphan', { isDeleting: true }, undefined],
  ['an owned pod stays', 'owned', {}, undefined],
  ['one that is no longer selected is let go', 'owned', { labels: {} }, null],
]
for (const [name, where, rest, expected] of cases) {
  t.test(name, async t => {
    const facts = [pod(rest)]
    const [owned, orphans] = where === 'owned' ? [facts, []] : [[], facts]
    const patch = { metadata: { uid: 'p', ownerReferences: expected } }
    t.strictSame(
      adopt(adopter, selector, owned, orphans),
      expected === undefined ? [] : [{ type: 'patch', key: '/pods/a/p', patch }],
    )
  })
}
