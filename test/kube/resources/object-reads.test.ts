/** Subresources that are read as objects, and those that have Tables. */

import t from 'tap'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import { hasTables, readsAsObject } from '../../../lib/kube/resources/object-reads.ts'

const resources = builtInResources(schemaOf('1.36'))

t.test('most things have Tables, answers that are stored nowhere have none', async t => {
  const rows: readonly (readonly [string, string, boolean])[] = [
    ['pods', '', true],
    ['pods', 'status', true],
    ['pods', 'resize', false],
    ['pods', 'ephemeralcontainers', false],
    ['pods', 'eviction', false],
    ['pods', 'binding', false],
    ['serviceaccounts', '', true],
    ['serviceaccounts', 'token', false],
    ['namespaces', 'finalize', false],
    ['resourceclaims', 'status', false],
    ['customresourcedefinitions', 'status', false],
    ['tokenreviews', '', false],
    ['subjectaccessreviews', '', false],
    ['selfsubjectreviews', '', false],
    ['bindings', '', false],
  ]
  for (const [name, subresource, expected] of rows) {
    const resource = resources.find(one => one.resource === name)
    if (resource === undefined) throw new Error(name)
    t.equal(hasTables(resource, subresource), expected, `${name}/${subresource}`)
  }
})

t.test('a status is the whole object, and so are some others', async t => {
  const pods = resources.find(({ resource }) => resource === 'pods')!
  for (const [subresource, expected] of [
    ['status', true],
    ['resize', true],
    ['ephemeralcontainers', true],
    ['eviction', false],
    ['log', false],
  ] as const) {
    t.equal(readsAsObject(pods, subresource), expected, subresource)
  }
})
