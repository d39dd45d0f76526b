/** The controllers of namespaces, over a cluster that is a map. */

import t from 'tap'
import { FakeClock } from '../../support/fake-clock.ts'
import { type Key, keyFromText, textFromKey } from '../../../lib/base/keys.ts'
import type { Revision } from '../../../lib/base/revision.ts'
import type { ClusterApi, ApiPlace } from '../../../lib/simulator/runtime/cluster-api.ts'
import type { NamespaceBasics } from '../../../lib/simulator/housekeeping/namespace-basics.ts'
import { NamespaceEmptier } from '../../../lib/simulator/housekeeping/namespace-emptier.ts'
import { NamespaceKeeper } from '../../../lib/simulator/housekeeping/namespace-keeper.ts'
import { type JsonObject, parseTree } from '../../../lib/go/json/tree.ts'
import type { Resource } from '../../../lib/kube/resources/resource.ts'
import { type Event, KeyValue, noLease } from '../../../lib/store/event.ts'

function entry(key: Key, object: object): KeyValue {
  const bytes = Buffer.from(JSON.stringify(object))
  const meta = {
    createRevision: 1 as Revision,
    modRevision: 1 as Revision,
    version: 1,
    lease: noLease,
  }
  return new KeyValue(key, { bytes, start: 0, end: bytes.length }, meta)
}

const key = keyFromText
const namespaces = key('/registry/namespaces/')
const widgets = { group: 'example.com', resource: 'widgets' } as Resource
const gadgets = { group: '', resource: 'gadgets' } as Resource
const pods = { group: '', resource: 'pods' } as Resource

/** Objects at `/x/RESOURCE/NAMESPACE/NAME`; each call that changes something is noted. */
class World implements ClusterApi {
  readonly objects = new Map<string, object>()
  readonly calls: (readonly unknown[])[] = []
  readonly looks: string[] = []
  now = '2026-01-01T00:00:00Z'
  readonly emptier: NamespaceEmptier = new NamespaceEmptier({
    cluster: this,
    clock: new FakeClock(),
    keyspace: namespaces,
    lookAt: found => this.looks.push(textFromKey(found)),
    objectOf: async ({ name }) => this.#treeAt(`/registry/namespaces/${name}`),
    now: () => this.now,
  })

  placeOf(found: Key): ApiPlace | undefined {
    const [, , resource = '', namespace = '', name = ''] = textFromKey(found).split('/')
    if (resource === 'namespaces') {
      return { resource: {} as Resource, namespace: '', name: namespace }
    }
    return { resource: { resource } as Resource, namespace, name }
  }

  keyOf(): undefined {}

  namespacedResources(): Resource[] {
    return [widgets, gadgets, pods]
  }

  async read(found: Key): Promise<KeyValue | undefined> {
    const object = this.objects.get(textFromKey(found))
    return object && entry(found, object)
  }

  async readAll({ resource }: Resource, namespace: string): Promise<KeyValue[]> {
    return [...this.objects]
      .filter(([text]) => text.startsWith(`/x/${resource}/${namespace}/`))
      .map(([text, object]) => entry(key(text), object))
  }

  async patch({ name }: ApiPlace, patch: object, subresource?: string): Promise<void> {
    this.calls.push(['patch', name, subresource])
    const text = `/registry/namespaces/${name}`
    this.objects.set(text, { ...this.objects.get(text), ...patch })
  }

  async apply(): Promise<void> {
    throw new Error('nothing is applied')
  }

  async delete({ resource, namespace, name }: ApiPlace, request: object): Promise<void> {
    this.calls.push(['delete', resource.resource, name, request])
    const text = `/x/${resource.resource}/${namespace}/${name}`
    const { metadata } = this.objects.get(text) as { metadata: { finalizers?: string[] } }
    if ((metadata.finalizers ?? []).length === 0) this.objects.delete(text)
    else {
      const deletionTimestamp = this.now
      this.objects.set(text, { metadata: { ...metadata, deletionTimestamp } })
    }
  }

  async finalizeNamespace(name: string, finalizers: readonly string[]): Promise<void> {
    this.calls.push(['finalize', name, finalizers])
  }

  /** The conditions of the namespace, without those that are as upstream begins. */
  remaining(name: string): unknown {
    const { status } = this.objects.get(`/registry/namespaces/${name}`) as {
      status: { conditions: readonly { status: string; reason: string; message: string }[] }
    }
    return status.conditions
      .filter(one => one.status === 'True')
      .map(({ reason, message }) => [reason, message])
  }

  #treeAt(text: string): JsonObject | undefined {
    const object = this.objects.get(text)
    if (object === undefined) return undefined
    const bytes = Buffer.from(JSON.stringify(object))
    return parseTree(bytes, 0, bytes.length) as JsonObject
  }
}

const deletionTimestamp = '2026-01-01T00:00:00Z'
const going = (finalizers: readonly string[] = ['kubernetes']): object => ({
  metadata: { name: 'n', uid: 'n', deletionTimestamp },
  spec: { finalizers },
})
const named = (name: string, finalizers: readonly string[] = []): object => ({
  metadata: { name, uid: `uid-${name}`, finalizers },
})
const background = (name: string): object => ({ uid: `uid-${name}`, propagation: 'Background' })

t.test('a namespace that is being deleted is emptied, then let go', async t => {
  const world = new World()
  world.objects.set('/registry/namespaces/n', going(['other.com/f', 'kubernetes']))
  world.objects.set('/x/widgets/n/a', named('a'))
  world.objects.set('/x/gadgets/n/b', named('b'))
  world.objects.set('/x/gadgets/m/c', named('c'))
  await world.emptier.work(key('/registry/namespaces/n'))
  t.strictSame(world.calls, [
    ['delete', 'widgets', 'a', background('a')],
    ['delete', 'gadgets', 'b', background('b')],
    ['patch', 'n', 'status'],
    ['finalize', 'n', ['other.com/f']],
  ])
  t.strictSame(world.remaining('n'), [])
})

t.test('pods go first: nothing else is deleted while there is one', async t => {
  const world = new World()
  const at = key('/registry/namespaces/n')
  world.objects.set('/registry/namespaces/n', going())
  world.objects.set('/x/widgets/n/a', named('a'))
  world.objects.set('/x/pods/n/p', named('p', ['example.com/f']))
  await world.emptier.work(at)
  t.strictSame(world.calls.splice(0), [
    ['delete', 'pods', 'p', background('p')],
    ['patch', 'n', 'status'],
  ])
  t.strictSame(world.remaining('n'), [], 'as upstream, which does not count before')
  world.objects.delete('/x/pods/n/p')
  await world.emptier.work(at)
  t.strictSame(world.calls, [
    ['delete', 'widgets', 'a', background('a')],
    ['finalize', 'n', []],
  ])
})

/** The texts of namespaced_resources_deleter.go and its conditions. */
t.test('the conditions of a namespace say what holds it', async t => {
  const world = new World()
  world.objects.set('/registry/namespaces/n', going())
  world.objects.set('/x/widgets/n/a', named('a', ['example.com/f']))
  world.objects.set('/x/widgets/n/b', named('b', ['example.com/f', 'example.com/e']))
  world.objects.set('/x/gadgets/n/c', named('c', ['example.com/f']))
  await world.emptier.work(key('/registry/namespaces/n'))
  t.strictSame(world.remaining('n'), [
    [
      'SomeResourcesRemain',
      'Some resources are remaining: gadgets. has 1 resource instances, widgets.example.com has 2 resource instances',
    ],
    [
      'SomeFinalizersRemain',
      'Some content in the namespace has finalizers remaining: example.com/e in 1 resource instances, example.com/f in 3 resource instances',
    ],
  ])
  t.strictSame(
    world.calls.filter(([what]) => what === 'finalize'),
    [],
  )
})

t.test(
  'conditions are told when they change, and keep their time until their status does',
  async t => {
    const world = new World()
    const at = key('/registry/namespaces/n')
    world.objects.set('/registry/namespaces/n', going())
    world.objects.set('/x/widgets/n/a', named('a', ['example.com/f']))
    const conditions = (): Readonly<Record<string, string>>[] =>
      (
        world.objects.get('/registry/namespaces/n') as {
          status: { conditions: Readonly<Record<string, string>>[] }
        }
      ).status.conditions
    const patches = (): number => world.calls.filter(([what]) => what === 'patch').length
    await world.emptier.work(at)
    t.equal(patches(), 1)
    await world.emptier.work(at)
    t.equal(patches(), 1, 'what is known is not told again')
    for (const member of ['type', 'status', 'reason', 'message']) {
      const known = conditions().map((one, i) => (i === 3 ? { ...one, [member]: 'x' } : one))
      world.objects.set('/registry/namespaces/n', { ...going(), status: { conditions: known } })
      const before = patches()
      await world.emptier.work(at)
      t.equal(patches(), before + 1, `another ${member} is told`)
    }
    world.now = '2026-01-01T00:00:09Z'
    world.objects.delete('/x/widgets/n/a')
    await world.emptier.work(at)
    t.strictSame(
      conditions().map(one => [one['type'], one['lastTransitionTime']?.slice(17)]),
      [
        ['NamespaceDeletionDiscoveryFailure', '00Z'],
        ['NamespaceDeletionGroupVersionParsingFailure', '00Z'],
        ['NamespaceDeletionContentFailure', '00Z'],
        ['NamespaceContentRemaining', '09Z'],
        ['NamespaceFinalizersRemaining', '09Z'],
      ],
    )
  },
)

t.test('a namespace that nobody deletes, or that holds itself no more, is left alone', async t => {
  for (const object of [
    { metadata: { name: 'n' }, spec: { finalizers: ['kubernetes'] } },
    going([]),
  ]) {
    const world = new World()
    world.objects.set('/registry/namespaces/n', object)
    world.objects.set('/x/widgets/n/a', named('a'))
    await world.emptier.work(key('/registry/namespaces/n'))
    t.strictSame(world.calls, [])
  }
  const world = new World()
  await world.emptier.work(key('/registry/namespaces/gone'))
  t.strictSame(world.calls, [])
})

t.test(
  'a namespace is looked at when its deletion begins and when something in it is gone',
  async t => {
    const world = new World()
    const changed = (text: string, before?: object, after?: object): void => {
      const at = key(text)
      const of = (object: object | undefined): KeyValue | undefined => object && entry(at, object)
      world.emptier.changed({ key: at, before: of(before), after: of(after) } as Event)
    }
    const [place, object] = ['/registry/namespaces/n', '/x/widgets/n/a']
    changed(place, undefined, named('n'))
    changed(object, named('a'), undefined)
    t.strictSame(world.looks, [])
    changed(place, named('n'), going())
    changed(place, going(), going())
    t.strictSame(world.looks.splice(0), [place], 'once')
    changed(object, named('a'), named('a'))
    changed('/x/widgets/m/a', named('a'), undefined)
    t.strictSame(world.looks, [])
    changed(object, named('a'), undefined)
    t.strictSame(world.looks.splice(0), [place])
    changed(place, going(), undefined)
    changed(object, named('a'), undefined)
    t.strictSame(world.looks, [], 'a namespace that is gone needs nothing')
  },
)

t.test('what each namespace has is made for new ones, and again when it is lost', async t => {
  const made: string[] = []
  const looks: string[] = []
  const world = new World()
  const [accounts, configMaps] = [key('/registry/serviceaccounts/'), key('/registry/configmaps/')]
  const keeper = new NamespaceKeeper({
    cluster: world,
    basics: { makeIn: async (name: string) => made.push(name) } as unknown as NamespaceBasics,
    namespaces,
    accounts,
    configMaps,
    lookAt: namespace => looks.push(textFromKey(namespace)),
  })
  const changes = (keyspace: Key, text: string, isNew: boolean, isGone: boolean): string[] => {
    const at = key(text)
    const some = entry(at, named('x'))
    const event = { key: at, before: isNew ? undefined : some, after: isGone ? undefined : some }
    keeper.changed(keyspace, event as Event)
    return looks.splice(0)
  }
  const n = '/registry/namespaces/n'
  t.strictSame(changes(namespaces, n, true, false), [n])
  t.strictSame(changes(namespaces, n, false, false), [])
  t.strictSame(changes(namespaces, n, false, true), [])
  const account = '/registry/serviceaccounts/n/default'
  t.strictSame(changes(accounts, account, false, true), [n])
  t.strictSame(changes(accounts, account, false, false), [])
  t.strictSame(changes(accounts, '/registry/serviceaccounts/n/other', false, true), [])
  const authorities = '/registry/configmaps/n/kube-root-ca.crt'
  t.strictSame(changes(configMaps, authorities, false, true), [n])
  t.strictSame(changes(configMaps, authorities, false, false), [n], 'changed')
  t.strictSame(changes(configMaps, '/registry/configmaps/n/other', false, true), [])
  keeper.found(key(n))
  t.strictSame(looks, [n])

  await keeper.work(key(n))
  t.strictSame(made, [], 'it is gone')
  world.objects.set(n, going())
  await keeper.work(key(n))
  t.strictSame(made, [], 'it is going')
  world.objects.set(n, named('n'))
  await keeper.work(key(n))
  t.strictSame(made, ['n'])
})
