/** The current resources: the built-in ones, and those that the mirrored CustomResourceDefinitions
 *  and APIServices declare. When these change, keyspaces are added and dropped.
 *
 *  A change is applied a moment later and never within the batch that brought it, because no
 *  keyspace can be added while a batch is being handed to the followers; several changes are
 *  applied at once. */

import type { Digests } from '../base/digests.ts'
import { CacheError } from '../base/errors.ts'
import { type Key, keyFromText, prefixRange } from '../base/keys.ts'
import type { Schema } from '../codec/schema/schema.ts'
import type { Logger } from '../base/logger.ts'
import { ApiState } from '../kube/api-state.ts'
import { type ApiService, apiService } from '../kube/resources/api-services.ts'
import { builtInResources } from '../kube/resources/built-ins.ts'
import { ConvertedObjects } from '../codec/served/custom/converted-objects.ts'
import { type CustomDefinition, customDefinition } from '../kube/resources/custom-resources.ts'
import type { Resource } from '../kube/resources/resource.ts'
import { Registry } from '../kube/resources/registry.ts'
import { declaringResources } from '../kube/resources/special-keyspaces.ts'
import type { KeyspaceDescription, MirroredKeyspace } from '../mirror/mirrored-keyspace.ts'
import type { HistoryBounds } from '../store/history.ts'
import type { KeyValue } from '../store/event.ts'

/** The mirror's keyspaces as the registry sees them. */
export interface Keyspaces {
  add(description: KeyspaceDescription): void
  drop(name: string): void
  keyspace(name: string): MirroredKeyspace
}

export interface LiveRegistryOptions {
  /** Schema of the server that is answered for, as far as it is known. */
  readonly schema: Schema
  /** `/registry`, without a final slash. */
  readonly prefix: string
  /** Resources that nothing in etcd declares. */
  readonly configured: readonly Resource[]
  /** etcd prefixes that are neither mirrored nor served. */
  readonly excluded: readonly string[]
  /** Whether a keyspace is mirrored that there is a resource for; every one if it is left out. What
   *  is not mirrored is known all the same, for an upstream to answer. */
  readonly isMirrored?: ((keyspace: Key) => boolean) | undefined
  /** Bounds of each keyspace's history. */
  readonly history: HistoryBounds
  readonly serverAddress: string
  readonly digests: Digests
  /** CBOR is served. */
  readonly hasCbor?: boolean | undefined
  readonly logger: Logger
}

export class LiveRegistry {
  readonly #options: LiveRegistryOptions
  /** The objects that conversion webhooks have made. */
  readonly converted: ConvertedObjects = new ConvertedObjects()
  readonly #definitionsPrefix: Key
  readonly #servicesPrefix: Key
  readonly #mirrored = new Set<Key>()
  readonly #definitions: Parsed<CustomDefinition>
  readonly #services: Parsed<ApiService>
  readonly #onRedefined: ((keyspaces: readonly Key[]) => void)[] = []
  #keyspaces: Keyspaces | undefined = undefined
  /** The present one. Every request looks here; only the registry writes it. */
  state: ApiState
  #isChanged = false
  #aggregated: readonly Resource[] = []
  #schema: Schema

  constructor(options: LiveRegistryOptions) {
    const { prefix, logger } = options
    this.#options = options
    this.#schema = options.schema
    const [definitions, services] = declaringResources
    this.#definitionsPrefix = keyFromText(`${prefix}/${definitions}/`)
    this.#servicesPrefix = keyFromText(`${prefix}/${services}/`)
    this.#definitions = new Parsed(entry => customDefinition(entry, prefix), logger)
    this.#services = new Parsed(apiService, logger)
    this.state = this.#makeState()
  }

  /** Which keyspace a key belongs to. */
  readonly keyspaceOf = (key: Key): Key | undefined => this.state.registry.keyspaceOf(key)

  /** Begins to mirror. To be called once. */
  start(keyspaces: Keyspaces): void {
    this.#keyspaces = keyspaces
    this.#follow()
  }

  /** Calls `task` whenever definitions have changed: what was derived from the fields of these
   *  keyspaces is out of date then. */
  onRedefined(task: (keyspaces: readonly Key[]) => void): void {
    this.#onRedefined.push(task)
  }

  /** The contents of a keyspace have changed. */
  changed(keyspace: string): void {
    const isDeclaring = keyspace === this.#definitionsPrefix || keyspace === this.#servicesPrefix
    if (!isDeclaring || this.#isChanged) return
    this.#isChanged = true
    queueMicrotask(() => {
      this.#isChanged = false
      this.#rebuild()
    })
  }

  /** `isMirrored` answers differently from now on. */
  mirroredChanged(): void {
    this.#follow()
  }

  /** The server that is answered for is of another version than was thought: all that is built in
   *  is written in its way from now on. */
  setSchema(schema: Schema): void {
    if (schema === this.#schema) return
    this.#schema = schema
    this.#rebuild(this.state.registry.keyspaces().map(({ prefix }) => prefix))
  }

  /** Sets the known resources of aggregated servers. Their watches end where they are served in
   *  another way than before. */
  setAggregated(resources: readonly Resource[]): void {
    const before = new Map(this.#aggregated.map(one => [nameOf(one), JSON.stringify(one)]))
    const changed = resources.filter(one => before.get(nameOf(one)) !== JSON.stringify(one))
    if (changed.length === 0 && resources.length === this.#aggregated.length) return
    this.#aggregated = resources
    this.#rebuild(changed.flatMap(({ storage }) => (storage === undefined ? [] : [storage.prefix])))
  }

  #rebuild(changed: readonly string[] = []): void {
    const before = this.state.registry
    this.#definitions.take(this.#entries(this.#definitionsPrefix))
    this.#services.take(this.#entries(this.#servicesPrefix))
    this.state = this.#makeState()
    this.#follow()
    const known = new Set(before.definitions)
    const redefined = this.state.registry.definitions.filter(found => !known.has(found))
    // Watches of a definition that is being deleted go on: each of its objects is still told of as
    // DELETED.
    const others = redefined.filter(({ isBeingDeleted }) => !isBeingDeleted)
    const left = new Set(this.state.registry.definitions.map(({ prefix }) => prefix))
    const gone = before.definitions.filter(({ prefix }) => !left.has(prefix))
    const prefixes = new Set([...[...others, ...gone].map(({ prefix }) => prefix), ...changed])
    const keyspaces = [...prefixes].map(keyFromText)
    for (const task of this.#onRedefined) task(keyspaces)
    for (const { name, resources } of redefined) {
      const problems = new Set(resources.flatMap(({ custom }) => custom?.problems ?? []))
      for (const problem of problems) {
        this.#options.logger.warn('part of a CustomResourceDefinition is ignored', {
          name,
          problem,
        })
      }
    }
  }

  /** Undefined while the keyspace is not served: what was known before stays in use then. */
  #entries(prefix: Key): KeyValue[] | undefined {
    const keyspace = this.#keyspaces?.keyspace(prefix)
    if (keyspace?.isServed !== true) return undefined
    return keyspace.store.latest().range(prefixRange(prefix))
  }

  #makeState(): ApiState {
    const { prefix, serverAddress, digests, hasCbor, excluded } = this.#options
    const schema = this.#schema
    const declared = [...builtInResources(schema, prefix), ...this.#options.configured]
    const installed = [...declared, ...this.#aggregated].filter(
      ({ storage }) => storage === undefined || !excluded.includes(storage.prefix),
    )
    const registry = new Registry({
      schema,
      installed,
      definitions: this.#definitions.all.filter(one => !excluded.includes(one.prefix)),
      services: this.#services.all,
      etcdPrefix: prefix,
    })
    return new ApiState({
      registry,
      serverAddress,
      digests,
      hasCbor,
      definitionOf: name => this.#definitions.entryOf(name),
      converted: this.converted,
    })
  }

  /** Mirrors the keyspaces of the current resources, and no others. */
  #follow(): void {
    const { isMirrored = () => true } = this.#options
    const known = this.state.registry.keyspaces().map(({ prefix }) => prefix)
    const wanted = new Set(known.filter(isMirrored))
    for (const name of this.#mirrored) {
      if (wanted.has(name)) continue
      this.#mirrored.delete(name)
      this.#keyspaces?.drop(name)
    }
    for (const name of wanted) {
      if (this.#mirrored.has(name)) continue
      this.#mirrored.add(name)
      const { history } = this.#options
      this.#keyspaces?.add({ name, range: prefixRange(name), history })
    }
  }
}

function nameOf({ group, version, resource }: Resource): string {
  return `${group}/${version}/${resource}`
}

/** The declarations in stored entries. Each entry is parsed once, and the result stays the same
 *  object for as long as the entry does. */
class Parsed<T extends { readonly name: string }> {
  readonly #parse: (entry: KeyValue) => T
  readonly #logger: Logger
  #known = new Map<KeyValue, T | undefined>()
  #entries = new Map<string, KeyValue>()
  #all: readonly T[] = []

  constructor(parse: (entry: KeyValue) => T, logger: Logger) {
    this.#parse = parse
    this.#logger = logger
  }

  /** All declarations. */
  get all(): readonly T[] {
    return this.#all
  }

  take(entries: readonly KeyValue[] | undefined): void {
    if (entries === undefined) return
    const known = new Map(entries.map(entry => [entry, this.#parsed(entry)] as const))
    this.#known = known
    this.#entries = new Map()
    const all: T[] = []
    for (const [entry, parsed] of known) {
      if (parsed === undefined) continue
      all.push(parsed)
      this.#entries.set(parsed.name, entry)
    }
    this.#all = all
  }

  entryOf(name: string): KeyValue | undefined {
    return this.#entries.get(name)
  }

  #parsed(entry: KeyValue): T | undefined {
    if (this.#known.has(entry)) return this.#known.get(entry)
    try {
      return this.#parse(entry)
    } catch (error) {
      const { message } = CacheError.from(error, 'unsupported')
      this.#logger.warn('a stored definition or APIService cannot be read and is ignored', {
        reason: message,
      })
      return undefined
    }
  }
}
