/** Label selectors: `app=web,tier in (front,back),!legacy,n>3`, with the grammar and the error
 *  texts of k8s.io/apimachinery's package labels.
 *
 *  ```
 *  selector    = [ requirement { "," requirement } ]
 *  requirement = [ "!" ] key | key ( "=" | "==" | "!=" | ">" | "<" ) [ value ]
 *              | key ( "in" | "notin" ) "(" values ")"
 *  ``` */

import { goParseInt } from '@watchglass/go'
import type { Schema } from '@watchglass/codec'
import {
  invalidLabelKey,
  invalidLabelValue,
  invalidValue,
  labelWords,
  type LabelWords,
} from './label-names.ts'
import { type LabelToken, scanLabelSelector } from './label-tokens.ts'
import { badRequest } from '../status.ts'

/** `in` also stands for `=` with its one value, and `notin` for `!=`. */
export type LabelOperator = 'in' | 'notin' | 'exists' | 'absent' | 'above' | 'below'

/** One condition; an object must meet all. */
export interface LabelRequirement {
  readonly key: string
  readonly operator: LabelOperator
  /** Sorted, without duplicates: exactly one value for `above` and `below`, none for `exists` and
   *  `absent`. */
  readonly values: ReadonlySet<string>
}

/** The value of an object's label, or undefined if the object has no such label. */
export type LabelLookup = (key: string) => string | undefined

/** A parsed label selector; without requirements it selects everything. */
export class LabelSelector {
  readonly requirements: readonly LabelRequirement[]
  readonly isEmpty: boolean

  constructor(requirements: readonly LabelRequirement[]) {
    this.requirements = requirements
    this.isEmpty = requirements.length === 0
  }

  matches(label: LabelLookup): boolean {
    for (const requirement of this.requirements) {
      if (!meets(requirement, label(requirement.key))) return false
    }
    return true
  }
}

/** Selects everything. */
export const everyLabel: LabelSelector = new LabelSelector([])

/** Whether a label's value meets a requirement for its key. */
export function meets(requirement: LabelRequirement, value: string | undefined): boolean {
  const { operator, values } = requirement
  switch (operator) {
    case 'in':
      return value !== undefined && values.has(value)
    case 'notin':
      return value === undefined || !values.has(value)
    case 'exists':
      return value !== undefined
    case 'absent':
      return value === undefined
    case 'above':
      return compareWithBound(value, values) > 0
    case 'below':
      return compareWithBound(value, values) < 0
  }
}

/** Positive if the value is above the bound; zero if they are equal or the value is not a
 *  number. */
function compareWithBound(value: string | undefined, values: ReadonlySet<string>): number {
  if (value === undefined) return 0
  const [bound = ''] = values
  const number = goParseInt(value).value
  const limit = goParseInt(bound).value
  if (number === undefined || limit === undefined) return 0
  return number > limit ? 1 : number < limit ? -1 : 0
}

/** Parses a selector; refuses a malformed one with upstream's 400, as servers of the version do.
 *  O(length). */
export function parseLabelSelector(text: string, schema: Pick<Schema, 'has'>): LabelSelector {
  if (text === '') return everyLabel
  return new LabelSelector(new LabelParser(scanLabelSelector(text), schema).parse())
}

/** A message that will be wrapped into another, unlike a complete Status. */
class RequirementError extends Error {}

const operators: Readonly<Record<string, LabelOperator>> = {
  in: 'in',
  notin: 'notin',
  '=': 'in',
  '==': 'in',
  '!=': 'notin',
  '>': 'above',
  '<': 'below',
}

const noValues: ReadonlySet<string> = new Set()

class LabelParser {
  readonly #tokens: readonly LabelToken[]
  readonly #schema: Pick<Schema, 'has'>
  #position = 0

  constructor(tokens: readonly LabelToken[], schema: Pick<Schema, 'has'>) {
    this.#tokens = tokens
    this.#schema = schema
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = []
    for (;;) {
      const { type, text } = this.#peek()
      if (type === 'end') return requirements
      if (type !== 'identifier' && type !== '!') {
        throw badRequest(`found '${text}', expected: !, identifier, or 'end of string'`)
      }
      requirements.push(this.#wrappedRequirement())
      const next = this.#take()
      if (next.type === 'end') return requirements
      if (next.type !== ',') {
        throw badRequest(`found '${next.text}', expected: ',' or 'end of string'`)
      }
      const after = this.#peek()
      if (after.type !== 'identifier' && after.type !== '!') {
        throw badRequest(`found '${after.text}', expected: identifier after ','`)
      }
    }
  }

  #wrappedRequirement(): LabelRequirement {
    try {
      return this.#requirement()
    } catch (error) {
      if (!(error instanceof RequirementError)) throw error
      throw badRequest(`unable to parse requirement: ${error.message}`)
    }
  }

  #requirement(): LabelRequirement {
    const isNegated = this.#peek().type === '!'
    if (isNegated) this.#take()
    const { type, text: key } = this.#take()
    if (type !== 'identifier') throw new RequirementError(`found '${key}', expected: identifier`)
    const words = labelWords(this.#schema)
    failIf(invalidLabelKey(key, '<nil>', words))
    if (isNegated) return { key, operator: 'absent', values: noValues }
    const next = this.#peek().type
    if (next === 'end' || next === ',') return { key, operator: 'exists', values: noValues }
    const operator = this.#operator()
    const isSet = this.#previous() === 'in' || this.#previous() === 'notin'
    const values = sortedSet(isSet ? this.#values() : [this.#exactValue()])
    checkValues({ key, operator }, values, words)
    return { key, operator, values: new Set(values) }
  }

  #operator(): LabelOperator {
    const { type, text } = this.#takeRaw()
    const operator = type === 'identifier' ? undefined : operators[type]
    if (operator === undefined) {
      throw new RequirementError(`found '${text}', expected: in, notin, =, ==, !=, gt, lt`)
    }
    return operator
  }

  #values(): string[] {
    const open = this.#take()
    if (open.type !== '(') throw new RequirementError(`found '${open.text}' expected: '('`)
    const { type, text } = this.#peek()
    if (type === ')') {
      this.#take()
      return ['']
    }
    if (type !== 'identifier' && type !== ',') {
      throw new RequirementError(`found '${text}', expected: ',', ')' or identifier`)
    }
    const values = this.#list()
    if (this.#take().type !== ')') throw new RequirementError(`found '${text}', expected: ')'`)
    return values
  }

  /** Values up to the closing parenthesis. A comma with nothing beside it gives an empty value. */
  #list(): string[] {
    const values: string[] = []
    for (;;) {
      const { type, text } = this.#take()
      const next = this.#peek()
      if (type === 'identifier') {
        values.push(text)
        if (next.type === ')') return values
        if (next.type !== ',') {
          throw new RequirementError(`found '${next.text}', expected: ',' or ')'`)
        }
      } else if (type === ',') {
        if (values.length === 0) values.push('')
        if (next.type === ')') return [...values, '']
        if (next.type === ',') {
          if (!this.#schema.has('repeatedCommas')) this.#take()
          values.push('')
        }
      } else {
        throw new RequirementError(`found '${text}', expected: ',', or identifier`)
      }
    }
  }

  #exactValue(): string {
    const next = this.#peek().type
    if (next === 'end' || next === ',') return ''
    const { type, text } = this.#take()
    if (type !== 'identifier') throw new RequirementError(`found '${text}', expected: identifier`)
    return text
  }

  /** `in` and `notin` are ordinary words where no operator is expected. */
  #peek(): LabelToken {
    return asWord(this.#at(this.#position))
  }

  #take(): LabelToken {
    return asWord(this.#takeRaw())
  }

  #takeRaw(): LabelToken {
    const token = this.#at(this.#position)
    this.#position++
    return token
  }

  #previous(): string {
    return this.#at(this.#position - 1).type
  }

  #at(position: number): LabelToken {
    return this.#tokens[position] ?? { type: 'end', text: '' }
  }
}

function asWord(token: LabelToken): LabelToken {
  return token.type === 'in' || token.type === 'notin'
    ? { type: 'identifier', text: token.text }
    : token
}

function checkValues(
  { key, operator }: Pick<LabelRequirement, 'key' | 'operator'>,
  values: readonly string[],
  words: LabelWords,
): void {
  const problems: string[] = []
  const add = (problem: string | undefined): void => {
    if (problem !== undefined && !problems.includes(problem)) problems.push(problem)
  }
  if (operator === 'above' || operator === 'below') {
    for (const [i, value] of values.entries()) {
      if (goParseInt(value).error === undefined) continue
      const rule = "for 'Gt', 'Lt' operators, the value must be an integer"
      add(invalidValue(`values[${i}]`, value, [rule]))
    }
  }
  for (const [i, value] of values.entries()) {
    add(invalidLabelValue(value, `values[${i}][${key}]`, words))
  }
  if (problems.length > 0) {
    throw new RequirementError(problems.length === 1 ? problems.join() : `[${problems.join(', ')}]`)
  }
}

function failIf(problem: string | undefined): void {
  if (problem !== undefined) throw new RequirementError(problem)
}

/** In byte order, which is the order of code points. */
function sortedSet(values: readonly string[]): string[] {
  return [...new Set(values)].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}
