/** Reads an expression into a tree, and replaces macros. Errors have the words of ANTLR's parser.
 *
 *  Everything is bounded: the length of the text, how deep it nests and how long its chains are,
 *  and how many nodes macros make of it. */

import {
  type Expr,
  type MapLiteralEntry,
  nodeAt,
  operators,
  partsOf,
  type StructField,
} from './ast.ts'
import { type CelToken, tokensOf, type TokenType } from './lexer.ts'
import { macroKey, MacroProblem, type Macros } from './macros.ts'
import type { Problems } from './problems.ts'
import { bytesOfLiteral, LiteralProblem, textOfLiteral } from './unescape.ts'
import { goParseInt, goParseUint } from '@watchglass/go'
import { intFrom } from './values/numbers.ts'
import { Double, Uint, type Value } from './values/values.ts'

/** Code points of an expression. */
const lengthMax = 100_000
const depthMax = 250
/** Levels of a tree. */
const treeDepthMax = 750
/** Nodes of a tree: copies that macros make count. */
const nodesMax = 200_000

const reserved: ReadonlySet<string> = new Set([
  'as',
  'break',
  'const',
  'continue',
  'else',
  'false',
  'for',
  'function',
  'if',
  'import',
  'in',
  'let',
  'loop',
  'package',
  'namespace',
  'null',
  'return',
  'true',
  'var',
  'void',
  'while',
])

const relations: Readonly<Record<string, string>> = {
  '<': operators.less,
  '<=': operators.lessEquals,
  '>=': operators.greaterEquals,
  '>': operators.greater,
  '==': operators.equals,
  '!=': operators.notEquals,
  in: operators.in,
}
const products: Readonly<Record<string, string>> = {
  '*': operators.multiply,
  '/': operators.divide,
  '%': operators.modulo,
}
const sums: Readonly<Record<string, string>> = { '+': operators.add, '-': operators.subtract }

const beginnings =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"

/** Reading goes no further; what is wrong has been noted. */
class Stopped extends Error {}

/** The tree of an expression; undefined if there are problems. */
export function parse(source: string, macros: Macros, problems: Problems): Expr | undefined {
  const { length } = source
  if (length > lengthMax) {
    const size = Array.from(source).length
    if (size > lengthMax) {
      const detail = `size: ${size}, limit ${lengthMax}`
      problems.add(undefined, `expression code point size exceeds limit: ${detail}`)
      return undefined
    }
  }
  const parser = new Parser(tokensOf(source, problems), macros, problems)
  const expr = parser.whole()
  return problems.isEmpty ? expr : undefined
}

class Parser {
  readonly #tokens: readonly CelToken[]
  readonly #macros: Macros
  readonly #problems: Problems
  #at = 0
  #depth = 0
  #chain = 0
  #nodes = 0
  readonly #depths = new Map<Expr, number>()

  constructor(tokens: readonly CelToken[], macros: Macros, problems: Problems) {
    this.#tokens = tokens
    this.#macros = macros
    this.#problems = problems
  }

  whole(): Expr | undefined {
    try {
      const expr = this.#expr()
      if (this.#next.type !== 'EOF') this.#unwanted('<EOF>')
      return expr
    } catch (error) {
      if (error instanceof Stopped) return undefined
      throw error
    }
  }

  get #next(): CelToken {
    return this.#tokens[this.#at] as CelToken
  }

  #is(symbol: string): boolean {
    return this.#next.type === 'symbol' && this.#next.text === symbol
  }

  #take(symbol: string): CelToken | undefined {
    if (!this.#is(symbol)) return undefined
    return this.#tokens[this.#at++]
  }

  #stop(offset: number | undefined, message: string): never {
    this.#problems.add(offset, message)
    throw new Stopped(message)
  }

  /** The next token is not what may come: it is too much if what follows it may. */
  #unwanted(expected: string): never {
    const { text, offset } = this.#next
    const after = this.#tokens[this.#at + 1]
    const isExtra =
      after !== undefined &&
      (expected === beginnings
        ? begins(after)
        : expected === (after.type === 'EOF' ? '<EOF>' : `'${after.text}'`))
    const problem = isExtra ? 'extraneous' : 'mismatched'
    this.#stop(offset, `Syntax error: ${problem} input '${text}' expecting ${expected}`)
  }

  #expect(symbol: string): CelToken {
    const token = this.#take(symbol)
    if (token !== undefined) return token
    const { text, offset, type } = this.#next
    const isLeftOut = type === 'EOF' || [')', ']', '}', ',', ':', '?'].includes(text)
    if (isLeftOut) this.#stop(offset, `Syntax error: missing '${symbol}' at '${text}'`)
    return this.#unwanted(`'${symbol}'`)
  }

  #node<T extends Made>(offset: number, rest: T): T & ReturnType<typeof nodeAt> {
    this.#count(1)
    const node = Object.assign(rest, nodeAt(offset))
    this.#nest(node, partsOf(node))
    return node
  }

  /** Trees are walked by functions that call themselves. */
  #nest(node: Expr, parts: readonly Expr[], levels = 1): void {
    let depth = 0
    for (const part of parts) depth = Math.max(depth, this.#depths.get(part) ?? 0)
    if (depth + levels > treeDepthMax) this.#stop(undefined, 'max recursion depth exceeded')
    this.#depths.set(node, depth + levels)
  }

  #count(nodes: number): void {
    this.#nodes += nodes
    if (this.#nodes > nodesMax) this.#stop(undefined, 'expression is too large')
  }

  #deeper<T>(read: () => T): T {
    if (++this.#depth > depthMax) this.#tooDeep()
    const result = read()
    this.#depth--
    return result
  }

  #tooDeep(): never {
    return this.#stop(undefined, `expression recursion limit exceeded: ${depthMax}`)
  }

  /** One more link of a chain of operators or selections, which nest in each other. */
  #link(): void {
    if (++this.#chain > depthMax) this.#tooDeep()
  }

  #expr(): Expr {
    return this.#deeper(() => {
      const condition = this.#logic('||', operators.or, () =>
        this.#logic('&&', operators.and, () => this.#relation()),
      )
      const question = this.#take('?')
      if (question === undefined) return condition
      const yes = this.#logic('||', operators.or, () =>
        this.#logic('&&', operators.and, () => this.#relation()),
      )
      this.#expect(':')
      const no = this.#expr()
      return this.#call(question.offset, operators.conditional, [condition, yes, no])
    })
  }

  #logic(symbol: string, name: string, read: () => Expr): Expr {
    const terms = [read()]
    const offsets: number[] = []
    for (let token = this.#take(symbol); token !== undefined; token = this.#take(symbol)) {
      offsets.push(token.offset)
      terms.push(read())
    }
    // The tree is balanced, so that a long chain does not nest deep.
    return terms.length === 1 ? (terms[0] as Expr) : this.#balance(terms, offsets, name)
  }

  #balance(terms: readonly Expr[], offsets: readonly number[], name: string): Expr {
    const tree = (low: number, high: number): Expr => {
      const middle = (low + high + 1) >> 1
      const left = middle === low ? (terms[middle] as Expr) : tree(low, middle - 1)
      const right = middle === high ? (terms[middle + 1] as Expr) : tree(middle + 1, high)
      return this.#call(offsets[middle] as number, name, [left, right])
    }
    return tree(0, offsets.length - 1)
  }

  #relation(): Expr {
    return this.#leftAssociative(relations, () =>
      this.#leftAssociative(sums, () => this.#leftAssociative(products, () => this.#unary())),
    )
  }

  #leftAssociative(names: Readonly<Record<string, string>>, read: () => Expr): Expr {
    const chain = this.#chain
    let left = read()
    for (;;) {
      const { type, text, offset } = this.#next
      const name = type === 'symbol' && Object.hasOwn(names, text) ? names[text] : undefined
      if (name === undefined) {
        this.#chain = chain
        return left
      }
      this.#link()
      this.#at++
      left = this.#call(offset, name, [left, read()])
    }
  }

  #unary(): Expr {
    for (const [symbol, name] of [
      ['!', operators.not],
      ['-', operators.negate],
    ] as const) {
      const first = this.#next
      if (!this.#is(symbol)) continue
      if (symbol === '-' && this.#isNumberAt(this.#at + 1)) break
      let count = 0
      while (this.#take(symbol) !== undefined) count++
      const operand = this.#member()
      return count % 2 === 0 ? operand : this.#call(first.offset, name, [operand])
    }
    return this.#member()
  }

  #isNumberAt(at: number): boolean {
    const type = this.#tokens[at]?.type
    return type === 'NUM_INT' || type === 'NUM_FLOAT'
  }

  #member(): Expr {
    const chain = this.#chain
    let expr = this.#primary()
    for (;;) {
      const dot = this.#take('.')
      const bracket = dot === undefined ? this.#take('[') : undefined
      if (dot !== undefined) expr = this.#afterDot(expr, dot)
      else if (bracket !== undefined) {
        const isOptional = this.#take('?') !== undefined
        const index = this.#expr()
        this.#expect(']')
        const name = isOptional ? operators.optIndex : operators.index
        expr = this.#call(bracket.offset, name, [expr, index])
      } else {
        this.#chain = chain
        return expr
      }
      this.#link()
    }
  }

  #afterDot(operand: Expr, dot: CelToken): Expr {
    const isOptional = this.#take('?') !== undefined
    const { type, text, offset } = this.#next
    if (type !== 'IDENTIFIER' && type !== 'ESC_IDENTIFIER') {
      const isWord = type === 'symbol' && /^[a-z]/.test(text)
      const problem = isWord
        ? `mismatched input '${text}' expecting IDENTIFIER`
        : `no viable alternative at input '.${type === 'EOF' ? '' : text}'`
      this.#stop(offset, `Syntax error: ${problem}`)
    }
    this.#at++
    const open = type === 'IDENTIFIER' && !isOptional ? this.#take('(') : undefined
    if (open !== undefined) {
      const args = this.#list(')', () => this.#expr())
      return this.#callOrMacro(open.offset, text, { target: operand, args })
    }
    const field = type === 'ESC_IDENTIFIER' ? text.slice(1, -1) : text
    if (isOptional) {
      const name = this.#node(offset, { kind: 'literal' as const, value: field })
      return this.#plainCall(dot.offset, operators.optSelect, [operand, name])
    }
    return this.#node(dot.offset, { kind: 'select' as const, operand, field, isTest: false })
  }

  /** Items up to a closing bracket, which is taken. */
  #list<T>(end: string, read: () => T, mayEndWithComma = false): readonly T[] {
    const items: T[] = []
    if (this.#take(end) !== undefined) return items
    if (mayEndWithComma && this.#is(',')) {
      this.#at++
      this.#expect(end)
      return items
    }
    for (;;) {
      items.push(read())
      if (this.#take(',') === undefined) break
      if (mayEndWithComma && this.#is(end)) break
    }
    this.#expect(end)
    return items
  }

  #primary(): Expr {
    const { type, text, offset } = this.#next
    if (type === 'symbol') {
      switch (text) {
        case '(': {
          this.#at++
          const expr = this.#expr()
          this.#expect(')')
          return expr
        }
        case '[':
          return this.#listLiteral()
        case '{':
          return this.#mapLiteral()
        case 'true':
        case 'false':
          this.#at++
          return this.#literal(offset, text === 'true')
        case 'null':
          this.#at++
          return this.#literal(offset, null)
        case '.':
          return this.#identOrCall()
        case '-':
          if (this.#isNumberAt(this.#at + 1)) return this.#literalToken()
      }
    }
    if (type === 'IDENTIFIER') return this.#identOrCall()
    if (literalTypes.has(type)) return this.#literalToken()
    return this.#unwanted(beginnings)
  }

  #literal(offset: number, value: Value): Expr {
    return this.#node(offset, { kind: 'literal' as const, value })
  }

  #literalToken(): Expr {
    const { offset } = this.#next
    const sign = this.#take('-') === undefined ? '' : '-'
    const { type, text } = this.#tokens[this.#at++] as CelToken
    try {
      return this.#literal(offset, literalValue(type, text, sign))
    } catch (error) {
      if (!(error instanceof LiteralProblem)) throw error
      this.#problems.add(offset, error.message)
      return this.#literal(offset, null)
    }
  }

  #listLiteral(): Expr {
    const { offset } = this.#next
    this.#at++
    const optionals = new Set<number>()
    let count = 0
    const read = (): Expr => {
      if (this.#take('?') !== undefined) optionals.add(count)
      count++
      return this.#expr()
    }
    const items = this.#list(']', read, true)
    return this.#node(offset, { kind: 'list' as const, items, optionals })
  }

  #mapLiteral(): Expr {
    const { offset } = this.#next
    this.#at++
    const read = (): MapLiteralEntry => {
      const isOptional = this.#take('?') !== undefined
      const key = this.#expr()
      const colon = this.#expect(':')
      return { offset: colon.offset, key, value: this.#expr(), isOptional }
    }
    const entries = this.#list('}', read, true)
    return this.#node(offset, { kind: 'map' as const, entries })
  }

  #identOrCall(): Expr {
    const dot = this.#take('.')
    const { type, text, offset } = this.#next
    if (type !== 'IDENTIFIER') {
      this.#stop(offset, `Syntax error: mismatched input '${text}' expecting IDENTIFIER`)
    }
    const struct = this.#structName()
    if (struct !== undefined) return this.#structLiteral(dot === undefined ? struct : `.${struct}`)
    this.#at++
    const name = dot === undefined ? text : `.${text}`
    const open = this.#take('(')
    const args = open === undefined ? [] : this.#list(')', () => this.#expr())
    if (reserved.has(text)) {
      const place = dot?.offset ?? offset
      this.#problems.add(place, `reserved identifier: ${text}`)
      return this.#literal(place, null)
    }
    if (open !== undefined) return this.#callOrMacro(open.offset, name, { args })
    return this.#node(offset, { kind: 'ident' as const, name })
  }

  /** The dotted name before a brace. */
  #structName(): string | undefined {
    let at = this.#at
    let name = ''
    for (;;) {
      const token = this.#tokens[at]
      if (token?.type !== 'IDENTIFIER') return undefined
      name += token.text
      const after = this.#tokens[at + 1]
      if (after?.type !== 'symbol') return undefined
      if (after.text === '{') {
        this.#at = at + 1
        return name
      }
      if (after.text !== '.') return undefined
      name += '.'
      at += 2
    }
  }

  #structLiteral(name: string): Expr {
    const { offset } = this.#next
    this.#at++
    const first = this.#at
    const read = (): StructField => {
      const isFirst = this.#at === first
      const isOptional = this.#take('?') !== undefined
      const { type, text } = this.#next
      if (type !== 'IDENTIFIER' && type !== 'ESC_IDENTIFIER') {
        const names = 'IDENTIFIER, ESC_IDENTIFIER}'
        if (isOptional) this.#unwanted(`{${names}`)
        this.#unwanted(isFirst ? `{'}', ',', '?', ${names}` : "'}'")
      }
      this.#at++
      const colon = this.#expect(':')
      const field = type === 'ESC_IDENTIFIER' ? text.slice(1, -1) : text
      return { offset: colon.offset, name: field, value: this.#expr(), isOptional }
    }
    const entries = this.#list('}', read, true)
    return this.#node(offset, { kind: 'struct' as const, name, entries })
  }

  #call(offset: number, name: string, args: readonly Expr[]): Expr {
    return this.#plainCall(offset, name, args)
  }

  #plainCall(offset: number, name: string, args: readonly Expr[], target?: Expr): Expr {
    return this.#node(offset, { kind: 'call' as const, name, target, args })
  }

  #callOrMacro(
    offset: number,
    name: string,
    { target, args }: { readonly target?: Expr; readonly args: readonly Expr[] },
  ): Expr {
    const macro = this.#macros.get(macroKey(name, args.length, target !== undefined))
    if (macro !== undefined) {
      try {
        this.#count(macroNodes)
        const maker = { offset, copied: (nodes: number): void => this.#count(nodes) }
        const expr = macro(maker, target, args)
        if (expr !== undefined) {
          this.#nest(expr, target === undefined ? args : [target, ...args], macroLevels)
          return expr
        }
      } catch (error) {
        if (!(error instanceof MacroProblem)) throw error
        this.#problems.add(error.offset, error.message)
        return this.#literal(offset, null)
      }
    }
    return this.#plainCall(offset, name, args, target)
  }
}

/** Nodes that a macro makes, about, and how deep they nest. */
const [macroNodes, macroLevels] = [10, 5]

type Made = Expr extends infer E
  ? E extends Expr
    ? Omit<E, 'offset' | 'type' | 'overloads'>
    : never
  : never

const literalTypes: ReadonlySet<TokenType> = new Set([
  'BYTES',
  'NUM_FLOAT',
  'NUM_INT',
  'NUM_UINT',
  'STRING',
])

function begins({ type, text }: CelToken): boolean {
  if (type === 'IDENTIFIER' || literalTypes.has(type)) return true
  return ['[', '{', '(', '.', '-', '!', 'true', 'false', 'null'].includes(text)
}

function literalValue(type: TokenType, text: string, sign: string): Value {
  switch (type) {
    case 'NUM_INT': {
      const isHex = text.startsWith('0x')
      const digits = isHex ? BigInt(text).toString() : text
      const { value } = goParseInt(sign + digits)
      if (value === undefined) throw new LiteralProblem('invalid int literal')
      return intFrom(value)
    }
    case 'NUM_UINT': {
      const digits = text.slice(0, -1)
      const { value } = goParseUint(digits.startsWith('0x') ? BigInt(digits).toString() : digits)
      if (value === undefined) throw new LiteralProblem('invalid uint literal')
      return new Uint(value)
    }
    case 'NUM_FLOAT': {
      const value = Number(sign + text)
      if (!Number.isFinite(value)) throw new LiteralProblem('invalid double literal')
      return new Double(value)
    }
    case 'BYTES':
      return bytesOfLiteral(text.slice(1))
    case 'EOF':
    case 'ESC_IDENTIFIER':
    case 'IDENTIFIER':
    case 'STRING':
    case 'symbol':
      return textOfLiteral(text)
  }
}
