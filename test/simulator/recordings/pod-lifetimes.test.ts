/** The times for which pods ran, by the workload that has made them. */

import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { packedMap, PackedMap } from '../../../lib/simulator/recordings/msgpack.ts'
import { PodLifetimes } from '../../../lib/simulator/recordings/pod-lifetimes.ts'

const at = (seconds: number): string => new Date(seconds * 1000).toISOString()

function owned(kind: string, name: string): object {
  const [apiVersion, plainKind] = kind.split('.')
  return {
    namespace: 'shop',
    ownerReferences: [
      { apiVersion: 'v1', kind: 'Other', name: 'x' },
      { apiVersion, kind: plainKind, name, controller: true },
    ],
  }
}

interface Given {
  readonly metadata?: object
  readonly states?: readonly object[]
  readonly containers?: number
}

const pod = ({ metadata = { namespace: 'shop' }, states = [], containers = 1 }: Given) => ({
  metadata,
  spec: { containers: Array.from({ length: containers }, () => ({})) },
  status: { containerStatuses: states.map(state => ({ state })) },
})

const started = (seconds: number) => ({ running: { startedAt: at(seconds) } })
const ended = (from: number, to: number) => ({
  terminated: { startedAt: at(from), finishedAt: at(to) },
})

const key = (name: string) => keyFromText(`/registry/pods/shop/${name}`)
const running = (from: number) => packedMap({ Running: from })
const finished = (from: number, to: number) => packedMap({ Finished: [from, to] })

t.test('pods are those of the workload at the end of their owners', async t => {
  const lifetimes = new PodLifetimes()
  // Pods come first, as their keys do.
  const ofSet = owned('apps/v1.ReplicaSet', 'web-1')
  lifetimes.see(key('b'), 'v1.Pod shop/b', pod({ metadata: ofSet, states: [started(130)] }))
  lifetimes.see(key('a'), 'v1.Pod shop/a', pod({ metadata: ofSet, states: [started(50)] }))
  lifetimes.see(key('bare'), 'v1.Pod shop/bare', pod({ states: [ended(110, 120)] }))
  lifetimes.see(key('waits'), 'v1.Pod shop/waits', pod({}))
  lifetimes.own('apps/v1.ReplicaSet shop/web-1', { metadata: owned('apps/v1.Deployment', 'web') })
  lifetimes.own('apps/v1.Deployment shop/web', { metadata: {} })
  const known = new Set(['apps/v1.Deployment shop/web', 'v1.Pod shop/bare'])
  t.strictSame(
    lifetimes.packed(100, owner => known.has(owner)),
    new PackedMap([
      [['apps/v1.Deployment', 'shop/web'], new PackedMap([[0, [running(100), running(130)]]])],
      [['v1.Pod', 'shop/bare'], new PackedMap([[0, [finished(110, 120)]]])],
    ]),
  )
  t.strictSame(
    lifetimes.packed(100, () => false),
    new PackedMap([]),
  )
})

t.test('the first start and the last end count, and a pod that is deleted has ended', async t => {
  const rows: readonly (readonly [
    seen: readonly Given[],
    deletedAt: number | undefined,
    shown: unknown,
  ])[] = [
    [[{ states: [started(10)] }, { states: [started(20)] }], undefined, running(10)],
    [[{ states: [started(10)] }], 30, finished(10, 30)],
    [[{ states: [ended(10, 20), started(15)], containers: 2 }], undefined, running(10)],
    [[{ states: [ended(10, 20), ended(15, 25)], containers: 2 }], undefined, finished(10, 25)],
    [[{ states: [ended(10, 20)] }], 30, finished(10, 20)],
    [[{ states: [{ waiting: {} }] }], 30, undefined],
    [[{ states: [ended(1, 2)] }], undefined, undefined],
  ]
  for (const [seen, deletedAt, shown] of rows) {
    const lifetimes = new PodLifetimes()
    for (const given of seen) lifetimes.see(key('p'), 'v1.Pod shop/p', pod(given))
    if (deletedAt !== undefined) lifetimes.gone(key('p'), deletedAt)
    const found = lifetimes.packed(5, () => true)
    const expected =
      shown === undefined
        ? []
        : [[['v1.Pod', 'shop/p'], new PackedMap([[0, [shown as PackedMap]]])] as const]
    t.strictSame(found, new PackedMap(expected), JSON.stringify(seen))
  }
})
