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

/** Larger answers are not parsed: that would hold up everybody else. */
const parsedMaxBytes = 2 * 1024 * 1024
/** Names come from the other side, which may send any. */
const pathMaxCharacters = 256

/** A path such as `.items[3].spec.nodeName`, or the first byte for what is not JSON or is large;
 *  undefined if nothing differs. */
export function firstDifference(ours: Uint8Array, theirs: Uint8Array): string | undefined {
  const at = firstByte(ours, theirs)
  if (at === undefined) return undefined
  if (Math.max(ours.length, theirs.length) > parsedMaxBytes) return `byte ${at}`
  try {
    const [a, b] = [ours, theirs].map(bytes => JSON.parse(Buffer.from(bytes).toString()) as unknown)
    const path = pathOf(a, b, '') ?? 'the layout'
    return path.length > pathMaxCharacters ? `${path.slice(0, pathMaxCharacters)}...` : path
  } catch {
    return `byte ${at}`
  }
}

const chunkBytes = 64 * 1024

/** The first byte that differs, or the end of the shorter; undefined if they are the same. */
function firstByte(ours: Uint8Array, theirs: Uint8Array): number | undefined {
  const [a, b] = [ours, theirs].map(bytes =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
  )
  if (a === undefined || b === undefined || a.equals(b)) return undefined
  let start = 0
  const common = Math.min(a.length, b.length)
  while (
    start + chunkBytes < common &&
    a.compare(b, start, start + chunkBytes, start, start + chunkBytes) === 0
  ) {
    start += chunkBytes
  }
  while (start < common && a[start] === b[start]) start++
  return start
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
