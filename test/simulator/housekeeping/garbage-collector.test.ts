import fc from 'fast-check'
import t from 'tap'
import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import type { Revision } from '../../../lib/base/revision.ts'
import type {
  ClusterApi,
  DeleteRequest,
  ApiPlace,
} from '../../../lib/simulator/runtime/cluster-api.ts'
import { GarbageCollector } from '../../../lib/simulator/housekeeping/garbage-collector.ts'
import { factsOf } from '../../../lib/simulator/housekeeping/object-facts.ts'
import { KeyValue, noLease } from '../../../lib/store/event.ts'
import type { Resource } from '../../../lib/kube/resources/resource.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { effort } from '../../support/effort.ts'
import { protobuf } from '../../support/kube/stored-kinds.ts'

interface Owner {
  readonly name: string
  readonly uid: string
  readonly blockOwnerDeletion?: boolean
}

interface Metadata {
  name: string
  uid: string
  ownerReferences: Owner[]
  finalizers: string[]
  deletionTimestamp?: string
}

/** Objects of one kind in one namespace, with what the API does when one is deleted or patched. */
class World implements ClusterApi {
  readonly objects = new Map<string, Metadata>()
  readonly #waiting = new Set<Key>()
  readonly #garbage = new GarbageCollector(this, new FakeClock(), key => this.#waiting.add(key))
  #revision = 1

  put(metadata: Metadata): void {
    const before = this.#entry(metadata.name)
    this.objects.set(metadata.name, metadata)
    this.#changed(metadata.name, before)
  }

  remove(name: string, propagation: DeleteRequest['propagation'] = 'Background'): void {
    const known = this.objects.get(name)
    if (known === undefined) return
    const added = { Background: [], Foreground: ['foregroundDeletion'], Orphan: ['orphan'] }[
      propagation
    ]
    const own = known.finalizers.filter(one => one !== 'foregroundDeletion' && one !== 'orphan')
    const finalizers = [...own, ...added]
    if (finalizers.length === 0) {
      const before = this.#entry(name)
      this.objects.delete(name)
      this.#changed(name, before)
    } else this.put({ ...known, finalizers, deletionTimestamp: '2026-01-01T00:00:00Z' })
  }

  /** Until there is nothing left to do. */
  async settle(): Promise<void> {
    for (const key of this.#waiting) {
      this.#waiting.delete(key)
      await this.#garbage.work(key)
    }
  }

  placeOf(key: Key): ApiPlace {
    return { resource: {} as Resource, namespace: 'x', name: key.slice(3) }
  }

  keyOf({ name }: { readonly name: string }): Key {
    return keyFromText(`/x/${name}`)
  }

  namespacedResources(): Resource[] {
    return []
  }

  async read(key: Key): Promise<KeyValue | undefined> {
    return this.#entry(key.slice(3))
  }

  async readAll(): Promise<KeyValue[]> {
    return []
  }

  async patch({ name }: ApiPlace, patch: object): Promise<void> {
    const known = this.objects.get(name)
    if (known === undefined) return
    const { metadata } = patch as { metadata: Partial<Metadata> }
    const patched = { ...known, ...metadata }
    const isLast = patched.finalizers.length === 0 && patched.deletionTimestamp !== undefined
    if (isLast) this.objects.set(name, { ...known, finalizers: [] })
    if (isLast) this.remove(name)
    else this.put(patched)
  }

  async delete({ name }: ApiPlace, { uid, propagation }: DeleteRequest): Promise<void> {
    if (this.objects.get(name)?.uid === uid) this.remove(name, propagation)
  }

  async apply(): Promise<void> {}

  async finalizeNamespace(): Promise<void> {}

  #entry(name: string): KeyValue | undefined {
    const metadata = this.objects.get(name)
    if (metadata === undefined) return undefined
    const bytes = Buffer.from(JSON.stringify({ metadata }))
    return new KeyValue(
      keyFromText(`/x/${name}`),
      { bytes, start: 0, end: bytes.length },
      {
        createRevision: 1 as Revision,
        modRevision: this.#revision as Revision,
        version: 1,
        lease: noLease,
      },
    )
  }

  #changed(name: string, before: KeyValue | undefined): void {
    this.#revision++
    this.#garbage.changed({ key: keyFromText(`/x/${name}`), before, after: this.#entry(name) })
  }
}

const names = ['a', 'b', 'c', 'd', 'e', 'f']
const uidOf = (name: string): string => `uid-${name}`

/** Objects name owners that come before them, so that there are no circles. */
const graph = fc.tuple(
  ...names.map((_, i) =>
    fc.subarray(names.slice(0, i)).chain(owners =>
      fc.tuple(...owners.map(() => fc.boolean())).map(blocks =>
        owners.map((name, j): Owner => ({
          name,
          uid: uidOf(name),
          ...(blocks[j] === true ? { blockOwnerDeletion: true } : {}),
        })),
      ),
    ),
  ),
)
const deletes = fc.array(
  fc.tuple(fc.constantFrom(...names), fc.constantFrom('Background', 'Foreground', 'Orphan')),
  { minLength: 1, maxLength: 3 },
)

/** Who is left, and with which owners, by the rules alone. */
function modelOf(owners: Map<string, Set<string>>, [name, how]: [string, string]): void {
  if (!owners.has(name)) return
  owners.delete(name)
  const gone = [name]
  for (const one of gone) {
    for (const [dependent, names] of owners) {
      if (!names.delete(one)) continue
      if (names.size > 0 || (how === 'Orphan' && one === name)) continue
      owners.delete(dependent)
      gone.push(dependent)
    }
  }
}

t.test('what is left after deletes is what the rules of ownership leave', async t => {
  await fc.assert(
    fc.asyncProperty(graph, deletes, async (owners, steps) => {
      const world = new World()
      const model = new Map<string, Set<string>>()
      for (const [i, name] of names.entries()) {
        const ownerReferences = owners[i] ?? []
        world.put({ name, uid: uidOf(name), ownerReferences, finalizers: [] })
        model.set(name, new Set(ownerReferences.map(one => one.name)))
      }
      await world.settle()
      for (const step of steps) {
        world.remove(...(step as [string, 'Background']))
        await world.settle()
        modelOf(model, step)
      }
      const left = [...world.objects.values()].map(
        ({ name, ownerReferences }) =>
          `${name}: ${ownerReferences
            .map(one => one.name)
            .sort()
            .join(' ')}`,
      )
      const expected = [...model].map(([name, kept]) => `${name}: ${[...kept].sort().join(' ')}`)
      if (String(left) !== String(expected)) {
        throw new Error(`${String(left)} is not ${String(expected)}`)
      }
    }),
    { numRuns: 300 * effort },
  )
  t.pass('of every graph')
})

t.test(
  'an owner that is deleted in the foreground goes after the dependents that block it',
  async t => {
    const world = new World()
    const order: string[] = []
    const owner = { name: 'a', uid: 'uid-a' }
    world.put({ name: 'a', uid: 'uid-a', ownerReferences: [], finalizers: [] })
    const dependent = {
      name: 'b',
      uid: 'uid-b',
      ownerReferences: [{ ...owner, blockOwnerDeletion: true }],
      finalizers: ['example.com/f'],
    }
    world.put(dependent)
    world.put({ name: 'c', uid: 'uid-c', ownerReferences: [owner], finalizers: [] })
    world.remove('a', 'Foreground')
    await world.settle()
    order.push([...world.objects.keys()].join(' '))
    await world.patch(world.placeOf(world.keyOf({ name: 'b' })), { metadata: { finalizers: [] } })
    await world.settle()
    order.push([...world.objects.keys()].join(' '))
    t.strictSame(order, ['a b c', ''])
  },
)

t.test('owners that block each other in a circle go all the same', async t => {
  const world = new World()
  for (const [name, owner] of [
    ['a', 'c'],
    ['b', 'a'],
    ['c', 'b'],
  ] as const) {
    const reference = { name: owner, uid: uidOf(owner), blockOwnerDeletion: true }
    world.put({ name, uid: uidOf(name), ownerReferences: [reference], finalizers: [] })
  }
  await world.settle()
  t.equal(world.objects.size, 3)
  world.remove('a', 'Foreground')
  await world.settle()
  t.strictSame([...world.objects.keys()], [])
})

t.test('dependents of owners that were never there stay, those of deleted ones go', async t => {
  const world = new World()
  const dependent = (name: string, uid: string): Metadata => ({
    name,
    uid: uidOf(name),
    ownerReferences: [{ name: 'a', uid }],
    finalizers: [],
  })
  world.put(dependent('b', 'never'))
  world.put({ name: 'a', uid: 'uid-a', ownerReferences: [], finalizers: [] })
  world.remove('a')
  world.put({ name: 'a', uid: 'another', ownerReferences: [], finalizers: [] })
  world.put(dependent('c', 'uid-a'))
  await world.settle()
  t.strictSame([...world.objects.keys()], ['b', 'a'])
})

t.test(
  'the facts of an object are read from JSON, and from nothing else that is no object',
  async t => {
    const read = (text: string | Buffer): ReturnType<typeof factsOf> => {
      const bytes = typeof text === 'string' ? Buffer.from(text) : text
      const meta = {
        createRevision: 7 as Revision,
        modRevision: 7 as Revision,
        version: 1,
        lease: noLease,
      }
      return factsOf(
        new KeyValue(keyFromText('/x/a'), { bytes, start: 0, end: bytes.length }, meta),
      )
    }
    t.strictSame(
      read(
        '{"metadata":{"uid":"u","deletionTimestamp":"1970-01-01T00:00:05Z","deletionGracePeriodSeconds":30,"finalizers":["f"],"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"o","controller":true}]}}',
      ),
      {
        uid: 'u',
        resourceVersion: '7',
        owners: [{ apiVersion: 'v1', kind: 'K', name: 'n', uid: 'o', controller: true }],
        finalizers: ['f'],
        deletedAtMs: 5000,
        graceSeconds: 30,
      },
    )
    const pod = {
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: {
        name: 'n',
        uid: 'u',
        ownerReferences: [
          {
            apiVersion: 'v1',
            kind: 'K',
            name: 'o',
            uid: 'o',
            controller: false,
            blockOwnerDeletion: true,
          },
          {
            apiVersion: 'v1',
            kind: 'K',
            name: 'p',
            uid: 'p',
            controller: true,
            blockOwnerDeletion: false,
          },
        ],
      },
    }
    const { owners } = read(Buffer.from(protobuf(pod))) ?? {}
    t.strictSame(owners, pod.metadata.ownerReferences)
    t.equal(read('{}'), undefined)
    t.equal(read('k8s\0garbage'), undefined)
  },
)
