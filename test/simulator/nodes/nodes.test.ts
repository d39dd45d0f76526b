import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import type { ApiClient } from '../../../lib/simulator/runtime/api-client.ts'
import { FactIndex } from '../../../lib/simulator/runtime/fact-index.ts'
import { type NodeFact, nodeFact } from '../../../lib/simulator/runtime/facts.ts'
import { NodeController } from '../../../lib/simulator/nodes/node-controller.ts'
import { renewMs } from '../../../lib/simulator/nodes/nodes.ts'
import type { NodeObject } from '../../../lib/simulator/runtime/objects.ts'
import { isOfState, taintsOf } from '../../../lib/simulator/nodes/node-taints.ts'
import { Reconciler } from '../../../lib/simulator/runtime/reconciler.ts'
import { InjectedFaults } from '../../../lib/simulator/faults/injected-faults.ts'
import { parseFaultRule } from '../../../lib/simulator/faults/rule.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const key = keyFromText('/registry/minions/node-1')

/** A node that is written to as the API would do it, and how often its lease was renewed. */
function world(rules: readonly string[]): {
  clock: FakeClock
  state: { node: NodeObject; renewed: number; told: string[] }
} {
  const clock = new FakeClock()
  const index = new FactIndex<NodeFact>()
  const metadata = { name: 'node-1', uid: 'u' }
  const state = { node: { metadata } as NodeObject, renewed: 0, told: [] as string[] }
  const faults = new InjectedFaults({ rules: rules.map(parseFaultRule), seed: 1, onMet: () => {} })
  let revision = 0
  const changed = (): void => {
    const fact = nodeFact(key, ++revision, state.node)
    index.put(fact)
    if (!fact.isReady || fact.taints.some(isOfState)) void loop.work(key)
    loop.lookAfter(key, renewMs)
  }
  const api = {
    nameOf: () => 'node-1',
    find: () => Promise.resolve({ object: state.node }),
    patchAt: (at: string, patch: { spec?: { taints?: object }; status?: object }) => {
      if (at !== key) state.renewed++
      else {
        state.node = {
          ...state.node,
          ...(patch.status ? { status: { ...state.node.status, ...patch.status } } : {}),
          ...(patch.spec ? { spec: { taints: patch.spec.taints ?? [] } } : {}),
        } as NodeObject
        changed()
      }
      return Promise.resolve(true)
    },
  }
  const nodes = new NodeController({
    api: api as unknown as ApiClient,
    nodes: index,
    leases: '/registry/leases/',
    clock,
    draw: least => least,
    version: () => 'v1',
    isLeft: () => false,
    faults: () => faults,
  })
  const loop = new Reconciler({
    ...nodes.loop,
    api: api as unknown as ApiClient,
    clock,
    lookAt: one => void loop.work(one),
    events: { tell: (_, __, { reason }) => void state.told.push(reason) },
  })
  changed()
  return { clock, state }
}

function readyOf({ status }: NodeObject): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status
}

t.test('a node that goes away is noticed after a while, and comes back', async t => {
  const { clock, state } = world(['node-down,every=5m,for=2m,node=node-*'])
  await clock.advance(1_000)
  t.equal(readyOf(state.node), 'True')
  await clock.advance(10_000)
  const { renewed } = state
  await clock.advance(20_000)
  t.equal(state.renewed, renewed, 'it does not renew its lease')
  t.equal(readyOf(state.node), 'True', 'nobody has noticed')
  await clock.advance(30_000)
  t.equal(readyOf(state.node), 'Unknown')
  const taints = state.node.spec?.taints ?? []
  t.same(
    taints.map(({ key: name, effect }) => `${name}:${effect}`),
    ['NoSchedule', 'NoExecute'].map(effect => `node.kubernetes.io/unreachable:${effect}`),
  )
  await clock.advance(70_000)
  t.equal(readyOf(state.node), 'True')
  t.same(state.node.spec?.taints, [])
  t.ok(state.renewed > renewed)
  t.ok(state.told.includes('NodeNotReady'))
})

t.test('a node that no rule names stays', async t => {
  const { clock, state } = world(['node-down,every=1m,for=2m,node=other'])
  await clock.advance(600_000)
  t.equal(readyOf(state.node), 'True')
  t.ok(state.renewed > 50)
})

function tainted(ready: string | undefined, ...keys: string[]): NodeObject {
  const conditions = ready === undefined ? [] : [{ type: 'Ready', status: ready }]
  const taints = keys.map(name => ({ key: name, effect: 'NoSchedule' }))
  return { metadata: { name: 'n', uid: 'u' }, spec: { taints }, status: { conditions } }
}

t.test('taints follow from how a node is', async t => {
  const notReady = 'node.kubernetes.io/not-ready'
  t.equal(taintsOf(tainted(undefined, notReady), 'now'), undefined)
  t.equal(taintsOf(tainted('True', 'own'), 'now'), undefined)
  t.same(taintsOf(tainted('True', 'own', notReady), 'now'), [{ key: 'own', effect: 'NoSchedule' }])
  t.same(taintsOf(tainted('False', notReady), 'now'), [
    { key: notReady, effect: 'NoSchedule' },
    { key: notReady, effect: 'NoExecute', timeAdded: 'now' },
  ])
})
