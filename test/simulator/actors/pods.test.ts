import t from 'tap'
import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import type { ActorApi } from '../../../lib/simulator/actors/actor-api.ts'
import { type NodeFact, podFact } from '../../../lib/simulator/actors/facts.ts'
import { Places } from '../../../lib/simulator/actors/places.ts'
import { Addresses } from '../../../lib/simulator/actors/addresses.ts'
import { Troubles } from '../../../lib/simulator/actors/troubles.ts'
import { Pods } from '../../../lib/simulator/actors/pods.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

function nodeCalled(name: string): NodeFact {
  const rest = { key: keyFromText(name), revision: 1, uid: name, namespace: '', createdMs: 0 }
  const state = { isDeleting: false, isReady: true, isUnschedulable: false, heartbeatMs: 0 }
  return { ...rest, ...state, name, owner: undefined, address: '', labels: {}, taints: [] }
}

/** Pods that wait for a node, of which each is bound when the test says so. */
function waitingPods(bind: (node: string) => Promise<void>): Pods {
  const places = new Places()
  for (const name of ['node-1', 'node-2', 'node-3']) places.nodeChanged(nodeCalled(name))
  const api = {
    draw: (least: number) => least,
    readPod: (key: Key) => {
      const metadata = { name: String(key), uid: String(key) }
      const object = { metadata, spec: { containers: [] } }
      const fact = podFact(key, 1, object)
      return Promise.resolve({ place: { name: String(key) }, object, revision: 1, fact })
    },
    now: '',
    bind: (_: Key, __: object, node: NodeFact) => bind(node.name).then(() => true),
  }
  const clock = new FakeClock()
  return new Pods({
    api: api as unknown as ActorApi,
    places,
    clock,
    events: { tell: () => {} },
    addresses: new Addresses(0),
    isLeft: () => false,
    troubles: new Troubles(() => undefined),
    lookAt: () => {},
  })
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
    draw: (least: number) => least,
    readPod: () => Promise.resolve({ place: { name: 'a' }, object, revision: 1, fact }),
    now: '',
    patch: (_: Key, { status }: { status: { phase: string } }) => {
      done.push(status.phase)
      return Promise.resolve(true)
    },
  }
  const pods = new Pods({
    api: api as unknown as ActorApi,
    places,
    clock,
    events: { tell: () => {} },
    addresses: new Addresses(0),
    isLeft: () => false,
    troubles: new Troubles(() => undefined),
    lookAt: one => due.push(one),
  })
  t.teardown(() => pods.stop())
  pods.changed(fact)
  pods.readinessChanged([fact])
  t.strictSame(due.splice(0), [key])
  await pods.work(key)
  t.strictSame(done, [])
  await clock.advance(2_000)
  t.strictSame(due, [key])
  await pods.work(key)
  t.strictSame(done, ['Succeeded'])
})
