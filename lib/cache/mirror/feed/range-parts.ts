/** Splits a large range into parts that are cheap to read in pages.
 *
 *  etcd counts all keys of the range that it was asked for, whatever the limit: a page of a range
 *  with a million keys costs a walk over the million. Read in pages to its end, such a range costs
 *  time that grows with the square of its keys. Parts with a bounded number of keys cost the same
 *  for each key, however many there are.
 *
 *  Where to split is found by asking: how many keys lie at or above the middle of a part, and which
 *  is the first of them. An empty upper half costs etcd nothing and narrows the part; anything else
 *  is a split. A million keys take about 300 questions, for which etcd counts 3 to 4 keys for each
 *  one that is read. (Guessing that a folder ends where a part does takes half as many questions,
 *  and five times as much counting.) Parts are split when they are wanted, the first one first, so
 *  that reading begins at once. */

import type { Key, KeyRange } from '@watchglass/base'

/** A range and how many keys it has, at the revision of the read. */
export interface CountedRange {
  readonly range: KeyRange
  readonly count: number
}

/** The part to read next. */
export interface NextPart extends CountedRange {
  /** Number of keys in the parts after it. */
  readonly after: number
}

/** Counts the keys from `start` up to the end of the range that is split, and finds the first of
 *  them. */
export type CountFrom = (range: KeyRange) => Promise<{ count: number; first: Key | undefined }>

/** A part that is asked about so often in a row without getting smaller in keys is read as it is.
 *  Its keys share a long beginning, or there are next to none on one side of each middle. */
const fruitlessMax = 200

export class RangeParts {
  readonly #countFrom: CountFrom
  readonly #partMaxEntries: number
  /** The parts that are not returned yet; the first one is last. */
  readonly #left: CountedRange[]

  constructor(whole: CountedRange, partMaxEntries: number, countFrom: CountFrom) {
    this.#countFrom = countFrom
    this.#partMaxEntries = partMaxEntries
    this.#left = [whole]
  }

  /** The next part in key order; `undefined` after the last one. */
  async next(): Promise<NextPart | undefined> {
    const first = this.#left.pop()
    if (first === undefined) return undefined
    let { range, count } = await this.#split(first)
    for (;;) {
      const neighbour = this.#left.at(-1)
      if (neighbour === undefined || count + neighbour.count > this.#partMaxEntries) break
      this.#left.pop()
      range = { start: range.start, end: neighbour.range.end }
      count += neighbour.count
    }
    const after = this.#left.reduce((sum, part) => sum + part.count, 0)
    return { range, count, after }
  }

  /** The first small enough part of `part`; the rest is put back. */
  async #split(part: CountedRange): Promise<CountedRange> {
    let { range, count } = part
    for (let fruitless = 0; count > this.#partMaxEntries && fruitless < fruitlessMax; fruitless++) {
      const middle = keyBetween(range)
      if (middle === undefined) break
      const { count: above, first } = await this.#countFrom({ start: middle, end: range.end })
      if (first === undefined) {
        range = { start: range.start, end: middle }
      } else if (above >= count) {
        range = { start: first, end: range.end }
      } else {
        this.#left.push({ range: { start: first, end: range.end }, count: above })
        range = { start: range.start, end: middle }
        count -= above
        fruitless = 0
      }
    }
    return { range, count }
  }
}

/** Bytes that are compared as one number: as many as a number holds exactly, with one bit to spare
 *  for a sum. */
const digits = 6

/** A key about halfway between the ends of a range, strictly between them; `undefined` where six
 *  bytes cannot tell. */
export function keyBetween({ start, end }: KeyRange): Key | undefined {
  let shared = 0
  if (end !== undefined) {
    while (shared < start.length && start.charCodeAt(shared) === end.charCodeAt(shared)) shared++
  }
  const low = numberAt(start, shared)
  const high = end === undefined ? 256 ** digits : numberAt(end, shared)
  const middle = Math.floor((low + high) / 2)
  if (middle <= low || middle >= high) return undefined
  let bytes = ''
  for (let rest = middle, i = 0; i < digits; i++, rest = Math.floor(rest / 256)) {
    bytes = String.fromCharCode(rest % 256) + bytes
  }
  return (start.slice(0, shared) + bytes) as Key
}

function numberAt(key: Key, from: number): number {
  let number = 0
  for (let i = from; i < from + digits; i++) {
    number = number * 256 + (i < key.length ? key.charCodeAt(i) : 0)
  }
  return number
}
