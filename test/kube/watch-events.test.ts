import { schemaOf } from '../../lib/codec/schema/schema.ts'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Key } from '../../lib/base/keys.ts'
import { keyFromText } from '../../lib/base/keys.ts'
import { revision } from '../../lib/base/revision.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import { compileFilter } from '../../lib/kube/selectors/filter.ts'
import { planRead } from '../../lib/kube/read-plan.ts'
import { parseQuery } from '../../lib/kube/request/request.ts'
import { watchEvent } from '../../lib/kube/watch-events.ts'
import type { Change } from '../../lib/store/event.ts'
import { Keyspace } from '../../lib/store/keyspace.ts'
import { builtIn, jsonEntry, labelled } from '../support/kube/kube-builders.ts'
import { slowReader } from '../support/kube/slow-selectable.ts'

const bounds = { maxBatches: 1000, maxAgeMs: Infinity, maxBytes: Infinity }

function filterOf(query: string): ReturnType<typeof compileFilter> {
  const resource = builtIn('pods')
  const route = {
    type: 'resource',
    schema: schemaOf(),
    resource,
    verb: 'watch',
    namespace: 'a',
    name: '',
    subresource: '',
  } as const
  const plan = planRead(route, parseQuery(query))
  if (plan.type === 'get') throw new Error(plan.type)
  return compileFilter(plan, slowReader)
}

t.test(
  'a client that follows the events of a selection always has what a list of it holds',
  async t => {
    const step = fc.record({
      name: fc.constantFrom('x', 'y', 'z'),
      app: fc.constantFrom('web', 'api', undefined),
      isDelete: fc.boolean(),
    })
    const queries = [
      '',
      'labelSelector=app=web',
      'labelSelector=!app',
      'fieldSelector=metadata.name!=x',
    ]
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 30 }),
        fc.constantFrom(...queries),
        (steps, query) => {
          const keyspace = new Keyspace(bounds)
          const filter = filterOf(query)
          const known = new Map<Key, number>()
          for (const [i, { name, app, isDelete }] of steps.entries()) {
            const at = revision(i + 1)
            const key = keyFromText(`/registry/pods/a/${name}`)
            const isThere = keyspace.latest().get(key) !== undefined
            if (isDelete && !isThere) continue
            const entry = labelled(key, app === undefined ? {} : { app }, i + 1)
            const change: Change = isDelete ? { type: 'delete', key } : { type: 'put', entry }
            for (const event of keyspace.apply(at, [change], 0).events) {
              const told = watchEvent(event, at, filter)
              assert.ok(!(told instanceof NotExact))
              if (told === undefined) continue
              assert.equal(told.type !== 'ADDED', known.has(key))
              assert.equal(told.revision, at)
              if (told.type === 'DELETED') known.delete(key)
              else known.set(key, told.revision)
            }
            const listed = [
              ...keyspace.latest().iterate({ start: keyFromText(''), end: undefined }),
            ]
              .filter(found => filter === undefined || filter(found) === true)
              .map(found => [found.key, found.modRevision] as const)
            assert.deepEqual(new Map(listed), known)
          }
        },
      ),
      { numRuns: 500 },
    )
    t.pass('no difference')
  },
)

t.test(
  'an object that leaves the selection goes as it was, with the revision of the change',
  async t => {
    const before = labelled('/registry/pods/a/x', { app: 'web' }, 3)
    const after = labelled('/registry/pods/a/x', { app: 'api' }, 4)
    const event = { key: before.key, before, after }
    t.strictSame(watchEvent(event, revision(4), filterOf('labelSelector=app=web')), {
      type: 'DELETED',
      entry: before,
      revision: revision(4),
    })
  },
)

t.test('a change to or from what cannot be read is not told', async t => {
  const readable = labelled('/registry/pods/a/x', { app: 'web' }, 3)
  const bytes = Buffer.from('k8s:enc:x')
  const encrypted = Object.assign(jsonEntry('/registry/pods/a/x', 0, 4), {
    bytes,
    start: 0,
    end: bytes.length,
  })
  const filter = filterOf('labelSelector=app=web')
  const { key } = readable
  t.type(watchEvent({ key, before: readable, after: encrypted }, revision(4), filter), NotExact)
  t.type(watchEvent({ key, before: encrypted, after: readable }, revision(4), filter), NotExact)
})
