/** Evictions: what the disruption budgets of a pod allow
 *  (pkg/registry/core/pod/storage/eviction.go). */

import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { WriteWorld } from '../../support/kube/writes/write-world.ts'

const podKey = keyFromText('/registry/pods/ns/a')
const budgetKey = (name: string): ReturnType<typeof keyFromText> =>
  keyFromText(`/registry/poddisruptionbudgets/ns/${name}`)
const ready = [{ type: 'Ready', status: 'True' }]

interface Case {
  readonly pod?: object
  readonly budget?: object
  readonly spec?: object
  readonly name?: string
  readonly query?: string
}

function worldOf({ pod = {}, budget, spec = {} }: Case): WriteWorld {
  const world = new WriteWorld()
  world.put(podKey, {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'a', namespace: 'ns', uid: 'u', labels: { app: 'a' } },
    spec: { containers: [{ name: 'c', image: 'i:1' }] },
    status: { phase: 'Running', conditions: ready, ...pod },
  })
  if (budget !== undefined) putBudget(world, 'b', budget, spec)
  return world
}

function putBudget(world: WriteWorld, name: string, status: object, spec: object = {}): void {
  world.put(budgetKey(name), {
    kind: 'PodDisruptionBudget',
    apiVersion: 'policy/v1',
    metadata: { name, namespace: 'ns', uid: 'u', generation: 2 },
    spec: { selector: { matchLabels: { app: 'a' } }, minAvailable: 1, ...spec },
    status: { observedGeneration: 2, ...status },
  })
}

function evict(world: WriteWorld, { name = 'a', query = '' }: Case): Promise<unknown> {
  const asking = { group: '', version: 'v1', resource: 'pods', name: 'a', subresource: 'eviction' }
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } }
  return world.ask('create', asking, eviction, { query })
}

const allowed = { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3 }
const spent = { ...allowed, disruptionsAllowed: 0 }
const tooMany = "429: Cannot evict pod as it would violate the pod's disruption budget."

t.test('a pod goes where its budget allows it, or where none counts it', async t => {
  const rows: readonly (readonly [string, Case, 'gone' | RegExp])[] = [
    ['no budget', {}, 'gone'],
    ['one that allows it', { budget: allowed }, 'gone'],
    ['one that allows none', { budget: spent }, /^429: Cannot evict pod/],
    ['of other pods', { budget: spent, spec: { selector: { matchLabels: { app: 'b' } } } }, 'gone'],
    ['not observed yet', { budget: { ...allowed, observedGeneration: 1 } }, /^429: Cannot evict/],
    ['pending', { budget: spent, pod: { phase: 'Pending' } }, 'gone'],
    ['succeeded', { budget: spent, pod: { phase: 'Succeeded' } }, 'gone'],
    ['failed', { budget: spent, pod: { phase: 'Failed' } }, 'gone'],
    ['not ready, enough are healthy', { budget: spent, pod: { conditions: [] } }, 'gone'],
    [
      'not ready, too few are healthy',
      { budget: { ...spent, currentHealthy: 1 }, pod: { conditions: [] } },
      /^429: Cannot evict pod/,
    ],
    [
      'not ready, and none is wanted',
      { budget: { ...spent, desiredHealthy: 0 }, pod: { conditions: [] } },
      /^429: Cannot evict pod/,
    ],
    [
      'not ready, too few, always allowed',
      {
        budget: { ...spent, currentHealthy: 1 },
        pod: { conditions: [] },
        spec: { unhealthyPodEvictionPolicy: 'AlwaysAllow' },
      },
      'gone',
    ],
    ['another name', { name: 'b' }, /^400: name in URL does not match name in Eviction object$/],
  ]
  for (const [name, one, expected] of rows) {
    const world = worldOf(one)
    const answer = await evict(world, one)
    t.equal(world.has(podKey), expected !== 'gone', name)
    if (expected === 'gone') t.same(answer, { type: 'success' }, name)
    else t.match(answer, expected, name)
  }
})

t.test('a disruption is taken from the budget, and none by a dry run', async t => {
  const status = async (query: string): Promise<unknown> => {
    const world = worldOf({ budget: allowed })
    t.same(await evict(world, { query }), { type: 'success' })
    t.equal(world.has(podKey), query !== '')
    return world.stored(budgetKey('b'))?.['status']
  }
  t.match(await status(''), { disruptionsAllowed: 0, disruptedPods: { a: String } })
  t.match(await status('dryRun=All'), { disruptionsAllowed: 1, disruptedPods: undefined })
})

t.test('the refusal says why', async t => {
  const why = async (budget: object): Promise<unknown> => {
    const world = worldOf({ budget })
    const asked = await evict(world, {})
    return `${String(asked)}`
  }
  t.equal(await why(spent), tooMany)
  const world = worldOf({ budget: allowed })
  putBudget(world, 'c', allowed)
  t.equal(
    await evict(world, {}),
    '500: This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
  )
})
