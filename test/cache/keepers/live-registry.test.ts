/** Which writes of definitions and APIServices make another state of the API, and which of them end
 *  watches: those that a kube-apiserver 1.36 builds the storage of the objects anew for. */

import t from 'tap'
import { keyFromText, prefixRange } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { defaultHistory } from '../../../lib/cache/mirror/limits.ts'
import type { MirroredKeyspace } from '../../../lib/cache/mirror/mirrored-keyspace.ts'
import { digests } from '../../../lib/cache/ops/digests.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import { LiveRegistry } from '../../../lib/cache/keepers/live-registry.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { entryOf, unbounded } from '../../support/store/store-builders.ts'

const definitionKey = '/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com'
const serviceKey = '/registry/apiregistration.k8s.io/apiservices/v1.metrics.example.com'

const widgets = keyFromText('/registry/example.com/widgets/')

/** The JSON of a definition: `change` is made to a copy. */
function definition(change: (copy: Stored) => void = () => {}): string {
  const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' }
  const stored: Stored = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com', uid: 'a' },
    spec: {
      group: 'example.com',
      names: { ...names },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true }],
    },
    status: {
      acceptedNames: { ...names },
      conditions: [
        { type: 'NamesAccepted', status: 'True' },
        { type: 'Established', status: 'True' },
      ],
    },
  }
  change(stored)
  return JSON.stringify(stored)
}

interface Stored {
  apiVersion: string
  kind: string
  metadata: Record<string, unknown>
  spec: Record<string, unknown> & { names: Record<string, unknown> }
  status: { acceptedNames: Record<string, unknown>; conditions: object[] }
}

interface World {
  readonly registry: LiveRegistry
  /** Keyspaces whose watches have ended. */
  readonly ended: string[]
  /** The number of times that whoever depends on definitions was told. */
  readonly told: () => number
  readonly put: (key: string, value: string) => Promise<void>
  readonly remove: (key: string) => Promise<void>
}

function world(): World {
  const store = new Keyspace(unbounded)
  store.restore([], revision(1))
  const keyspace = { isServed: true, store } as unknown as MirroredKeyspace
  const registry = new LiveRegistry({
    schema: schemaOf(),
    prefix: '/registry',
    configured: [],
    excluded: [],
    history: defaultHistory,
    serverAddress: '',
    digests,
    logger: silentLogger,
  })
  registry.start({ add: () => {}, drop: () => {}, keyspace: () => keyspace })
  const ended: string[] = []
  let told = 0
  registry.onRedefined(keyspaces => {
    told++
    ended.push(...keyspaces)
  })
  const prefixes = [definitionKey, serviceKey].map(key => key.slice(0, key.lastIndexOf('/') + 1))
  // One store stands for the keyspaces of both: each finds what is in its range.
  const changed = async (key: string): Promise<void> => {
    registry.changed(keyFromText(prefixes.find(prefix => key.startsWith(prefix)) ?? ''))
    await Promise.resolve()
  }
  const found = (key: string): KeyValue | undefined =>
    store.latest().range(prefixRange(keyFromText(key)))[0]
  return {
    registry,
    ended,
    told: () => told,
    async put(key, value) {
      const modRevision = store.revision + 1
      const createRevision = found(key)?.createRevision ?? modRevision
      const entry = entryOf({ key: keyFromText(key), value, modRevision, createRevision })
      store.apply(revision(modRevision), [{ type: 'put', entry }], 0)
      await changed(key)
    },
    async remove(key) {
      const next = revision(store.revision + 1)
      store.apply(next, [{ type: 'delete', key: keyFromText(key) }], 0)
      await changed(key)
    },
  }
}

type Change = (stored: Stored) => void

const nothingEnds: Record<string, Change> = {
  'a label': ({ metadata }) => (metadata['labels'] = { a: 'b' }),
  'an annotation': ({ metadata }) => (metadata['annotations'] = { a: 'b' }),
  'managed fields': ({ metadata }) => (metadata['managedFields'] = [{ manager: 'm' }]),
  'a generation': ({ metadata }) => (metadata['generation'] = 2),
  'a condition that says nothing of names': ({ status }) =>
    status.conditions.push({ type: 'NonStructuralSchema', status: 'True' }),
  'the message of a condition': ({ status }) =>
    (status.conditions[1] = { type: 'Established', status: 'True', message: 'm' }),
}

/** kube-apiserver shows these in discovery, or refuses writes, and lets the watches be. */
const stateChanges: Record<string, Change> = {
  'a definition that is being deleted': ({ metadata, status }) => {
    metadata['deletionTimestamp'] = '2026-11-22T00:00:00Z'
    status.conditions.push({ type: 'Terminating', status: 'True' })
  },
  'a definition that is no longer established': ({ status }) => status.conditions.pop(),
}

const watchesEnd: Record<string, Change> = {
  'another column': ({ spec }) => {
    const additionalPrinterColumns = [{ name: 'A', type: 'string', jsonPath: '.spec.a' }]
    spec['versions'] = [{ name: 'v1', served: true, storage: true, additionalPrinterColumns }]
  },
  'another version': ({ spec }) => {
    const older = { name: 'v1alpha1', served: true, storage: false }
    spec['versions'] = [{ name: 'v1', served: true, storage: true }, older]
  },
  'a name that is wanted': ({ spec }) => (spec.names['shortNames'] = ['w']),
  'a name that is accepted': ({ status }) => (status.acceptedNames['shortNames'] = ['w']),
  'another definition of the same name': ({ metadata }) => (metadata['uid'] = 'b'),
}

for (const [what, change] of Object.entries(nothingEnds)) {
  t.test(`${what} ends no watch, and nothing is made anew`, async t => {
    const { registry, ended, told, put } = world()
    await put(definitionKey, definition())
    const before = { state: registry.state, told: told() }
    t.equal(before.told, 1)
    const [resource] = registry.state.registry.resourcesAt(widgets)
    await put(definitionKey, definition(change))
    t.strictSame(ended, [])
    t.equal(registry.state, before.state)
    t.equal(told(), before.told)
    const stored = resource && registry.state.definitionOf(resource)
    t.equal(stored?.value.toString(), Buffer.from(definition(change)).toString())
    // The comparison is with what was written last, not with what was read first.
    await put(definitionKey, definition())
    t.equal(registry.state, before.state)
  })
}

for (const [what, change] of Object.entries(stateChanges)) {
  t.test(`${what} ends no watch`, async t => {
    const { registry, ended, told, put } = world()
    await put(definitionKey, definition())
    const { state } = registry
    await put(definitionKey, definition(change))
    t.strictSame(ended, [])
    t.not(registry.state, state)
    t.equal(told(), 2)
    const versions = [state, registry.state].map(
      one => one.registry.resourcesAt(widgets)[0]?.custom?.definedAt,
    )
    t.equal(versions[0], versions[1], 'what was made of it is kept')
  })
}

for (const [what, change] of Object.entries(watchesEnd)) {
  t.test(`${what} ends the watches of its resource`, async t => {
    const { ended, put } = world()
    await put(definitionKey, definition())
    await put(definitionKey, definition(change))
    t.strictSame(ended, [widgets])
  })
}

t.test('what is made of other resources is kept when a definition changes', async t => {
  const { registry, put } = world()
  const others = definitionKey.replace('widgets', 'others')
  await put(definitionKey, definition())
  await put(others, definition().replaceAll('widget', 'other'))
  const pods = registry.state.registry.find('', 'v1', 'pods')
  const widget = registry.state.registry.find('example.com', 'v1', 'widgets')
  const other = registry.state.registry.find('example.com', 'v1', 'others')
  const made = [pods, widget, other].map(one => one && registry.state.encoderOf(one))
  await put(others, definition(watchesEnd['another column']).replaceAll('widget', 'other'))
  const found = ['pods', 'widgets', 'others'].map(name =>
    registry.state.registry.find(name === 'pods' ? '' : 'example.com', 'v1', name),
  )
  const now = found.map(one => one && registry.state.encoderOf(one))
  t.equal(now[0], made[0])
  t.equal(now[1], made[1])
  t.ok(now[2] !== undefined && now[2] !== made[2], 'and of the changed one it is made anew')
})

t.test('a definition that is gone ends them, and one that is made again does', async t => {
  const { ended, put, remove } = world()
  await put(definitionKey, definition())
  await remove(definitionKey)
  t.strictSame(ended, [widgets])
  await put(definitionKey, definition())
  t.strictSame(ended, [widgets])
})

t.test('a name with an escape in it hides no other spec', async t => {
  const { ended, put } = world()
  const hidden = (text: string): string => text.replace('"spec":', String.raw`"sp\u0065c":`)
  await put(definitionKey, hidden(definition()))
  await put(definitionKey, hidden(definition(({ spec }) => (spec.names['shortNames'] = ['w']))))
  t.strictSame(ended, [widgets])
})

t.test('of an APIService, only what it serves and whether it does makes another state', async t => {
  const { registry, told, put } = world()
  const service = (status: string, more: object = {}): string =>
    JSON.stringify({
      metadata: { name: 'v1.metrics.example.com', ...more },
      spec: { group: 'metrics.example.com', version: 'v1', service: {} },
      status: { conditions: [{ type: 'Available', status }] },
    })
  await put(serviceKey, service('True'))
  const { state } = registry
  t.equal(told(), 1)
  await put(serviceKey, service('True', { labels: { a: 'b' } }))
  t.equal(registry.state, state)
  t.equal(told(), 1)
  await put(serviceKey, service('False'))
  t.equal(told(), 2, 'discovery is another one then')
})
