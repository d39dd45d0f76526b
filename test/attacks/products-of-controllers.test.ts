/** Objects that make controllers work for a product: thousands of owners of one object, of rules
 *  of a role, of ports of a service. Each may be stored, and controllers look at them at every
 *  change. */

import t from 'tap'
import { type Key, keyFromText } from '../../lib/base/keys.ts'
import type { Revision } from '../../lib/base/revision.ts'
import { atOnce, type Steps } from '../../lib/base/slice.ts'
import type { JsonObject } from '../../lib/go/json/tree.ts'
import { KeyValue, noLease } from '../../lib/store/event.ts'
import type { Resource } from '../../lib/kube/resources/resource.ts'
import { reconcileService } from '../../lib/simulator/controllers/endpoints.ts'
import type { PodFact } from '../../lib/simulator/runtime/facts.ts'
import type { ClusterApi } from '../../lib/simulator/runtime/cluster-api.ts'
import { Dependents } from '../../lib/simulator/housekeeping/dependents.ts'
import { GarbageCollector } from '../../lib/simulator/housekeeping/garbage-collector.ts'
import { aggregatedRules } from '../../lib/simulator/housekeeping/role-aggregation.ts'
import { NamespaceEmptier } from '../../lib/simulator/housekeeping/namespace-emptier.ts'
import { VolumeProtection } from '../../lib/simulator/housekeeping/volume-protection.ts'
import { mapCalls } from '../support/attacks/map-calls.ts'
import { FakeClock, SlowClock } from '../support/fake-clock.ts'
import { treeOf } from '../writes/recorded/load.ts'

function entry(key: string, object: object): KeyValue {
  const bytes = Buffer.from(JSON.stringify(object))
  const at = 1 as Revision
  return new KeyValue(
    keyFromText(key),
    { bytes, start: 0, end: bytes.length },
    { createRevision: at, modRevision: at, version: 1, lease: noLease },
  )
}

/** A cluster of objects by key, which counts what is read of it. */
function clusterOf(objects: ReadonlyMap<string, KeyValue>) {
  const read: Key[] = []
  const cluster: ClusterApi = {
    placeOf: key => ({ resource: {} as Resource, namespace: 'n', name: key.slice(5) }),
    keyOf: ({ name }) => keyFromText(`/x/n/${name}`),
    namespacedResources: () => [],
    read: async key => {
      read.push(key)
      return objects.get(key)
    },
    readAll: async () => [...objects.values()].filter(({ key }) => key.startsWith('/pods/')),
    patch: async () => {},
    apply: async () => {},
    delete: async () => {},
    finalizeNamespace: async () => {},
  }
  return { cluster, read }
}

t.test('a namespace names some of the finalizers that hold it, in turns', async t => {
  const finalizersOf = (i: number): string[] =>
    Array.from({ length: 100 }, (_, at) => `example.com/${i}-${at}-`.padEnd(200, 'x'))
  const deletionTimestamp = '2026-11-27T00:00:00Z'
  const objects = new Map(
    Array.from({ length: 300 }, (_, i) => {
      const metadata = { uid: `${i}`, deletionTimestamp, finalizers: finalizersOf(i) }
      return [`/pods/n/${i}`, entry(`/pods/n/${i}`, { metadata })]
    }),
  )
  const patches: string[] = []
  const cluster: ClusterApi = {
    ...clusterOf(objects).cluster,
    namespacedResources: () => [{ resource: 'widgets', group: 'example.com' } as Resource],
    patch: async (_, patch) => void patches.push(JSON.stringify(patch)),
  }
  const clock = new SlowClock()
  const emptier = new NamespaceEmptier({
    cluster,
    clock,
    keyspace: keyFromText('/namespaces/'),
    lookAt: () => {},
    objectOf: async () =>
      treeOf({ metadata: { deletionTimestamp }, spec: { finalizers: ['kubernetes'] } }),
    now: () => deletionTimestamp,
  })
  await emptier.work(keyFromText('/namespaces/n'))
  t.equal(patches.length, 1)
  t.ok(patches[0]!.length < 512 * 1024, `${patches[0]!.length} characters`)
  t.match(patches[0], /and 29000 others/)
  t.ok(clock.yields > 100, `gave way ${clock.yields} times`)
})

t.test('an owner that an object names a thousand times is read once', async t => {
  const ownerReferences = Array.from({ length: 1_000 }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'X',
    name: 'owner',
    uid: `made-up-${i}`,
  }))
  const objects = new Map([
    ['/x/n/owner', entry('/x/n/owner', { metadata: { uid: 'real' } })],
    ['/x/n/a', entry('/x/n/a', { metadata: { uid: 'a', ownerReferences } })],
  ])
  const { cluster, read } = clusterOf(objects)
  const garbage = new GarbageCollector(cluster, new FakeClock(), () => {})
  await garbage.work(keyFromText('/x/n/a'))
  t.equal(read.length, 2)
})

t.test('owners of an object are compared with those before by their number', async t => {
  const dependents = new Dependents()
  const owners = Array.from({ length: 1_000 }, (_, i) => `uid-${i}`)
  dependents.set('/x/n/a' as Key, owners)
  const own = Object.getOwnPropertyDescriptor(Array.prototype, 'includes')!
  const method = own.value as (...args: unknown[]) => unknown
  let compared = 0
  const value = function (this: unknown[], ...args: unknown[]): unknown {
    compared += this.length
    return Reflect.apply(method, this, args)
  }
  Object.defineProperty(Array.prototype, 'includes', { ...own, value })
  try {
    dependents.set('/x/n/a' as Key, owners.slice(1))
  } finally {
    Object.defineProperty(Array.prototype, 'includes', own)
  }
  t.notOk(dependents.has('uid-0'))
  t.ok(dependents.has('uid-1'))
  t.ok(compared < 10_000, `${compared} owners compared`)
})

t.test('rules of a role are taken together in steps, each looked at once', async t => {
  const labels = { a: 'b' }
  const selectors = Array.from({ length: 100 }, () => ({ matchLabels: labels }))
  const rules = Array.from({ length: 500 }, (_, i) => ({ verbs: ['get'], resources: [`r${i}`] }))
  const role = (name: string, rest: object): JsonObject =>
    treeOf({ metadata: { name, labels }, ...rest }) as JsonObject
  const self = role('self', { aggregationRule: { clusterRoleSelectors: selectors } })
  const others = [self, role('a', { rules }), role('b', { rules })]
  let steps = 0
  const counted = (work: Steps<unknown>): void => {
    while (work.next().done !== true) steps++
  }
  const looked = mapCalls('get', () => counted(aggregatedRules(self, others)))
  t.equal(atOnce(aggregatedRules(self, others))?.length, 500)
  t.ok(steps > 10, `${steps} steps`)
  t.ok(looked < 20_000, `${looked} members were looked at`)
})

t.test('of the pods of a namespace only those that name a claim are decoded', async t => {
  const deletionTimestamp = '2026-01-01T00:00:00Z'
  const finalizers = ['kubernetes.io/pvc-protection']
  const objects = new Map([
    [
      '/claims/n/data',
      entry('/claims/n/data', { metadata: { uid: 'c', deletionTimestamp, finalizers } }),
    ],
    ['/pods/n/user', entry('/pods/n/user', { spec: { volumes: [{ name: 'data' }] } })],
  ])
  for (let i = 0; i < 300; i++) objects.set(`/pods/n/${i}`, entry(`/pods/n/${i}`, { spec: {} }))
  const { cluster } = clusterOf(objects)
  const decoded: string[] = []
  const protection = new VolumeProtection({
    cluster,
    claims: '/claims/' as Key,
    volumes: '/volumes/' as Key,
    pods: '/pods/' as Key,
    clock: new FakeClock(),
    plainOf: (_, { key }) => {
      decoded.push(key)
      return { metadata: { name: 'data' } }
    },
    lookAt: () => {},
  })
  await protection.work('/claims/n/data' as Key)
  t.strictSame(decoded, ['/claims/n/data', '/pods/n/user'])
})

t.test('the ports of a service are made once for all pods that name the same', async t => {
  let made = 0
  const ports = Array.from({ length: 100 }, (_, i) => ({
    name: `p${i}`,
    targetPort: i,
    get port() {
      made++
      return i
    },
  }))
  const pods = Array.from({ length: 100 }, (_, i) => ({
    name: `pod-${i}`,
    namespace: 'n',
    uid: `uid-${i}`,
    address: `10.0.0.${i}`,
    phase: 'Running',
    isReady: true,
    isDeleting: false,
    node: 'node',
    ports: {},
  })) as unknown as PodFact[]
  const { writes } = reconcileService({
    key: '/s' as Key,
    object: { metadata: { name: 's', namespace: 'n' }, spec: { selector: { a: 'b' }, ports } },
    pods,
    slices: [],
    endpoints: undefined,
    endpointsKey: '/e' as Key,
    isLeft: false,
    zoneOf: () => undefined,
    now: '2026-01-01T00:00:00Z',
    nowMs: 0,
  } as unknown as Parameters<typeof reconcileService>[0])
  t.equal(writes.length, 2)
  t.ok(made < 1_000, `${made} ports were made`)
})
