/** The API as controllers and simulated nodes use it: they write as any client does, in the version
 *  in which each resource is stored, and know at once what they have written, before the mirror
 *  tells of it. Objects are named by their places, or by their keys in etcd (`...At`). */

import { setMaxListeners } from 'node:events'
import { type Key, keyAfter, keyFromText, NotExact, prefixRange } from '@watchglass/base'
import { type JsonObject, type JsonValue, textInOrder } from '@watchglass/go'
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
import type { ClusterApi, DeleteRequest, ApiPlace } from './cluster-api.ts'
import type { NodeFact, PodFact } from './facts.ts'
import type { ReadObject } from './read-object.ts'

export interface ApiClientOptions {
  readonly state: () => ApiState
  readonly writes: WriteServices
  readonly signal: AbortSignal
  /** The manager of the fields that are written. The controller manager, if it is left out. */
  readonly manager?: string | undefined
  /** Told of each object that was written, as it is stored, and of the facts about it if they are
   *  known without reading it. */
  readonly onWritten?: ((entry: KeyValue, fact?: PodFact) => void) | undefined
  /** Writes of pods without going through the whole write path; undefined: none. */
  readonly stamper?: PodStamper | undefined
}

/** A pod as it was stored by a stamp, and the facts about it. */
export interface StampedPod {
  readonly entry: KeyValue
  readonly fact: PodFact
}

/** Writes of pods that differ from others of their template in little (`nodes/pod-stamps.ts`). Each
 *  is undefined where there is no stamp: then the write goes the whole way. */
export interface PodStamper {
  create(client: ApiClient, place: ApiPlace, object: object): Promise<StampedPod | undefined>
  bind(key: Key, node: NodeFact): Promise<StampedPod | undefined>
  run(key: Key, addresses: PodAddresses): Promise<StampedPod | undefined>
}

/** The addresses of a pod that runs. */
export interface PodAddresses {
  readonly podAddress: string
  readonly nodeAddress: string
}

/** An object to create, and where: a resource of version v1. */
export interface Creation {
  readonly group: string
  readonly resource: string
  readonly namespace: string
  readonly object: object
}

/** An object to apply. */
export interface AppliedObject {
  readonly apiVersion: string
  readonly kind: string
  /** That of a namespaced object. */
  readonly namespace: string
  readonly object: { readonly metadata?: { readonly name?: string } }
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

/** A pod that was stamped and is given its node, or runs on it. */
export type PodStamping =
  | { readonly key: Key; readonly node: NodeFact }
  | { readonly key: Key; readonly addresses: PodAddresses }

interface Send {
  readonly verb: Verb
  readonly contentType: string
  readonly body: string
  readonly subresource?: string
  readonly query?: Query
}

export class ApiClient implements ClusterApi {
  readonly #options: ApiClientOptions

  constructor(options: ApiClientOptions) {
    this.#options = options
    // Each call under way listens to it, and controllers have many. They stop listening.
    setMaxListeners(0, options.signal)
  }

  /** A client with other services, for writes that are only tried: nobody is told of them. */
  trying(services: Partial<WriteServices>): ApiClient {
    const { writes, state, signal, manager } = this.#options
    return new ApiClient({ state, signal, manager, writes: { ...writes, ...services } })
  }

  /** A client that tells of what it writes. */
  telling(told: Pick<ApiClientOptions, 'onWritten' | 'stamper'>): ApiClient {
    return new ApiClient({ ...this.#options, ...told })
  }

  get services(): WriteServices {
    return this.#options.writes
  }

  get signal(): AbortSignal {
    return this.#options.signal
  }

  /** Gives a pod its node, as a scheduler does. */
  async bind(place: ApiPlace, node: string): Promise<void> {
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

  placeOf(key: Key): ApiPlace | undefined {
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

  /** The name of the object at a key. */
  nameOf(key: Key): string {
    return this.placeOf(key)?.name ?? ''
  }

  /** The object at a key, in plain values, and where it is; undefined if there is none. */
  async find<T>(key: Key): Promise<ReadObject<T> | undefined> {
    const place = this.placeOf(key)
    const entry = await this.read(key)
    if (place === undefined || entry === undefined) return undefined
    const object = this.plainOf(place.resource, entry) as T | undefined
    return object && { place, object, revision: entry.modRevision }
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
  stored(place: ApiPlace): Promise<KeyValue | undefined> {
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
  async objectOf(place: ApiPlace): Promise<JsonObject | undefined> {
    const entry = await this.stored(place)
    return entry === undefined ? undefined : this.#session(place, '').treeOf(entry)
  }

  /** A JSON merge patch. */
  async patch(place: ApiPlace, patch: object, subresource = ''): Promise<KeyValue | undefined> {
    return this.patchAs(place, { type: 'merge', body: JSON.stringify(patch), subresource })
  }

  /** A patch of any kind. One that is applied is applied by force. */
  async patchAs(
    place: ApiPlace,
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
    return this.#told(written)
  }

  async apply(
    { resource, namespace, name }: ApiPlace,
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
  async create(place: ApiPlace, object: object, subresource = ''): Promise<KeyValue | undefined> {
    const body = JSON.stringify(object)
    const written = await this.#send(place, {
      verb: 'create',
      contentType: json,
      body,
      subresource,
    })
    return subresource === '' ? this.#told(written) : undefined
  }

  /** Creates the object if there is none of its name: one that is there stays as it is. True if it
   *  is new. */
  async createIfMissing(place: ApiPlace, object: object): Promise<boolean> {
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

  /** A stored object in plain values; undefined if it cannot be shown. */
  plainOf(resource: Resource, entry: KeyValue): unknown {
    const encoder = this.#options.state().encoderOf(resource)
    return encoder instanceof NotExact ? undefined : plainOf(encoder, resource, entry)
  }

  async delete(place: ApiPlace, request: DeleteRequest): Promise<void> {
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

  /** Creates an object that others may make, too: a refusal is thrown. Its key; undefined if its
   *  resource is not served. */
  async createNew({
    group,
    resource: name,
    namespace,
    object,
  }: Creation): Promise<Key | undefined> {
    const resource = this.resourceOf(group, 'v1', name)
    if (resource === undefined) return undefined
    const place = { resource, namespace, name: '' }
    const { stamper, onWritten } = this.#options
    const stamped = hasGeneratedName(resource, object)
      ? await stamper?.create(this, place, object)
      : undefined
    if (stamped === undefined) return (await this.create(place, object))?.key
    onWritten?.(stamped.entry, stamped.fact)
    return stamped.entry.key
  }

  /** Applies an object: it is made, or changed if it is there. A part of it, if a subresource is
   *  named, for which it must be there. */
  async applyObject(
    { apiVersion, kind, namespace, object }: AppliedObject,
    { type, subresource = '' }: Pick<PatchAs, 'type' | 'subresource'>,
  ): Promise<void> {
    const resource = this.resourceOfKind(apiVersion, kind)
    if (resource === undefined) throw new Error(`nothing of kind ${apiVersion} ${kind} is served`)
    const name = object.metadata?.name ?? ''
    const place = { resource, namespace: resource.isNamespaced ? namespace : '', name }
    if (subresource === '' && (await this.createIfMissing(place, object))) return
    await this.patchAs(place, { type, body: JSON.stringify(object), subresource })
  }

  /** A JSON merge patch of the object at a key. False if it is gone. */
  patchAt(key: Key, patch: object, subresource = ''): Promise<boolean> {
    return this.patchAtAs(key, { type: 'merge', body: JSON.stringify(patch), subresource })
  }

  /** A patch of any kind of the object at a key. False if it is gone. */
  async patchAtAs(key: Key, patch: PatchAs): Promise<boolean> {
    const place = this.placeOf(key)
    if (place === undefined) return false
    try {
      await this.patchAs(place, patch)
      return true
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 404) return false
      throw error
    }
  }

  /** Deletes the object of that uid at a key. One that stays for a while is told of. */
  async deleteAt(key: Key, uid: string, graceSeconds?: number): Promise<void> {
    const place = this.placeOf(key)
    if (place === undefined) return
    const grace = graceSeconds === undefined ? {} : { graceSeconds }
    await this.delete(place, { uid, propagation: 'Background', ...grace })
    const { onWritten } = this.#options
    const entry = onWritten && (await this.read(key))
    if (entry !== undefined) onWritten?.(entry)
  }

  /** Gives a stamped pod its node, or has it run there. False if the pod is not what its stamp was
   *  made for: it is to be read again. */
  async stamp({ key, ...stamped }: PodStamping): Promise<boolean> {
    const { stamper, onWritten } = this.#options
    const written =
      'node' in stamped
        ? await stamper?.bind(key, stamped.node)
        : await stamper?.run(key, stamped.addresses)
    if (written === undefined) return false
    onWritten?.(written.entry, written.fact)
    return true
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

  #told(written: Written): KeyValue | undefined {
    if (written.type !== 'object') return undefined
    this.#options.onWritten?.(written.entry)
    return written.entry
  }

  #storedAt(prefix: Key): Resource | undefined {
    const resources = this.#options.state().registry.resourcesAt(prefix)
    return resources.find(({ storage, version }) => storage?.version === version) ?? resources[0]
  }

  #session({ resource, namespace, name }: ApiPlace, subresource: string): WriteSession {
    const { state, writes, signal, manager = 'kube-controller-manager' } = this.#options
    const who = { userAgent: `${manager}/v1 (watchglass)`, user, signal }
    return new WriteSession(
      { state: state(), resource, namespace, name, subresource, ...who },
      writes,
    )
  }

  async #send(
    place: ApiPlace,
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

/** Pods whose names are generated are many of one template. */
function hasGeneratedName({ group, resource }: Resource, object: object): boolean {
  const { metadata } = object as { readonly metadata?: { readonly generateName?: string } }
  return group === '' && resource === 'pods' && metadata?.generateName !== undefined
}
