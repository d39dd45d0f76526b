import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import {
  reconcileStatefulSet,
  type StatefulSet,
  type StatefulSetParts,
} from '../../../lib/simulator/controllers/stateful-sets.ts'
import { type PodFact, podFact } from '../../../lib/simulator/runtime/facts.ts'
import type { Pod } from '../../../lib/simulator/runtime/objects.ts'

const labels = { app: 'db' }
const revision = 'controller-revision-hash'

function templateOf(image: string): StatefulSet['spec']['template'] {
  return { metadata: { labels }, spec: { containers: [{ name: 'c', image }] } }
}

function setOf(spec: Partial<StatefulSet['spec']>): StatefulSet {
  return {
    metadata: { name: 'db', namespace: 'default', uid: 's', generation: 1 },
    spec: {
      replicas: 3,
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: labels },
      template: templateOf('image:2'),
      ...spec,
    },
    status: { currentRevision: 'db-old' },
  }
}

/** The image and the revision of each pod that is created, by its name. */
function made(object: StatefulSet, rest: Partial<StatefulSetParts> = {}): Record<string, string> {
  const parts = {
    owned: [],
    orphans: [],
    revisions: [],
    orphanRevisions: [],
    hasClaim: () => true,
    ...rest,
  }
  const key = keyFromText('/registry/statefulsets/default/db')
  const seen = { key, object, now: '2026-01-01T00:00:00Z', nowMs: 0, ...parts }
  return Object.fromEntries(
    reconcileStatefulSet(seen).writes.flatMap(write => {
      if (write.type !== 'create' || write.resource !== 'pods') return []
      const { metadata, spec } = write.object as Pod
      const of = metadata.labels?.[revision] === 'db-old' ? 'old' : 'new'
      return [[metadata.name, `${spec.containers[0]?.image} ${of}`]]
    }),
  )
}

t.test('a pod below the partition is made anew as it was', async t => {
  const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 2 } }
  const [old, now] = ['image:1 old', 'image:2 new']
  const kept = templateOf('image:1')
  t.strictSame(made(setOf({ updateStrategy }), { kept }), {
    'db-0': old,
    'db-1': old,
    'db-2': now,
  })
  const later = setOf({ updateStrategy, ordinals: { start: 5 } })
  t.strictSame(made(later, { kept }), { 'db-5': old, 'db-6': old, 'db-7': now })
  t.strictSame(made(setOf({ updateStrategy })), { 'db-0': now, 'db-1': now, 'db-2': now })
  const onDelete = setOf({ updateStrategy: { type: 'OnDelete' } })
  t.strictSame(made(onDelete, { kept }), { 'db-0': now, 'db-1': now, 'db-2': now })
})

t.test('the partition counts from the first number', async t => {
  const podOf = (number: number): PodFact => {
    const name = `db-${number}`
    const metadata = {
      name,
      namespace: 'default',
      uid: name,
      labels: { ...labels, [revision]: 'db-old' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 's', controller: true },
      ],
    }
    const conditions = [{ type: 'Ready', status: 'True' }]
    const status = { phase: 'Running', conditions }
    const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'image:1' }] }
    return podFact(keyFromText(`/registry/pods/default/${name}`), 1, {
      metadata,
      spec,
      status,
    } as unknown as Pod)
  }
  const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 2 } }
  const object = setOf({ updateStrategy, ordinals: { start: 5 } })
  const key = keyFromText('/registry/statefulsets/default/db')
  const owned = [5, 6, 7].map(podOf)
  const parts = { owned, orphans: [], revisions: [], orphanRevisions: [], hasClaim: () => true }
  const deletedAt = (pods: readonly PodFact[]): readonly string[] =>
    reconcileStatefulSet({
      key,
      object,
      now: '2026-01-01T00:00:00Z',
      nowMs: 0,
      ...parts,
      owned: pods,
    }).writes.flatMap(write => (write.type === 'delete' ? [String(write.key)] : []))
  t.strictSame(deletedAt(owned), ['/registry/pods/default/db-7'])
})
