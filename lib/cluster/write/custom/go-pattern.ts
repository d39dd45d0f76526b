/** Regular expressions in Go's syntax (RE2), matched in a time that grows with the length of the
 *  text only: patterns come from definitions that any client may write, so nothing may
 *  backtrack. A pattern becomes an automaton whose states are followed all at once. Matching
 *  says only whether the pattern occurs in a text. */

import { spend } from './budget.ts'
import { PatternParser, type PatternNode } from './go-pattern-parser.ts'

/** A pattern that can be matched. */
export interface GoPattern {
  readonly test: (text: string) => boolean
}

/** Compiled patterns are kept until they have so many states together. */
const keptStatesMax = 500_000
const kept = new Map<string, GoPattern>()
let keptStates = 0

/** The pattern compiled; one that Go refuses matches nothing. */
export function goPattern(source: string): GoPattern {
  let pattern = kept.get(source)
  if (pattern === undefined) {
    const node = accepted(source)
    pattern = node === undefined ? { test: () => false } : new Machine(node)
    keptStates += node === undefined ? 1 : statesOf(node)
    if (keptStates > keptStatesMax) {
      kept.clear()
      keptStates = 0
    }
    kept.set(source, pattern)
  }
  return pattern
}

/** True if Go accepts the pattern. */
export function isGoPattern(source: string): boolean {
  return accepted(source) !== undefined
}

function accepted(source: string): PatternNode | undefined {
  const node = new PatternParser(source).pattern()
  return node !== undefined && statesOf(node) <= statesMax ? node : undefined
}

/** Counted repetitions are written out, so a short pattern can have many states; Go has a limit
 *  as well. */
const statesMax = 50_000

function statesOf(node: PatternNode): number {
  switch (node.type) {
    case 'takes':
    case 'asks':
      return 1
    case 'sequence':
    case 'choice':
      return node.items.reduce((sum, item) => sum + statesOf(item), node.items.length)
    case 'repeat': {
      const { item, min, max } = node
      return 1 + (statesOf(item) + 1) * (max === Infinity ? min + 1 : max)
    }
  }
}

/** The actions of a state: takes a character, tests the position, or goes on to other states at
 *  once. */
type State =
  | { readonly takes: (char: string) => boolean; next: number }
  | { readonly asks: (before: string, after: string) => boolean; next: number }
  | { next: number; other: number }

class Machine implements GoPattern {
  readonly #states: State[] = []
  readonly #start: number

  constructor(node: PatternNode) {
    // The accepting state has no entry: its number is the number of states.
    const ends: ((end: number) => void)[] = []
    this.#start = this.#add(node, ends)
    const end = this.#states.length
    for (const set of ends) set(end)
  }

  test(text: string): boolean {
    const chars = Array.from(text)
    let current = new Set<number>()
    for (let i = 0; i <= chars.length; i++) {
      const [before = '', after = ''] = [chars[i - 1], chars[i]]
      const reached = new Set<number>()
      for (const state of [...current, this.#start]) this.#follow(state, reached, before, after)
      if (reached.has(this.#states.length)) return true
      spend('states', reached.size)
      current = new Set()
      if (i === chars.length) break
      for (const number of reached) {
        const state = this.#states[number]
        if (state !== undefined && 'takes' in state && state.takes(after)) current.add(state.next)
      }
    }
    return false
  }

  /** Adds the state and all that are reached without taking a character. */
  #follow(start: number, reached: Set<number>, before: string, after: string): void {
    const waiting = [start]
    for (let number = waiting.pop(); number !== undefined; number = waiting.pop()) {
      if (reached.has(number)) continue
      reached.add(number)
      const state = this.#states[number]
      if (state === undefined || 'takes' in state) continue
      if ('asks' in state) {
        if (state.asks(before, after)) waiting.push(state.next)
      } else waiting.push(state.next, state.other)
    }
  }

  /** Adds the states of a node. Returns the first; `ends` gets the states that are still to be
   *  linked to the next node. */
  #add(node: PatternNode, ends: ((end: number) => void)[]): number {
    switch (node.type) {
      case 'takes':
        return this.#push({ takes: node.takes, next: -1 }, ends)
      case 'asks':
        return this.#push({ asks: node.asks, next: -1 }, ends)
      case 'sequence':
        return this.#addSequence(node.items, ends)
      case 'choice':
        return this.#addChoice(node.items, ends)
      case 'repeat':
        return this.#addRepeat(node, ends)
    }
  }

  #push(state: State, ends: ((end: number) => void)[]): number {
    const number = this.#states.length
    this.#states.push(state)
    ends.push(end => (state.next = end))
    return number
  }

  /** A state that only goes on. */
  #pass(ends: ((end: number) => void)[]): number {
    return this.#push({ asks: () => true, next: -1 }, ends)
  }

  #addSequence(items: readonly PatternNode[], ends: ((end: number) => void)[]): number {
    let open: ((end: number) => void)[] = []
    const first = this.#pass(open)
    for (const item of items) {
      const inner: ((end: number) => void)[] = []
      const start = this.#add(item, inner)
      for (const set of open) set(start)
      open = inner
    }
    ends.push(...open)
    return first
  }

  #addChoice(items: readonly PatternNode[], ends: ((end: number) => void)[]): number {
    let first = -1
    for (const item of items.toReversed()) {
      const start = this.#add(item, ends)
      if (first === -1) first = start
      else {
        const fork = { next: start, other: first }
        first = this.#push(fork, [])
      }
    }
    return first
  }

  #addRepeat(
    { item, min, max }: { readonly item: PatternNode; readonly min: number; readonly max: number },
    ends: ((end: number) => void)[],
  ): number {
    let open: ((end: number) => void)[] = []
    const first = this.#pass(open)
    const append = (start: number, inner: ((end: number) => void)[]): void => {
      for (const set of open) set(start)
      open = inner
    }
    for (let i = 0; i < min; i++) {
      const inner: ((end: number) => void)[] = []
      append(this.#add(item, inner), inner)
    }
    if (max === Infinity) {
      const fork: { next: number; other: number } = { next: -1, other: -1 }
      const number = this.#push(fork, [])
      append(number, [])
      const inner: ((end: number) => void)[] = []
      fork.next = this.#add(item, inner)
      for (const set of inner) set(number)
      open.push(end => (fork.other = end))
    }
    for (let i = min; i < max && max !== Infinity; i++) {
      const fork: { next: number; other: number } = { next: -1, other: -1 }
      append(this.#push(fork, []), [])
      const inner: ((end: number) => void)[] = []
      fork.next = this.#add(item, inner)
      open = inner
      ends.push(end => (fork.other = end))
    }
    ends.push(...open)
    return first
  }
}
