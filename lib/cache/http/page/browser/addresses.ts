/** Addresses: of the page's places (`#/KIND/NAMESPACE/NAME`), and of objects in the API. */

/** A place of the page. An empty kind is the list of kinds, an empty name a kind's objects. */
export interface PagePlace {
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** A kind as discovery names it. */
export interface ListedKind {
  /** `deployments.apps`, or `pods`. */
  readonly id: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly kind: string
  readonly isNamespaced: boolean
  readonly verbs: readonly string[]
}

/** An object that is looked at, until the signal. */
export interface ObjectPlace {
  readonly kind: ListedKind
  readonly namespace: string
  readonly name: string
  readonly signal: AbortSignal
}

/** The parts of an aggregated discovery document that are read here. */
export interface ServedDiscovery {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string }
    readonly versions?: readonly {
      readonly version: string
      readonly resources?: readonly {
        readonly resource: string
        readonly responseKind?: { readonly kind?: string }
        readonly scope?: string
        readonly verbs?: readonly string[]
      }[]
    }[]
  }[]
}

/** The place that an address names; undefined for an address that is none of a place. */
export function placeOf(hash: string): PagePlace | undefined {
  if (!hash.startsWith('#/')) return undefined
  try {
    const [kind = '', namespace = '', name = ''] = hash.slice(2).split('/').map(decodeURIComponent)
    return { kind, namespace, name }
  } catch {
    return { kind: '', namespace: '', name: '' }
  }
}

export function hashOf(kind: string, namespace = '', name = ''): string {
  const withinKind = namespace === '' ? [] : [namespace]
  const parts = [kind, ...(name === '' ? withinKind : [namespace, name])]
  return `#/${parts.map(encodeURIComponent).join('/')}`
}

/** The path of a kind's objects in the API. */
export function pathOf(
  {
    group,
    version,
    resource,
    isNamespaced,
  }: Pick<ListedKind, 'group' | 'version' | 'resource' | 'isNamespaced'>,
  namespace = '',
): string {
  const root = group === '' ? ['api', version] : ['apis', group, version]
  const within = isNamespaced && namespace !== '' ? ['namespaces', namespace] : []
  return `/${[...root, ...within, resource].map(encodeURIComponent).join('/')}`
}

/** The kinds of a discovery document that can be listed, in the preferred version. */
export function kindsOf(document: ServedDiscovery): Map<string, ListedKind> {
  const kinds = new Map<string, ListedKind>()
  for (const { metadata, versions = [] } of document.items ?? []) {
    const group = metadata?.name ?? ''
    for (const { version, resources = [] } of versions) {
      for (const { resource, responseKind, scope, verbs = [] } of resources) {
        const id = group === '' ? resource : `${resource}.${group}`
        if (kinds.has(id) || !verbs.includes('list')) continue
        const isNamespaced = scope === 'Namespaced'
        const kind = responseKind?.kind ?? ''
        kinds.set(id, { id, group, version, resource, kind, isNamespaced, verbs })
      }
    }
  }
  return kinds
}

/** A value as a field selector writes it. */
export function selectorValue(text: string): string {
  return text.replace(/[\\,=]/g, '\\$&')
}

/** The revision before, where revisions are numbers. */
export function revisionBefore(revision: string): string | undefined {
  return /^\d+$/.test(revision) && revision !== '0' ? String(BigInt(revision) - 1n) : undefined
}
