/** Two texts compared line by line, as github.com/pmezard/go-difflib writes it: the classic algorithm of Ratcliff and Obershelp, in which
 *  lines that are very frequent in a long text begin no match. */

const context = 3
/** Texts of so many lines have frequent ones. */
const longText = 200
/** Pairs of equal lines that are looked at. Texts can be made that have a million million of them; what is left then counts as different. */
const pairsMax = 2_000_000

/** The hunks, without the names of files; empty if the texts are equal. */
export function unifiedDiff(before: string, after: string): string {
  const [a, b] = [linesOf(before), linesOf(after)]
  const groups = groupsOf(operationsOf(a, b))
  return groups.map(group => hunk(group, a, b)).join('')
}

function linesOf(text: string): string[] {
  return text.split('\n').map(line => `${line}\n`)
}

interface Match {
  readonly a: number
  readonly b: number
  readonly size: number
}

/** Lines from `aStart` to `aEnd` became those from `bStart` to `bEnd`. */
interface Operation {
  readonly isEqual: boolean
  readonly aStart: number
  readonly aEnd: number
  readonly bStart: number
  readonly bEnd: number
}

function matchesOf(a: readonly string[], b: readonly string[]): Match[] {
  const places = placesOf(b)
  const texts: Texts = { a, b, places, pairs: 0 }
  const found: Match[] = []
  const waiting: [number, number, number, number][] = [[0, a.length, 0, b.length]]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [aLow, aHigh, bLow, bHigh] = next
    const match = longestMatch(texts, next)
    if (match.size === 0) continue
    found.push(match)
    waiting.push([aLow, match.a, bLow, match.b])
    waiting.push([match.a + match.size, aHigh, match.b + match.size, bHigh])
  }
  return found.sort((x, y) => x.a - y.a || x.b - y.b)
}

/** Where each line stands; frequent lines of a long text are left out. */
function placesOf(lines: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>()
  for (const [i, line] of lines.entries()) {
    const known = places.get(line)
    if (known === undefined) places.set(line, [i])
    else known.push(i)
  }
  if (lines.length < longText) return places
  const most = Math.floor(lines.length / 100) + 1
  for (const [line, known] of places) if (known.length > most) places.delete(line)
  return places
}

interface Texts {
  readonly a: readonly string[]
  readonly b: readonly string[]
  readonly places: ReadonlyMap<string, readonly number[]>
  /** How many have been looked at. */
  pairs: number
}

function longestMatch(
  texts: Texts,
  [aLow, aHigh, bLow, bHigh]: readonly [number, number, number, number],
): Match {
  const { a, b, places } = texts
  let [bestA, bestB, bestSize] = [aLow, bLow, 0]
  let lengths = new Map<number, number>()
  for (let i = aLow; i < aHigh && texts.pairs < pairsMax; i++) {
    texts.pairs++
    const next = new Map<number, number>()
    for (const j of places.get(a[i] ?? '') ?? []) {
      if (j < bLow) continue
      if (j >= bHigh) break
      texts.pairs++
      const length = (lengths.get(j - 1) ?? 0) + 1
      next.set(j, length)
      if (length > bestSize) [bestA, bestB, bestSize] = [i - length + 1, j - length + 1, length]
    }
    lengths = next
  }
  while (bestA > aLow && bestB > bLow && a[bestA - 1] === b[bestB - 1]) {
    ;[bestA, bestB, bestSize] = [bestA - 1, bestB - 1, bestSize + 1]
  }
  while (
    bestA + bestSize < aHigh &&
    bestB + bestSize < bHigh &&
    a[bestA + bestSize] === b[bestB + bestSize]
  ) {
    bestSize++
  }
  return { a: bestA, b: bestB, size: bestSize }
}

function operationsOf(a: readonly string[], b: readonly string[]): Operation[] {
  const operations: Operation[] = []
  let [aAt, bAt] = [0, 0]
  const matches = [...matchesOf(a, b), { a: a.length, b: b.length, size: 0 }]
  for (const match of matches) {
    if (aAt < match.a || bAt < match.b) {
      operations.push({ isEqual: false, aStart: aAt, aEnd: match.a, bStart: bAt, bEnd: match.b })
    }
    ;[aAt, bAt] = [match.a + match.size, match.b + match.size]
    if (match.size > 0) {
      const { a: aStart, b: bStart } = match
      const last = operations.at(-1)
      if (last?.isEqual === true) {
        operations[operations.length - 1] = { ...last, aEnd: aAt, bEnd: bAt }
      } else operations.push({ isEqual: true, aStart, aEnd: aAt, bStart, bEnd: bAt })
    }
  }
  return operations
}

/** The operations of each hunk: with a few equal lines around, and never more of them. */
function groupsOf(operations: readonly Operation[]): Operation[][] {
  const groups: Operation[][] = []
  let group: Operation[] = []
  for (const [i, operation] of operations.entries()) {
    const [isFirst, isLast] = [i === 0, i === operations.length - 1]
    const { isEqual, aStart, aEnd, bStart, bEnd } = operation
    const fromStart = { isEqual, aStart, bStart, aEnd: aStart + context, bEnd: bStart + context }
    const toEnd = { isEqual, aEnd, bEnd, aStart: aEnd - context, bStart: bEnd - context }
    const size = aEnd - aStart
    if (!isEqual || (size <= 2 * context && !isFirst && !isLast)) group.push(operation)
    else if (isFirst) group.push(size > context ? toEnd : operation)
    else if (isLast) group.push(size > context ? fromStart : operation)
    else {
      groups.push([...group, fromStart])
      group = [toEnd]
    }
  }
  groups.push(group)
  return groups.filter(members => members.some(({ isEqual }) => !isEqual))
}

function hunk(group: readonly Operation[], a: readonly string[], b: readonly string[]): string {
  const [first, last] = [group[0], group.at(-1)] as [Operation, Operation]
  const lines = group.flatMap(({ isEqual, aStart, aEnd, bStart, bEnd }) =>
    isEqual
      ? a.slice(aStart, aEnd).map(line => ` ${line}`)
      : [
          ...a.slice(aStart, aEnd).map(line => `-${line}`),
          ...b.slice(bStart, bEnd).map(line => `+${line}`),
        ],
  )
  const head = `@@ -${range(first.aStart, last.aEnd)} +${range(first.bStart, last.bEnd)} @@\n`
  return head + lines.join('')
}

function range(start: number, end: number): string {
  const length = end - start
  if (length === 1) return String(start + 1)
  return `${length === 0 ? start : start + 1},${length}`
}
