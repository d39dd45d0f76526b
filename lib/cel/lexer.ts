/** Splits an expression into tokens. What is none is noted with the words of ANTLR, whose grammar
 *  cel-go has, and left out. */

import type { Problems } from './problems.ts'

export type TokenType =
  | 'BYTES'
  | 'EOF'
  | 'ESC_IDENTIFIER'
  | 'IDENTIFIER'
  | 'NUM_FLOAT'
  | 'NUM_INT'
  | 'NUM_UINT'
  | 'STRING'
  | 'symbol'

export interface CelToken {
  readonly type: TokenType
  readonly text: string
  readonly offset: number
}

const words: ReadonlySet<string> = new Set(['in', 'true', 'false', 'null'])
const doubled: ReadonlySet<string> = new Set(['==', '!=', '<=', '>=', '&&', '||'])
const single: ReadonlySet<string> = new Set('<>[]{}().,-!?:+*/%')

const space = /[\t \r\n\f]+|\/\/[^\n]*/y
const number =
  /0x[0-9a-fA-F]+[uU]|[0-9]+[uU]|[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?|0x[0-9a-fA-F]+|[0-9]+/y
const word = /[A-Za-z_][A-Za-z0-9_]*/y
const escapedWord = /`[A-Za-z0-9_.\-/ ]+`/y
const quoteStart = /[bB]?[rR]?(?:"|')/y
const escape =
  /\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})/y
/** As long as an escape that is none was followed. */
const brokenEscape = /\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?/y

/** The tokens, the last of which is the end. */
export function tokensOf(source: string, problems: Problems): readonly CelToken[] {
  return new Lexer(source, problems).tokens()
}

class Lexer {
  readonly #source: string
  readonly #problems: Problems
  readonly #tokens: CelToken[] = []
  /** Three quotes of a kind that nothing closes any more are not looked for again. */
  readonly #unclosed = new Set<string>()
  #at = 0

  constructor(source: string, problems: Problems) {
    this.#source = source
    this.#problems = problems
  }

  tokens(): readonly CelToken[] {
    while (this.#at < this.#source.length) this.#next()
    this.#tokens.push({ type: 'EOF', text: '<EOF>', offset: this.#source.length })
    return this.#tokens
  }

  #match(pattern: RegExp, at = this.#at): string | undefined {
    pattern.lastIndex = at
    return pattern.exec(this.#source)?.[0]
  }

  #push(type: TokenType, text: string): void {
    this.#tokens.push({ type, text, offset: this.#at })
    this.#at += text.length
  }

  #next(): void {
    const blank = this.#match(space)
    if (blank !== undefined) {
      this.#at += blank.length
      return
    }
    const digits = this.#match(number)
    if (digits !== undefined) {
      this.#push(numberType(digits), digits)
      return
    }
    const opening = this.#match(quoteStart)
    if (opening !== undefined) {
      this.#quoted(opening)
      return
    }
    const name = this.#match(word)
    if (name !== undefined) {
      this.#push(words.has(name) ? 'symbol' : 'IDENTIFIER', name)
      return
    }
    const escaped = this.#match(escapedWord)
    if (escaped !== undefined) {
      this.#push('ESC_IDENTIFIER', escaped)
      return
    }
    const two = this.#source.slice(this.#at, this.#at + 2)
    if (doubled.has(two)) this.#push('symbol', two)
    else if (single.has(two.charAt(0))) this.#push('symbol', two.charAt(0))
    else this.#unknown()
  }

  /** A character that begins a token is named with the one that does not go on. */
  #unknown(): void {
    const first = String.fromCodePoint(this.#source.codePointAt(this.#at) ?? 0)
    let end = this.#at + first.length
    if ('=&|'.includes(first)) end += charAt(this.#source, end).length
    else if (first === '`') {
      while (/[A-Za-z0-9_.\-/ ]/.test(this.#source.charAt(end))) end++
      end += charAt(this.#source, end).length
    }
    this.#refuse(end)
  }

  #refuse(end: number): void {
    const text = this.#source.slice(this.#at, end)
    const shown = text.replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('\r', '\\r')
    this.#problems.add(this.#at, `Syntax error: token recognition error at: '${shown}'`)
    this.#at = end
  }

  #quoted(opening: string): void {
    const prefix = opening.slice(0, -1)
    const quote = opening.slice(-1)
    const type: TokenType = /[bB]/.test(prefix) ? 'BYTES' : 'STRING'
    const isRaw = /[rR]/.test(prefix)
    const start = this.#at + opening.length
    if (this.#source.startsWith(quote + quote, start)) {
      const end = this.#endOfTriple(start + 2, quote.repeat(3), isRaw)
      const text = end === undefined ? `${opening}${quote}` : this.#source.slice(this.#at, end)
      this.#push(type, text)
      return
    }
    let at = start
    for (; at < this.#source.length; at++) {
      const char = this.#source.charAt(at)
      if (char === quote) {
        this.#push(type, this.#source.slice(this.#at, at + 1))
        return
      }
      if (char === '\n' || char === '\r') break
      if (char !== '\\' || isRaw) continue
      const escaped = this.#match(escape, at)
      if (escaped === undefined) {
        at += (this.#match(brokenEscape, at) ?? '').length
        break
      }
      at += escaped.length - 1
    }
    this.#refuse(Math.min(this.#source.length, at + charAt(this.#source, at).length))
  }

  #endOfTriple(start: number, quotes: string, isRaw: boolean): number | undefined {
    const known = `${isRaw ? 'r' : ''}${quotes}`
    if (this.#unclosed.has(known)) return undefined
    for (let at = start; at < this.#source.length; at++) {
      if (this.#source.startsWith(quotes, at)) return at + 3
      if (isRaw || this.#source.charAt(at) !== '\\') continue
      const escaped = this.#match(escape, at)
      if (escaped === undefined) return undefined
      at += escaped.length - 1
    }
    this.#unclosed.add(known)
    return undefined
  }
}

function charAt(text: string, at: number): string {
  const code = text.codePointAt(at)
  return code === undefined ? '' : String.fromCodePoint(code)
}

function numberType(text: string): TokenType {
  if (/[uU]$/.test(text)) return 'NUM_UINT'
  if (text.startsWith('0x')) return 'NUM_INT'
  return /^[0-9]+$/.test(text) ? 'NUM_INT' : 'NUM_FLOAT'
}
