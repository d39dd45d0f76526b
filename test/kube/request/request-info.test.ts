/** Attributes against the rules of kube-apiserver's RequestInfo, written down once more from what
 *  they are documented to do, over all paths, with custom resources that are named as parts of
 *  paths are. */

import * as fc from 'fast-check'
import t from 'tap'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { decide } from '../../../lib/kube/decide.ts'
import { attributesOf } from '../../../lib/kube/request/attributes.ts'
import { parseTarget } from '../../../lib/kube/request/request.ts'
import { routeRequest } from '../../../lib/kube/request/routes.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import { customDefinition } from '../../../lib/kube/resources/custom-resources.ts'
import { Registry } from '../../../lib/kube/resources/registry.ts'
import { jsonEntry } from '../../support/kube/kube-builders.ts'

const hostile = ['namespaces', 'watch', 'proxy', 'pods', 'status', 'api', 'finalize']
const groups = { 'spaced.example.com': 'Namespaced', 'wide.example.com': 'Cluster' }

const registry = new Registry({
  schema: schemaOf(),
  installed: builtInResources(schemaOf()),
  definitions: Object.entries(groups).flatMap(([group, scope]) =>
    hostile.map(plural => {
      const names = { plural, kind: `${plural}Kind` }
      const stored = {
        metadata: { name: `${plural}.${group}` },
        spec: { group, names, scope, version: 'v1', subresources: { status: {} } },
        status: { conditions: [{ type: 'Established', status: 'True' }] },
      }
      return customDefinition(jsonEntry(`/registry/${plural}`, stored, 7), '/registry')
    }),
  ),
  etcdPrefix: '/registry',
})

interface Info {
  readonly verb: string
  readonly group?: string
  readonly version?: string
  readonly namespace?: string
  readonly resource?: string
  readonly subresource?: string
  readonly name?: string
}

/** A query, and upstream's reading of it. */
interface AskedQuery {
  readonly text: string
  readonly watch: boolean
  readonly name: string
}

const queries: readonly AskedQuery[] = [
  { text: '', watch: false, name: '' },
  { text: '?watch', watch: true, name: '' },
  { text: '?watch=0', watch: false, name: '' },
  { text: '?watch=FALSE&watch=1', watch: false, name: '' },
  { text: '?watch=no', watch: true, name: '' },
  { text: '?fieldSelector=metadata.name%3Dx', watch: false, name: 'x' },
  { text: '?watch=1&fieldSelector=a%3Db,metadata.name%3D%3Dy', watch: true, name: 'y' },
  { text: '?fieldSelector=metadata.name!%3Dx', watch: false, name: '' },
  { text: '?fieldSelector=metadata.name%3D..', watch: false, name: '' },
  { text: '?fieldSelector=metadata.name%3Da%2Fb', watch: false, name: '' },
  { text: '?fieldSelector=metadata.name%3Dx&limit=zz', watch: false, name: '' },
  { text: '?fieldSelector=metadata.name%3Dx&limit=7&timeoutSeconds=-3', watch: false, name: 'x' },
  { text: '?fieldSelector=metadata.name%3Dx&timeoutSeconds=1s&watch=1', watch: true, name: '' },
  { text: '?fieldSelector=metadata.name%3Dx&labelSelector=a%20b', watch: false, name: '' },
  { text: '?fieldSelector=metadata.name', watch: false, name: '' },
]

/** RequestInfo: a resource request has a prefix, a group unless it is of /api, a version, and
 *  something below; a special verb may stand before; `namespaces/NAME` opens a scope, and is itself
 *  what is asked for if nothing but a subresource of it follows. */
function infoOf(method: string, path: string, query: AskedQuery): Info | 'error' {
  const other = { verb: method.toLowerCase() }
  const all = path.replace(/^\/+|\/+$/g, '')
  const [prefix, ...rest] = all === '' ? [] : all.split('/')
  const isCore = prefix === 'api'
  if (!isCore && prefix !== 'apis') return other
  const [group, version, ...below] = isCore ? ['', ...rest] : rest
  if (below.length === 0) return other
  const isSpecial = below[0] === 'watch' || below[0] === 'proxy'
  if (isSpecial && below.length === 1) return 'error'
  const verbs: Record<string, string> = {
    POST: 'create',
    GET: 'get',
    HEAD: 'get',
    PUT: 'update',
    PATCH: 'patch',
    DELETE: 'delete',
  }
  let verb = isSpecial ? below[0]! : (verbs[method] ?? '')
  const parts = isSpecial ? below.slice(1) : below
  const namespace = parts[0] === 'namespaces' ? (parts[1] ?? '') : ''
  const isScope =
    parts[0] === 'namespaces' && parts.length > 2 && !['status', 'finalize'].includes(parts[2]!)
  const [resource = '', name = '', subresource = ''] = isScope ? parts.slice(2) : parts
  let asked = name
  if (name === '' && verb === 'get') {
    verb = query.watch ? 'watch' : 'list'
    asked = query.name
  }
  if (name === '' && verb === 'delete') verb = 'deletecollection'
  const found = { verb, group: group!, version: version!, namespace, resource, name: asked }
  return { ...found, subresource: verb === 'proxy' ? '' : subresource }
}

const segments = [...hostile, 'apis', 'v1', 'apps', 'a', 'b', '', 'deployments', 'log', 'x.y']
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'PURGE']
const prefixes = [
  '/api/v1/',
  '/apis/apps/v1/',
  ...Object.keys(groups).map(group => `/apis/${group}/v1/`),
  '/',
]
const requests = fc.record({
  method: fc.constantFrom(...methods),
  prefix: fc.constantFrom(...prefixes),
  tail: fc.array(fc.constantFrom(...segments), { maxLength: 7 }),
  query: fc.constantFrom(...queries),
})
const runs = { numRuns: 20_000, verbose: true }

t.test('attributes are those of RequestInfo', async () => {
  const property = fc.property(requests, ({ method, prefix, tail, query }) => {
    const path = prefix + tail.join('/')
    const target = parseTarget(path + query.text)
    const expected = infoOf(method, path, query)
    if (target === undefined || expected === 'error') return
    const attributes = attributesOf(method, target)
    const { verb } = attributes
    if (expected.resource === undefined || 'path' in attributes) {
      same([verb, 'path' in attributes], [expected.verb, true], path)
      return
    }
    const { group, version, namespace, resource, subresource, name } = attributes
    same({ verb, group, version, namespace, resource, subresource, name }, expected, path)
  })
  fc.assert(property, runs)
})

t.test('what is read is what was asked about, whatever it is called', async t => {
  let read = 0
  const alone = { hasUpstream: false, isExcluded: () => false }
  const property = fc.property(requests, ({ method, prefix, tail, query }) => {
    const target = parseTarget(prefix + tail.join('/') + query.text)
    if (target === undefined) return
    const route = routeRequest(method, target.path, registry)
    const decision = decide(
      { known: { route, target, isWatch: false }, request: { headers: {} }, accept: '' },
      alone,
    )
    if (decision.type !== 'mirror' || route.type !== 'resource') return
    read++
    const attributes = attributesOf(method, target)
    if ('path' in attributes) throw new Error(target.raw)
    const { group, version, resource } = route.resource
    const isNamespace = group === '' && resource === 'namespaces'
    same(
      [attributes.group, attributes.version, attributes.resource, attributes.subresource],
      [group, version, resource, route.subresource],
      target.raw,
    )
    const scope = isNamespace ? route.name : route.namespace
    same(
      [attributes.namespace, attributes.name || route.name],
      [scope, attributes.name],
      target.raw,
    )
    if (route.name !== '') same(attributes.name, route.name, target.raw)
  })
  fc.assert(property, runs)
  t.ok(read > 50, `${read} of them were reads`)
})

function same(got: unknown, expected: unknown, path: string): void {
  const [a, b] = [got, expected].map(value => JSON.stringify(value, sortedKeys(value)))
  if (a !== b) throw new Error(`${path}: ${a} is not ${b}`)
}

function sortedKeys(value: unknown): string[] | undefined {
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return undefined
  return Object.keys(value).sort()
}
