/** Which resources exist, and which keyspace a key belongs to. A `Registry` is immutable: when a
 *  CustomResourceDefinition is added, changed or deleted, a new registry is made, so that a request
 *  sees one registry from its beginning to its end. */

import { type Key, keyFromText, textFromKey } from '@watchglass/base'
import type { Schema } from '@watchglass/codec'
import type { ApiService } from './api-services.ts'
import type { CustomDefinition } from './custom-resources.ts'
import { keyspacesOf } from './keyspaces.ts'
import { defaultEtcdPrefix, groupVersionText, type Resource } from './resource.ts'
import { compareVersions } from './versions.ts'

export interface RegistryOptions {
  /** Schema of the server that is answered for. */
  readonly schema: Schema
  /** Built-in and configured resources, which are routed like upstream's own groups. */
  readonly installed: readonly Resource[]
  readonly definitions?: readonly CustomDefinition[] | undefined
  /** APIServices. Paths of other servers go to the upstream; services of kube-apiserver itself only
   *  set the order. */
  readonly services?: readonly ApiService[] | undefined
  readonly etcdPrefix?: string | undefined
}

/** The resources of one keyspace: mostly one, in all its versions. */
export interface KeyspaceResources {
  /** The prefix of the keyspace: that of a resource, or of one of its namespaces. */
  readonly prefix: Key
  readonly resources: readonly Resource[]
}

/** The router that answers `/apis/GROUP/VERSION/...`. */
export type GroupRouting = 'installed' | 'custom' | 'remote' | undefined

export class Registry {
  readonly schema: Schema
  readonly etcdPrefix: string
  /** In the order of discovery within each version. */
  readonly resources: readonly Resource[]
  readonly definitions: readonly CustomDefinition[]
  readonly services: readonly ApiService[]
  readonly #byName = new Map<string, Resource>()
  readonly #groups = new Map<string, GroupVersions>()
  readonly #remote: ReadonlySet<string>
  readonly #keyspaces: KeyspaceTable
  readonly #byKeyspace = new Map<Key, Resource[]>()
  /** By the prefix of a resource: the keyspaces of its namespaces, where each has its own. */
  readonly #ofNamespaces = new Map<Key, ReadonlySet<string>>()

  constructor(options: RegistryOptions) {
    this.schema = options.schema
    this.etcdPrefix = options.etcdPrefix ?? defaultEtcdPrefix
    this.services = options.services ?? []
    this.definitions = [...(options.definitions ?? [])].sort(
      (a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1),
    )
    this.resources = [
      ...options.installed,
      ...this.definitions.flatMap(definition => definition.resources),
    ]
    for (const { group } of this.definitions) this.#groupOf(group)
    for (const resource of this.resources) this.#add(resource)
    this.#remote = new Set(
      this.services
        .filter(service => service.isRemote)
        .map(({ group, version }) => groupVersionText(group, version)),
    )
    const stored = [...this.#byKeyspace.values()]
    const prefixes = new Set(stored.flatMap(([first]) => first?.storage?.prefix ?? []))
    this.#keyspaces = new KeyspaceTable(this.etcdPrefix, prefixes)
  }

  /** The resource of a group, a version and a plural name. A built-in one takes precedence over a
   *  definition of the same name. */
  find(group: string, version: string, resource: string): Resource | undefined {
    return this.#byName.get(nameKey(group, version, resource))
  }

  /** The router that answers below a group version. */
  routingOf(group: string, version: string): GroupRouting {
    if (this.isRemote(group, version)) return 'remote'
    const found = this.#groups.get(group)
    if (found === undefined) return undefined
    return found.isInstalled ? 'installed' : 'custom'
  }

  /** True if another server serves the group and version. */
  isRemote(group: string, version: string): boolean {
    return this.#remote.has(groupVersionText(group, version))
  }

  /** True if the group has resources in that version. */
  hasVersion(group: string, version: string): boolean {
    return this.#groups.get(group)?.versions.has(version) === true
  }

  /** The prefix of the keyspace that a key lies in; `undefined` for keys of no resource that is
   *  served. O(1). */
  keyspaceOf(key: Key): Key | undefined {
    const prefix = this.#keyspaces.find(key)
    const apart = prefix === undefined ? undefined : this.#ofNamespaces.get(prefix)
    if (prefix === undefined || apart === undefined) return prefix
    const keyspace = key.slice(0, key.indexOf('/', prefix.length) + 1)
    return apart.has(keyspace) ? (keyspace as Key) : undefined
  }

  /** The versions in which the objects of a keyspace are served. O(1). */
  resourcesAt(keyspace: Key): readonly Resource[] {
    return this.#byKeyspace.get(keyspace) ?? []
  }

  /** Everything that is stored, by keyspace. */
  keyspaces(): KeyspaceResources[] {
    return [...this.#byKeyspace].map(([prefix, resources]) => ({ prefix, resources }))
  }

  /** The versions of a group that have resources, the preferred one first. */
  versionsOf(group: string): string[] {
    return [...(this.#groups.get(group)?.versions ?? [])].sort(compareVersions)
  }

  #groupOf(group: string): GroupVersions {
    const found = this.#groups.get(group) ?? { isInstalled: false, versions: new Set<string>() }
    this.#groups.set(group, found)
    return found
  }

  #add(resource: Resource): void {
    const name = nameKey(resource.group, resource.version, resource.resource)
    if (this.#byName.has(name)) return
    this.#byName.set(name, resource)
    const group = this.#groupOf(resource.group)
    group.versions.add(resource.version)
    if (resource.routing === 'installed') group.isInstalled = true
    const { storage } = resource
    if (storage === undefined) return
    const keyspaces = keyspacesOf(resource)
    if (storage.namespaces !== undefined) {
      this.#ofNamespaces.set(keyFromText(storage.prefix), new Set(keyspaces))
    }
    for (const keyspace of keyspaces) {
      const known = this.#byKeyspace.get(keyspace)
      if (known === undefined) this.#byKeyspace.set(keyspace, [resource])
      else known.push(resource)
    }
  }
}

interface GroupVersions {
  isInstalled: boolean
  readonly versions: Set<string>
}

function nameKey(group: string, version: string, resource: string): string {
  return `${group}/${version}/${resource}`
}

/** Prefixes are the root and one or two segments (`/registry/pods/`, `/registry/services/specs/`),
 *  each with its final slash: without it, `widgets` would include `widgetsextra`
 *  (CVE-2022-3162). */
class KeyspaceTable {
  readonly #root: string
  readonly #bySegment = new Map<string, { own?: Key; readonly inner: Map<string, Key> }>()
  /** Prefixes of another root or depth: they are configured for other servers, are few, and are
   *  tried in order of length. */
  readonly #others: Key[] = []

  constructor(etcdPrefix: string, prefixes: Iterable<string>) {
    this.#root = keyFromText(`${etcdPrefix}/`)
    for (const prefix of prefixes) this.#add(keyFromText(prefix))
    this.#others.sort((a, b) => b.length - a.length)
  }

  #add(prefix: Key): void {
    const segments = prefix.startsWith(this.#root)
      ? prefix.slice(this.#root.length, -1).split('/')
      : []
    const [first = '', second] = segments
    if (segments.length === 0 || segments.length > 2) {
      this.#others.push(prefix)
      return
    }
    const place = this.#bySegment.get(first) ?? { inner: new Map<string, Key>() }
    this.#bySegment.set(first, place)
    if (second === undefined) place.own = prefix
    else place.inner.set(second, prefix)
  }

  find(key: Key): Key | undefined {
    return this.#findUnderRoot(key) ?? this.#others.find(prefix => key.startsWith(prefix))
  }

  #findUnderRoot(key: Key): Key | undefined {
    if (!key.startsWith(this.#root)) return undefined
    const from = this.#root.length
    const slash = key.indexOf('/', from)
    if (slash < 0) return undefined
    const place = this.#bySegment.get(key.slice(from, slash))
    if (place === undefined) return undefined
    if (place.inner.size > 0) {
      const nextSlash = key.indexOf('/', slash + 1)
      const inner = nextSlash < 0 ? undefined : place.inner.get(key.slice(slash + 1, nextSlash))
      if (inner !== undefined) return inner
    }
    return place.own
  }
}

/** `pods`, or `deployments.apps`, of a keyspace, and `pods in default` of one namespace. The names
 *  are made again when the resources have changed. */
export function keyspaceNames(current: () => WithRegistry): (keyspace: string) => string {
  let state: WithRegistry | undefined
  let names = new Map<string, string>()
  return keyspace => {
    if (state !== current()) {
      state = current()
      names = new Map(
        state.registry
          .keyspaces()
          .map(({ prefix, resources: [first] }) => [
            prefix,
            first === undefined ? textFromKey(prefix) : nameOf(first, prefix),
          ]),
      )
    }
    return names.get(keyspace) ?? textFromKey(keyspace as Key)
  }
}

function nameOf({ group, resource, storage }: Resource, keyspace: Key): string {
  const name = group === '' ? resource : `${resource}.${group}`
  if (storage?.namespaces === undefined) return name
  return `${name} in ${textFromKey(keyspace).slice(storage.prefix.length, -1)}`
}

/** The state of the API. */
interface WithRegistry {
  readonly registry: Registry
}
