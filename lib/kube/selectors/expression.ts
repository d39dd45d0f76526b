/** Parses an expression in the grammar of CEL, in which shard selectors are written. Nothing is
 *  ever evaluated, and macros are off, so what is left is a small tree. Mistakes are told in the
 *  words of cel-go and of the ANTLR parser beneath it, as far as they are known. */

import { CacheError } from '@watchglass/base'
import { controlEscapes } from '@watchglass/go'

/** Kinds of expressions as cel-go numbers them. */
export const expressionKinds = {
  call: 1,
  identifier: 3,
  list: 4,
  literal: 5,
  map: 6,
  select: 7,
  struct: 8,
} as const

export type Expression =
  /** An operator is a call, too: `_||_`. What a method is called on makes no difference here. */
  | { readonly type: 'call'; readonly name: string; readonly args: readonly Expression[] }
  | { readonly type: 'identifier'; readonly name: string }
  | { readonly type: 'select'; readonly of: Expression; readonly name: string }
  /** Its type in Go, and what it is where it is a text. */
  | { readonly type: 'literal'; readonly goType: string; readonly text: string }
  | { readonly type: 'list' | 'map' | 'struct' }

/** Parses a whole text; fails with the first thing that is wrong. O(length): the depth is
 *  bounded. */
export function parseExpression(text: string): Expression {
  return new ExpressionParser(text).parse()
}

type TokenType = 'sign' | 'identifier' | 'escaped' | 'int' | 'uint' | 'float' | 'text' | 'bytes'

interface Token {
  readonly type: TokenType | 'end'
  readonly text: string
}

/** In the order in which they are tried: the longest must come first. */
const patterns: readonly (readonly [TokenType, RegExp])[] = [
  ['bytes', /[bB](?:[rR](?:"""[^]*?"""|'''[^]*?'''|"[^"\n\r]*"|'[^'\n\r]*'))/y],
  ['text', /[rR](?:"""[^]*?"""|'''[^]*?'''|"[^"\n\r]*"|'[^'\n\r]*')/y],
  ['bytes', quoted('[bB]')],
  ['text', quoted('')],
  ['float', /(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)/y],
  ['uint', /(?:0x[0-9a-fA-F]+|\d+)[uU]/y],
  ['int', /0x[0-9a-fA-F]+|\d+/y],
  ['identifier', /[A-Za-z_]\w*/y],
  ['escaped', /`[\w.\-/ ]+`/y],
  ['sign', /==|!=|<=|>=|&&|\|\||[<>[\]{}().,\-!?:+*/%]/y],
]

/** Quoted texts with escapes. */
function quoted(prefix: string): RegExp {
  const escape = String.raw`\\(?:[abfnrtv"'\\?${'`'}]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})`
  const long = (quote: string): string => `${quote}(?:${escape}|[^\\\\])*?${quote}`
  const short = (quote: string): string => `${quote}(?:${escape}|[^\\\\${quote}\\n\\r])*${quote}`
  return new RegExp(
    `${prefix}(?:${['"""', "'''"].map(long).join('|')}|${short('"')}|${short("'")})`,
    'y',
  )
}

const blanks = /(?:[\t \r\n\f]+|\/\/[^\n]*)*/y

/** The tokens that an expression may begin with, as ANTLR lists them. */
const beginnings =
  "'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"

const reserved: ReadonlySet<string> = new Set(
  'as break const continue else false for function if import in let loop package namespace null return true var void while'.split(
    ' ',
  ),
)

const relations: ReadonlySet<string> = new Set(['<', '<=', '>=', '>', '==', '!=', 'in'])
const depthMax = 250

class ExpressionParser {
  readonly #text: string
  #at = 0
  #next: Token
  #depth = 0
  /** As many signs must still come, so that the end of the text stands for none of them. */
  #open = 0

  constructor(text: string) {
    this.#text = text
    this.#next = this.#scan()
  }

  parse(): Expression {
    const whole = this.#expression()
    if (this.#next.type === 'end') return whole
    const { text } = this.#take()
    throw syntax(`${this.#isAtEnd() ? 'extraneous' : 'mismatched'} input '${text}' expecting <EOF>`)
  }

  #isAtEnd(): boolean {
    return this.#next.type === 'end'
  }

  #expression(): Expression {
    if (++this.#depth > depthMax) throw failure(`expression recursion limit exceeded: ${depthMax}`)
    let whole = this.#alternatives()
    if (this.#takeSign('?')) {
      this.#open++
      const chosen = this.#alternatives()
      this.#expect(':')
      whole = { type: 'call', name: '_?_:_', args: [whole, chosen, this.#expression()] }
    }
    this.#depth--
    return whole
  }

  #alternatives(): Expression {
    return this.#joined('||', () => this.#joined('&&', () => this.#relation()))
  }

  #joined(sign: string, operand: () => Expression): Expression {
    let left = operand()
    while (this.#takeSign(sign)) left = operation(sign, left, operand())
    return left
  }

  #relation(): Expression {
    let left = this.#sum()
    while (relations.has(this.#next.text) && this.#next.type !== 'text') {
      const { text } = this.#take()
      left = operation(text, left, this.#sum())
    }
    return left
  }

  #sum(): Expression {
    let left = this.#product()
    while (this.#isSign('+') || this.#isSign('-')) {
      const { text } = this.#take()
      left = operation(text, left, this.#product())
    }
    return left
  }

  #product(): Expression {
    let left = this.#unary()
    while (this.#isSign('*') || this.#isSign('/') || this.#isSign('%')) {
      const { text } = this.#take()
      left = operation(text, left, this.#unary())
    }
    return left
  }

  /** Two of a sign are none. A minus before a number is a part of it. */
  #unary(): Expression {
    const sign = ['!', '-'].find(one => this.#isSign(one))
    if (sign === undefined) return this.#member()
    let times = 0
    while (this.#takeSign(sign)) times++
    const isNumber = sign === '-' && (this.#next.type === 'int' || this.#next.type === 'float')
    const of = this.#member()
    if (times % 2 === 0 || (isNumber && times === 1 && of.type === 'literal')) return of
    return { type: 'call', name: sign === '!' ? '!_' : '-_', args: [of] }
  }

  #member(): Expression {
    let of = this.#primary()
    for (;;) {
      if (this.#takeSign('.')) of = this.#memberOf(of)
      else if (this.#takeSign('[')) {
        if (this.#isSign('?')) throw failure("unsupported syntax '[?'")
        this.#open++
        const index = this.#expression()
        this.#expect(']')
        of = { type: 'call', name: '_[_]', args: [of, index] }
      } else if (this.#isSign('{') && isTypeName(of)) {
        this.#take()
        this.#fields()
        of = { type: 'struct' }
      } else return of
    }
  }

  #memberOf(of: Expression): Expression {
    if (this.#isSign('?')) throw failure("unsupported syntax '.?'")
    const { type, text: name } = this.#take()
    if (type === 'escaped') throw failure("unsupported syntax: '`'")
    if (type !== 'identifier') throw noViable(name, "{'?', IDENTIFIER, ESC_IDENTIFIER}")
    if (!this.#takeSign('(')) return { type: 'select', of, name }
    return { type: 'call', name, args: this.#args(')') }
  }

  #primary(): Expression {
    const { type, text } = this.#take()
    switch (type) {
      case 'identifier':
        return this.#named(text)
      case 'text':
        return { type: 'literal', goType: 'string', text: valueOf(text) }
      case 'bytes':
        return { type: 'literal', goType: '[]uint8', text: '' }
      case 'int':
        return { type: 'literal', goType: 'int64', text: '' }
      case 'uint':
        return { type: 'literal', goType: 'uint64', text: '' }
      case 'float':
        return { type: 'literal', goType: 'float64', text: '' }
      case 'sign':
        return this.#begunBy(text)
      case 'escaped':
      case 'end':
        throw noViable(text, `{${beginnings}}`)
    }
  }

  #begunBy(sign: string): Expression {
    if (sign === '(') {
      this.#open++
      const inner = this.#expression()
      this.#expect(')')
      return inner
    }
    if (sign === '[') {
      this.#args(']')
      return { type: 'list' }
    }
    if (sign === '{') {
      this.#fields()
      return { type: 'map' }
    }
    if (sign !== '.') throw noViable(sign, `{${beginnings}}`)
    const { type, text } = this.#take()
    if (type !== 'identifier') throw noViable(text, 'IDENTIFIER')
    return this.#named(text, '.')
  }

  #named(text: string, before = ''): Expression {
    if (before === '' && (text === 'true' || text === 'false')) {
      return { type: 'literal', goType: 'bool', text: '' }
    }
    if (before === '' && text === 'null') {
      return { type: 'literal', goType: 'structpb.NullValue', text: '' }
    }
    if (text === 'in') throw noViable(text, `{${beginnings}}`)
    if (reserved.has(text)) throw failure(`reserved identifier: ${text}`)
    const name = before + text
    if (!this.#takeSign('(')) return { type: 'identifier', name }
    return { type: 'call', name, args: this.#args(')') }
  }

  /** Up to a closing sign. Only a list may have a comma before it. */
  #args(end: ')' | ']'): Expression[] {
    const args: Expression[] = []
    if (this.#takeSign(end)) return args
    if (end === ')' && this.#isAtEnd()) throw noViable('<EOF>', `{${withClosing}}`)
    this.#open++
    const isList = end === ']'
    let isOpen = !isList || !this.#takeSign(',')
    let expected = isList && isOpen ? "{']', ','}" : undefined
    for (; isOpen; isOpen = this.#takeSign(',')) {
      // Behind the last comma of a list there may be nothing.
      if (isList && args.length > 0 && (this.#isSign(end) || this.#isAtEnd())) {
        expected = undefined
        break
      }
      if (isList && this.#isSign('?')) throw failure("unsupported syntax '?'")
      args.push(this.#expression())
    }
    this.#expect(end, expected)
    return args
  }

  /** The members of a map or a message, up to the brace. */
  #fields(): void {
    this.#open++
    let isOpen = !this.#takeSign(',')
    while (isOpen && !this.#isSign('}')) {
      this.#open++
      this.#expression()
      this.#expect(':')
      this.#expression()
      isOpen = this.#takeSign(',')
    }
    this.#expect('}', "{'}', ','}")
  }

  #isSign(text: string): boolean {
    return this.#next.type === 'sign' && this.#next.text === text
  }

  #takeSign(text: string): boolean {
    const is = this.#isSign(text)
    if (is) this.#take()
    return is
  }

  #expect(sign: string, expected = `'${sign}'`): void {
    this.#open--
    if (this.#takeSign(sign)) return
    const { type, text } = this.#take()
    const isLast = this.#open === 0 && type === 'end' && sign !== ':'
    if (isLast && expected.startsWith("'")) throw syntax(`missing '${sign}' at '<EOF>'`)
    const isMeant = type !== 'end' && this.#isSign(sign)
    throw syntax(`${isMeant ? 'extraneous' : 'mismatched'} input '${text}' expecting ${expected}`)
  }

  #take(): Token {
    const token = this.#next
    if (token.type !== 'end') this.#next = this.#scan()
    return token
  }

  #scan(): Token {
    const text = this.#text
    blanks.lastIndex = this.#at
    blanks.exec(text)
    this.#at = blanks.lastIndex
    if (this.#at === text.length) return { type: 'end', text: '<EOF>' }
    for (const [type, pattern] of patterns) {
      pattern.lastIndex = this.#at
      const match = pattern.exec(text)
      if (match === null) continue
      this.#at = pattern.lastIndex
      return { type, text: match[0] }
    }
    throw syntax(`token recognition error at: '${unknownFrom(text, this.#at)}'`)
  }
}

const withClosing = beginnings.replace("'(', ", "'(', ')', ")

function operation(sign: string, left: Expression, right: Expression): Expression {
  return { type: 'call', name: sign === 'in' ? '@in' : `_${sign}_`, args: [left, right] }
}

/** The name of a message that is made: `a.b.C{}`. */
function isTypeName(expression: Expression): boolean {
  let one = expression
  while (one.type === 'select') one = one.of
  return one.type === 'identifier'
}

/** The text that a lexer has read when it knows that it is no token. */
function unknownFrom(text: string, at: number): string {
  const [first = '', second = ''] = Array.from(text.slice(at, at + 4))
  const quote = /^(?:[bB]?[rR]?)(["'])/.exec(text.slice(at))?.[1]
  if (quote !== undefined) return unended.exec(text.slice(at))?.[0] ?? first
  return '=&|'.includes(first) ? first + second : first
}

/** A text up to where it cannot go on: the end of a line, or an escape that is none. */
const unended =
  /^[bB]?[rR]?(["'])(?:\\(?:[abfnrtv"'\\?`]|[xX][\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-3][0-7]{2})|(?!\1)[^\\\n\r])*(?:\\(?:[xX][\da-fA-F]?|u[\da-fA-F]{0,3}|U[\da-fA-F]{0,7}|[0-3][0-7]?)?)?[^]?/

/** The text that a literal stands for. */
function valueOf(literal: string): string {
  const isRaw = /^[rR]/.test(literal)
  const text = isRaw ? literal.slice(1) : literal
  const isLong = text.length >= 6 && (text.startsWith('"""') || text.startsWith("'''"))
  const inner = isLong ? text.slice(3, -3) : text.slice(1, -1)
  if (isRaw) return inner
  return inner.replace(/\\(?:[xXuU]([0-9a-fA-F]+)|([0-3][0-7]{2})|([^]))/g, unescaped)
}

function unescaped(_: string, hex?: string, octal?: string, char = ''): string {
  const code = hex === undefined ? parseInt(octal ?? '', 8) : parseInt(hex, 16)
  if (Number.isNaN(code)) return controlEscapes[char] ?? char
  if (code > 0x10_ffff || (code >= 0xd800 && code < 0xe000)) {
    throw failure('invalid unicode code point')
  }
  return String.fromCodePoint(code)
}

function noViable(text: string, expected: string): CacheError {
  return syntax(`mismatched input '${text}' expecting ${expected}`)
}

function syntax(message: string): CacheError {
  return failure(`Syntax error: ${message}`)
}

function failure(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
