/** Conditions on the columns of a row: `status!=Running and (restarts>5 or age<1h)`.
 *
 *  ```
 *  any        = all { ( "or" | "||" ) all }
 *  all        = one { ( "and" | "&&" ) one }
 *  one        = ( "not" | "!" ) one | "(" any ")" | exists | comparison
 *  exists     = "exists" "(" COLUMN ")"
 *  comparison = COLUMN ( "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "~" ) VALUE
 *             | COLUMN "in" "(" VALUE { "," VALUE } ")"
 *  ```
 *
 *  A column or value is a bare word, or a text in quotes. Whoever reads a mistake is told its
 *  place. */

import { badRequest } from '@watchglass/kube'
import { scanCondition, type ConditionToken } from './condition-tokens.ts'
import { numberOfValue } from './typed-value.ts'
import type { ViewColumn } from './view-column.ts'

export type Condition =
  | { readonly type: 'all' | 'any'; readonly parts: readonly Condition[] }
  | { readonly type: 'not'; readonly part: Condition }
  | { readonly type: 'exists'; readonly column: ViewColumn }
  | ColumnComparison

export type ComparisonOperator = '=' | '!=' | '<' | '<=' | '>' | '>=' | '~' | 'in'

export interface ColumnComparison {
  readonly type: 'compare'
  readonly column: ViewColumn
  readonly operator: ComparisonOperator
  /** One, but for `in`. */
  readonly values: readonly ComparedValue[]
}

/** A value as it was written, and as what its column has. */
export interface ComparedValue {
  readonly text: string
  /** Undefined for a text that is no number. */
  readonly number: number | undefined
}

/** The columns by name. */
export interface KnownColumns {
  find(name: string): ViewColumn | undefined
  problemOf(name: string): string
}

/** Bounds of what each row is compared with. */
const textMaxLength = 4096
const comparisonsMax = 64
const depthMax = 16

/** Refuses a mistake with its place. */
export function parseCondition(text: string, columns: KnownColumns): Condition {
  if (text.length > textMaxLength) {
    throw badRequest(`where: longer than ${textMaxLength} characters`)
  }
  return new ConditionParser(text, columns).whole()
}

class ConditionParser {
  readonly #tokens: readonly ConditionToken[]
  readonly #columns: KnownColumns
  #next = 0
  #depth = 0
  #comparisons = 0

  constructor(text: string, columns: KnownColumns) {
    const tokens = scanCondition(text)
    if ('unterminatedAt' in tokens) {
      throw mistake(tokens.unterminatedAt, 'the quoted text does not end')
    }
    this.#tokens = tokens
    this.#columns = columns
  }

  whole(): Condition {
    const condition = this.#any()
    if (this.#peek().type !== 'end') throw this.#expected('"and", "or" or the end')
    return condition
  }

  #any(): Condition {
    const parts = [this.#all()]
    while (this.#takes('or', '||')) parts.push(this.#all())
    const [only] = parts
    return only !== undefined && parts.length === 1 ? only : { type: 'any', parts }
  }

  #all(): Condition {
    const parts = [this.#one()]
    while (this.#takes('and', '&&')) parts.push(this.#one())
    const [only] = parts
    return only !== undefined && parts.length === 1 ? only : { type: 'all', parts }
  }

  #one(): Condition {
    const { at } = this.#peek()
    if (++this.#depth > depthMax) throw mistake(at, `nested deeper than ${depthMax}`)
    try {
      if (this.#takes('not', '!')) return { type: 'not', part: this.#one() }
      if (!this.#takesSign('(')) return this.#comparison()
      const inner = this.#any()
      this.#expect(')')
      return inner
    } finally {
      this.#depth--
    }
  }

  #comparison(): Condition {
    const first = this.#peek()
    if (++this.#comparisons > comparisonsMax) {
      throw mistake(first.at, `more than ${comparisonsMax} comparisons`)
    }
    if (this.#isWord('exists') && this.#tokens[this.#next + 1]?.text === '(') {
      this.#next += 2
      const column = this.#column()
      this.#expect(')')
      return { type: 'exists', column }
    }
    const column = this.#column()
    if (this.#isWord('in')) {
      this.#next++
      return { type: 'compare', column, operator: 'in', values: this.#list(column) }
    }
    const operator = operators.get(this.#peek().type === 'sign' ? this.#peek().text : '')
    if (operator === undefined) throw this.#expected(`an operator after "${column.id}"`)
    const sign = this.#take().text
    const value = this.#value(column, operator, `a value after "${sign}"`)
    return { type: 'compare', column, operator, values: [value] }
  }

  #list(column: ViewColumn): ComparedValue[] {
    this.#expect('(')
    const values: ComparedValue[] = []
    do {
      if (++this.#comparisons > comparisonsMax) {
        throw mistake(this.#peek().at, `more than ${comparisonsMax} comparisons`)
      }
      values.push(this.#value(column, 'in', 'a value'))
    } while (this.#takesSign(','))
    this.#expect(')')
    return values
  }

  #column(): ViewColumn {
    const { type, text, at } = this.#peek()
    if (type !== 'word' && type !== 'quoted') throw this.#expected('a column')
    const column = this.#columns.find(text)
    if (column === undefined) throw mistake(at, this.#columns.problemOf(text))
    this.#next++
    return column
  }

  #value(column: ViewColumn, operator: ComparisonOperator, what: string): ComparedValue {
    const { type, text, at } = this.#peek()
    if (type !== 'word' && type !== 'quoted') throw this.#expected(what)
    this.#next++
    const number = numberOfValue(column.kind, text)
    if (number === undefined && column.kind !== 'text' && operator !== '~') {
      throw mistake(at, `expected a ${names[column.kind]}, got "${text}"`)
    }
    return { text, number }
  }

  #expect(sign: string): void {
    if (!this.#takesSign(sign)) throw this.#expected(`"${sign}"`)
  }

  #takes(word: string, sign: string): boolean {
    if (!this.#isWord(word)) return this.#takesSign(sign)
    this.#next++
    return true
  }

  #takesSign(sign: string): boolean {
    const { type, text } = this.#peek()
    if (type !== 'sign' || text !== sign) return false
    this.#next++
    return true
  }

  #isWord(word: string): boolean {
    const { type, text } = this.#peek()
    return type === 'word' && text.toLowerCase() === word
  }

  #take(): ConditionToken {
    const token = this.#peek()
    this.#next++
    return token
  }

  #peek(): ConditionToken {
    return this.#tokens[this.#next] as ConditionToken
  }

  #expected(what: string): Error {
    const { type, text, at } = this.#peek()
    return mistake(at, `expected ${what}${type === 'end' ? '' : `, got "${text}"`}`)
  }
}

const operators: ReadonlyMap<string, ComparisonOperator> = new Map<string, ComparisonOperator>([
  ['=', '='],
  ['==', '='],
  ['!=', '!='],
  ['<', '<'],
  ['<=', '<='],
  ['>', '>'],
  ['>=', '>='],
  ['~', '~'],
])

const names = {
  text: 'text',
  number: 'number',
  quantity: 'quantity such as 100Mi',
  time: 'duration such as 1h30m',
  duration: 'duration such as 1h30m',
}

/** A refusal with the place, counted from 1. */
function mistake(at: number, message: string): Error {
  return badRequest(`where, column ${at + 1}: ${message}`)
}

/** True if the condition says another thing of an object that has not changed when time goes on. */
export function isTimed(condition: Condition | undefined): boolean {
  if (condition === undefined || condition.type === 'exists') return false
  if (condition.type === 'not') return isTimed(condition.part)
  if (condition.type !== 'compare') return condition.parts.some(isTimed)
  return condition.column.kind === 'time' && condition.operator !== '~'
}

/** The columns that the condition reads. */
export function columnsOf(condition: Condition | undefined): ViewColumn[] {
  if (condition === undefined) return []
  switch (condition.type) {
    case 'all':
    case 'any':
      return condition.parts.flatMap(columnsOf)
    case 'not':
      return columnsOf(condition.part)
    case 'exists':
    case 'compare':
      return [condition.column]
  }
}
