import t from 'tap'
import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import {
  type DeploymentParts,
  type OwnedSet,
  reconcileDeployment,
  refusedOfDeployment,
} from '../../../lib/simulator/controllers/deployments.ts'
import { replicaSetFact } from '../../../lib/simulator/runtime/facts.ts'
import type { Deployment, ReplicaSet } from '../../../lib/simulator/runtime/objects.ts'
import {
  type ReconcileResult,
  RefusedWrite,
  type Write,
} from '../../../lib/simulator/runtime/reconcile-result.ts'
import type { Seen } from '../../../lib/simulator/runtime/reconciler.ts'
import { StatusError } from '../../../lib/kube/status.ts'

const key = keyFromText('/registry/deployments/default/web')
const revisionName = 'deployment.kubernetes.io/revision'

function deployment(rest: Partial<Deployment['metadata']> = {}): Deployment {
  const labels = { app: 'web' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'image:1' }] } }
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'd', generation: 1, ...rest },
    spec: { replicas: 3, selector: { matchLabels: labels }, template },
  }
}

function seen(object: Deployment, owned: readonly OwnedSet[]): Seen<Deployment> & DeploymentParts {
  return { key, object, now: '2026-01-01T00:00:00Z', nowMs: 0, owned, orphans: [] }
}

/** The set that a deployment asks for, as it is stored. */
function madeBy({ writes }: ReconcileResult): OwnedSet {
  const [write] = writes
  if (write?.type !== 'create') throw new Error('no set is created')
  const object = write.object as ReplicaSet
  const { name } = object.metadata
  const at = keyFromText(`/registry/replicasets/default/${name}`)
  const made = { ...object, metadata: { ...object.metadata, uid: 'rs' } }
  return { ...replicaSetFact(at, 5, made), pods: 0 }
}

function patchesOf(writes: readonly Write[], at: Key): Extract<Write, { type: 'patch' }>[] {
  return writes.flatMap(write => (write.type === 'patch' && write.key === at ? [write] : []))
}

t.test('a new deployment asks for one set with all replicas', async t => {
  const first = reconcileDeployment(seen(deployment(), []))
  t.equal(first.writes.length, 1)
  t.match(first.writes[0], {
    type: 'create',
    resource: 'replicasets',
    object: {
      metadata: { annotations: { [revisionName]: '1' }, ownerReferences: [{ uid: 'd' }] },
      spec: { replicas: 3 },
    },
    note: { message: 'Scaled up replica set % from 0 to 3' },
  })
})

t.test('its revision is written with its status: the generation stays', async t => {
  const object = deployment()
  const set = madeBy(reconcileDeployment(seen(object, [])))
  const { writes } = reconcileDeployment(seen(object, [set]))
  const patches = patchesOf(writes, key)
  t.equal(patches.length, 1)
  t.match(patches[0], {
    subresource: 'status',
    patch: {
      metadata: { annotations: { [revisionName]: '1' } },
      status: { observedGeneration: 1 },
    },
  })
  const known = deployment({ annotations: { [revisionName]: '1' } })
  const [again] = patchesOf(reconcileDeployment(seen(known, [set])).writes, key)
  t.notOk(again !== undefined && 'metadata' in again.patch, 'and once only')
})

t.test('a name that somebody else has is counted, so that the next one is another', async t => {
  const object = deployment()
  const asked = seen(object, [])
  const [write] = reconcileDeployment(asked).writes
  if (write === undefined) throw new Error('nothing is written')
  const message = 'replicasets.apps "web-1" already exists'
  const taken = new StatusError('invalid_request', { code: 409, reason: 'AlreadyExists', message })
  const { writes } = refusedOfDeployment(asked, new RefusedWrite(write, taken))
  t.match(patchesOf(writes, key), [
    { subresource: 'status', patch: { status: { collisionCount: 1 } } },
  ])
  const counted: Deployment = { ...object, status: { collisionCount: 1 } }
  const nameOf = (one: Deployment): string => madeBy(reconcileDeployment(seen(one, []))).name
  t.not(nameOf(counted), nameOf(object))
})

t.test('a revision is a number of 64 bits: the next one is one more', async t => {
  const object = deployment()
  const set = madeBy(reconcileDeployment(seen(object, [])))
  const adopted = { ...set, revisionNumber: 3_546_343_826_724_305_832n, template: 'another' }
  const [creation] = reconcileDeployment(seen(object, [adopted])).writes
  t.match(creation, {
    object: { metadata: { annotations: { [revisionName]: '3546343826724305833' } } },
  })
  const at = keyFromText('/registry/replicasets/default/old')
  const [write] = reconcileDeployment(seen(object, [])).writes
  const stored = (write as { readonly object: ReplicaSet }).object
  const numberOf = (text: string): bigint =>
    replicaSetFact(at, 1, {
      ...stored,
      metadata: { ...stored.metadata, uid: 'u', annotations: { [revisionName]: text } },
    }).revisionNumber
  for (const text of ['', 'x', '-1', '1.5', '9999999999999999999', '1'.repeat(200)]) {
    t.equal(numberOf(text), 0n, text)
  }
  t.equal(numberOf('007'), 7n)
})
