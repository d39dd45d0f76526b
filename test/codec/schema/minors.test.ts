import { readFileSync } from 'node:fs'
import t from 'tap'
import { prepareView } from '../../../lib/codec/served/view.ts'
import { minors, type Schema, schemaOf } from '../../../lib/codec/schema/schema.ts'
import { tableOf } from '../../../lib/codec/table/table.ts'
import { planRead } from '../../../lib/kube/read-plan.ts'
import { parseQuery } from '../../../lib/kube/request/request.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import { mergeRows } from '../../support/schema/minors.ts'

function fieldsOf(schema: Schema, type: string): string[] {
  return schema.messageType(type).fields.map(({ jsonName }) => jsonName)
}

/** The minors in which something holds. */
function minorsWith(holds: (schema: Schema) => boolean): string[] {
  return minors().filter(minor => holds(schemaOf(minor)))
}

t.test('each minor has its own fields, resources and columns', async t => {
  const all = minors()
  t.strictSame(
    minorsWith(schema => fieldsOf(schema, 'core/v1.PodStatus').includes('observedGeneration')),
    all.slice(1),
  )
  t.strictSame(
    minorsWith(schema =>
      fieldsOf(schema, 'apiextensions/v1.CustomResourceDefinitionStatus').includes(
        'observedGeneration',
      ),
    ),
    all.slice(3),
  )
  t.strictSame(
    minorsWith(schema => fieldsOf(schema, 'storage/v1.CSINode').includes('status')),
    all.slice(5),
  )
  t.strictSame(
    minorsWith(schema =>
      schema
        .messageType('meta/v1.ObjectMeta')
        .fields.some(field => field.jsonName === 'creationTimestamp' && field.isOmittedWhenZero),
    ),
    all.slice(2),
  )
  const isServed = (name: string) => (schema: Schema) =>
    builtInResources(schema).some(({ group, resource }) => `${group}/${resource}` === name)
  t.strictSame(minorsWith(isServed('resource.k8s.io/resourceclaims')), all.slice(2))
  t.strictSame(
    minorsWith(isServed('admissionregistration.k8s.io/mutatingadmissionpolicies')),
    all.slice(4),
  )
  const storedAs = (version: string) => (schema: Schema) =>
    builtInResources(schema).some(
      ({ resource, storage }) => resource === 'resourceslices' && storage?.version === version,
    )
  t.strictSame(minorsWith(storedAs('v1beta2')), ['1.34'])
  t.strictSame(minorsWith(storedAs('v1')), all.slice(3))
  const hasSecrets = (schema: Schema): boolean =>
    schema.tables.some(
      ({ resource, columnDefinitions }) =>
        resource === 'serviceaccounts' && columnDefinitions.some(({ name }) => name === 'Secrets'),
    )
  t.strictSame(minorsWith(hasSecrets), all.slice(0, 3))
  t.strictSame(
    minorsWith(hasSecrets),
    minorsWith(schema => schema.has('serviceAccountSecrets')),
  )
  t.strictSame(
    minorsWith(schema => schema.has('watchList')),
    all.filter(minor => minor !== '1.33'),
  )
})

t.test('what shows a resource can be made for every minor', async t => {
  for (const minor of minors()) {
    const schema = schemaOf(minor)
    for (const resource of builtInResources(schema)) {
      const { storage } = resource
      if (storage === undefined) continue
      const table = tableOf({ ...resource, storage, schema })
      const { cells } = table.emptyRow()
      t.ok(cells.length > 0, `${minor} ${resource.resource} has cells`)
      if (storage.encoding !== 'protobuf') continue
      const { group, version, kind } = storage
      const apiVersion = group === '' ? version : `${group}/${version}`
      t.ok(schema.findKind(apiVersion, kind), `${minor} knows ${apiVersion} ${kind}`)
      t.ok([...prepareView(schema, apiVersion, kind)], `${minor} shows ${kind}`)
    }
  }
})

t.test('from 1.33 on pods can be resized, and Endpoints are deprecated', async t => {
  const found = (schema: Schema, resource: string) =>
    builtInResources(schema).find(one => one.group === '' && one.resource === resource)
  const canResize = (schema: Schema) =>
    found(schema, 'pods')?.subresources.some(({ name }) => name === 'resize') === true
  t.strictSame(minorsWith(canResize), minors().slice(1))
  t.strictSame(
    minorsWith(schema => found(schema, 'endpoints')?.warnings.length === 1),
    minors().slice(1),
  )
})

t.test('behaviours are said in words and limited to minors that there are', async t => {
  const file = 'lib/codec/schema/data/behaviours.json'
  const { behaviours } = JSON.parse(readFileSync(file, 'utf8')) as {
    behaviours: { id: string; since?: string; until?: string; what: string }[]
  }
  for (const { id, since, until, what } of behaviours) {
    t.ok(what.length > 5, id)
    t.ok(since !== undefined || until !== undefined, `${id} is not true of all`)
    for (const minor of [since, until]) {
      if (minor !== undefined) t.ok(minors().includes(minor), `${id} ${minor}`)
    }
  }
})

t.test('there is no schema of other minors', async t => {
  for (const minor of ['1.31', '1.38', '', 'toString']) {
    t.throws(() => schemaOf(minor), /there is no data of Kubernetes .*: choose one of 1.32 to 1.37/)
  }
})

t.test('rows of all minors become one list that keeps the order of each', async t => {
  const lists = new Map([
    ['1', ['a', 'c', 'd']],
    ['2', ['a', 'b', 'c']],
    ['3', ['b', 'a', 'c']],
  ])
  const merged = mergeRows(lists, '2')
  for (const [minor, rows] of lists) {
    const own = merged.filter(
      ({ period: { since = '1', until = '3' } }) => since <= minor && minor <= until,
    )
    t.strictSame(
      own.map(({ row }) => row),
      rows,
    )
  }
})

t.test('a watch of 1.32 that ends its initial events with a bookmark is not guessed', async t => {
  const planOf = (minor: string, query: string): unknown => {
    const schema = schemaOf(minor)
    const resource = builtInResources(schema).find(one => one.resource === 'pods')
    if (resource === undefined) throw new Error('no pods')
    const path = { verb: 'list', namespace: 'a', name: '', subresource: '' } as const
    return planRead({ type: 'resource', schema, resource, ...path }, parseQuery(query))
  }
  const query = 'watch=1&allowWatchBookmarks=1&resourceVersion=0'
  t.throws(() => planOf('1.32', query), /cannot be served exactly/)
  t.match(planOf('1.32', 'watch=1&resourceVersion=0'), { type: 'watch' })
  t.match(planOf('1.34', query), { start: { hasEndBookmark: true } })
  t.match(planOf('1.33', query), { start: { hasEndBookmark: false } })
})
