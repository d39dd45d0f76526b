/** Rules of writes of a Scale: the object gets its number, and nothing else. */

import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { type Shown, WriteWorld } from '../../support/kube/writes/write-world.ts'

const uid = '11111111-2222-3333-4444-555555555555'
const key = keyFromText('/registry/deployments/ns/a')
const asking = {
  group: 'apps',
  version: 'v1',
  resource: 'deployments',
  name: 'a',
  subresource: 'scale',
} as const

function worldWith(spec: object): WriteWorld {
  const world = new WriteWorld()
  world.put(key, {
    kind: 'Deployment',
    apiVersion: 'apps/v1',
    metadata: { name: 'a', namespace: 'ns', uid, generation: 4 },
    spec: {
      selector: { matchLabels: { app: 'a' } },
      template: {
        metadata: { labels: { app: 'a' } },
        spec: { containers: [{ name: 'c', image: 'i:1' }] },
      },
      ...spec,
    },
  })
  return world
}

const scale = (metadata: object, spec: object): object => ({
  kind: 'Scale',
  apiVersion: 'autoscaling/v1',
  metadata: { name: 'a', namespace: 'ns', ...metadata },
  spec,
})

function replicasOf(stored: Shown | undefined): unknown {
  const { metadata, spec } = stored as { metadata: Shown; spec: Shown }
  return [spec['replicas'], metadata['generation']]
}

t.test('the number of replicas goes into the object', async t => {
  for (const replicas of [0, 7]) {
    const world = worldWith({ replicas: 3 })
    await world.ask('update', asking, scale({}, { replicas }))
    t.strictSame(replicasOf(world.stored(key)), [replicas, 5])
    const patched = worldWith({ replicas: 3 })
    const contentType = 'application/merge-patch+json'
    await patched.ask('patch', asking, { spec: { replicas } }, { contentType })
    t.strictSame(replicasOf(patched.stored(key)), [replicas, 5])
  }
  const world = worldWith({ replicas: 3 })
  await world.ask('update', asking, scale({ uid }, { replicas: 4 }), { query: 'dryRun=All' })
  t.strictSame(replicasOf(world.stored(key)), [3, 4], 'a dry run changes nothing')
  await world.ask('update', asking, scale({ uid }, {}))
  t.strictSame(replicasOf(world.stored(key)), [0, 5], 'none is zero')
})

/** ScaleREST.Update of the registries, and validation of autoscaling. */
t.test('a Scale of something else is refused, and changes nothing', async t => {
  const rows: readonly (readonly [object, string | RegExp])[] = [
    [
      scale({ uid: 'other' }, { replicas: 1 }),
      `409: Operation cannot be fulfilled on deployments.apps "a": StorageError: invalid object, Code: 4, Key: /registry/deployments/ns/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: ${uid}`,
    ],
    [
      scale({ name: 'b' }, { replicas: 1 }),
      '400: the name of the object (b) does not match the name on the URL (a)',
    ],
    [
      scale({ namespace: 'm' }, { replicas: 1 }),
      '400: the namespace of the provided object does not match the namespace sent on the request',
    ],
    [
      scale({}, { replicas: -1 }),
      '422: Scale.autoscaling "a" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      scale({ resourceVersion: '1' }, { replicas: 1 }),
      '409: Operation cannot be fulfilled on deployments.apps "a": the object has been modified; please apply your changes to the latest version and try again',
    ],
    [{ ...scale({}, {}), kind: 'Deployment', apiVersion: 'apps/v1' }, /^400: /],
  ]
  for (const [sent, refusal] of rows) {
    const world = worldWith({ replicas: 3 })
    const answer = await world.ask('update', asking, sent)
    if (typeof refusal === 'string') t.equal(answer, refusal)
    else t.match(answer, refusal)
    t.strictSame(replicasOf(world.stored(key)), [3, 4])
  }
  const none = await new WriteWorld().ask('update', asking, scale({}, { replicas: 1 }))
  t.equal(none, '404: deployments.apps "a" not found')
})
