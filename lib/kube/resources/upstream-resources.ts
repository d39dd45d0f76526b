/** What an API server says that it serves: its discovery documents, read into one list. */

import type { Resource } from './resource.ts'
import { listOf, objectOf, textOf, textsOf } from '../../base/untyped.ts'

/** A resource as it is listed. */
export interface ListedResource {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly kind: string
  readonly isNamespaced: boolean
  readonly verbs: readonly string[]
}

/** Everything that is listed. */
export class UpstreamResources {
  readonly #byName: ReadonlyMap<string, ListedResource>

  constructor(resources: Iterable<ListedResource>) {
    this.#byName = new Map([...resources].map(one => [nameOf(one), one]))
  }

  get all(): readonly ListedResource[] {
    return [...this.#byName.values()]
  }

  /** True if the upstream serves what we take the resource for, and can read it in every way. */
  has(resource: Resource): boolean {
    const listed = this.#byName.get(nameOf(resource))
    return (
      listed !== undefined &&
      listed.kind === resource.kind &&
      listed.isNamespaced === resource.isNamespaced &&
      ['get', 'list', 'watch'].every(verb => listed.verbs.includes(verb))
    )
  }
}

interface Named {
  readonly group: string
  readonly version: string
  readonly resource: string
}

function nameOf({ group, version, resource }: Named): string {
  return `${group}/${version}/${resource}`
}

/** The resources of an APIGroupDiscoveryList, which /api and /apis give to whoever asks for one; undefined if it is none. */
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
          group,
          version,
          resource: textOf(row['resource']),
          kind: textOf(objectOf(row['responseKind'])['kind']),
          isNamespaced: textOf(row['scope']) === 'Namespaced',
          verbs: textsOf(row['verbs']),
        }
      })
    })
  })
}

/** The resources of an APIResourceList, `/api/v1` or `/apis/GROUP/VERSION`. Subresources are left out. */
export function resourcesOfVersion(
  group: string,
  version: string,
  document: unknown,
): ListedResource[] {
  return listOf(objectOf(document)['resources'])
    .map(entry => {
      const row = objectOf(entry)
      return {
        group,
        version,
        resource: textOf(row['name']),
        kind: textOf(row['kind']),
        isNamespaced: row['namespaced'] === true,
        verbs: textsOf(row['verbs']),
      }
    })
    .filter(({ resource }) => !resource.includes('/'))
}

/** The group versions of an APIGroupList, `/apis`. */
export function versionsOfGroups(document: unknown): { group: string; version: string }[] {
  return listOf(objectOf(document)['groups']).flatMap(entry => {
    const group = textOf(objectOf(entry)['name'])
    return listOf(objectOf(entry)['versions']).map(one => ({
      group,
      version: textOf(objectOf(one)['version']),
    }))
  })
}
