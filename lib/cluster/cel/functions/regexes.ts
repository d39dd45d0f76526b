/** Regular expressions of Go in expressions. The work of matching is bounded beside the cost that
 *  Kubernetes counts, which knows nothing of how many states a pattern has. */

import { goPattern, type GoPattern, isGoPattern } from '../../texts/go-pattern.ts'
import { CostExceeded, failure } from '../values/errors.ts'

/** States that one run may follow: 150 ns each. */
const statesMax = 2_000_000
let statesLeft = statesMax

/** Begins a run, which has a bound of its own. */
export function renewPatternWork(): void {
  statesLeft = statesMax
}

function spend(states: number): void {
  statesLeft -= states
  if (statesLeft < 0) throw new CostExceeded()
}

function patternOf(source: string): GoPattern {
  const pattern = goPattern(source)
  if (!isAccepted(source)) throw failure(`Illegal regex: error parsing regexp: \`${source}\``)
  return pattern
}

const accepted = new Map<string, boolean>()
const acceptedMax = 1_000

function isAccepted(source: string): boolean {
  let known = accepted.get(source)
  if (known === undefined) {
    known = isGoPattern(source)
    if (accepted.size >= acceptedMax) accepted.clear()
    accepted.set(source, known)
  }
  return known
}

export function matchesIn(text: string, source: string): boolean {
  return patternOf(source).test(text, spend)
}

/** The first place where the pattern occurs, or an empty text. */
export function findIn(text: string, source: string): string {
  const chars = Array.from(text)
  const found = patternOf(source).find(chars, 0, spend)
  return found === undefined ? '' : chars.slice(found.start, found.end).join('')
}

/** All places, or the first so many. */
export function findAllIn(text: string, source: string, max: number): string[] {
  const pattern = patternOf(source)
  const chars = Array.from(text)
  const all: string[] = []
  let lastEnd = -1
  for (let from = 0; from <= chars.length && (max < 0 || all.length < max);) {
    const found = pattern.find(chars, from, spend)
    if (found === undefined) break
    const isEmpty = found.start === found.end
    // An empty match just after another one does not count.
    if (!isEmpty || found.start !== lastEnd) {
      all.push(chars.slice(found.start, found.end).join(''))
    }
    lastEnd = found.end
    from = isEmpty ? found.end + 1 : found.end
  }
  return all
}
