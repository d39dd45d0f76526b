/** Regular expressions in Go's syntax (RE2), matched in a time that grows with the length of the
 *  text only: patterns come from definitions that any client may write, so nothing may
 *  backtrack. A pattern becomes an automaton whose states are followed all at once.
 *
 *  Whether a pattern occurs in a text is asked most. The sets of states that were met are kept
 *  with where each character leads from them, so that a character costs one look-up. */

import { atOnce, isStepDue, noteEffort, type Steps } from '@watchglass/base'
import { parsePattern, type PatternNode } from './go-pattern-parser.ts'

/** A pattern that can be matched. */
export interface GoPattern {
  /** Go's complaint about one that it refuses; such a one matches nothing. */
  readonly problem: string | undefined
  /** True if it occurs in the text. */
  readonly test: (text: string, spend?: Spend) => boolean
  /** `test` of a long text in steps. */
  readonly testInSteps: (text: string, spend: Spend) => Steps<boolean>
  /** The first place where it occurs, not before `from`, as Go finds it; places are in `chars`. */
  readonly find: (chars: readonly string[], from: number, spend?: Spend) => Found | undefined
}

export interface Found {
  readonly start: number
  readonly end: number
}

/** Takes the work of matching, in states that are followed; it may throw. */
export type Spend = (states: number) => void

const free: Spend = () => undefined

/** Compiled patterns are kept until they have so many states together. */
const keptStatesMax = 500_000
const kept = new Map<string, GoPattern>()
let keptStates = 0

/** The pattern compiled; one that Go refuses matches nothing. */
export function goPattern(source: string): GoPattern {
  let pattern = kept.get(source)
  if (pattern === undefined) {
    const node = parsed(source)
    pattern = typeof node === 'string' ? refused(node) : new Machine(node)
    keptStates += typeof node === 'string' ? source.length + 1 : statesOf(node)
    if (keptStates > keptStatesMax) {
      kept.clear()
      keptStates = 0
    }
    kept.set(source, pattern)
  }
  return pattern
}

function* nowhere(): Steps<boolean> {
  yield
  return false
}

function refused(problem: string): GoPattern {
  return { problem, test: () => false, testInSteps: nowhere, find: () => undefined }
}

/** The problem of a pattern that is not matched yet: `error parsing regexp: unexpected ): …`. */
export function patternProblem(source: string): string | undefined {
  const node = parsed(source)
  return typeof node === 'string' ? node : undefined
}

function parsed(source: string): PatternNode | string {
  const node = parsePattern(source)
  if (typeof node === 'string' || statesOf(node) <= statesMax) return node
  return `error parsing regexp: expression too large: \`${source}\``
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
 *  once, those that come first with preference. */
type State =
  | { readonly takes: (char: string) => boolean; next: number }
  | { readonly asks: (before: string, after: string) => boolean; next: number }
  | { next: number; other: number }

/** A set of states after a character, and where the next character leads. */
interface Met {
  readonly states: readonly number[]
  /** The character before, or one like it. */
  readonly before: string
  /** By the code of the character; undefined: not met yet. */
  readonly ascii: (Met | true | undefined)[]
  readonly others: Map<string, Met | true>
  /** True if the pattern matches at the end of the text. */
  end: boolean | undefined
  /** True until its first character has been looked at: many states were followed then. */
  isNew: boolean
}

/** When more sets than these are met, all are forgotten. */
const metMax = 1_000
/** Characters that cost as much as following one state. */
const charactersPerState = 16

/** Characters that are looked up in one step. */
const charactersPerStep = 4096
/** States that are followed in the time of a small thing. */
const statesPerEffort = 4

/** A way through the automaton, and where it began. */
interface Thread {
  readonly state: number
  readonly start: number
}

class Machine implements GoPattern {
  readonly problem = undefined
  readonly #states: State[] = []
  readonly #start: number
  readonly #met = new Map<string, Met>()

  constructor(node: PatternNode) {
    // The accepting state has no entry: its number is the number of states.
    const ends: ((end: number) => void)[] = []
    this.#start = this.#add(node, ends)
    const end = this.#states.length
    for (const set of ends) set(end)
  }

  test(text: string, spend: Spend = free): boolean {
    return atOnce(this.testInSteps(text, spend))
  }

  *testInSteps(text: string, spend: Spend): Steps<boolean> {
    spend(text.length / charactersPerState)
    let met = this.#metAfter([], '')
    for (let i = 0; i < text.length; i++) {
      if (i % charactersPerStep === 0 || met.isNew) {
        met.isNew = false
        if (isStepDue()) yield
      }
      const code = text.charCodeAt(i)
      let next: Met | true | undefined
      if (code < 128) {
        next = met.ascii[code] ??= this.#step(met, String.fromCharCode(code), spend)
      } else {
        const char = String.fromCodePoint(text.codePointAt(i) ?? code)
        next = met.others.get(char)
        if (next === undefined) {
          next = this.#step(met, char, spend)
          if (met.others.size < metMax) met.others.set(char, next)
        }
        i += char.length - 1
      }
      if (next === true) return true
      met = next
    }
    met.end ??= this.#reached(met, '', spend).has(this.#states.length)
    return met.end
  }

  /** The states that are reached before a character. */
  #reached({ states, before }: Met, after: string, spend: Spend): Set<number> {
    const reached = new Set<number>()
    for (const state of states) this.#follow(state, reached, before, after)
    this.#follow(this.#start, reached, before, after)
    spend(reached.size)
    noteEffort(reached.size / statesPerEffort)
    return reached
  }

  #step(met: Met, char: string, spend: Spend): Met | true {
    const reached = this.#reached(met, char, spend)
    if (reached.has(this.#states.length)) return true
    const next = new Set<number>()
    for (const number of reached) {
      const state = this.#states[number]
      if (state !== undefined && 'takes' in state && state.takes(char)) next.add(state.next)
    }
    const alike = char === '\n' ? char : /^\w$/.test(char) ? 'a' : ' '
    return this.#metAfter(
      [...next].sort((a, b) => a - b),
      alike,
    )
  }

  #metAfter(states: readonly number[], before: string): Met {
    const key = `${before}${states.join()}`
    let met = this.#met.get(key)
    if (met === undefined) {
      if (this.#met.size >= metMax) this.#met.clear()
      met = { states, before, ascii: [], others: new Map(), end: undefined, isNew: true }
      this.#met.set(key, met)
    }
    return met
  }

  find(chars: readonly string[], from: number, spend: Spend = free): Found | undefined {
    let found: Found | undefined
    let threads: Thread[] = []
    for (let i = from; i <= chars.length; i++) {
      const [before = '', after = ''] = [chars[i - 1], chars[i]]
      const reached = new Set<number>()
      const open: Thread[] = []
      const follow = (number: number, start: number): void => {
        for (const state of this.#follow(number, reached, before, after)) {
          open.push({ state, start })
        }
      }
      for (const { state, start } of threads) follow(state, start)
      if (found === undefined) follow(this.#start, i)
      spend(reached.size)
      threads = []
      for (const { state: number, start } of open) {
        if (number === this.#states.length) {
          found = { start, end: i }
          break
        }
        const state = this.#states[number]
        if (state !== undefined && 'takes' in state && i < chars.length && state.takes(after)) {
          threads.push({ state: state.next, start })
        }
      }
      if (threads.length === 0 && found !== undefined) break
    }
    return found
  }

  /** Adds the state and all that are reached without taking a character, preferred ones first.
   *  Returns those that are new. */
  #follow(start: number, reached: Set<number>, before: string, after: string): number[] {
    const waiting = [start]
    const added: number[] = []
    for (let number = waiting.pop(); number !== undefined; number = waiting.pop()) {
      if (reached.has(number)) continue
      reached.add(number)
      added.push(number)
      const state = this.#states[number]
      if (state === undefined || 'takes' in state) continue
      if ('asks' in state) {
        if (state.asks(before, after)) waiting.push(state.next)
      } else waiting.push(state.other, state.next)
    }
    return added
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
    { item, min, max, isLazy }: PatternNode & { readonly type: 'repeat' },
    ends: ((end: number) => void)[],
  ): number {
    const [into, past] = isLazy ? (['other', 'next'] as const) : (['next', 'other'] as const)
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
      fork[into] = this.#add(item, inner)
      for (const set of inner) set(number)
      open.push(end => (fork[past] = end))
    }
    for (let i = min; i < max && max !== Infinity; i++) {
      const fork: { next: number; other: number } = { next: -1, other: -1 }
      append(this.#push(fork, []), [])
      const inner: ((end: number) => void)[] = []
      fork[into] = this.#add(item, inner)
      open = inner
      ends.push(end => (fork[past] = end))
    }
    ends.push(...open)
    return first
  }
}
