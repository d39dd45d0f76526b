/** The API for the controllers: they write as any client does, in the version in which each
 *  resource is stored. */

import { setMaxListeners } from 'node:events'
import { type Key, keyAfter, keyFromText, NotExact, prefixRange } from '@watchglass/base'
import { type JsonObject, type JsonValue, textInOrder } from '@watchglass/go'
import type { Cluster, DeleteRequest, ObjectPlace } from './cluster.ts'
import {
  type ApiState,
  parseQuery,
  Query,
  type Registry,
  type Resource,
  StatusError,
  type Verb,
} from '@watchglass/kube'
import {
  plainOf,
  runWrite,
  treeOf,
  type WriteServices,
  WriteSession,
  type Written,
} from '@watchglass/writes'
import type { KeyValue } from '@watchglass/store'

export interface ApiClusterOptions {
  readonly state: () => ApiState
  readonly writes: WriteServices
  readonly signal: AbortSignal
  /** Who writes: the manager of what is written. The controller manager, if it is left out. */
  readonly manager?: string | undefined
}

const user = {
  user: 'system:kube-controller-manager',
  uid: '',
  groups: ['system:authenticated'],
  extra: {},
}

/** Entries of one read. */
const pageEntries = 500

const applyPatch = 'application/apply-patch+yaml'
const json = 'application/json'

/** The content types of patches. */
const patchTypes: Readonly<Record<'json' | 'merge' | 'strategic' | 'apply', string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: applyPatch,
}

export interface PatchAs {
  readonly type: keyof typeof patchTypes
  readonly body: string
  readonly subresource?: string
}

interface Send {
  readonly verb: Verb
  readonly contentType: string
  readonly body: string
  readonly subresource?: string
  readonly query?: Query
}

export class ApiCluster implements Cluster {
  readonly #options: ApiClusterOptions

  constructor(options: ApiClusterOptions) {
    this.#options = options
    // Each call under way listens to it, and controllers have many. They stop listening.
    setMaxListeners(0, options.signal)
  }

  /** The same API with other services, for writes that are only tried. */
  with(services: Partial<WriteServices>): ApiCluster {
    const { writes } = this.#options
    return new ApiCluster({ ...this.#options, writes: { ...writes, ...services } })
  }

  get services(): WriteServices {
    return this.#options.writes
  }

  get signal(): AbortSignal {
    return this.#options.signal
  }

  /** Gives a pod its node. */
  async bind(place: ObjectPlace, node: string): Promise<void> {
    const { name, namespace } = place
    const target = { apiVersion: 'v1', kind: 'Node', name: node }
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name, namespace }, target }
    await this.create(place, binding, 'binding')
  }

  /** The version that is answered as, such as `v1.36.0`. */
  get gitVersion(): string {
    const { gitVersion } = JSON.parse(this.#options.state().discovery.version()) as {
      gitVersion: string
    }
    return gitVersion
  }

  placeOf(key: Key): ObjectPlace | undefined {
    const { registry } = this.#options.state()
    const prefix = registry.keyspaceOf(key)
    const resource = prefix === undefined ? undefined : this.#storedAt(prefix)
    if (prefix === undefined || resource === undefined) return undefined
    const rest = Buffer.from(key.slice(prefix.length), 'latin1').toString()
    const slash = resource.isNamespaced ? rest.indexOf('/') : -1
    return { resource, namespace: rest.slice(0, Math.max(0, slash)), name: rest.slice(slash + 1) }
  }

  /** The resource of a kind; undefined if it is not served. */
  resourceOfKind(apiVersion: string, kind: string): Resource | undefined {
    const [version = '', group = ''] = apiVersion.split('/').reverse()
    return this.#options
      .state()
      .registry.resources.find(
        one => one.group === group && one.version === version && one.kind === kind,
      )
  }

  keyOf({
    apiVersion,
    kind,
    name,
    namespace,
  }: {
    readonly apiVersion: string
    readonly kind: string
    readonly name: string
    readonly namespace: string
  }): Key | undefined {
    const resource = this.resourceOfKind(apiVersion, kind)
    if (resource?.storage === undefined) return undefined
    const place = resource.isNamespaced ? `${namespace}/` : ''
    return keyFromText(`${resource.storage.prefix}${place}${name}`)
  }

  *namespacedResources(): Iterable<Resource> {
    for (const { prefix } of this.#options.state().registry.keyspaces()) {
      const resource = this.#storedAt(prefix)
      if (resource?.isNamespaced === true && resource.verbs.includes('delete')) yield resource
    }
  }

  read(key: Key): Promise<KeyValue | undefined> {
    const { writes, signal } = this.#options
    return writes.store.get(key, signal)
  }

  /** The stored object; undefined if there is none. */
  stored(place: ObjectPlace): Promise<KeyValue | undefined> {
    return this.read(this.#session(place, '').keyOf(place.name))
  }

  async readAll(resource: Resource, namespace: string): Promise<readonly KeyValue[]> {
    const { writes, signal } = this.#options
    const entries: KeyValue[] = []
    const whole = prefixRange(keyFromText(`${resource.storage?.prefix ?? ''}${namespace}/`))
    let range = whole
    for (;;) {
      const page = await writes.store.list(range, { limit: pageEntries }, signal)
      entries.push(...page.entries)
      const last = page.entries.at(-1)
      if (!page.more || last === undefined) return entries
      range = { ...whole, start: keyAfter(last.key) }
    }
  }

  /** The object as the API shows it; undefined if there is none. */
  async objectOf(place: ObjectPlace): Promise<JsonObject | undefined> {
    const entry = await this.stored(place)
    return entry === undefined ? undefined : this.#session(place, '').treeOf(entry)
  }

  async patch(place: ObjectPlace, patch: object, subresource = ''): Promise<KeyValue | undefined> {
    return this.patchAs(place, { type: 'merge', body: JSON.stringify(patch), subresource })
  }

  /** A patch of another kind. One that is applied is applied by force. */
  async patchAs(
    place: ObjectPlace,
    { type, body, subresource = '' }: PatchAs,
  ): Promise<KeyValue | undefined> {
    const { manager = 'kube-controller-manager' } = this.#options
    const written = await this.#send(place, {
      verb: 'patch',
      contentType: patchTypes[type],
      body,
      subresource,
      ...(type === 'apply' ? { query: parseQuery(`fieldManager=${manager}&force=true`) } : {}),
    })
    return written.type === 'object' ? written.entry : undefined
  }

  async apply(
    { resource, namespace, name }: ObjectPlace,
    members: Readonly<Record<string, JsonValue>>,
    fieldManager: string,
    subresource = '',
  ): Promise<void> {
    const { group, version, kind } = resource
    const object: JsonObject = new Map<string, JsonValue>([
      ['apiVersion', group === '' ? version : `${group}/${version}`],
      ['kind', kind],
      ['metadata', new Map([['name', name]])],
      ...Object.entries(members),
    ])
    await this.#send(
      { resource, namespace, name },
      {
        verb: 'patch',
        contentType: applyPatch,
        body: textInOrder(object),
        subresource,
        query: parseQuery(`fieldManager=${fieldManager}&force=true`),
      },
    )
  }

  /** A new object, or one of a subresource such as a Binding. */
  async create(
    place: ObjectPlace,
    object: object,
    subresource = '',
  ): Promise<KeyValue | undefined> {
    const body = JSON.stringify(object)
    const written = await this.#send(place, {
      verb: 'create',
      contentType: json,
      body,
      subresource,
    })
    return written.type === 'object' ? written.entry : undefined
  }

  /** The same, but an object that is there already stays as it is. True if it is new. */
  async createIfMissing(place: ObjectPlace, object: object): Promise<boolean> {
    try {
      await this.create({ ...place, name: '' }, object)
      return true
    } catch (error) {
      if (!(error instanceof StatusError) || error.status.reason !== 'AlreadyExists') throw error
      return false
    }
  }

  /** The resources that are served now. */
  get registry(): Registry {
    return this.#options.state().registry
  }

  resourceOf(group: string, version: string, name: string): Resource | undefined {
    return this.#options.state().registry.find(group, version, name)
  }

  /** A stored object as the API shows it; undefined if it cannot be shown. */
  treeOf(resource: Resource, entry: KeyValue): JsonObject | undefined {
    const encoder = this.#options.state().encoderOf(resource)
    return encoder instanceof NotExact ? undefined : treeOf(encoder, resource, entry)
  }

  /** The same, in plain values. */
  plainOf(resource: Resource, entry: KeyValue): unknown {
    const encoder = this.#options.state().encoderOf(resource)
    return encoder instanceof NotExact ? undefined : plainOf(encoder, resource, entry)
  }

  async delete(place: ObjectPlace, request: DeleteRequest): Promise<void> {
    const { uid, propagation, graceSeconds } = request
    const body = {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions: { uid },
      ...(propagation === undefined ? {} : { propagationPolicy: propagation }),
      ...(graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }),
    }
    try {
      await this.#send(place, { verb: 'delete', contentType: json, body: JSON.stringify(body) })
    } catch (error) {
      const code = error instanceof StatusError ? error.status.code : 0
      // It is gone, or another object has its name.
      if (code !== 404 && code !== 409) throw error
    }
  }

  async finalizeNamespace(name: string, finalizers: readonly string[]): Promise<void> {
    const resource = this.#options.state().registry.find('', 'v1', 'namespaces')
    const place = resource && { resource, namespace: '', name }
    const object = place && (await this.objectOf(place))
    if (place === undefined || object === undefined) return
    object.set('spec', new Map([['finalizers', [...finalizers]]]))
    const body = textInOrder(object)
    await this.#send(place, { verb: 'update', contentType: json, body, subresource: 'finalize' })
  }

  #storedAt(prefix: Key): Resource | undefined {
    const resources = this.#options.state().registry.resourcesAt(prefix)
    return resources.find(({ storage, version }) => storage?.version === version) ?? resources[0]
  }

  #session({ resource, namespace, name }: ObjectPlace, subresource: string): WriteSession {
    const { state, writes, signal, manager = 'kube-controller-manager' } = this.#options
    const who = { userAgent: `${manager}/v1 (watchglass)`, user, signal }
    return new WriteSession(
      { state: state(), resource, namespace, name, subresource, ...who },
      writes,
    )
  }

  async #send(
    place: ObjectPlace,
    { verb, contentType, body, subresource = '', query = new Query(new Map()) }: Send,
  ): Promise<Written> {
    return runWrite(this.#session(place, subresource), {
      verb,
      query,
      contentType,
      readBody: () => Promise.resolve(Buffer.from(body)),
    })
  }
}
