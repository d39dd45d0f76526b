import t from 'tap'
import { type Key, keyFromText, textFromKey } from '../../../lib/base/keys.ts'
import type { Revision } from '../../../lib/base/revision.ts'
import { ClassProtection } from '../../../lib/simulator/housekeeping/class-protection.ts'
import type { ClusterApi } from '../../../lib/simulator/runtime/cluster-api.ts'
import type { Resource } from '../../../lib/kube/resources/resource.ts'
import { KeyValue, noLease } from '../../../lib/store/event.ts'
import { SlowClock } from '../../support/fake-clock.ts'

const [classes, claims, volumes] = ['/classes/', '/claims/', '/volumes/'].map(keyFromText) as [
  Key,
  Key,
  Key,
]
const gold = keyFromText('/classes/gold')
const finalizer = 'kubernetes.io/vac-protection'

/** Stored objects; a class without finalizers that is being deleted goes. */
class World {
  readonly #entries = new Map<Key, KeyValue>()
  readonly #waiting = new Set<Key>()
  readonly #protection = new ClassProtection({
    // It reads, patches and finds places, and nothing else.
    cluster: {
      placeOf: key => ({ resource: {} as Resource, namespace: '', name: textFromKey(key) }),
      read: async key => this.#entries.get(key),
      patch: async ({ name }, patch) => {
        const { metadata } = patch as { metadata: { finalizers: string[] } }
        if (metadata.finalizers.length === 0) this.put(keyFromText(name), undefined)
      },
    } as Partial<ClusterApi> as ClusterApi,
    classes,
    claims,
    volumes,
    contentsOf: keyspace =>
      [...this.#entries.values()].filter(({ key }) => key.startsWith(keyspace)),
    plainOf: (_, entry) => JSON.parse(Buffer.from(entry.value).toString()) as unknown,
    clock: new SlowClock(),
    lookAt: key => this.#waiting.add(key),
  })

  put(key: Key, object: object | undefined): void {
    const before = this.#entries.get(key)
    const after = object && entryOf(key, object)
    if (after === undefined) this.#entries.delete(key)
    else this.#entries.set(key, after)
    const keyspace = [classes, claims, volumes].find(prefix => key.startsWith(prefix))!
    this.#protection.changed(keyspace, { key, before, after })
  }

  /** The class is there once all is done. */
  async holds(): Promise<boolean> {
    for (const key of this.#waiting) {
      this.#waiting.delete(key)
      await this.#protection.work(key)
    }
    return this.#entries.has(gold)
  }

  end(): void {
    const deletionTimestamp = '2026-01-01T00:00:00Z'
    this.put(gold, { metadata: { name: 'gold', finalizers: [finalizer], deletionTimestamp } })
  }
}

function entryOf(key: Key, object: object): KeyValue {
  const bytes = Buffer.from(JSON.stringify(object))
  const revision = 1 as Revision
  const meta = { createRevision: revision, modRevision: revision, version: 1, lease: noLease }
  return new KeyValue(key, { bytes, start: 0, end: bytes.length }, meta)
}

t.test('a class that nobody names goes, and one that is not being deleted stays', async t => {
  const world = new World()
  world.put(gold, { metadata: { name: 'gold', finalizers: [finalizer] } })
  t.ok(await world.holds())
  world.end()
  t.notOk(await world.holds())
})

t.test('a class stays until no claim and no volume names it', async t => {
  const claim = keyFromText('/claims/ns/a')
  for (const [key, object] of [
    [claim, { spec: { volumeAttributesClassName: 'gold' } }],
    [claim, { status: { currentVolumeAttributesClassName: 'gold' } }],
    [claim, { status: { modifyVolumeStatus: { targetVolumeAttributesClassName: 'gold' } } }],
    [keyFromText('/volumes/v'), { spec: { volumeAttributesClassName: 'gold' } }],
  ] as const) {
    const name = JSON.stringify(object)
    const world = new World()
    world.put(key, object)
    world.end()
    t.ok(await world.holds(), name)
    world.put(key, { spec: { volumeAttributesClassName: 'silver' } })
    t.notOk(await world.holds(), `${name} is changed`)
    world.put(key, object)
    world.end()
    t.ok(await world.holds(), name)
    world.put(key, undefined)
    t.notOk(await world.holds(), `${name} is deleted`)
  }
})

t.test('the name elsewhere in a claim does not hold a class', async t => {
  const world = new World()
  world.put(keyFromText('/claims/ns/a'), { metadata: { labels: { of: 'gold' } } })
  world.end()
  t.notOk(await world.holds())
})
