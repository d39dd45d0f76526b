/** Finds where two answers differ first, and describes the place without any of their contents. */

/** Objects whose members are named by users: these names are not shown either. */
const namedByUsers: ReadonlySet<string> = new Set([
  'annotations',
  'binaryData',
  'data',
  'labels',
  'matchLabels',
  'nodeSelector',
  'stringData',
])

/** A path such as `.items[3].spec.nodeName`, or the first byte for what is not JSON; undefined if
 *  nothing differs. */
export function firstDifference(ours: Uint8Array, theirs: Uint8Array): string | undefined {
  if (Buffer.from(ours.buffer, ours.byteOffset, ours.length).equals(theirs)) return undefined
  try {
    const [a, b] = [ours, theirs].map(bytes => JSON.parse(Buffer.from(bytes).toString()) as unknown)
    return pathOf(a, b, '') ?? 'the layout'
  } catch {
    const at = ours.findIndex((byte, i) => byte !== theirs[i])
    return `byte ${at < 0 ? ours.length : at}`
  }
}

function pathOf(a: unknown, b: unknown, path: string): string | undefined {
  if (a === b) return undefined
  if (!isComposite(a) || !isComposite(b) || Array.isArray(a) !== Array.isArray(b)) {
    return path === '' ? '.' : path
  }
  const isOpen = namedByUsers.has(
    path.slice(Math.max(path.lastIndexOf('.'), path.lastIndexOf(']')) + 1),
  )
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const shown = Array.isArray(a) ? `${path}[${name}]` : `${path}.${isOpen ? '*' : name}`
    const found = pathOf(a[name], b[name], shown)
    if (found !== undefined) return found
  }
  return undefined
}

function isComposite(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
