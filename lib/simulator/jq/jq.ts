/** The part of jq's language that selects and computes: paths, `select`, pipes, comparisons,
 *  arithmetic, conditions and the functions of `functions.ts`. An expression becomes a function
 *  that hands on each of its values. What is not understood is refused when it is read, not when it
 *  runs. A run is bounded: expressions may multiply their values. */

import { functions, operators } from './functions.ts'
import { type JqToken, tokensOf } from './lexer.ts'
import { JqProblem } from './problem.ts'
import { isList, isTrue, itemsOf, JqError, type JqValue, memberOf, typeOf } from './values.ts'

/** Values that one run may hand on, in all its parts together. */
const stepsMax = 20_000
const depthMax = 100

interface Run {
  steps: number
}

type Emit = (value: JqValue) => void
type Filter = (input: JqValue, emit: Emit, run: Run) => void

/** An expression that runs. */
export class Jq {
  readonly #filter: Filter

  /** Throws `JqProblem`. */
  constructor(source: string) {
    this.#filter = new Parser(source).whole()
  }

  /** All its values but null, as kwok takes them; undefined if it fails. */
  valuesOf(input: JqValue): readonly JqValue[] | undefined {
    const values: JqValue[] = []
    try {
      this.#filter(input, value => value !== null && values.push(value), { steps: 0 })
    } catch (error) {
      if (error instanceof JqError) return undefined
      throw error
    }
    return values
  }
}

function step(run: Run): void {
  if (++run.steps > stepsMax) throw new JqError(`more than ${String(stepsMax)} steps`)
}

const identity: Filter = (input, emit) => emit(input)

function constant(value: JqValue): Filter {
  return (_, emit) => emit(value)
}

function piped(first: Filter, then: Filter): Filter {
  if (first === identity) return then
  return (input, emit, run) =>
    first(
      input,
      value => {
        step(run)
        then(value, emit, run)
      },
      run,
    )
}

function collected(filter: Filter, input: JqValue, run: Run): JqValue[] {
  const values: JqValue[] = []
  filter(
    input,
    value => {
      step(run)
      values.push(value)
    },
    run,
  )
  return values
}

/** A function of the values of other filters, called for each combination of them. */
function computed(
  of: (input: JqValue, args: readonly JqValue[]) => JqValue,
  args: readonly Filter[],
): Filter {
  return (input, emit, run) => {
    const next = (known: readonly JqValue[]): void => {
      // The last argument varies slowest, as in jq.
      const arg = args[args.length - 1 - known.length]
      if (arg === undefined) emit(of(input, known))
      else for (const value of collected(arg, input, run)) next([value, ...known])
    }
    next([])
  }
}

/** An error is as no value. */
function tried(filter: Filter): Filter {
  return (input, emit, run) => {
    const values: JqValue[] = []
    try {
      filter(input, value => values.push(value), run)
    } catch (error) {
      if (!(error instanceof JqError) || run.steps > stepsMax) throw error
    }
    for (const value of values) emit(value)
  }
}

function alternative(first: Filter, second: Filter): Filter {
  return (input, emit, run) => {
    const values = collected(tried(first), input, run).filter(isTrue)
    if (values.length === 0) second(input, emit, run)
    else for (const value of values) emit(value)
  }
}

/** `and` needs its second side only if the first is true, `or` if it is false. */
function logic(isAnd: boolean, first: Filter, second: Filter): Filter {
  return (input, emit, run) => {
    for (const value of collected(first, input, run)) {
      if (isTrue(value) !== isAnd) emit(!isAnd)
      else for (const other of collected(second, input, run)) emit(isTrue(other))
    }
  }
}

function conditional(test: Filter, yes: Filter, no: Filter): Filter {
  return (input, emit, run) => {
    for (const value of collected(test, input, run)) (isTrue(value) ? yes : no)(input, emit, run)
  }
}

/** Functions whose arguments are filters, not their values. */
const forms: ReadonlyMap<string, (...args: readonly Filter[]) => Filter> = new Map<
  string,
  (...args: readonly Filter[]) => Filter
>([
  ['empty/0', () => () => {}],
  ['select/1', (test = identity) => conditional(test, identity, () => {})],
  ['map/1', (filter = identity) => listOf(piped(iterated, filter))],
  ['any/1', (filter = identity) => quantified(filter, values => values.some(isTrue))],
  ['all/1', (filter = identity) => quantified(filter, values => values.every(isTrue))],
  [
    'first/1',
    (filter = identity) =>
      (input, emit, run) => {
        const [value] = collected(filter, input, run)
        if (value !== undefined) emit(value)
      },
  ],
  [
    'last/1',
    (filter = identity) =>
      (input, emit, run) => {
        const value = collected(filter, input, run).at(-1)
        if (value !== undefined) emit(value)
      },
  ],
])

const iterated: Filter = (input, emit) => {
  for (const value of itemsOf(input)) emit(value)
}

function listOf(filter: Filter): Filter {
  return (input, emit, run) => emit(collected(filter, input, run))
}

function quantified(filter: Filter, test: (values: readonly JqValue[]) => boolean): Filter {
  const each = piped(iterated, filter)
  return (input, emit, run) => emit(test(collected(each, input, run)))
}

const binary: readonly (readonly string[])[] = [
  ['or'],
  ['and'],
  ['==', '!=', '<', '<=', '>', '>='],
  ['+', '-'],
  ['*', '/', '%'],
]

class Parser {
  readonly #source: string
  readonly #tokens: readonly JqToken[]
  #at = 0
  #depth = 0

  constructor(source: string) {
    this.#source = source
    this.#tokens = tokensOf(source)
  }

  whole(): Filter {
    const filter = this.#pipe()
    if (this.#next.kind !== 'end') throw this.#unexpected()
    return filter
  }

  get #next(): JqToken {
    return this.#tokens[this.#at] ?? { kind: 'end', text: '', at: 0 }
  }

  #unexpected(): JqProblem {
    const { kind, text } = this.#next
    const what =
      kind === 'end' ? 'it ends too early' : `${JSON.stringify(text)} is not understood here`
    return new JqProblem(what, this.#source)
  }

  #takes(text: string): boolean {
    const { kind } = this.#next
    if (this.#next.text !== text || kind === 'text' || kind === 'end') return false
    this.#at++
    return true
  }

  #expect(text: string): void {
    if (!this.#takes(text)) throw this.#unexpected()
  }

  #pipe(): Filter {
    if (++this.#depth > depthMax) throw new JqProblem('it is nested too deep', this.#source)
    const first = this.#comma()
    const filter = this.#takes('|') ? piped(first, this.#pipe()) : first
    this.#depth--
    return filter
  }

  #comma(): Filter {
    const filters = [this.#alternative()]
    while (this.#takes(',')) filters.push(this.#alternative())
    const [only] = filters
    if (filters.length === 1 && only !== undefined) return only
    return (input, emit, run) => filters.forEach(filter => filter(input, emit, run))
  }

  #alternative(): Filter {
    const first = this.#binary(0)
    return this.#takes('//') ? alternative(first, this.#alternative()) : first
  }

  #binary(level: number): Filter {
    const names = binary[level]
    if (names === undefined) return this.#postfix()
    let left = this.#binary(level + 1)
    for (;;) {
      const name = names.find(one => this.#takes(one))
      if (name === undefined) return left
      const right = this.#binary(level + 1)
      left = joinedBy(name, left, right)
    }
  }

  #postfix(): Filter {
    let filter = this.#term()
    for (;;) {
      const { kind, text } = this.#next
      if (kind === 'field') {
        this.#at++
        filter = piped(filter, member(text.slice(1)))
      } else if (this.#takes('[')) filter = this.#index(filter)
      else if (this.#takes('?')) filter = tried(filter)
      else if (text === '.' && this.#tokens[this.#at + 1]?.text === '[') this.#at++
      else if (text === '.' && this.#tokens[this.#at + 1]?.kind === 'text') {
        this.#at++
        filter = piped(filter, member(this.#text()))
      } else return filter
    }
  }

  #text(): string {
    const { text } = this.#next
    this.#at++
    return JSON.parse(text) as string
  }

  /** The rest behind `[`, applied to the values of a filter. */
  #index(of: Filter): Filter {
    if (this.#takes(']')) return piped(of, iterated)
    if (this.#takes(':')) return this.#slice(of, constant(null))
    const key = this.#pipe()
    if (this.#takes(':')) return this.#slice(of, key)
    this.#expect(']')
    return (input, emit, run) => {
      for (const value of collected(of, input, run)) {
        // The key is about the input, not about the value.
        for (const name of collected(key, input, run)) emit(memberOf(value, name))
      }
    }
  }

  #slice(of: Filter, from: Filter): Filter {
    const to = this.#next.text === ']' ? constant(null) : this.#pipe()
    this.#expect(']')
    return computed(
      (_, [value = null, start = null, end = null]) => slice(value, start, end),
      [of, from, to],
    )
  }

  #term(): Filter {
    const { kind, text } = this.#next
    if (kind === 'field') {
      this.#at++
      return member(text.slice(1))
    }
    if (kind === 'text') return constant(this.#text())
    if (kind === 'number') {
      this.#at++
      return constant(Number(text))
    }
    if (kind === 'name') return this.#named()
    if (this.#takes('.')) {
      return this.#next.kind === 'text' ? member(this.#text()) : identity
    }
    if (this.#takes('-')) return computed((_, [value = null]) => negated(value), [this.#postfix()])
    if (this.#takes('(')) {
      const filter = this.#pipe()
      this.#expect(')')
      return filter
    }
    if (this.#takes('[')) {
      if (this.#takes(']')) return constant([])
      const filter = this.#pipe()
      this.#expect(']')
      return listOf(filter)
    }
    if (this.#takes('{')) return this.#object()
    throw this.#unexpected()
  }

  #named(): Filter {
    const { text: name } = this.#next
    if (this.#takes('if')) return this.#conditional()
    this.#at++
    const args: Filter[] = []
    if (this.#takes('(')) {
      do args.push(this.#pipe())
      while (this.#takes(';'))
      this.#expect(')')
    }
    const signature = `${name}/${String(args.length)}`
    const form = forms.get(signature)
    if (form !== undefined) return form(...args)
    const known = functions.get(signature)
    if (known !== undefined) return computed((input, values) => known(input, ...values), args)
    throw new JqProblem(`the function ${signature} is not known here`, this.#source)
  }

  /** The rest behind `if` or `elif`. */
  #conditional(): Filter {
    const test = this.#pipe()
    this.#expect('then')
    const yes = this.#pipe()
    if (this.#takes('elif')) return conditional(test, yes, this.#conditional())
    const no = this.#takes('else') ? this.#pipe() : identity
    this.#expect('end')
    return conditional(test, yes, no)
  }

  /** The rest behind `{`. */
  #object(): Filter {
    const keys: Filter[] = []
    const values: Filter[] = []
    while (!this.#takes('}')) {
      if (keys.length > 0) this.#expect(',')
      const { kind, text } = this.#next
      if (this.#takes('(')) {
        keys.push(this.#pipe())
        this.#expect(')')
      } else if (kind === 'text') keys.push(constant(this.#text()))
      else if (kind === 'name') {
        this.#at++
        keys.push(constant(text))
      } else throw this.#unexpected()
      if (this.#takes(':')) values.push(this.#alternative())
      else if (kind === 'name') values.push(member(text))
      else throw this.#unexpected()
    }
    const count = keys.length
    return computed(
      (_, parts) => objectOf(parts.slice(0, count), parts.slice(count)),
      [...keys, ...values],
    )
  }
}

function joinedBy(name: string, left: Filter, right: Filter): Filter {
  if (name === 'and' || name === 'or') return logic(name === 'and', left, right)
  const operator = operators[name]
  if (operator === undefined) throw new Error(`no operator ${name}`)
  return computed((_, [a = null, b = null]) => operator(a, b), [left, right])
}

function member(name: string): Filter {
  return (input, emit) => emit(memberOf(input, name))
}

function negated(value: JqValue): JqValue {
  if (typeof value !== 'number') throw new JqError(`cannot negate: ${typeOf(value)}`)
  return -value
}

function slice(value: JqValue, start: JqValue, end: JqValue): JqValue {
  if (value === null) return null
  const [from, to] = [numberOr(start, 0), numberOr(end, Infinity)]
  if (isList(value)) return value.slice(from, to)
  if (typeof value === 'string') return Array.from(value).slice(from, to).join('')
  throw new JqError(`cannot slice: ${typeOf(value)}`)
}

function numberOr(value: JqValue, otherwise: number): number {
  if (value === null) return otherwise
  if (typeof value !== 'number') throw new JqError(`a slice has no place ${typeOf(value)}`)
  return value
}

function objectOf(keys: readonly JqValue[], values: readonly JqValue[]): JqValue {
  const entries = keys.map((key, i) => {
    if (typeof key !== 'string') throw new JqError(`expected a string for a key: ${typeOf(key)}`)
    return [key, values[i] ?? null] as const
  })
  return Object.fromEntries(entries)
}
