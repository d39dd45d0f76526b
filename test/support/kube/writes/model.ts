/** The model of random writes: objects as the API's rules have them, and how these are seen in what
 *  is shown. */

/** An object as the rules have it. */
export interface Model {
  readonly uid: string
  version: number
  generation: number
  data: Map<string, string>
  label: string
  finalizers: string[]
  isBeingDeleted: boolean
  /** Which keys of the data each manager has. */
  owners: Map<string, Set<string>>
}

export interface ShownObject {
  readonly metadata: {
    readonly uid: string
    readonly resourceVersion: string
    readonly generation?: number
    readonly labels?: { readonly l?: string }
    readonly finalizers?: readonly string[]
    readonly deletionTimestamp?: string
    readonly managedFields?: readonly {
      readonly manager: string
      readonly operation: string
      readonly fieldsV1: { readonly 'f:spec'?: Record<string, Record<string, unknown>> }
    }[]
  }
  readonly spec: {
    readonly template: { readonly metadata: { readonly labels: Record<string, string> } }
  }
}

/** The rules of server-side apply, for the keys of one map. */
export function applyTo(model: Model, id: string, data: ReadonlyMap<string, string>): void {
  const before = entriesText(model.data)
  for (const [key, value] of data) {
    if (model.data.get(key) !== value) {
      for (const [owner, set] of model.owners) if (owner !== id) set.delete(key)
    }
    model.data.set(key, value)
  }
  for (const key of model.owners.get(id) ?? []) {
    const isOthers = [...model.owners].some(([owner, set]) => owner !== id && set.has(key))
    if (!data.has(key) && !isOthers) model.data.delete(key)
  }
  model.owners.set(id, new Set(data.keys()))
  if (entriesText(model.data) !== before) model.generation++
}

export function ownersText(owners: ReadonlyMap<string, ReadonlySet<string>>): string {
  const lines = [...owners].flatMap(([id, set]) =>
    set.size === 0 ? [] : [`${id}: ${[...set].sort().join()}`],
  )
  return lines.sort().join('; ')
}

/** Who has which keys, by the managers of the object. */
export function ownersIn({ metadata }: ShownObject): string {
  const owners = new Map<string, Set<string>>()
  for (const { manager, operation, fieldsV1 } of metadata.managedFields ?? []) {
    const template = fieldsV1['f:spec']?.['f:template'] as
      | { 'f:metadata'?: { 'f:labels'?: object } }
      | undefined
    const labels = Object.keys(template?.['f:metadata']?.['f:labels'] ?? {})
    const keys = labels.map(name => name.slice(2)).filter(name => /^k\d$/.test(name))
    owners.set(`${operation} ${manager}`, new Set(keys))
  }
  return ownersText(owners)
}

/** A tree as plain values. */
export function plain(value: unknown): unknown {
  if (value instanceof Map) {
    return Object.fromEntries([...value].map(([name, item]) => [name, plain(item)]))
  }
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === 'object' && value !== null && 'text' in value) return Number(value.text)
  return value
}

/** Entries as a text to compare by, in the order of their names. */
export function entriesText(entries: Iterable<readonly [string, string]>): string {
  const lines = [...entries].map(([name, value]) => `${name}=${value}`)
  return lines.sort().join()
}
