/** Requests that a hook is about, by rules and selectors. The rules of namespaces are those of
 *  kube-apiserver's `namespace/matcher.go`: one that is created or changed is selected by its own
 *  labels, one that is deleted by those that it had. */

import t from 'tap'
import type { AdmissionAttributes } from '../../../lib/writes/admission/plugin.ts'
import { matchedResource, type Matching } from '../../../lib/writes/admission/webhooks/matching.ts'
import { builtIn } from '../../support/kube/kube-builders.ts'
import { treeOf } from '../recorded/load.ts'

const all = new Map()
const labelled = treeOf({ matchLabels: { a: 'b' } })
const rule = {
  groups: ['*'],
  versions: ['*'],
  resources: ['*'],
  operations: ['*'],
  scope: '*',
  names: [],
}

type Rule = Partial<Record<keyof typeof rule, unknown>>

function hook(change: Rule = {}, selectors: Partial<Matching> = {}): Matching {
  const rules = [{ ...rule, ...change }] as Matching['rules']
  return {
    rules,
    matchesEquivalents: false,
    namespaceSelector: all,
    objectSelector: all,
    ...selectors,
  }
}

interface Asked {
  readonly resource?: string
  readonly group?: string
  readonly subresource?: string
  readonly operation?: string
  readonly labels?: object
  readonly oldLabels?: object
  readonly namespaceLabels?: object | null
}

function attributes(asked: Asked): AdmissionAttributes {
  const { resource = 'pods', group = '', subresource = '', operation = 'CREATE' } = asked
  const { labels = {}, oldLabels, namespaceLabels = {} } = asked
  const found = builtIn(resource, group)
  const objectOf = (own: object): unknown => treeOf({ metadata: { name: 'x', labels: own } })
  return {
    operation,
    object: operation === 'DELETE' ? undefined : objectOf(labels),
    old: oldLabels === undefined ? undefined : objectOf(oldLabels),
    namespace: () =>
      Promise.resolve(namespaceLabels === null ? undefined : objectOf(namespaceLabels)),
    session: {
      kind: { group, resource, isNamespaced: found.isNamespaced },
      resource: found,
      subresource,
      name: 'x',
      state: { registry: { resourcesAt: () => [found] } },
    },
  } as unknown as AdmissionAttributes
}

const byLabels = { objectSelector: labelled }
const byNamespace = { namespaceSelector: labelled }
const own = { a: 'b' }

const rows: readonly (readonly [string, Matching, Asked, boolean])[] = [
  ['everything', hook(), {}, true],
  ['a group', hook({ groups: ['', 'x'] }), {}, true],
  ['another group', hook({ groups: ['apps'] }), {}, false],
  ['a version', hook({ versions: ['v1'] }), {}, true],
  ['another version', hook({ versions: ['v2'] }), {}, false],
  ['an operation', hook({ operations: ['UPDATE', 'CREATE'] }), {}, true],
  ['another operation', hook({ operations: ['DELETE'] }), {}, false],
  ['a resource', hook({ resources: ['pods'] }), {}, true],
  ['another resource', hook({ resources: ['services'] }), {}, false],
  [
    'a resource for its subresource',
    hook({ resources: ['pods'] }),
    { subresource: 'status' },
    false,
  ],
  ['a subresource', hook({ resources: ['pods/status'] }), { subresource: 'status' }, true],
  ['another subresource', hook({ resources: ['pods/scale'] }), { subresource: 'status' }, false],
  ['a subresource for its resource', hook({ resources: ['pods/status'] }), {}, false],
  ['all subresources', hook({ resources: ['pods/*'] }), { subresource: 'status' }, true],
  ['all subresources and it', hook({ resources: ['pods/*'] }), {}, true],
  ['a subresource of all', hook({ resources: ['*/status'] }), { subresource: 'status' }, true],
  ['all resources for a subresource', hook(), { subresource: 'status' }, false],
  ['everything with subresources', hook({ resources: ['*/*'] }), { subresource: 'status' }, true],
  ['namespaced', hook({ scope: 'Namespaced' }), {}, true],
  ['cluster for a namespaced one', hook({ scope: 'Cluster' }), {}, false],
  ['cluster', hook({ scope: 'Cluster' }), { resource: 'nodes' }, true],
  [
    'namespaced for one of the cluster',
    hook({ scope: 'Namespaced' }),
    { resource: 'nodes' },
    false,
  ],
  ['a name', hook({ names: ['x'] }), {}, true],
  ['another name', hook({ names: ['y'] }), {}, false],
  ['labels', hook({}, byLabels), { labels: own }, true],
  ['other labels', hook({}, byLabels), {}, false],
  ['labels of the old object', hook({}, byLabels), { oldLabels: own }, true],
  ['labels of what is deleted', hook({}, byLabels), { operation: 'DELETE', oldLabels: own }, true],
  ['labels of the namespace', hook({}, byNamespace), { namespaceLabels: own }, true],
  ['other labels of the namespace', hook({}, byNamespace), { labels: own }, false],
  ['no namespace', hook({}, byNamespace), { namespaceLabels: null }, false],
  ['labels of a namespace for what is in none', hook({}, byNamespace), { resource: 'nodes' }, true],
  [
    'a namespace that is created',
    hook({}, byNamespace),
    { resource: 'namespaces', labels: own },
    true,
  ],
  [
    'a namespace that is created with other labels',
    hook({}, byNamespace),
    { resource: 'namespaces', namespaceLabels: own },
    false,
  ],
  [
    'a namespace that is deleted',
    hook({}, byNamespace),
    { resource: 'namespaces', operation: 'DELETE', oldLabels: own },
    true,
  ],
  [
    'a namespace that is deleted with other labels',
    hook({}, byNamespace),
    { resource: 'namespaces', operation: 'DELETE', oldLabels: {}, namespaceLabels: own },
    false,
  ],
  [
    'a subresource of a namespace',
    hook({ resources: ['*/*'] }, byNamespace),
    { resource: 'namespaces', subresource: 'status', namespaceLabels: own },
    true,
  ],
]

for (const [name, matching, asked, isMatch] of rows) {
  t.test(`${name}: ${isMatch ? 'asked' : 'not asked'}`, async t => {
    const found = await matchedResource(attributes(asked), matching)
    t.equal(found?.resource, isMatch ? (asked.resource ?? 'pods') : undefined)
  })
}
