/** The parts of the script of objects that need no browser: orders, differences, addresses. Tests
 *  run them as they are. */

export const objectsTexts: string = String.raw`
/** A cell for sorting: figures, and ages such as 5d3h, by what they amount to. */
function amountOf(cell) {
  if (typeof cell === 'number') return cell
  const text = String(cell ?? '')
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return Number(text)
  if (!/^(?:\d+[ydhms])+$/.test(text)) return text
  const units = { y: 31536000, d: 86400, h: 3600, m: 60, s: 1 }
  let sum = 0
  for (const [, figure, unit] of text.matchAll(/(\d+)([ydhms])/g)) sum += Number(figure) * units[unit]
  return sum
}

const words = new Intl.Collator('en', { numeric: true })

/** Figures before words; what is equal stays in order. */
function compareCells(a, b) {
  const [x, y] = [amountOf(a), amountOf(b)]
  if (typeof x === 'number' && typeof y === 'number') return x - y
  if (typeof x === 'number') return -1
  if (typeof y === 'number') return 1
  return words.compare(x, y)
}

/** Names of the items of a list, if each has another one. */
function namesOfItems(list) {
  for (const key of ['name', 'type', 'uid', 'ip', 'containerPort', 'port']) {
    const names = list.map(item => item === null || typeof item !== 'object' ? undefined : item[key])
    if (names.every(name => typeof name === 'string' || typeof name === 'number') && new Set(names).size === names.length) {
      return names.map(name => key + '=' + name)
    }
  }
  return undefined
}

const leftOut = new Set(['.kind', '.apiVersion', '.metadata.managedFields', '.metadata.resourceVersion'])

/** Every value of an object by its path, without what changes with each write anyway, and what
 *  items of lists do not have. */
function placesOf(value, path = '', places = new Map()) {
  if (leftOut.has(path)) return places
  if (value === null || typeof value !== 'object' || Object.keys(value).length === 0) {
    places.set(path, JSON.stringify(value))
  } else if (Array.isArray(value)) {
    const names = namesOfItems(value)
    value.forEach((item, i) => placesOf(item, path + '[' + (names ? names[i] : i) + ']', places))
  } else {
    for (const [key, item] of Object.entries(value)) {
      placesOf(item, path + (/^\w+$/.test(key) ? '.' + key : '[' + JSON.stringify(key) + ']'), places)
    }
  }
  return places
}

/** Differences of two contents: where, before, after. */
function changesBetween(before, after) {
  const [old, fresh] = [placesOf(before), placesOf(after)]
  const changes = []
  for (const [path, text] of fresh) {
    if (old.get(path) !== text) changes.push({ path, before: old.get(path), after: text })
  }
  for (const [path, text] of old) if (!fresh.has(path)) changes.push({ path, before: text, after: undefined })
  return changes
}

/** The YAML of an object without its managedFields, which are most of it and read by no one. */
function withoutManagedFields(yaml) {
  let isInside = false
  const kept = yaml.split('\n').filter(line => {
    if (isInside) isInside = /^ {2}[ -]/.test(line)
    else isInside = line === '  managedFields:'
    return !isInside
  })
  return kept.join('\n')
}

/** A value in a field selector. */
function selectorValue(text) {
  return text.replace(/[\\,=]/g, '\\$&')
}

/** The revision before, if revisions are numbers here. */
function revisionBefore(revision) {
  return /^\d+$/.test(revision) && revision !== '0' ? String(BigInt(revision) - 1n) : undefined
}

/** The place that an address names: #/KIND/NAMESPACE/NAME, each of which may be missing. */
function placeOf(hash) {
  if (!hash.startsWith('#/')) return undefined
  try {
    const [kind = '', namespace = '', name = ''] = hash.slice(2).split('/').map(decodeURIComponent)
    return { kind, namespace, name }
  } catch {
    return { kind: '', namespace: '', name: '' }
  }
}

function hashOf(kind, namespace, name) {
  const parts = name ? [kind, namespace, name] : namespace ? [kind, namespace] : [kind]
  return '#/' + parts.map(encodeURIComponent).join('/')
}

/** The path of a kind's objects in the API. */
function pathOf({ group, version, resource, isNamespaced }, namespace) {
  const root = group === '' ? ['api', version] : ['apis', group, version]
  const within = isNamespaced && namespace ? ['namespaces', namespace] : []
  return '/' + [...root, ...within, resource].map(encodeURIComponent).join('/')
}

/** The kinds of an aggregated discovery document that can be listed, in the preferred version. */
function kindsOf(document) {
  const kinds = new Map()
  for (const { metadata, versions = [] } of document.items ?? []) {
    const group = metadata?.name ?? ''
    for (const { version, resources = [] } of versions) {
      for (const { resource, responseKind, scope, verbs = [] } of resources) {
        const id = group === '' ? resource : resource + '.' + group
        if (kinds.has(id) || !verbs.includes('list')) continue
        const isNamespaced = scope === 'Namespaced'
        kinds.set(id, { id, group, version, resource, kind: responseKind?.kind ?? '', isNamespaced, verbs })
      }
    }
  }
  return kinds
}
`
