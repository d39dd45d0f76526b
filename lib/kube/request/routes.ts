/** Routes a request: to a resource, to a discovery document, to another server, or to nothing.
 *
 *  Upstream has two routers, which answer differently. Paths under its built-in groups go through
 *  go-restful: an unknown path there is a Status 404, and a method that the path does not have is a
 *  405, including HEAD and OPTIONS. Paths of custom resources are parsed like those of
 *  authorization (`requestInfo`): an unknown one is the plain text `404 page not found`, and HEAD
 *  works. Configured resources are routed like built-in ones, because aggregated servers use the
 *  same library. */

import { goQuote } from '@watchglass/go'
import type { Schema } from '@watchglass/codec'
import type { Resource } from '../resources/resource.ts'
import {
  badRequest,
  methodNotAllowed,
  objectNotFound,
  pathNotFound,
  type Status,
  verbNotSupported,
} from '../status.ts'
import { requestInfo, splitPath, type Verb } from './request.ts'
import type { Registry } from '../resources/registry.ts'

/** A request for a resource. Texts that are not there are empty. */
export interface ResourceRoute {
  readonly type: 'resource'
  /** Schema of the server that is answered for. */
  readonly schema: Schema
  readonly resource: Resource
  /** `list` means list or watch, which the query decides. `watch` is a deprecated /watch/ path. */
  readonly verb: Verb
  /** Empty: all namespaces, or no namespace. */
  readonly namespace: string
  readonly name: string
  readonly subresource: string
}

/** Which document of discovery. */
export type DiscoveryDocument =
  | { readonly document: 'core' | 'groups' | 'version' }
  | { readonly document: 'group'; readonly group: string }
  | { readonly document: 'resources'; readonly group: string; readonly version: string }

export type Route =
  | ResourceRoute
  | ({ readonly type: 'discovery' } & DiscoveryDocument)
  /** A path of another server, behind the upstream. */
  | { readonly type: 'remote'; readonly group: string; readonly version: string }
  /** Any other path: health, metrics, OpenAPI and so on. */
  | { readonly type: 'path'; readonly path: string }
  /** `resource` is a custom one that was found. */
  | { readonly type: 'failure'; readonly status: Status; readonly resource?: Resource }
  /** Plain text: `404 page not found`. */
  | { readonly type: 'unknown' }

const notFound: Route = { type: 'failure', status: pathNotFound }
const wrongMethod: Route = { type: 'failure', status: methodNotAllowed }
const unknown: Route = { type: 'unknown' }

/** The body of `unknown`, which is served as text/plain with nosniff. */
export const unknownPathText = '404 page not found\n'

/** The text of the 500 for a path that upstream cannot make sense of: a special verb with nothing
 *  behind it. `target` is the path as it was sent, with its query. */
export function uninterpretable(path: string, target: string): string | undefined {
  if (!/(?:watch|proxy)\/*$/.test(path)) return undefined
  const [root, ...rest] = splitPath(path)
  const names = root === 'api' ? rest.slice(1) : root === 'apis' ? rest.slice(2) : []
  if (names.length !== 1 || (names[0] !== 'watch' && names[0] !== 'proxy')) return undefined
  const shown = target.replace(/[&<>]/g, sign => entities[sign] ?? sign)
  const reason = `unable to determine kind and namespace from url, ${shown}`
  return `Internal Server Error: ${goQuote(shown)}: failed to create RequestInfo: ${reason}\n`
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** The route of a request. `path` is decoded. */
export function routeRequest(method: string, path: string, registry: Registry): Route {
  if (uninterpretable(path, path) !== undefined) return { type: 'path', path }
  if (isBelow(path, '/api')) return routeCore(method, path, registry)
  if (isBelow(path, '/version')) return routeDocument(method, path, { document: 'version' })
  if (path === '/apis' || path === '/apis/') {
    return { type: 'discovery', document: 'groups' }
  }
  if (!path.startsWith('/apis/')) return { type: 'path', path }
  return routeGroup(method, path, registry)
}

/** The aggregator has its own group behind the router; the documents of all other groups are
 *  answered whatever the method. */
export const aggregatorGroup = 'apiregistration.k8s.io'

function isBelow(path: string, root: string): boolean {
  return path.startsWith(root) && (path.length === root.length || path[root.length] === '/')
}

/** A document at a path of one segment. */
function routeDocument(method: string, path: string, document: DiscoveryDocument): Route {
  if (splitPath(path).length > 1) return notFound
  return method === 'GET' ? { type: 'discovery', ...document } : wrongMethod
}

function routeCore(method: string, path: string, registry: Registry): Route {
  if (isBelow(path, '/api/v1')) {
    return routeInstalled({ method, registry, group: '', version: 'v1' }, splitPath(path).slice(2))
  }
  return routeDocument(method, path, { document: 'core' })
}

function routeGroup(method: string, path: string, registry: Registry): Route {
  const [, group = '', version = '', ...rest] = splitPath(path)
  if (group === '') return unknown
  const isGroup = version === '' && rest.length === 0
  const routing = registry.routingOf(group, version)
  if (routing === 'remote') return { type: 'remote', group, version }
  if (routing === 'installed') {
    if (isGroup && group === aggregatorGroup && method !== 'GET') return wrongMethod
    if (isGroup) return { type: 'discovery', document: 'group', group }
    const isServed = registry.hasVersion(group, version)
    return isServed ? routeInstalled({ method, registry, group, version }, rest) : notFound
  }
  if (isGroup && registry.services.some(service => service.group === group)) {
    return { type: 'discovery', document: 'group', group }
  }
  return routing === 'custom' ? routeCustom(method, path, registry) : unknown
}

interface InstalledScope {
  readonly method: string
  readonly registry: Registry
  readonly group: string
  readonly version: string
}

function routeInstalled(scope: InstalledScope, tokens: readonly string[]): Route {
  const { method, group, version } = scope
  if (tokens.length === 0) {
    return method === 'GET'
      ? { type: 'discovery', document: 'resources', group, version }
      : wrongMethod
  }
  const isWatch = tokens[0] === 'watch'
  const shape = resourcePathOf(scope, isWatch ? tokens.slice(1) : tokens)
  if (shape === undefined) return notFound
  const verb = isWatch ? watchVerb(shape, method) : verbOf(shape, method)
  if (verb === 'no path') return notFound
  if (verb === undefined) return wrongMethod
  const { resource, namespace, name, subresource } = shape
  const { schema } = scope.registry
  return { type: 'resource', schema, resource, verb, namespace, name, subresource }
}

interface ResourcePath {
  readonly resource: Resource
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  readonly level: 'everywhere' | 'collection' | 'object' | 'subresource'
}

/** Reads `[namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE[/...]]]`. */
function resourcePathOf(
  scope: InstalledScope,
  tokens: readonly string[],
): ResourcePath | undefined {
  const { registry, group, version } = scope
  const [first = '', namespace = '', inner = ''] = tokens
  if (first === 'namespaces' && tokens.length >= 3) {
    const resource = registry.find(group, version, inner)
    if (resource?.isNamespaced === true) {
      return resourcePathFrom(resource, namespace, tokens.slice(3))
    }
  }
  const resource = registry.find(group, version, first)
  if (resource === undefined) return undefined
  if (!resource.isNamespaced) return resourcePathFrom(resource, '', tokens.slice(1))
  const nowhere = { resource, namespace: '', name: '', subresource: '' }
  return tokens.length === 1 ? { ...nowhere, level: 'everywhere' } : undefined
}

function resourcePathFrom(
  resource: Resource,
  namespace: string,
  rest: readonly string[],
): ResourcePath | undefined {
  const [name = '', subresource = ''] = rest
  if (rest.length === 0) return { resource, namespace, name, subresource, level: 'collection' }
  if (rest.length === 1) return { resource, namespace, name, subresource, level: 'object' }
  const isKnown = resource.subresources.some(known => known.name === subresource)
  if (!isKnown || (rest.length > 2 && subresource !== 'proxy')) return undefined
  return { resource, namespace, name, subresource, level: 'subresource' }
}

type MethodVerbs = ReadonlyMap<string, Verb>

const everywhereMethods: MethodVerbs = new Map([['GET', 'list']])
const collectionMethods: MethodVerbs = new Map([
  ['GET', 'list'],
  ['POST', 'create'],
  ['DELETE', 'deletecollection'],
])
const objectMethods: MethodVerbs = new Map([
  ['GET', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
])
const subresourceMethods: MethodVerbs = new Map([...objectMethods, ['POST', 'create']])

/** The verb of a method at a path; undefined if the path does not have the method, or has none at
 *  all. */
type FoundVerb = Verb | 'no path' | undefined

function verbOf({ resource, level, subresource }: ResourcePath, method: string): FoundVerb {
  switch (level) {
    case 'everywhere':
      return verbAmong(everywhereMethods, resource.verbs, method)
    case 'collection':
      return verbAmong(collectionMethods, resource.verbs, method)
    case 'object':
      return verbAmong(objectMethods, resource.verbs, method)
    case 'subresource': {
      if (subresource === 'proxy' && (method === 'HEAD' || method === 'OPTIONS')) return 'get'
      const known = resource.subresources.find(({ name }) => name === subresource)
      const verb = verbAmong(subresourceMethods, known?.verbs ?? [], method)
      return verb === 'no path' && subresource === 'proxy' ? undefined : verb
    }
  }
}

function watchVerb({ resource, level }: ResourcePath, method: string): FoundVerb {
  if (level === 'subresource' || !resource.verbs.includes('watch')) return 'no path'
  return method === 'GET' ? 'watch' : undefined
}

function verbAmong(methods: MethodVerbs, verbs: readonly string[], method: string): FoundVerb {
  const verb = methods.get(method)
  if (verb !== undefined && verbs.includes(verb)) return verb
  for (const other of methods.values()) if (verbs.includes(other)) return undefined
  return 'no path'
}

const customSubresourceVerbs: ReadonlySet<string> = new Set(['get', 'update', 'patch'])

function routeCustom(method: string, path: string, registry: Registry): Route {
  const info = requestInfo(method, path)
  if (info === undefined) return routeCustomDocument(path, registry)
  const { group, version, namespace, name, subresource } = info
  const resource = registry.find(group, version, info.resource)
  if (resource === undefined) return unknown
  const verb = info.verb === 'get' && name === '' ? 'list' : info.verb
  if (!resource.isNamespaced && namespace !== '') return unknown
  if (resource.isNamespaced && namespace === '' && verb !== 'list' && verb !== 'watch') {
    return unknown
  }
  if (subresource !== '' && !resource.subresources.some(known => known.name === subresource)) {
    return { type: 'failure', status: objectNotFound(resource, name).status, resource }
  }
  if (subresource !== '' && !customSubresourceVerbs.has(verb)) {
    return { type: 'failure', status: verbNotSupported(resource, verb).status, resource }
  }
  if (info.isWatchPath && method !== 'GET' && method !== 'HEAD') return wrongMethod
  if (verb === '' || verb === 'proxy') {
    return { type: 'failure', status: verbNotSupported(resource, verb).status, resource }
  }
  const needsName = verb === 'update' || verb === 'patch'
  if (needsName && name === '') {
    return { type: 'failure', status: badRequest('name must be provided').status, resource }
  }
  const { schema } = registry
  return { type: 'resource', schema, resource, verb, namespace, name, subresource }
}

/** `/apis/GROUP` and `/apis/GROUP/VERSION`, with any method. */
function routeCustomDocument(path: string, registry: Registry): Route {
  const [, group = '', version = '', ...rest] = splitPath(path)
  const versions = registry.versionsOf(group)
  if (rest.length > 0 || versions.length === 0) return unknown
  if (version !== '' && !versions.includes(version)) return unknown
  return version === ''
    ? { type: 'discovery', document: 'group', group }
    : { type: 'discovery', document: 'resources', group, version }
}
