import t from 'tap'
import { textFromKey } from '../../../lib/base/keys.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { jsonFromProtobuf } from '../../../lib/codec/transcode/transcode.ts'
import {
  GeneratedCluster,
  type GeneratedChange,
} from '../../../lib/simulator/generate/generated-cluster.ts'
import { parsePlan } from '../../../lib/simulator/generate/plan.ts'

/** As much of an object as the tests look at. */
interface Seen {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly labels?: Record<string, string>
    readonly ownerReferences?: readonly { kind: string; name: string; uid: string }[]
  }
  readonly spec?: { readonly nodeName?: string; readonly selector?: Record<string, string> }
  readonly endpoints?: readonly { readonly targetRef: { readonly name: string } }[]
}

function textOf(stored: Uint8Array): string {
  const json = jsonFromProtobuf(stored)
  if (json instanceof NotExact) throw new Error(json.reason)
  return Buffer.from(json).toString()
}

const nowMs = 1_750_000_000_000

function clusterOf(plan: string, seed = 1): GeneratedCluster {
  return new GeneratedCluster({
    plan: parsePlan(plan),
    random: createRandom(seed),
    nowMs,
    prefix: '/registry',
  })
}

/** The state that the changes leave, by key. */
function apply(state: Map<string, Seen>, changes: Iterable<GeneratedChange>): Map<string, Seen> {
  for (const change of changes) {
    const key = textFromKey(change.key)
    if (change.type === 'delete') {
      if (!state.delete(key)) throw new Error(`${key} is deleted but was not there`)
    } else {
      state.set(key, JSON.parse(textOf(change.value)) as Seen)
    }
  }
  return state
}

function ofKind(state: Map<string, Seen>, kind: string): Seen[] {
  return [...state.values()].filter(object => object.kind === kind)
}

t.test('some node takes what users create, however few there are', async t => {
  for (const [nodes, wanted] of [
    [1, 0],
    [2, 1],
    [5, 1],
    [6, 3],
    [50, 3],
  ] as const) {
    const objects = clusterOf(`pods=5,nodes=${nodes}`).objects()
    const made = ofKind(apply(new Map(), objects), 'Node')
    const tainted = made.filter(one => JSON.stringify(one.spec).includes('NoSchedule'))
    t.equal(tainted.length, wanted, `of ${nodes}`)
  }
})

t.test(
  'there are as many objects of each kind as planned, each under a key of its own',
  async t => {
    const changes = [...clusterOf('pods=300,nodes=10,services=7,events=20,secrets=4').objects()]
    const state = apply(new Map(), changes)
    t.equal(state.size, changes.length)
    const counts = {
      Pod: 300,
      Node: 10,
      Lease: 10,
      Service: 7,
      Event: 20,
      Secret: 4,
      Deployment: 25,
      ReplicaSet: 25,
    }
    for (const [kind, count] of Object.entries(counts)) {
      t.equal(ofKind(state, kind).length, count, kind)
    }
    const strays = [...state].filter(([key, { metadata }]) => !key.endsWith(`/${metadata.name}`))
    t.strictSame(strays, [])
  },
)

t.test('the same seed makes the same bytes', async t => {
  const bytes = (seed: number): string =>
    [...clusterOf('pods=50', seed).objects()]
      .map(change => (change.type === 'put' ? textOf(change.value) : ''))
      .join('\n')
  t.equal(bytes(3), bytes(3))
  t.not(bytes(3), bytes(4))
})

t.test('owners, nodes and endpoints exist, before and after churn', async t => {
  const cluster = clusterOf('pods=300,nodes=10,services=20')
  const state = apply(new Map(), cluster.objects())
  checkRelations(t, state)
  for (let i = 0; i < 600; i++) apply(state, cluster.step(nowMs + i * 1_000).changes)
  checkRelations(t, state)
  t.equal(ofKind(state, 'Pod').length, 300)
})

function checkRelations(
  t: { strictSame(a: unknown, b: unknown, message: string): void },
  state: Map<string, Seen>,
): void {
  const uids = new Set([...state.values()].map(({ metadata }) => metadata.uid))
  const nodes = new Set(ofKind(state, 'Node').map(({ metadata }) => metadata.name))
  const pods = new Map(
    ofKind(state, 'Pod').map(pod => [`${pod.metadata.namespace}/${pod.metadata.name}`, pod]),
  )
  const orphans = [...state.values()].filter(({ metadata }) =>
    metadata.ownerReferences?.some(owner => !uids.has(owner.uid)),
  )
  t.strictSame(orphans, [], 'every owner exists')
  const lost = [...pods.values()].filter(
    ({ spec }) => spec?.nodeName !== undefined && !nodes.has(spec.nodeName),
  )
  t.strictSame(lost, [], 'every node of a pod exists')
  const dangling = ofKind(state, 'EndpointSlice').flatMap(({ metadata, endpoints = [] }) =>
    endpoints.filter(({ targetRef }) => !pods.has(`${metadata.namespace}/${targetRef.name}`)),
  )
  t.strictSame(dangling, [], 'every endpoint is a pod')
}

t.test('churn does not grow the cluster without end', async t => {
  const cluster = clusterOf('pods=40,nodes=3,deployments=4,events=0')
  const keys = new Set<string>()
  const note = (change: GeneratedChange): unknown =>
    change.type === 'put' ? keys.add(change.key) : keys.delete(change.key)
  for (const change of cluster.objects()) note(change)
  for (let i = 0; i < 30_000; i++) cluster.step(nowMs + i * 1_000).changes.forEach(note)
  const count = (folder: string): number => [...keys].filter(key => key.includes(folder)).length
  t.equal(count('/events/'), 1_000)
  t.ok(count('/replicasets/') <= 4 + 40)
  t.equal(count('/pods/'), 40)
})

t.test('what somebody else has changed is left alone from then on', async t => {
  const cluster = clusterOf('pods=40,nodes=3,deployments=4,services=0,events=0')
  for (const change of cluster.objects()) {
    if (change.type === 'put' && change.of !== undefined) change.of.writtenAt = 1
  }
  const isTheirs = (key: string): boolean => key.includes('/deployments/default/')
  const steps = Array.from({ length: 300 }, () => cluster.step(nowMs))
  const touched = steps.find(({ unchanged }) => unchanged.some(({ key }) => isTheirs(key)))
  const theirs = touched?.unchanged.find(({ key }) => isTheirs(key))
  t.equal(theirs?.record.writtenAt, 1, 'a step asks that the deployment be as it was written')
  for (const step of steps) {
    if (step.unchanged.some(({ key }) => key === theirs?.key)) step.letGo()
  }
  for (let i = 0; i < 2_000; i++) {
    const { unchanged } = cluster.step(nowMs)
    if (unchanged.some(({ key }) => key === theirs?.key)) t.fail('it is changed again')
  }
})

t.test('a cluster without pods still renews its leases, and an empty one does nothing', async t => {
  t.equal(clusterOf('nodes=2').step(nowMs).changes.length, 1)
  t.equal(clusterOf('configmaps=2').step(nowMs).changes.length, 0)
})

t.test("made-up addresses are nobody's on the internet, and each is given once", async t => {
  const objects = [...apply(new Map(), clusterOf('pods=300').objects()).values()]
  const found = objects.flatMap(
    object => JSON.stringify(object).match(/\b\d+\.\d+\.\d+\.\d+\b/g) ?? [],
  )
  const addresses = found.filter(
    text => /^\d{1,3}(?:\.\d{1,3}){3}$/.test(text) && text !== '0.0.0.0',
  )
  t.ok(new Set(addresses).size > 300)
  const isPrivate = (text: string): boolean => {
    const [first = 0, second = 0] = text.split('.').map(Number)
    return first === 10 || (first === 100 && second >= 64 && second < 128)
  }
  t.same(
    addresses.filter(text => !isPrivate(text)),
    [],
  )
  const namesOf = (first: RegExp): string[] => [...new Set(addresses)].filter(a => first.test(a))
  t.ok(namesOf(/^100\./).length >= 300, 'pods')
  t.ok(namesOf(/^10\.100\./).length > 5, 'services, in 10.96.0.0/12')
  t.ok(namesOf(/^10\.120\./).length >= 10, 'nodes')
})
