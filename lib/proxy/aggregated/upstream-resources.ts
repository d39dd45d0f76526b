/** The resources that an API server lists: its discovery documents, read into one list. */

import type { Resource } from '@watchglass/kube'
import { listOf, objectOf, textOf, textsOf, type UntypedObject } from '@watchglass/base'

/** A resource as it is listed. */
export interface ListedResource {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly kind: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly isNamespaced: boolean
  readonly verbs: readonly string[]
  /** Aggregated documents have none. */
  readonly storageVersionHash: string | undefined
}

export interface ListedMore {
  /** The server has the core group: only kube-apiserver does. */
  readonly hasCore: boolean
  /** Group versions whose documents could not be read. */
  readonly unavailable: readonly string[]
}

/** Everything that is listed. */
export class UpstreamResources {
  readonly hasCore: boolean
  readonly unavailable: readonly string[]
  readonly #byName: ReadonlyMap<string, ListedResource>
  /** Results of `has`: it is asked of every resource again and again. */
  readonly #known = new WeakMap<Resource, boolean>()

  constructor(
    resources: Iterable<ListedResource>,
    { hasCore, unavailable }: ListedMore = { hasCore: true, unavailable: [] },
  ) {
    this.hasCore = hasCore
    this.unavailable = unavailable
    this.#byName = new Map([...resources].map(one => [nameOf(one), one]))
  }

  get all(): readonly ListedResource[] {
    return [...this.#byName.values()]
  }

  /** The resources of a group version. */
  of(group: string, version: string): readonly ListedResource[] {
    return this.all.filter(one => one.group === group && one.version === version)
  }

  find(named: Named): ListedResource | undefined {
    return this.#byName.get(nameOf(named))
  }

  /** True if the upstream serves the same resource, with every read verb. */
  has(resource: Resource): boolean {
    let has = this.#known.get(resource)
    if (has === undefined) this.#known.set(resource, (has = this.#looksFor(resource)))
    return has
  }

  #looksFor(resource: Resource): boolean {
    const listed = this.find(resource)
    return (
      listed !== undefined &&
      listed.kind === resource.kind &&
      listed.isNamespaced === resource.isNamespaced &&
      canBeRead(listed)
    )
  }
}

/** The verbs of the reads that we answer. */
export function canBeRead({ verbs }: ListedResource): boolean {
  return ['get', 'list', 'watch'].every(verb => verbs.includes(verb))
}

interface Named {
  readonly group: string
  readonly version: string
  readonly resource: string
}

function nameOf({ group, version, resource }: Named): string {
  return `${group}/${version}/${resource}`
}

/** The resources of an APIGroupDiscoveryList, the aggregated form of /api and /apis; undefined if
 *  the document is not one. */
export function resourcesOfAggregated(document: unknown): ListedResource[] | undefined {
  const root = objectOf(document)
  if (textOf(root['kind']) !== 'APIGroupDiscoveryList') return undefined
  return listOf(root['items']).flatMap(item => {
    const group = textOf(objectOf(objectOf(item)['metadata'])['name'])
    return listOf(objectOf(item)['versions']).flatMap(one => {
      const version = textOf(objectOf(one)['version'])
      return listOf(objectOf(one)['resources']).map(entry => {
        const row = objectOf(entry)
        return {
          ...namesIn(row),
          group,
          version,
          resource: textOf(row['resource']),
          kind: textOf(objectOf(row['responseKind'])['kind']),
          singular: textOf(row['singularResource']),
          isNamespaced: textOf(row['scope']) === 'Namespaced',
          storageVersionHash: undefined,
        }
      })
    })
  })
}

/** The resources of an APIResourceList, `/api/v1` or `/apis/GROUP/VERSION`. Subresources are left
 *  out. */
export function resourcesOfVersion(
  group: string,
  version: string,
  document: unknown,
): ListedResource[] {
  return listOf(objectOf(document)['resources'])
    .map(entry => {
      const row = objectOf(entry)
      return {
        ...namesIn(row),
        group,
        version,
        resource: textOf(row['name']),
        kind: textOf(row['kind']),
        singular: textOf(row['singularName']),
        isNamespaced: row['namespaced'] === true,
        storageVersionHash: textOf(row['storageVersionHash']) || undefined,
      }
    })
    .filter(({ resource }) => !resource.includes('/'))
}

function namesIn(row: UntypedObject): Pick<ListedResource, 'shortNames' | 'categories' | 'verbs'> {
  return {
    shortNames: textsOf(row['shortNames']),
    categories: textsOf(row['categories']),
    verbs: textsOf(row['verbs']),
  }
}

/** The versions of an APIVersions document, `/api`; undefined if it is not one. */
export function versionsOfCore(document: unknown): readonly string[] | undefined {
  const root = objectOf(document)
  return textOf(root['kind']) === 'APIVersions' ? textsOf(root['versions']) : undefined
}

/** The group versions of an APIGroupList, `/apis`; undefined if it is not one. */
export function versionsOfGroups(
  document: unknown,
): { group: string; version: string }[] | undefined {
  const root = objectOf(document)
  if (textOf(root['kind']) !== 'APIGroupList') return undefined
  return listOf(root['groups']).flatMap(entry => {
    const group = textOf(objectOf(entry)['name'])
    return listOf(objectOf(entry)['versions']).map(one => ({
      group,
      version: textOf(objectOf(one)['version']),
    }))
  })
}
