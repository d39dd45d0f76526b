/** Differences between two contents of an object: paths, which name items that have a name. */

/** One path whose value differs; `before` is left out where the path is new, `after` where it has
 *  gone. */
export interface PathChange {
  readonly path: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Paths that say nothing (kind, apiVersion) or change with every write. */
const leftOut = new Set([
  '.kind',
  '.apiVersion',
  '.metadata.managedFields',
  '.metadata.resourceVersion',
])

/** Members that may name the items of a list, the most telling first. */
const itemNames = ['name', 'type', 'uid', 'ip', 'containerPort', 'port']

export function changesBetween(before: unknown, after: unknown): PathChange[] {
  const [old, fresh] = [valuesByPath(before), valuesByPath(after)]
  const changes: PathChange[] = []
  for (const [path, text] of fresh) {
    if (old.get(path) !== text) changes.push({ path, before: old.get(path), after: text })
  }
  for (const [path, text] of old) {
    if (!fresh.has(path)) changes.push({ path, before: text, after: undefined })
  }
  return changes
}

/** Drops `metadata.managedFields` from a YAML text: most of the text, and nobody reads it. */
export function withoutManagedFields(yaml: string): string {
  let isInside = false
  const kept = yaml.split('\n').filter(line => {
    if (isInside) isInside = /^ {2}[ -]/.test(line)
    else isInside = line === '  managedFields:'
    return !isInside
  })
  return kept.join('\n')
}

function valuesByPath(
  value: unknown,
  path = '',
  values = new Map<string, string>(),
): Map<string, string> {
  if (leftOut.has(path)) return values
  if (value === null || typeof value !== 'object' || Object.keys(value).length === 0) {
    values.set(path, JSON.stringify(value))
  } else if (Array.isArray(value)) {
    const names = namesOfItems(value)
    for (const [i, item] of value.entries()) {
      valuesByPath(item, `${path}[${names?.[i] ?? i}]`, values)
    }
  } else {
    for (const [key, item] of Object.entries(value)) {
      const step = /^\w+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
      valuesByPath(item, path + step, values)
    }
  }
  return values
}

/** A name for each item of a list, if one member tells all of them apart. */
function namesOfItems(list: readonly unknown[]): string[] | undefined {
  for (const key of itemNames) {
    const names = list.map(item =>
      item === null || typeof item !== 'object'
        ? undefined
        : (item as Record<string, unknown>)[key],
    )
    const isEachNamed = names.every(name => typeof name === 'string' || typeof name === 'number')
    if (isEachNamed && new Set(names).size === names.length) {
      return names.map(name => `${key}=${name}`)
    }
  }
  return undefined
}
