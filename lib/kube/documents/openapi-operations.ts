/** The operations of a resource for OpenAPI: paths, verbs, parameters, bodies and answers, in the
 *  words and under the names of kube-apiserver's installer. Both versions are written from this
 *  (openapi-paths.ts). */

import type { Subresource } from '@watchglass/codec'
import { groupVersionText, type Resource } from '../resources/resource.ts'

export type OpenApiMethod = 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch'

/** The kind of object that an operation is about. */
export interface OpenApiKindName {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** A schema by what it is of. */
export type OpenApiShape =
  | { readonly of: 'kind' | 'list'; readonly resource: Resource }
  | { readonly of: 'named'; readonly kind: OpenApiKindName }
  | { readonly of: 'type'; readonly type: string }
  | { readonly of: 'text' }

export interface OpenApiOperation {
  readonly method: OpenApiMethod
  readonly description: string
  readonly id: string
  readonly tag: string
  readonly action?: string | undefined
  readonly kind?: OpenApiKindName | undefined
  /** Names of query parameters, beside those of the path. */
  readonly query: readonly string[]
  readonly body?: { readonly shape: OpenApiShape; readonly isRequired: boolean } | undefined
  readonly consumes: readonly string[]
  readonly produces: readonly string[]
  /** By status code. */
  readonly answers: Readonly<Record<string, OpenApiShape>>
}

export interface PathOperations {
  readonly path: string
  /** Descriptions of the parameters in the path, by name. */
  readonly places: Readonly<Record<string, string>>
  readonly operations: readonly OpenApiOperation[]
}

/** Media types of objects. */
export const objectTypes: readonly string[] = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/cbor',
]
const streamTypes: readonly string[] = [
  ...objectTypes,
  'application/json;stream=watch',
  'application/vnd.kubernetes.protobuf;stream=watch',
  'application/cbor-seq',
]
const patchTypes: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'application/apply-patch+cbor',
]
const anything: readonly string[] = ['*/*']

const selection: readonly string[] = [
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'shardSelector',
  'timeoutSeconds',
]
const deletion: readonly string[] = [
  'dryRun',
  'gracePeriodSeconds',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'orphanDependents',
  'propagationPolicy',
]
const queries = {
  list: ['allowWatchBookmarks', ...selection, 'pretty', 'watch'],
  deletecollection: [...selection, ...deletion, 'pretty'],
  delete: [...deletion, 'pretty'],
  write: ['dryRun', 'fieldManager create', 'fieldValidation', 'pretty'],
  patch: ['dryRun', 'fieldManager patch', 'fieldValidation', 'force', 'pretty'],
  read: ['pretty'],
} as const

const placeTexts: Readonly<Record<string, string>> = {
  namespace: 'object name and auth scope, such as for teams and projects',
}

/** Every path of a resource. */
export function pathsOf(resource: Resource): PathOperations[] {
  if (resource.custom !== undefined) return customPaths(resource)
  const { verbs } = resource
  const collection = collectionPath(resource)
  const paths = [
    ...(verbs.includes('list') && resource.isNamespaced
      ? [pathOf(everywherePath(resource), [list(resource, 'ForAllNamespaces')])]
      : []),
    pathOf(collection, collectionOperations(resource)),
    pathOf(`${collection}/{name}`, objectOperations(resource), resource.kind),
    ...resource.subresources.flatMap(subresource => subresourcePaths(resource, subresource)),
    ...(verbs.includes('watch') ? watchPaths(resource) : []),
  ]
  return paths.filter(({ operations }) => operations.length > 0)
}

function collectionOperations(resource: Resource): OpenApiOperation[] {
  const { verbs } = resource
  return [
    ...(verbs.includes('list') ? [list(resource)] : []),
    ...(verbs.includes('create') ? [create(resource)] : []),
    ...(verbs.includes('deletecollection') ? [deleteCollection(resource)] : []),
  ]
}

function objectOperations(resource: Resource): OpenApiOperation[] {
  const shape: OpenApiShape = { of: 'kind', resource }
  return changes(resource, { verbs: resource.verbs, shape, of: '', kind: kindOf(resource) })
}

function pathOf(
  path: string,
  operations: readonly OpenApiOperation[],
  nameOf: string = '',
): PathOperations {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const places = names.map((name): [string, string] => [
    name,
    name === 'name' ? `name of the ${nameOf}` : (placeTexts[name] ?? 'path to the resource'),
  ])
  return { path, places: Object.fromEntries(places), operations }
}

function list(resource: Resource, everywhere: string = ''): OpenApiOperation {
  const { kind } = resource
  const scope = everywhere === '' ? scopeOf(resource) : ''
  return {
    ...named(resource, 'list', `${scope}${kind}${everywhere}`),
    method: 'get',
    description: `list${resource.verbs.includes('watch') ? ' or watch' : ''} objects of kind ${kind}`,
    action: 'list',
    kind: kindOf(resource),
    query: queries.list,
    consumes: anything,
    produces: streamTypes,
    answers: { 200: { of: 'list', resource } },
  }
}

function create(resource: Resource): OpenApiOperation {
  const { kind } = resource
  const shape: OpenApiShape = { of: 'kind', resource }
  return {
    ...named(resource, 'create', `${scopeOf(resource)}${kind}`),
    ...posted(shape),
    description: `create ${withArticle(kind)}`,
    kind: kindOf(resource),
  }
}

/** A POST of an object that is answered with one. */
function posted(shape: OpenApiShape): Pick<OpenApiOperation, Posted> {
  return {
    method: 'post',
    action: 'post',
    query: queries.write,
    body: { shape, isRequired: true },
    consumes: anything,
    produces: objectTypes,
    answers: { 200: shape, 201: shape, 202: shape },
  }
}

type Posted = 'method' | 'action' | 'query' | 'body' | 'consumes' | 'produces' | 'answers'

function deleteCollection(resource: Resource): OpenApiOperation {
  return {
    ...named(resource, 'delete', `Collection${scopeOf(resource)}${resource.kind}`),
    method: 'delete',
    description: `delete collection of ${resource.kind}`,
    action: 'deletecollection',
    kind: kindOf(resource),
    query: queries.deletecollection,
    body: deleteOptions,
    consumes: anything,
    produces: objectTypes,
    answers: { 200: status },
  }
}

const status: OpenApiShape = { of: 'type', type: 'meta/v1.Status' }
const deleteOptions = {
  shape: { of: 'type', type: 'meta/v1.DeleteOptions' },
  isRequired: false,
} as const

interface Changed {
  readonly verbs: readonly string[]
  readonly shape: OpenApiShape
  /** `` or `status of `. */
  readonly of: string
  readonly kind: OpenApiKindName
}

/** Read, replace, patch and delete of one object or subresource. */
function changes(resource: Resource, { verbs, shape, of, kind }: Changed): OpenApiOperation[] {
  const suffix = of === '' ? '' : titled(of.split(' ')[0] ?? '')
  const name = `${scopeOf(resource)}${resource.kind}${suffix}`
  const one = `${of}the specified ${resource.kind}`
  const common = { kind, consumes: anything, produces: objectTypes }
  const operations: Record<string, OpenApiOperation> = {
    get: {
      ...named(resource, 'read', name),
      ...common,
      method: 'get',
      description: `read ${one}`,
      action: 'get',
      query: queries.read,
      answers: { 200: shape },
    },
    update: {
      ...named(resource, 'replace', name),
      ...common,
      method: 'put',
      description: `replace ${one}`,
      action: 'put',
      query: queries.write,
      body: { shape, isRequired: true },
      answers: { 200: shape, 201: shape },
    },
    delete: {
      ...named(resource, 'delete', name),
      ...common,
      method: 'delete',
      description: `delete ${withArticle(resource.kind)}`,
      action: 'delete',
      query: queries.delete,
      body: deleteOptions,
      answers: returnsDeleted(resource) ? { 200: shape, 202: shape } : { 200: status, 202: status },
    },
    patch: {
      ...named(resource, 'patch', name),
      ...common,
      method: 'patch',
      description: `partially update ${one}`,
      action: 'patch',
      query: queries.patch,
      body: { shape: { of: 'type', type: 'patch' }, isRequired: true },
      consumes: patchTypes,
      answers: { 200: shape, 201: shape },
    },
  }
  return ['get', 'update', 'delete', 'patch'].flatMap(verb =>
    verbs.includes(verb) ? (operations[verb] ?? []) : [],
  )
}

/** A DELETE of these is answered with the object. */
function returnsDeleted({ group, resource }: Resource): boolean {
  return ['storage.k8s.io', 'resource.k8s.io'].includes(group)
    ? !['csistoragecapacities'].includes(resource)
    : group === '' && returned.has(resource)
}

const returned = new Set([
  'persistentvolumeclaims',
  'persistentvolumes',
  'pods',
  'podtemplates',
  'resourcequotas',
  'serviceaccounts',
  'services',
])

function subresourcePaths(resource: Resource, subresource: Subresource): PathOperations[] {
  const { name, kind, verbs } = subresource
  const path = `${collectionPath(resource)}/{name}/${name}`
  if (connected.has(name)) return connectPaths(resource, subresource, path)
  const { group, version } = resource
  const of: OpenApiKindName = {
    group: subresource.group ?? group,
    version: subresource.version ?? version,
    kind,
  }
  const shape: OpenApiShape =
    kind === resource.kind ? { of: 'kind', resource } : { of: 'named', kind: of }
  const operations = [
    ...(verbs.includes('create') ? [createSubresource(resource, subresource, shape, of)] : []),
    ...(name === 'log'
      ? [readLog(resource)]
      : changes(resource, { verbs, shape, of: `${name} of `, kind: of })),
  ]
  return [pathOf(path, operations, kind)]
}

function createSubresource(
  resource: Resource,
  { name }: Subresource,
  shape: OpenApiShape,
  kind: OpenApiKindName,
): OpenApiOperation {
  return {
    ...named(resource, 'create', `${scopeOf(resource)}${resource.kind}${titled(name)}`),
    ...posted(shape),
    description: `create ${name} of ${withArticle(resource.kind)}`,
    kind,
  }
}

function readLog(resource: Resource): OpenApiOperation {
  return {
    ...named(resource, 'read', `${scopeOf(resource)}${resource.kind}Log`),
    method: 'get',
    description: `read log of the specified ${resource.kind}`,
    action: 'get',
    kind: kindOf(resource),
    query: [
      'container log',
      'follow',
      'insecureSkipTLSVerifyBackend',
      'limitBytes',
      'pretty',
      'previous',
      'sinceSeconds',
      'stream',
      'tailLines',
      'timestamps',
    ],
    consumes: anything,
    produces: ['text/plain', ...objectTypes],
    answers: { 200: { of: 'text' } },
  }
}

/** Subresources that are streams, with the parameters that they take. */
const connected = new Map<string, readonly string[]>([
  ['attach', ['container attach', 'stderr attach', 'stdin attach', 'stdout attach', 'tty attach']],
  ['exec', ['command', 'container exec', 'stderr exec', 'stdin exec', 'stdout exec', 'tty exec']],
  ['portforward', ['ports']],
  ['proxy', []],
])

function connectPaths(
  resource: Resource,
  { name, kind }: Subresource,
  path: string,
): PathOperations[] {
  const methods: readonly OpenApiMethod[] =
    name === 'proxy'
      ? ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']
      : ['get', 'post']
  const query = name === 'proxy' ? [`path ${resource.resource}`] : (connected.get(name) ?? [])
  const operations = (suffix: string): OpenApiOperation[] =>
    methods.map(method => {
      const id = `${titled(method)}${scopeOf(resource)}${resource.kind}${titled(name)}${suffix}`
      return {
        ...named(resource, 'connect', id),
        method,
        description: `connect ${method.toUpperCase()} requests to ${name} of ${resource.kind}`,
        action: 'connect',
        kind: { ...kindOf(resource), kind },
        query,
        consumes: anything,
        produces: anything,
        answers: { 200: { of: 'text' } },
      }
    })
  return [
    pathOf(path, operations(''), kind),
    ...(name === 'proxy' ? [pathOf(`${path}/{path}`, operations('WithPath'), kind)] : []),
  ]
}

function watchPaths(resource: Resource): PathOperations[] {
  const { kind, isNamespaced } = resource
  const watched = collectionPath(resource, 'watch/')
  const deprecated = "deprecated: use the 'watch' parameter with a list operation instead"
  const watch = (id: string, isOne: boolean): OpenApiOperation => ({
    ...named(resource, 'watch', id),
    method: 'get',
    description: isOne
      ? `watch changes to an object of kind ${kind}. ${deprecated}, filtered to a single item with the 'fieldSelector' parameter.`
      : `watch individual changes to a list of ${kind}. ${deprecated}.`,
    action: isOne ? 'watch' : 'watchlist',
    kind: kindOf(resource),
    query: queries.list,
    consumes: anything,
    produces: streamTypes,
    answers: { 200: { of: 'type', type: 'meta/v1.WatchEvent' } },
  })
  const scoped = `${scopeOf(resource)}${kind}`
  return [
    ...(isNamespaced
      ? [pathOf(everywherePath(resource, 'watch/'), [watch(`${kind}ListForAllNamespaces`, false)])]
      : []),
    pathOf(watched, [watch(`${scoped}List`, false)]),
    ...(resource.verbs.includes('get')
      ? [pathOf(`${watched}/{name}`, [watch(scoped, true)], kind)]
      : []),
  ]
}

/** The paths of a custom resource, as apiextensions-apiserver describes them: without paths of
 *  their own for watches, and with options of lists for deleting many. */
function customPaths(resource: Resource): PathOperations[] {
  const plain = (operation: OpenApiOperation): OpenApiOperation => ({
    ...operation,
    description: operation.description.replace('list or watch', 'list'),
    query: customQueries[operation.action ?? ''] ?? operation.query,
    body: operation.action === 'deletecollection' ? undefined : operation.body,
    consumes:
      operation.method === 'patch'
        ? patchTypes.filter(type => !/strategic|cbor/.test(type))
        : ['application/json', 'application/yaml'],
    produces: ['application/json', 'application/yaml'],
    answers: customAnswers(operation),
  })
  const collection = collectionPath(resource)
  const whole = { ...resource, custom: undefined, subresources: [], verbs: allVerbs }
  const paths = [
    ...pathsOf(whole).filter(({ path }) => !path.includes('/watch/')),
    ...resource.subresources.flatMap(subresource => subresourcePaths(resource, subresource)),
  ]
  return paths.map(({ path, operations, places }) => ({
    path,
    places: path.startsWith(`${collection}/{name}`)
      ? { ...places, name: `name of the ${resource.kind}` }
      : places,
    operations: operations.map(operation =>
      withResource(plain({ ...operation, kind: kindOf(resource) }), resource),
    ),
  }))
}

const allVerbs = ['list', 'create', 'deletecollection', 'get', 'update', 'delete', 'patch', 'watch']

const customQueries: Readonly<Record<string, readonly string[]>> = {
  deletecollection: queries.list,
  get: ['pretty', 'resourceVersion'],
}

function customAnswers({
  action,
  answers,
}: OpenApiOperation): Readonly<Record<string, OpenApiShape>> {
  if (action !== 'patch') return answers
  return answers['200'] === undefined ? answers : { 200: answers['200'] }
}

/** The shapes name the resource itself, which is a custom one. */
function withResource(operation: OpenApiOperation, resource: Resource): OpenApiOperation {
  const own = (shape: OpenApiShape): OpenApiShape =>
    shape.of === 'kind' || shape.of === 'list' ? { ...shape, resource } : shape
  const answers = Object.entries(operation.answers).map(([code, shape]) => [code, own(shape)])
  const { body } = operation
  return {
    ...operation,
    body: body === undefined ? undefined : { ...body, shape: own(body.shape) },
    answers: Object.fromEntries(answers) as Readonly<Record<string, OpenApiShape>>,
  }
}

function kindOf({ group, version, kind }: Resource): OpenApiKindName {
  return { group, version, kind }
}

function scopeOf({ isNamespaced }: Resource): string {
  return isNamespaced ? 'Namespaced' : ''
}

/** `createAppsV1NamespacedDeployment`, tagged `apps_v1`. */
function named(
  { group, version }: Resource,
  verb: string,
  rest: string,
): { readonly id: string; readonly tag: string } {
  const short = group === '' ? 'core' : group.replace(/\.k8s\.io$/, '')
  const tag = `${camelCase(short)}_${camelCase(version)}`
  return { id: `${verb}${titled(camelCase(short))}${titled(camelCase(version))}${rest}`, tag }
}

/** `rbacAuthorization` of `rbac.authorization`. */
export function camelCase(text: string): string {
  return text.replace(/[^a-zA-Z0-9]+(.)?/g, (_, letter: string = '') => letter.toUpperCase())
}

export function titled(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

/** Upstream takes what ends in one s for a plural. */
function withArticle(noun: string): string {
  if (/[^s]s$/.test(noun)) return noun
  return `${/^[aeiou]/i.test(noun) ? 'an' : 'a'} ${noun}`
}

export function rootPath({ group, version }: Resource): string {
  const root = group === '' ? '/api' : '/apis'
  return `${root}/${groupVersionText(group, version)}`
}

function everywherePath(resource: Resource, watch: string = ''): string {
  return `${rootPath(resource)}/${watch}${resource.resource}`
}

function collectionPath(resource: Resource, watch: string = ''): string {
  const { isNamespaced, resource: plural } = resource
  return `${rootPath(resource)}/${watch}${isNamespaced ? 'namespaces/{namespace}/' : ''}${plural}`
}
