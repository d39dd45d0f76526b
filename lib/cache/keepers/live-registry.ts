/** The current resources: the built-in ones, and those that the mirrored CustomResourceDefinitions
 *  and APIServices declare. When these change, keyspaces are added and dropped.
 *
 *  A change is applied a moment later and never within the batch that brought it, because no
 *  keyspace can be added while a batch is being handed to the followers; several changes are
 *  applied at once. */

import {
  CacheError,
  type Digests,
  type Key,
  keyFromText,
  type Logger,
  prefixRange,
} from '@watchglass/base'
import { ConvertedObjects, type Schema } from '@watchglass/codec'
import {
  apiService,
  type ApiService,
  ApiState,
  builtInResources,
  customDefinition,
  type CustomDefinition,
  declaringResources,
  keyspacesOf,
  Registry,
  type Resource,
  restrictedTo,
} from '@watchglass/kube'
import type { KeyspaceDescription, MirroredKeyspace } from '../mirror/mirrored-keyspace.ts'
import type { HistoryBounds, KeyValue } from '@watchglass/store'

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
  /** Whether a keyspace is mirrored, of a resource with that prefix; every one if it is left out.
   *  What is not mirrored is known all the same, for an upstream to answer. */
  readonly isMirrored?: ((keyspace: Key, prefix: Key) => boolean) | undefined
  /** The only namespaces that are mirrored; all are if it is left out. */
  readonly namespaces?: readonly string[] | undefined
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
  /** The built-in resources of that schema: the same objects in each state. */
  #builtIn: { readonly schema: Schema | undefined; readonly resources: readonly Resource[] } = {
    schema: undefined,
    resources: [],
  }

  constructor(options: LiveRegistryOptions) {
    const { prefix, logger } = options
    this.#options = options
    this.#schema = options.schema
    const [definitions, services] = declaringResources
    this.#definitionsPrefix = keyFromText(`${prefix}/${definitions}/`)
    this.#servicesPrefix = keyFromText(`${prefix}/${services}/`)
    this.#definitions = new Parsed((entry, before) => this.#definitionIn(entry, before), logger)
    this.#services = new Parsed(sameService, logger)
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
    this.#rebuild(changed.flatMap(one => (one.storage === undefined ? [] : keyspacesOf(one))))
  }

  #rebuild(changed?: readonly Key[]): void {
    const isOther = this.#take()
    if (!isOther && changed === undefined) return
    const before = this.state.registry
    const state = this.#makeState()
    state.adopt(this.state)
    this.state = state
    this.#follow()
    const { definitions } = this.state.registry
    const left = new Map(definitions.map(one => [one.prefix, one.definedAt]))
    const ended = before.definitions.filter(one => left.get(one.prefix) !== one.definedAt)
    const ofEnded = ended.flatMap(({ prefix, resources }) => [
      keyFromText(prefix),
      ...resources.flatMap(keyspacesOf),
    ])
    const keyspaces = [...new Set([...ofEnded, ...(changed ?? [])])]
    for (const task of this.#onRedefined) task(keyspaces)
    const known = new Set(before.definitions)
    for (const found of definitions) if (!known.has(found)) this.#noteProblems(found)
  }

  #definitionIn(entry: KeyValue, before: Before<CustomDefinition> | undefined): CustomDefinition {
    const { prefix, namespaces } = this.#options
    const found = customDefinition(entry, prefix, before)
    if (namespaces === undefined || found === before?.parsed) return found
    return { ...found, resources: found.resources.map(one => restrictedTo(one, namespaces)) }
  }

  /** Reads what is stored. False if it declares what was declared before. */
  #take(): boolean {
    const definitions = this.#definitions.take(this.#entries(this.#definitionsPrefix))
    const services = this.#services.take(this.#entries(this.#servicesPrefix))
    return definitions || services
  }

  #noteProblems({ name, resources }: CustomDefinition): void {
    const problems = new Set(resources.flatMap(({ custom }) => custom?.problems ?? []))
    for (const problem of problems) {
      const fields = { name, problem }
      this.#options.logger.warn('part of a CustomResourceDefinition is ignored', fields)
    }
  }

  /** Undefined while the keyspace is not served: what was known before stays in use then. */
  #entries(prefix: Key): KeyValue[] | undefined {
    const keyspace = this.#keyspaces?.keyspace(prefix)
    if (keyspace?.isServed !== true) return undefined
    return keyspace.store.latest().range(prefixRange(prefix))
  }

  #makeState(): ApiState {
    const { prefix, serverAddress, digests, hasCbor, excluded, namespaces } = this.#options
    const schema = this.#schema
    if (this.#builtIn.schema !== schema) {
      const all = builtInResources(schema, prefix)
      this.#builtIn = { schema, resources: all.map(one => restrictedTo(one, namespaces)) }
    }
    const declared = [...this.#builtIn.resources, ...this.#options.configured]
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
    const known = this.state.registry.keyspaces().filter(({ prefix, resources: [first] }) => {
      const { storage } = first ?? {}
      return storage !== undefined && isMirrored(prefix, keyFromText(storage.prefix))
    })
    const wanted = new Set(known.map(({ prefix }) => prefix))
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

/** The reading of an APIService stays in use as long as it means the same. */
function sameService(entry: KeyValue, before: Before<ApiService> | undefined): ApiService {
  const read = apiService(entry)
  const isSame = JSON.stringify(read) === JSON.stringify(before?.parsed)
  return before !== undefined && isSame ? before.parsed : read
}

/** An older entry of the same key. */
interface Before<T> {
  readonly entry: KeyValue
  readonly parsed: T
}

/** The declarations in stored entries. Each entry is parsed once, and the result stays the same
 *  object for as long as the entry does, or means the same. */
class Parsed<T extends { readonly name: string }> {
  readonly #parse: (entry: KeyValue, before: Before<T> | undefined) => T
  readonly #logger: Logger
  #known = new Map<Key, { readonly entry: KeyValue; readonly parsed: T | undefined }>()
  #entries = new Map<string, KeyValue>()
  #all: readonly T[] = []

  constructor(parse: (entry: KeyValue, before: Before<T> | undefined) => T, logger: Logger) {
    this.#parse = parse
    this.#logger = logger
  }

  /** All declarations. */
  get all(): readonly T[] {
    return this.#all
  }

  /** False if all declarations are the objects that they were. */
  take(entries: readonly KeyValue[] | undefined): boolean {
    if (entries === undefined) return false
    const before = this.#all
    const known = entries.map(entry => [entry.key, this.#parsed(entry)] as const)
    this.#known = new Map(known)
    this.#entries = new Map()
    const all: T[] = []
    for (const [, { entry, parsed }] of known) {
      if (parsed === undefined) continue
      all.push(parsed)
      this.#entries.set(parsed.name, entry)
    }
    this.#all = all
    return all.length !== before.length || all.some((one, i) => one !== before[i])
  }

  entryOf(name: string): KeyValue | undefined {
    return this.#entries.get(name)
  }

  #parsed(entry: KeyValue): { readonly entry: KeyValue; readonly parsed: T | undefined } {
    const known = this.#known.get(entry.key)
    if (known?.entry === entry) return known
    const { parsed } = known ?? {}
    const before = known === undefined || parsed === undefined ? undefined : { ...known, parsed }
    try {
      return { entry, parsed: this.#parse(entry, before) }
    } catch (error) {
      const { message } = CacheError.from(error, 'unsupported')
      this.#logger.warn('a stored definition or APIService cannot be read and is ignored', {
        reason: message,
      })
      return { entry, parsed: undefined }
    }
  }
}
