import t from 'tap'
import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import type { ApiClient } from '../../../lib/simulator/runtime/api-client.ts'
import { type NodeFact, podFact } from '../../../lib/simulator/runtime/facts.ts'
import { Places } from '../../../lib/simulator/nodes/places.ts'
import { Addresses } from '../../../lib/simulator/nodes/addresses.ts'
import { NodeTroubles } from '../../../lib/simulator/nodes/troubles.ts'
import { PodController } from '../../../lib/simulator/nodes/pod-controller.ts'
import { Reconciler } from '../../../lib/simulator/runtime/reconciler.ts'
import type { Pod } from '../../../lib/simulator/runtime/objects.ts'
import type { FoundPod } from '../../../lib/simulator/runtime/read-object.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

function nodeCalled(name: string): NodeFact {
  const rest = { key: keyFromText(name), revision: 1, uid: name, namespace: '', createdMs: 0 }
  const state = { isDeleting: false, isReady: true, isUnschedulable: false, heartbeatMs: 0 }
  return { ...rest, ...state, name, owner: undefined, address: '', labels: {}, taints: [] }
}

/** Pods that wait for a node, of which each is bound when the test says so. */
function waitingPods(bind: (node: string) => Promise<void>): Loop {
  const places = new Places()
  for (const name of ['node-1', 'node-2', 'node-3']) places.nodeChanged(nodeCalled(name))
  const findPod = (key: Key): Promise<FoundPod> => {
    const metadata = { name: String(key), uid: String(key) }
    const object = { metadata, spec: { containers: [] } }
    const fact = podFact(key, 1, object)
    return Promise.resolve({ object, revision: 1, fact } as unknown as FoundPod)
  }
  const api = {
    nameOf: String,
    placeOf: (key: Key) => ({ name: String(key) }),
    bind: (_: object, node: string) => bind(node),
  }
  return podLoop({ api, findPod, places, lookAt: () => {} }).loop
}

type Loop = Pick<Reconciler<never, never>, 'work' | 'stop'>

interface Looped {
  readonly api: object
  readonly findPod: (key: Key) => Promise<FoundPod>
  readonly places: Places
  readonly lookAt: (key: Key) => void
  readonly clock?: FakeClock
}

/** The loop of pods over a made-up API. */
function podLoop({ api, findPod, places, lookAt, clock = new FakeClock() }: Looped): {
  loop: Loop
  pods: PodController
} {
  const pods = new PodController({
    places,
    clock,
    draw: least => least,
    addresses: new Addresses(0),
    isLeft: () => false,
    isStamped: () => false,
    troubles: new NodeTroubles(() => undefined),
    lookAt,
    findPod,
    read: () => Promise.resolve(undefined),
  })
  const events = { tell: () => {} }
  const loop = new Reconciler({
    ...pods.loop,
    api: api as unknown as ApiClient,
    clock,
    lookAt,
    events,
  })
  return { loop, pods }
}

t.test('pods that are given nodes at the same time do not all get the same', async t => {
  const nodes: string[] = []
  const pods = waitingPods(async node => {
    nodes.push(node)
    while (nodes.length < 3) await settle()
  })
  await Promise.all(['a', 'b', 'c'].map(name => pods.work(keyFromText(name))))
  t.same(nodes.sort(), ['node-1', 'node-2', 'node-3'])
})

t.test('a node that a pod did not get is free for others', async t => {
  const nodes: string[] = []
  const pods = waitingPods(node => {
    nodes.push(node)
    return nodes.length === 1 ? Promise.reject(new Error('conflict')) : Promise.resolve()
  })
  await t.rejects(pods.work(keyFromText('a')), /conflict/)
  await pods.work(keyFromText('b'))
  t.same(nodes, ['node-1', 'node-1'])
})

t.test('a pod that is looked at meanwhile does not end before its time', async t => {
  const key = keyFromText('a')
  const clock = new FakeClock()
  const done: unknown[] = []
  const due: Key[] = []
  const metadata = { name: 'a', uid: 'a' }
  const spec = { containers: [], nodeName: 'node-1', restartPolicy: 'Never' }
  const object = { metadata, spec, status: { phase: 'Running' } }
  const fact = podFact(key, 1, object)
  const places = new Places()
  places.nodeChanged(nodeCalled('node-1'))
  const api = {
    nameOf: String,
    patchAt: (_: Key, { status }: { status: { phase: string } }) => {
      done.push(status.phase)
      return Promise.resolve(true)
    },
  }
  const found = { object, revision: 1, fact } as unknown as FoundPod
  const lookAt = (one: Key): void => void due.push(one)
  const looped = { api, findPod: () => Promise.resolve(found), places, lookAt, clock }
  const { loop, pods } = podLoop(looped)
  t.teardown(() => {
    pods.timetable.stop()
    loop.stop()
  })
  pods.timetable.changed(fact)
  pods.timetable.readinessChanged([fact])
  t.strictSame(due.splice(0), [key])
  await loop.work(key)
  t.strictSame(done, [])
  await clock.advance(2_000)
  t.strictSame(due, [key])
  await loop.work(key)
  t.strictSame(done, ['Succeeded'])
})

t.test('a pod that somebody holds is seen to have failed when it is killed', async t => {
  for (const finalizers of [['batch.kubernetes.io/job-tracking'], []]) {
    const key = keyFromText('a')
    const clock = new FakeClock()
    const done: string[] = []
    const metadata = {
      name: 'a',
      uid: 'a',
      finalizers,
      deletionTimestamp: '2026-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 1,
    }
    const spec = { containers: [{ name: 'c' }], nodeName: 'node-1' }
    const running = [{ name: 'c', state: { running: { startedAt: '2025-12-31T00:00:00Z' } } }]
    const object = { metadata, spec, status: { phase: 'Running', containerStatuses: running } }
    const fact = podFact(key, 1, object as unknown as Pod)
    const places = new Places()
    places.nodeChanged(nodeCalled('node-1'))
    const api = {
      nameOf: String,
      patchAt: (_: Key, { status }: { status: Pod['status'] }) => {
        const { exitCode } = status?.containerStatuses?.[0]?.state?.terminated ?? {}
        done.push(`${status?.phase} ${exitCode}`)
        return Promise.resolve(true)
      },
      deleteAt: () => {
        done.push('deleted')
        return Promise.resolve()
      },
    }
    const found = { object, revision: 1, fact } as unknown as FoundPod
    const looked = { api, findPod: () => Promise.resolve(found), places, lookAt: () => {}, clock }
    const { loop, pods } = podLoop(looked)
    t.teardown(() => {
      pods.timetable.stop()
      loop.stop()
    })
    pods.timetable.changed(fact)
    await clock.advance(2_000)
    await loop.work(key)
    t.strictSame(done, finalizers.length > 0 ? ['Failed 137', 'deleted'] : ['deleted'])
  }
})
