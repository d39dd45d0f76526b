/** Addresses: of the page's places (`#/KIND/NAMESPACE/NAME?QUESTION`), and of objects in the
 *  API. */

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

/** The objects of a kind, which are looked at until the signal. */
export interface ListPlace {
  readonly kind: ListedKind
  /** Empty: all. */
  readonly namespace: string
  readonly signal: AbortSignal
}

/** An object that is looked at. */
export interface ObjectPlace extends ListPlace {
  readonly name: string
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
  const [path = ''] = hash.slice(2).split('?')
  try {
    const [kind = '', namespace = '', name = ''] = path.split('/').map(decodeURIComponent)
    return { kind, namespace, name }
  } catch {
    return { kind: '', namespace: '', name: '' }
  }
}

/** The question that an address asks of a list: parameters of a view, and those of the page. */
export function questionOf(hash: string): string {
  const mark = hash.indexOf('?')
  return mark < 0 ? '' : hash.slice(mark + 1)
}

export function hashOf(kind: string, namespace = '', name = ''): string {
  const withinKind = namespace === '' ? [] : [namespace]
  const parts = [kind, ...(name === '' ? withinKind : [namespace, name])]
  return `#/${parts.map(encodeURIComponent).join('/')}`
}

/** The address of a list of which something is asked. */
export function listHash(kind: string, namespace: string, question: URLSearchParams): string {
  const asked = question.toString()
  return asked === '' ? hashOf(kind, namespace) : `${hashOf(kind, namespace)}?${asked}`
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

/** The path of views of a kind's objects. */
export function viewPathOf(kind: Parameters<typeof pathOf>[0], namespace = ''): string {
  return `/views${pathOf(kind, namespace)}`
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
