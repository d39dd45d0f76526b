/** The resource that a word names: its plural, singular, short name or kind, with or without its
 *  group, as kubectl takes it. */

import type { ViewServer } from './view-server.ts'
import { invalid } from '../../options/invalid.ts'

export interface AskedResource {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly isNamespaced: boolean
}

/** A resource in an aggregated discovery document. */
interface DiscoveredResource {
  readonly resource: string
  readonly singularResource?: string
  readonly shortNames?: readonly string[]
  readonly scope?: string
  readonly verbs?: readonly string[]
  readonly responseKind?: { readonly kind?: string }
}

interface DiscoveryList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string }
    readonly versions?: readonly {
      readonly version: string
      readonly resources?: readonly DiscoveredResource[]
    }[]
  }[]
}

const discoveryType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** Fails if no resource has that name. Of several the first of discovery is meant, as for
 *  kubectl. */
export async function findResource(server: ViewServer, word: string): Promise<AskedResource> {
  const [name = '', ...rest] = word.toLowerCase().split('.')
  const group = rest.join('.')
  for (const path of ['/api', '/apis']) {
    const found = resourceIn((await server.get(path, discoveryType)) as DiscoveryList, name, group)
    if (found !== undefined) return found
  }
  throw invalid(`the server has no resource "${word}" that can be listed`)
}

function resourceIn(list: DiscoveryList, name: string, group: string): AskedResource | undefined {
  for (const { metadata, versions = [] } of list.items ?? []) {
    const ownGroup = metadata?.name ?? ''
    if (group !== '' && !isGroup(ownGroup, group)) continue
    for (const { version, resources = [] } of versions) {
      const found = resources.find(one => isNamed(one, name) && one.verbs?.includes('list'))
      if (found === undefined) continue
      const { resource, scope } = found
      return { group: ownGroup, version, resource, isNamespaced: scope === 'Namespaced' }
    }
  }
  return undefined
}

/** `deployments.apps` names the group, `widgets.example` the beginning of one. */
function isGroup(group: string, asked: string): boolean {
  return group === asked || group.startsWith(`${asked}.`)
}

function isNamed(one: DiscoveredResource, name: string): boolean {
  const { resource, singularResource, shortNames = [], responseKind } = one
  return [resource, singularResource, responseKind?.kind?.toLowerCase(), ...shortNames].includes(
    name,
  )
}
