/** Bodies and stored values that are small and hard to work on: each of them once held the event
 *  loop for seconds to hours, or took all memory. A server that takes writes stays there for
 *  everybody. */

import t from 'tap'
import { createRandom } from '../../lib/base/random.ts'
import { ask, type Answer } from '../support/attacks/ask.ts'
import { serveHere } from '../support/program/serve-here.ts'

const json = 'application/json'
const maps = '/api/v1/namespaces/default/configmaps'
const pods = '/api/v1/namespaces/default/pods'
const widgets = '/apis/example.com/v1/namespaces/default/widgets'
const many = (count: number, item: (i: number) => unknown): unknown[] =>
  Array.from({ length: count }, (_, i) => item(i))

t.test('what is hard to work on holds up nobody', async t => {
  const { port } = await serveHere(t, ['--etcd', 'embedded'])
  const send = (method: string, path: string, body: unknown, type = json): Promise<Answer> => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return ask({ protocol: 'http', port }, '1.1', {
      method,
      path,
      body: text,
      headers: { 'content-type': type },
    })
  }
  const read = (path: string, accept: string): Promise<Answer> =>
    ask({ protocol: 'http', port }, '1.1', { path, headers: { accept } })
  const map = (name: string, more: object): object => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    ...more,
  })

  await t.test('an Accept header of any length is refused', async t => {
    const { status, body } = await read(maps, `application/json;q=${'1'.repeat(60_000)}x`)
    t.equal(status, 400)
    t.match(body, /the Accept header is longer than 4096 characters/)
  })

  await t.test('YAML with many aliases', async t => {
    const lines = many(5_000, i => `  k${i}: *a`).join('\n')
    const head = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: aliases}\ndata:\n  a: &a x\n'
    const { status } = await send('POST', maps, head + lines, 'application/yaml')
    t.equal(status, 201)
    const unknown = await send('POST', maps, `${head}  b: *c\n`, 'application/yaml')
    t.match(unknown.body, /unknown anchor 'c' referenced/)
  })

  await t.test('a JSON patch whose copies double the object, or that moves long lists', async t => {
    t.equal((await send('POST', maps, map('patched', { data: { a: 'x' } }))).status, 201)
    const copies = many(60, i => ({ op: 'copy', from: '/data', path: `/data/c${i}` }))
    const type = 'application/json-patch+json'
    t.equal((await send('PATCH', `${maps}/patched`, copies, type)).status, 422)
    const inserts = many(9_999, () => ({ op: 'add', path: '/x/0', value: 0 }))
    const list = { op: 'add', path: '/x', value: many(100_000, () => 0) }
    t.equal((await send('PATCH', `${maps}/patched`, [list, ...inserts], type)).status, 413)
  })

  await t.test('lists of ten thousand items that a strategic patch merges', async t => {
    const pod = (env: unknown): object => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a' },
      spec: { containers: [{ name: 'c', image: 'i', env }] },
    })
    const env = (name: string): unknown => many(5_000, i => ({ name: `${name}${i}`, value: 'v' }))
    t.equal((await send('POST', pods, pod(env('A')))).status, 201)
    const type = 'application/strategic-merge-patch+json'
    const merged = await send('PATCH', `${pods}/a`, pod(env('B')), type)
    t.equal(merged.status, 422, 'the environment of a pod does not change')
  })

  await t.test('patterns with many groups, and texts that keep many states', async t => {
    const properties = {
      groups: { type: 'string', pattern: '(?:a)'.repeat(5_000) },
      states: { type: 'string', pattern: '(a?){1000}b$' },
      // Which states are reached depends on the last 500 characters: hardly any set comes again.
      sets: { type: 'string', pattern: 'a(a|b){500}c$' },
    }
    const schema = {
      openAPIV3Schema: {
        type: 'object',
        'x-kubernetes-preserve-unknown-fields': true,
        properties,
      },
    }
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    }
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    t.equal((await send('POST', definitions, definition)).status, 201)
    const widget = (name: string, more: object): object => ({
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name },
      ...more,
    })
    let made: Answer
    do made = await send('POST', widgets, widget('a', { states: 'b' }))
    while (made.status === 404)
    t.equal(made.status, 201)
    const wrong = await send('POST', widgets, widget('b', { states: 'a'.repeat(1_000_000) }))
    t.equal(wrong.status, 422, 'the same few sets of states come again and again')
    const random = createRandom(1)
    const letters = many(1_000_000, () => (random.next() < 0.5 ? 'a' : 'b')).join('')
    const hard = await send('POST', widgets, widget('b', { sets: letters }))
    t.equal(hard.status, 413)
    t.match(hard.body, /matching the patterns of the definition takes too long/)
  })

  await t.test('a list of which every item is wrong', async t => {
    const list = { type: 'array', items: { type: 'object', properties: { a: { type: 'string' } } } }
    const set = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } }
    const keyed = {
      ...list,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a'],
      items: { ...list.items, required: ['a'] },
    }
    const schema = { openAPIV3Schema: { type: 'object', properties: { list, set, keyed } } }
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'lists.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'lists', singular: 'list', kind: 'Listed', listKind: 'ListedList' },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    }
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    t.equal((await send('POST', definitions, definition)).status, 201)
    const listed = {
      apiVersion: 'example.com/v1',
      kind: 'Listed',
      metadata: { name: 'a' },
      list: many(30_000, a => ({ a })),
    }
    const path = '/apis/example.com/v1/namespaces/default/lists'
    let made: Answer
    do made = await send('POST', path, listed)
    while (made.status === 404)
    t.equal(made.status, 422)
    const causesOf = ({ body }: Answer): number =>
      (JSON.parse(body) as { details: { causes: [] } }).details.causes.length
    t.equal(causesOf(made), 30_000)
    const repeated = { ...listed, list: [], set: many(10_000, i => `v${i >> 1}`) }
    t.equal(causesOf(await send('POST', path, repeated)), 5_000)
    const right = { ...listed, list: [], keyed: many(5_000, i => ({ a: `v${i}` })) }
    t.equal((await send('POST', path, right)).status, 201)
    const { body } = await read(`${path}/a`, json)
    const { metadata } = JSON.parse(body) as { metadata: object }
    const wrong = { ...right, metadata, keyed: many(5_000, i => ({ a: `v${i}`, b: 1 })), list: 1 }
    t.equal((await send('PUT', `${path}/a`, wrong)).status, 422)
    const unknown = (count: number): string => {
      const members = many(count, i => `"u${i}":1`).join()
      return `{"apiVersion":"example.com/v1","kind":"Listed","metadata":{"name":"b"},${members}}`
    }
    t.equal((await send('POST', path, unknown(99_000))).status, 201)
    const refused = await send('POST', path, unknown(150_000))
    t.equal(refused.status, 413)
    t.match(refused.body, /more than 200000 names and values/)
  })

  await t.test('a list that every error shows', async t => {
    const owner = { apiVersion: 'v1', kind: 'Pod', controller: true }
    const ownerReferences = many(5_000, i => ({ ...owner, name: `n${i}`, uid: `u${i}` }))
    const owned = { ...map('owned', {}), metadata: { name: 'owned', ownerReferences } }
    const { status, body } = await send('POST', maps, owned)
    t.equal(status, 413)
    t.match(body, /the errors of the object are too long/)
  })

  await t.test('the message of an event with white space inside', async t => {
    const events = '/api/v1/namespaces/default/events'
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'a' },
      involvedObject: { namespace: 'default' },
      message: `a${' '.repeat(1_000_000)}b`,
    }
    t.equal((await send('POST', events, event)).status, 201)
    const metadata = { name: 'large' }
    const large = await send('POST', events, { ...event, metadata, message: 'x'.repeat(1_600_000) })
    t.equal(large.status, 500, 'too large for etcd')
    t.match(
      large.body,
      /"status":"Failure","message":"etcdserver: request is too large","code":500/,
    )
    const table = await read(events, 'application/json;as=Table;v=v1;g=meta.k8s.io')
    t.equal(table.status, 200)
  })
})
