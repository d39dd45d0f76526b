/** The name that somebody may have meant. */

/** The known name that is most like `text`; undefined if none is much like it. */
export function nearest(text: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  // A third of the letters may differ: `--upsteam` is --upstream, `--foo` is nothing.
  let bestDistance = Math.max(1, Math.floor(text.length / 3)) + 1
  for (const name of known) {
    const distance = editDistance(text, name)
    const isLikelier =
      best !== undefined &&
      distance === bestDistance &&
      !isPartOf(text, best) &&
      isPartOf(text, name)
    if (distance >= bestDistance && !isLikelier) continue
    best = name
    bestDistance = distance
  }
  return best ?? onlyOneWith(text, known)
}

/** Letters are left out more often than mistaken: `srve` is serve, and not save. */
function isPartOf(text: string, name: string): boolean {
  let at = 0
  for (const letter of name) if (letter === text[at]) at++
  return at === text.length
}

/** `cacert` is part of one option only, --etcd-cacert. */
function onlyOneWith(text: string, known: Iterable<string>): string | undefined {
  if (text.length < 4) return undefined
  const found = [...known].filter(name => name.includes(text))
  return found.length === 1 ? found[0] : undefined
}

/** The number of letters to put in, leave out, replace or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      let least = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (isSame ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, before[j - 2]! + 1)
      }
      next.push(least)
    }
    before = row
    row = next
  }
  return row[b.length]!
}
