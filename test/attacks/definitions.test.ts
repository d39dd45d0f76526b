/** Columns and defaults of a definition, which each of its objects is read with. Both are made by
 *  clients, so that a small definition and a small object once took a minute of the processor, and
 *  a gigabyte, for each read. */

import t, { type Test } from 'tap'
import { keyFromText } from '../../lib/base/keys.ts'
import { identity } from '../support/upstream/reviews.ts'
import type { Binding } from '../support/upstream/rules.ts'
import { admin, startDoor } from '../support/attacks/door.ts'
import { ask, type Address, type Answer } from '../support/attacks/ask.ts'
import { serveHere } from '../support/program/serve-here.ts'

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const many = <Item>(count: number, item: (i: number) => Item): Item[] =>
  Array.from({ length: count }, (_, i) => item(i))

interface Asked {
  readonly method?: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A server, and a group of one test. */
class Cluster {
  readonly group: string
  readonly crd: string
  readonly widgets: string
  readonly #address: Address

  constructor(address: Address, group: string) {
    this.#address = address
    this.group = group
    this.crd = `${crds}/widgets.${group}`
    this.widgets = `/apis/${group}/v1/namespaces/default/widgets`
  }

  ask({ method = 'GET', path, body, headers = {} }: Asked): Promise<Answer> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const text = body === undefined ? undefined : JSON.stringify(body)
    const all = { ...admin, 'content-type': type, ...headers }
    return ask(this.#address, '1.1', { method, path, headers: all, body: text })
  }

  /** Asks until the answer is another one: a definition takes a moment to be known. */
  async askUntilNot(status: number, asked: Asked): Promise<Answer> {
    for (;;) {
      const answer = await this.ask(asked)
      if (answer.status !== status) return answer
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }

  widget(name: string, spec: object): object {
    return { apiVersion: `${this.group}/v1`, kind: 'Widget', metadata: { name }, spec }
  }

  table(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.ask({ path, headers: { accept: asTable, ...headers } })
  }
}

const listOf = (item: object): object => ({ type: 'array', items: { type: 'object', ...item } })

/** A definition whose objects have a list of items with a text. */
function definitionOf(group: string, version: object, text: object = {}): object {
  const list = listOf({ properties: { text: { type: 'string', ...text } } })
  const spec = {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    properties: { list },
  }
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}` },
    spec: {
      // Of the older form, which API servers store, the default is true: nothing is filled in then.
      preserveUnknownFields: false,
      group,
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [{ name: 'v1', served: true, storage: true, schema, ...version }],
    },
  }
}

const columnsOf = (count: number, jsonPath: (i: number) => string, type: string): object => ({
  additionalPrinterColumns: many(count, i => ({ name: `C${i}`, type, jsonPath: jsonPath(i) })),
})

const tooLong =
  /"widgets\.[a-z]+\.example\.com\\" cannot be served exactly .* the columns of its definition take too long/
const tooMany = /the defaults of its definition make more than 1572864 bytes of it/

const { port } = await serveHere(t, ['--etcd', 'embedded'])

/** Begins with a definition in a group of its own, and with objects of these specs. */
async function started(
  t: Test,
  name: string,
  version: object,
  specs: Readonly<Record<string, object>>,
): Promise<Cluster> {
  const group = `${name}.example.com`
  const cluster = new Cluster({ protocol: 'http', port }, group)
  const definition = definitionOf(group, version)
  t.equal((await cluster.ask({ method: 'POST', path: crds, body: definition })).status, 201)
  for (const [name, spec] of Object.entries(specs)) {
    const body = cluster.widget(name, spec)
    const made = await cluster.askUntilNot(404, { method: 'POST', path: cluster.widgets, body })
    t.equal(made.status, 201)
  }
  return cluster
}

/** Gives all items of the list a default of that length. */
async function withDefault(t: Test, cluster: Cluster, length: number): Promise<void> {
  const text = { default: 'x'.repeat(length) }
  const { spec } = definitionOf(cluster.group, {}, text) as { spec: object }
  const declared = await cluster.ask({ method: 'PATCH', path: cluster.crd, body: { spec } })
  t.equal(declared.status, 200)
}

t.test('columns that look into a list read it once', async t => {
  const columns = columnsOf(300, () => '.spec.more[-1]', 'integer')
  const cluster = await started(t, 'once', columns, { a: { more: many(20_000, i => i) } })
  const { status, body } = await cluster.table(`${cluster.widgets}/a`)
  t.equal(status, 200)
  const [row] = (JSON.parse(body) as { rows: { cells: unknown[] }[] }).rows
  t.same(row?.cells, ['a', ...many(300, () => 19_999)])
})

t.test('columns that look at everything each are refused, and say why', async t => {
  const columns = columnsOf(300, () => '.spec.more[*]', 'string')
  const cluster = await started(t, 'everything', columns, {
    a: { more: many(20_000, i => i) },
    b: { more: [1] },
  })
  const { widgets } = cluster
  for (const path of [`${widgets}/a`, widgets]) {
    const { status, body } = await cluster.table(path)
    t.equal(status, 500)
    t.match(body, tooLong)
  }
  t.equal((await cluster.table(`${widgets}/b`)).status, 200)
  t.equal((await cluster.ask({ path: widgets })).status, 200, 'but for Tables all are shown')
})

t.test('columns that repeat a large value are refused', async t => {
  const columns = columnsOf(300, () => '.spec', 'string')
  const cluster = await started(t, 'large', columns, { a: { more: 'x'.repeat(300_000) } })
  const { status, body } = await cluster.table(cluster.widgets)
  t.equal(status, 500)
  t.match(body, tooLong)
})

t.test('defaults of items that were stored before are counted', async t => {
  const empty = { list: many(4_000, () => ({})) }
  const cluster = await started(t, 'stored', {}, { a: empty, b: { list: [{}] } })
  const { widgets } = cluster
  await withDefault(t, cluster, 100_000)
  for (const path of [`${widgets}/a`, widgets]) {
    for (const accept of ['application/json', 'application/yaml', asTable]) {
      const { status, body } = await cluster.askUntilNot(200, { path, headers: { accept } })
      t.equal(status, 500)
      t.match(body, tooMany)
    }
  }
  const other = await cluster.ask({ path: `${widgets}/b` })
  t.equal(other.status, 200)
  t.match(other.body, /x{100000}/)
  const made = await cluster.ask({
    method: 'POST',
    path: widgets,
    body: cluster.widget('c', empty),
  })
  t.equal(made.status, 413, 'nor are there as many in one that is written')
  t.match(made.body, tooMany)
  const path = `${widgets}/a`
  const apply = { 'content-type': 'application/apply-patch+yaml' }
  for (const [method, to, headers] of [
    ['PATCH', path, {}],
    ['PUT', path, {}],
    ['PATCH', `${path}?fieldManager=me`, apply],
  ] as const) {
    const body = cluster.widget('a', { more: 1 })
    const { status, body: text } = await cluster.ask({ method, path: to, headers, body })
    t.equal(status, 413, `${method} of it is refused`)
    t.match(text, /make more than 1572864 bytes of it: delete it, or change the definition/)
  }
  for (const of of [path, widgets]) {
    for (const rendering of ['PartialObjectMetadata', 'PartialObjectMetadataList']) {
      if ((of === path) !== (rendering === 'PartialObjectMetadata')) continue
      const accept = `application/json;as=${rendering};v=v1;g=meta.k8s.io`
      const { status, body } = await cluster.ask({ path: of, headers: { accept } })
      t.equal(status, 200, `${rendering} shows no defaults`)
      t.match(body, /"name":"a"/)
    }
  }
  t.equal((await cluster.ask({ method: 'DELETE', path })).status, 200, 'it can be deleted')
  t.equal((await cluster.ask({ path })).status, 404)
})

t.test('a definition goes whose defaults make too much of its objects', async t => {
  const empty = { list: many(4_000, () => ({})) }
  const names = many(5, i => [`w${i}`, empty] as const)
  const cluster = await started(t, 'going', {}, Object.fromEntries(names))
  const { crd, widgets } = cluster
  await withDefault(t, cluster, 100_000)
  t.equal((await cluster.askUntilNot(200, { path: widgets })).status, 500)
  t.equal((await cluster.ask({ method: 'DELETE', path: crd })).status, 200)
  t.equal((await cluster.askUntilNot(200, { path: crd })).status, 404)
})

const alice: Binding = {
  subjects: ['alice'],
  namespace: 'default',
  rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
}

t.test('before an upstream, for who may read one namespace', async t => {
  const accepted = {
    status: {
      acceptedNames: { plural: 'widgets', kind: 'Widget', listKind: 'WidgetList' },
      conditions: ['NamesAccepted', 'Established'].map(type => ({ type, status: 'True' })),
    },
  }
  const columns = columnsOf(300, () => '.spec.more[*]', 'string')
  const text = { default: 'x'.repeat(100_000) }
  const door = await startDoor(t, {
    mirrorsAll: true,
    users: [['alice', identity('alice')]],
    bindings: [alice],
    objects: [[crds, { ...definitionOf('example.com', columns, text), ...accepted }]],
  })
  const cluster = new Cluster(door, 'example.com')
  const { widgets } = cluster
  const small = cluster.widget('small', { more: [1] })
  const made = await cluster.askUntilNot(404, { method: 'POST', path: widgets, body: small })
  t.equal(made.status, 201)
  const metadata = { name: 'large', namespace: 'default', uid: 'u', generation: 1 }
  const large = cluster.widget('large', { more: many(20_000, i => i), list: many(60, () => ({})) })
  const value = Buffer.from(JSON.stringify({ ...large, metadata }))
  const key = keyFromText('/registry/example.com/widgets/default/large')
  await door.etcd.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
  const headers = { authorization: 'Bearer alice' }
  const read = (name: string, accept: string): Promise<Answer> =>
    cluster.ask({ path: `${widgets}/${name}`, headers: { ...headers, accept } })
  for (;;) {
    const { headers: got } = await read('small', 'application/json')
    if (String(got['x-watchglass']).startsWith('mirror')) break
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  for (const accept of ['application/json', asTable]) {
    const { headers: got } = await read('large', accept)
    t.match(got['x-watchglass'], /^pass/, `${accept} of the large one passes`)
  }
})
