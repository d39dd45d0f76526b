/** Regular expressions of Go in expressions. */

import { goPattern, type GoPattern } from '@watchglass/go'
import { failure } from '../values/errors.ts'
import { ofItems, spendWork } from '../values/work.ts'

/** To read a character of a pattern, and to make its states. */
const readWork = 4

function patternOf(source: string, words = 'Illegal regex: '): GoPattern {
  spendWork(source.length * readWork)
  const pattern = goPattern(source)
  if (pattern.problem !== undefined) throw failure(words + pattern.problem)
  return pattern
}

function charsOf(text: string): readonly string[] {
  spendWork(ofItems(text.length))
  return Array.from(text)
}

export function matchesIn(text: string, source: string): boolean {
  return patternOf(source, '').test(text, spendWork)
}

/** The first place where the pattern occurs, or an empty text. */
export function findIn(text: string, source: string): string {
  const chars = charsOf(text)
  const found = patternOf(source).find(chars, 0, spendWork)
  return found === undefined ? '' : chars.slice(found.start, found.end).join('')
}

/** All places, or the first so many. */
export function findAllIn(text: string, source: string, max: number): string[] {
  const pattern = patternOf(source)
  const chars = charsOf(text)
  const all: string[] = []
  let lastEnd = -1
  for (let from = 0; from <= chars.length && (max < 0 || all.length < max);) {
    const found = pattern.find(chars, from, spendWork)
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
