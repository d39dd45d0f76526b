/** Discovery documents: the groups, their versions and their resources, one by one or all in one
 *  document.
 *
 *  The bodies equal kube-apiserver's byte for byte, small inconsistencies included: the core
 *  resource list has no apiVersion, and the aggregated document names the group of a response only
 *  if it is another than the resource's own, but always for custom resources. A `Discovery` belongs
 *  to one registry; its documents are made when they are first asked for. */

import { hasZeroTimes, type Schema, type Subresource } from '@watchglass/codec'
import type { ApiService } from '../resources/api-services.ts'
import { type Digests, readDataFile } from '@watchglass/base'
import { goJsonString } from '@watchglass/go'
import type { Registry } from '../resources/registry.ts'
import type { DiscoveryDocument } from '../request/routes.ts'
import { groupVersionText, type Resource } from '../resources/resource.ts'
import { compareVersions } from '../resources/versions.ts'

export interface DiscoveryOptions {
  readonly registry: Registry
  readonly digests: Digests
  /** HOST:PORT for clients that ask where the server is. */
  readonly serverAddress: string
  /** The body of /version, when it is not that of the built-in data. */
  readonly version?: string | undefined
}

/** The media type of the aggregated documents, in requests and responses. */
export const aggregatedMediaType =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** A document with the hash by which clients notice a change. */
export interface TaggedDocument {
  readonly body: string
  readonly etag: string
}

/** A group with its versions, the preferred one first. */
interface Group {
  readonly name: string
  readonly versions: readonly string[]
}

/** The body of /version, as a kube-apiserver of that minor sends it. */
export function versionBody({ minor }: Schema): string {
  return discoveryData().versions[minor] ?? ''
}

interface DiscoveryData {
  /** The built-in groups but the core one, in the order in which they are listed. */
  readonly groupOrder: readonly string[]
  /** By minor: the body of /version. */
  readonly versions: Readonly<Record<string, string>>
}

function discoveryData(): DiscoveryData {
  return readDataFile(import.meta.url, './discovery.json') as DiscoveryData
}

export class Discovery {
  readonly #options: DiscoveryOptions
  readonly #resources: readonly Resource[]
  readonly #documents = new Map<string, string>()

  constructor(options: DiscoveryOptions) {
    this.#options = options
    const established = new Set(
      options.registry.definitions.filter(found => found.isEstablished).map(({ name }) => name),
    )
    this.#resources = options.registry.resources.filter(
      ({ custom }) => custom?.definition === undefined || established.has(custom.definition),
    )
  }

  /** The document of a path; undefined if there is no such group or version. */
  document(wanted: DiscoveryDocument): string | undefined {
    switch (wanted.document) {
      case 'core':
        return this.core()
      case 'version':
        return this.version()
      case 'groups':
        return this.groups()
      case 'group':
        return this.group(wanted.group)
      case 'resources':
        return this.resources(wanted.group, wanted.version)
    }
  }

  /** /version: indented, without a final newline. */
  version(): string {
    return this.#options.version ?? versionBody(this.#options.registry.schema)
  }

  /** /api */
  core(): string {
    const address = goJsonString(this.#options.serverAddress)
    return `{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":${address}}]}\n`
  }

  /** /apis */
  groups(): string {
    return this.#document('groups', () => {
      const groups = this.#groups().map(group => `{${groupMembers(group)}}`)
      return `{"kind":"APIGroupList","apiVersion":"v1","groups":[${groups.join(',')}]}\n`
    })
  }

  /** /apis/GROUP; undefined if there is no such group. */
  group(name: string): string | undefined {
    const group = this.#groups().find(found => found.name === name)
    if (group === undefined) return undefined
    return `{"kind":"APIGroup","apiVersion":"v1",${groupMembers(group)}}\n`
  }

  /** /api/v1, /apis/GROUP/VERSION */
  resources(group: string, version: string): string {
    return this.#document(`resources ${group}/${version}`, () => {
      const items = this.#resourcesOf(group, version).flatMap(resource => [
        this.#resourceJson(resource),
        ...resource.subresources.map(subresource => subresourceJson(resource, subresource)),
      ])
      const apiVersion = group === '' ? '' : '"apiVersion":"v1",'
      const name = goJsonString(groupVersionText(group, version))
      return `{"kind":"APIResourceList",${apiVersion}"groupVersion":${name},"resources":[${items.join(',')}]}\n`
    })
  }

  /** The aggregated document of /api or /apis. */
  aggregated(path: '/api' | '/apis'): TaggedDocument {
    const content = this.#document(`aggregated ${path}`, () => {
      const groups = path === '/api' ? [{ name: '', versions: ['v1'] }] : this.#groups()
      const items = groups.map(group => this.#aggregatedGroup(group))
      return `"metadata":{},"items":[${items.join(',')}]`
    })
    const etag = this.#document(`etag ${path}`, () => {
      const digest = Buffer.from(this.#options.digests.sha512(`{${content}}`)).toString('hex')
      return `"${digest.toUpperCase()}"`
    })
    const body = `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2",${content}}\n`
    return { body, etag }
  }

  /** /: the paths of the API, with the server's own paths among them. Indented, without a final
   *  newline. */
  paths(own: readonly string[]): string {
    const groups = this.#groups().flatMap(({ name, versions }) => [
      `/apis/${name}`,
      ...versions.map(version => `/apis/${name}/${version}`),
    ])
    const paths = ['/api', '/api/v1', '/apis', '/apis/', ...groups, ...own].sort()
    return JSON.stringify({ paths }, undefined, 2)
  }

  #document(name: string, make: () => string): string {
    const text = this.#documents.get(name) ?? make()
    this.#documents.set(name, text)
    return text
  }

  /** All groups but the core one, in upstream's order: by priority, then by name. */
  #groups(): Group[] {
    const versions = new Map<string, Set<string>>()
    const add = (group: string, version: string): void => {
      if (group === '') return
      versions.set(group, (versions.get(group) ?? new Set()).add(version))
    }
    for (const { group, version } of this.#resources) add(group, version)
    for (const { group, version } of this.#remote()) add(group, version)
    const names = [...versions.keys()].sort(
      (a, b) => this.#priority(b) - this.#priority(a) || (a < b ? -1 : 1),
    )
    return names.map(name => ({
      name,
      versions: [...(versions.get(name) ?? [])].sort(compareVersions),
    }))
  }

  #remote(): ApiService[] {
    return this.#options.registry.services.filter(service => service.isRemote)
  }

  #priority(group: string): number {
    const place = discoveryData().groupOrder.indexOf(group)
    if (place >= 0) return builtInPriority - place
    const remote = this.#remote().filter(service => service.group === group)
    const local = this.#resources.some(resource => resource.group === group) ? customPriority : 0
    return Math.max(local, ...remote.map(service => service.groupPriority))
  }

  #resourcesOf(group: string, version: string): Resource[] {
    return this.#resources.filter(
      resource => resource.group === group && resource.version === version,
    )
  }

  #resourceJson(resource: Resource): string {
    const members = [
      `"name":${goJsonString(resource.resource)}`,
      `"singularName":${goJsonString(resource.singular)}`,
      `"namespaced":${resource.isNamespaced}`,
      `"kind":${goJsonString(resource.kind)}`,
      `"verbs":${textsJson(resource.verbs)}`,
      ...textsMember('shortNames', resource.shortNames),
      ...textsMember('categories', resource.categories),
      ...this.#storageVersionHash(resource),
    ]
    return `{${members.join(',')}}`
  }

  /** The first bytes of a hash over what is stored; for custom resources it follows from the
   *  definition. */
  #storageVersionHash({ storageVersionHash, storage, custom }: Resource): string[] {
    if (custom === undefined || storage === undefined) {
      return storageVersionHash === undefined
        ? []
        : [`"storageVersionHash":${goJsonString(storageVersionHash)}`]
    }
    const text = `${storage.group}/${storage.version}/${storage.kind}`
    const digest = Buffer.from(this.#options.digests.sha256(text)).subarray(0, 8)
    return [`"storageVersionHash":"${digest.toString('base64')}"`]
  }

  #aggregatedGroup({ name, versions }: Group): string {
    const metadata = [
      ...(name === '' ? [] : [`"name":${goJsonString(name)}`]),
      // These objects have no time of creation, and older servers write null for it.
      ...(hasZeroTimes(this.#options.registry.schema) ? ['"creationTimestamp":null'] : []),
    ]
    const items = versions.map(version => this.#aggregatedVersion(name, version))
    return `{"metadata":{${metadata.join(',')}},"versions":[${items.join(',')}]}`
  }

  #aggregatedVersion(group: string, version: string): string {
    const name = `"version":${goJsonString(version)}`
    const resources = this.#resourcesOf(group, version)
    if (this.#options.registry.isRemote(group, version)) return `{${name},"freshness":"Stale"}`
    const isCustom = resources.some(resource => resource.routing === 'custom')
    const sorted = isCustom
      ? [...resources].sort((a, b) => (a.resource < b.resource ? -1 : 1))
      : resources
    const items = sorted.map(aggregatedResource)
    return `{${name},"resources":[${items.join(',')}],"freshness":"Current"}`
  }
}

/** Above those of definitions and remote services. */
const builtInPriority = 20_000
/** The priority that kube-apiserver gives to the groups of definitions. */
const customPriority = 1000

function groupMembers({ name, versions }: Group): string {
  const items = versions.map(version => versionJson(name, version))
  const members = [
    `"name":${goJsonString(name)}`,
    `"versions":[${items.join(',')}]`,
    `"preferredVersion":${items[0]}`,
  ]
  return members.join(',')
}

function versionJson(group: string, version: string): string {
  return `{"groupVersion":${goJsonString(`${group}/${version}`)},"version":${goJsonString(version)}}`
}

function subresourceJson(resource: Resource, subresource: Subresource): string {
  const members = [
    `"name":${goJsonString(`${resource.resource}/${subresource.name}`)}`,
    '"singularName":""',
    `"namespaced":${resource.isNamespaced}`,
    ...(subresource.group === undefined ? [] : [`"group":${goJsonString(subresource.group)}`]),
    ...(subresource.version === undefined
      ? []
      : [`"version":${goJsonString(subresource.version)}`]),
    `"kind":${goJsonString(subresource.kind)}`,
    `"verbs":${textsJson(subresource.verbs)}`,
  ]
  return `{${members.join(',')}}`
}

function aggregatedResource(resource: Resource): string {
  const subresources = resource.subresources.map(subresource =>
    aggregatedSubresource(resource, subresource),
  )
  const members = [
    `"resource":${goJsonString(resource.resource)}`,
    `"responseKind":${responseKind(resource, resource)}`,
    `"scope":"${resource.isNamespaced ? 'Namespaced' : 'Cluster'}"`,
    `"singularResource":${goJsonString(resource.singular)}`,
    `"verbs":${textsJson(resource.verbs)}`,
    ...textsMember('shortNames', resource.shortNames),
    ...textsMember('categories', resource.categories),
    ...(subresources.length === 0 ? [] : [`"subresources":[${subresources.join(',')}]`]),
  ]
  return `{${members.join(',')}}`
}

function aggregatedSubresource(resource: Resource, subresource: Subresource): string {
  const { group, version, kind, name, verbs } = subresource
  const other = group === undefined ? resource : { group, version: version ?? '' }
  const answered = responseKind(resource, { ...other, kind })
  return `{"subresource":${goJsonString(name)},"responseKind":${answered},"verbs":${textsJson(verbs)}}`
}

/** Built-in resources leave out their own group and version. */
function responseKind(
  resource: Resource,
  {
    group,
    version,
    kind,
  }: { readonly group: string; readonly version: string; readonly kind: string },
): string {
  const isOwn = group === resource.group && version === resource.version
  const isLeftOut = isOwn && resource.routing === 'installed'
  return (
    `{"group":${goJsonString(isLeftOut ? '' : group)},` +
    `"version":${goJsonString(isLeftOut ? '' : version)},"kind":${goJsonString(kind)}}`
  )
}

function textsMember(name: string, texts: readonly string[]): string[] {
  return texts.length === 0 ? [] : [`"${name}":${textsJson(texts)}`]
}

function textsJson(texts: readonly string[]): string {
  return `[${texts.map(goJsonString).join(',')}]`
}
