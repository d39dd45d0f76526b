/** Reads the syntax of Go's regular expressions. It goes the way of regexp/syntax, from left to
 *  right with a stack of groups, so that the first mistake is the one that Go names. */

import { controlEscapes } from '../text.ts'
import { propertyOf } from './go-pattern-properties.ts'

/** A part of a pattern. */
export type PatternNode =
  | { readonly type: 'takes'; readonly takes: (char: string) => boolean }
  | { readonly type: 'asks'; readonly asks: (before: string, after: string) => boolean }
  | { readonly type: 'sequence'; readonly items: readonly PatternNode[] }
  | { readonly type: 'choice'; readonly items: readonly PatternNode[] }
  | {
      readonly type: 'repeat'
      readonly item: PatternNode
      readonly min: number
      readonly max: number
      /** As few as possible come first. */
      readonly isLazy: boolean
    }

interface Flags {
  readonly i: boolean
  readonly m: boolean
  readonly s: boolean
  /** Lazy and greedy repetitions are the other way around. */
  readonly U: boolean
}

/** A pattern that Go refuses: `missing closing ): ` and the part that is wrong. */
class Refused extends Error {}

/** Parts nest no deeper, and nothing is repeated more often: as in Go, but for groups that capture
 *  nothing, which nest as deep as they are to Go. */
const heightMax = 1000
const repeatMax = 1000

/** A part, and how deep parts nest in it. */
interface Part {
  readonly node: PatternNode
  readonly height: number
  /** A character: several in a row are one part to Go. */
  readonly isChar?: boolean
}

/** A group that is open, or the whole pattern. */
interface Group {
  /** The alternatives that are whole. */
  readonly choices: Part[]
  /** The parts of the last one. */
  parts: Part[]
  /** The flags that hold again after it. */
  readonly flags: Flags
}

const perlClasses: Readonly<Record<string, string>> = {
  d: '0-9',
  w: '0-9A-Za-z_',
  s: '\\t\\n\\f\\r ',
}

const posixClasses: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  ascii: '\\x00-\\x7F',
  blank: '\\t ',
  cntrl: '\\x00-\\x1F\\x7F',
  digit: '0-9',
  graph: '!-~',
  lower: 'a-z',
  print: ' -~',
  punct: '!-\\/:-@\\[-`\\{-~',
  space: '\\t\\n\\v\\f\\r ',
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
}

const noFlags: Flags = { i: false, m: false, s: false, U: false }

/** The pattern; or what Go says of one that it refuses. */
export function parsePattern(source: string): PatternNode | string {
  try {
    return new PatternParser(source).pattern()
  } catch (error) {
    if (error instanceof Refused) return `error parsing regexp: ${error.message}`
    throw error
  }
}

class PatternParser {
  readonly #chars: readonly string[]
  #at = 0
  #flags = noFlags
  readonly #groups: Group[] = [{ choices: [], parts: [], flags: noFlags }]
  /** The beginning of the repetition that has ended just now. */
  #lastRepeat: number | undefined
  /** No `:]` follows from here on. */
  #lastNamedClass = false

  constructor(source: string) {
    this.#chars = Array.from(source)
  }

  pattern(): PatternNode {
    while (this.#at < this.#chars.length) {
      const repeated = this.#lastRepeat
      this.#lastRepeat = undefined
      this.#step(repeated)
    }
    const whole = this.#closed(this.#group)
    if (this.#groups.length > 1) throw this.#wrong('missing closing )', 0)
    return whole.node
  }

  get #next(): string {
    return this.#chars[this.#at] ?? ''
  }

  get #group(): Group {
    return this.#groups.at(-1) as Group
  }

  /** The refusal of what stands between two places. */
  #wrong(problem: string, from: number, to = this.#at): Refused {
    return new Refused(`${problem}: \`${this.#chars.slice(from, to).join('')}\``)
  }

  #take(char: string): boolean {
    const isNext = this.#next === char
    if (isNext) this.#at++
    return isNext
  }

  #push(node: PatternNode): void {
    this.#group.parts.push({ node, height: 1 })
  }

  #step(repeated: number | undefined): void {
    const start = this.#at++
    const char = this.#chars[start] as string
    switch (char) {
      case '(':
        if (this.#take('?')) return this.#perlGroup(start)
        return this.#open()
      case '|':
        this.#endChoice(this.#group)
        return
      case ')':
        return this.#close()
      case '[':
        return this.#class(start)
      case '.':
        return this.#push(takes(this.#flags.s ? () => true : taken => taken !== '\n'))
      case '^':
        return this.#push(asks(this.#flags.m ? isLineStart : isTextStart))
      case '$':
        return this.#push(asks(this.#flags.m ? isLineEnd : isTextEnd))
      case '\\':
        return this.#escape(start)
      case '*':
      case '+':
        return this.#repeat([char === '*' ? 0 : 1, Infinity], start, repeated)
      case '?':
        return this.#repeat([0, 1], start, repeated)
      case '{': {
        const counts = this.#counts(start)
        if (counts !== undefined) return this.#repeat(counts, start, repeated)
      }
    }
    this.#literal(char)
  }

  #literal(char: string): void {
    const isPlain = !this.#flags.i || char.toLowerCase() === char.toUpperCase()
    const pattern = isPlain ? undefined : new RegExp(`^${escaped(char)}$`, 'iu')
    const node = takes(pattern === undefined ? c => c === char : c => pattern.test(c))
    this.#group.parts.push({ node, height: 1, isChar: true })
  }

  #repeat(counts: readonly [min: number, max: number], start: number, repeated?: number): void {
    const isLazy = this.#take('?') !== this.#flags.U
    const { parts } = this.#group
    const last = parts.at(-1)
    if (repeated !== undefined) throw this.#wrong('invalid nested repetition operator', repeated)
    if (last === undefined) throw this.#wrong('missing argument to repetition operator', start)
    const [min, max] = counts
    const height = this.#checked(last.height + 1)
    const times = max === Infinity ? min : max
    if (times >= 2 && !isRepeatable(last.node, Math.floor(repeatMax / times))) {
      throw this.#wrong('invalid repeat count', start)
    }
    parts[parts.length - 1] = {
      node: { type: 'repeat', item: last.node, min, max, isLazy },
      height,
    }
    this.#lastRepeat = start
  }

  /** The numbers in braces; undefined if these are plain characters. */
  #counts(start: number): readonly [min: number, max: number] | undefined {
    const min = this.#integer()
    const isRange = min !== undefined && this.#take(',')
    const max = !isRange ? min : this.#next === '}' ? Infinity : this.#integer()
    if (min === undefined || max === undefined || !this.#take('}')) {
      this.#at = start + 1
      return undefined
    }
    const largest = max === Infinity ? min : max
    if (min > max || largest > repeatMax) throw this.#wrong('invalid repeat count', start)
    return [min, max]
  }

  /** Without leading zeros. */
  #integer(): number | undefined {
    const start = this.#at
    while (isDigit(this.#next)) this.#at++
    const digits = this.#chars.slice(start, this.#at)
    return digits.length === 0 || (digits.length > 1 && digits[0] === '0')
      ? undefined
      : Number(digits.join(''))
  }

  #open(): void {
    this.#groups.push({ choices: [], parts: [], flags: this.#flags })
  }

  #endChoice(group: Group): void {
    const { parts } = group
    const [only] = parts
    const height = heightOf(parts)
    const node: PatternNode = { type: 'sequence', items: parts.map(part => part.node) }
    const isText = parts.every(part => part.isChar === true)
    if (parts.length === 1 && only !== undefined) group.choices.push(only)
    else group.choices.push({ node, height: isText ? 1 : this.#checked(height) })
    group.parts = []
  }

  #closed(group: Group): Part {
    this.#endChoice(group)
    const { choices } = group
    const [only] = choices
    if (choices.length === 1 && only !== undefined) return { ...only, isChar: false }
    const height = heightOf(choices)
    const node: PatternNode = { type: 'choice', items: choices.map(choice => choice.node) }
    return { node, height: this.#checked(height) }
  }

  #close(): void {
    const group = this.#groups.pop() as Group
    const { node, height } = this.#closed(group)
    if (this.#groups.length === 0) throw this.#wrong('unexpected )', 0, this.#chars.length)
    this.#flags = group.flags
    this.#group.parts.push({ node, height: this.#checked(height + 1) })
  }

  #checked(height: number): number {
    if (height <= heightMax) return height
    throw this.#wrong('expression nests too deeply', 0, this.#chars.length)
  }

  /** A group with a name or flags, or flags for the rest of the enclosing group. */
  #perlGroup(start: number): void {
    const isP = this.#next === 'P' && this.#chars[this.#at + 1] === '<'
    const nameStart = this.#at + (isP ? 2 : 1)
    // At the end of the pattern it is no name to Go.
    if ((isP || this.#next === '<') && nameStart < this.#chars.length) {
      const end = this.#chars.indexOf('>', nameStart)
      const name = this.#chars.slice(nameStart, end).join('')
      if (end < 0 || !/^[0-9A-Za-z_]+$/.test(name)) {
        throw this.#wrong('invalid named capture', start, end < 0 ? this.#chars.length : end + 1)
      }
      this.#at = end + 1
      this.#open()
    } else this.#setFlags(start)
  }

  #setFlags(start: number): void {
    let flags = this.#flags
    let [isOff, hasFlag] = [false, false]
    while (this.#at < this.#chars.length) {
      const char = this.#next
      this.#at++
      if (char === 'i' || char === 'm' || char === 's' || char === 'U') {
        flags = { ...flags, [char]: !isOff }
        hasFlag = true
      } else if (char === '-' && !isOff) [isOff, hasFlag] = [true, false]
      else if ((char === ':' || char === ')') && (hasFlag || !isOff)) {
        if (char === ':') this.#open()
        this.#flags = flags
        return
      } else break
    }
    throw this.#wrong('invalid or unsupported Perl syntax', start)
  }

  #escape(start: number): void {
    const char = this.#next
    switch (char) {
      case 'A':
      case 'z':
      case 'b':
      case 'B':
        this.#at++
        this.#push(asks({ A: isTextStart, z: isTextEnd, b: isBoundary, B: isNoBoundary }[char]))
        return
      case 'Q':
        this.#at++
        return this.#quoted()
    }
    const set = this.#escapedSet(start)
    if (set === undefined) this.#literal(this.#escapedChar(start))
    else this.#push(this.#setOf(set))
  }

  #quoted(): void {
    while (this.#at < this.#chars.length) {
      const char = this.#next
      this.#at++
      if (char === '\\' && this.#take('E')) return
      this.#literal(char)
    }
  }

  /** The inside of a JavaScript class for \d, \pL and such; undefined if the escape is one
   *  character. */
  #escapedSet(start: number): string | undefined {
    const char = this.#next
    const perl = perlClasses[char.toLowerCase()]
    if (perl !== undefined && /^[dwsDWS]$/.test(char)) {
      this.#at++
      return char === char.toLowerCase() ? perl : complement(perl)
    }
    if (char !== 'p' && char !== 'P') return undefined
    this.#at++
    const nameStart = this.#at
    const isBraced = this.#take('{')
    const end = isBraced ? this.#chars.indexOf('}', nameStart) : nameStart
    this.#at = end < 0 ? this.#chars.length : Math.min(end + 1, this.#chars.length)
    const name = this.#chars
      .slice(nameStart, this.#at)
      .join('')
      .replace(/^\{|\}$/g, '')
    const isNegated = (char === 'P') !== name.startsWith('^')
    const property = end < 0 ? undefined : propertyOf(name.replace(/^\^/, ''))
    if (property === undefined) throw this.#wrong('invalid character class range', start)
    return `\\${isNegated ? 'P' : 'p'}{${property}}`
  }

  #escapedChar(start: number): string {
    if (this.#at === this.#chars.length) {
      throw this.#wrong('trailing backslash at end of expression', this.#at)
    }
    const char = this.#next
    this.#at++
    // `\b` is a boundary, or nothing.
    const control = char === 'b' ? undefined : controlEscapes[char]
    if (control !== undefined) return control
    if (char === 'x') {
      const code = this.#hex()
      if (code !== undefined) return String.fromCodePoint(code)
    } else if (char === '0' || (isOctal(char) && isOctal(this.#next))) {
      let digits = char
      for (let i = 0; i < 2 && isOctal(this.#next); i++) {
        digits += this.#next
        this.#at++
      }
      return String.fromCodePoint(Number.parseInt(digits, 8))
    } else if (char < '\x80' && !/[0-9A-Za-z]/.test(char)) return char
    // Only punctuation may be escaped for itself.
    throw this.#wrong('invalid escape sequence', start)
  }

  /** The number of `\x41` or `\x{41}`; undefined at what is no part of one. */
  #hex(): number | undefined {
    const isBraced = this.#take('{')
    let digits = ''
    while (this.#at < this.#chars.length && (isBraced || digits.length < 2)) {
      const char = this.#next
      this.#at++
      if (isBraced && char === '}') return digits === '' ? undefined : Number.parseInt(digits, 16)
      digits += char
      const isHex = /^[\da-fA-F]$/.test(char)
      if (isBraced && (!isHex || Number.parseInt(digits, 16) > 0x10ffff)) return undefined
    }
    return /^[\da-fA-F]{2}$/.test(digits) && !isBraced ? Number.parseInt(digits, 16) : undefined
  }

  #class(start: number): void {
    const isNegated = this.#take('^')
    let inside = ''
    for (let isFirst = true; isFirst || this.#next !== ']'; isFirst = false) {
      inside += this.#set() ?? this.#range(start)
    }
    this.#at++
    this.#push(this.#setOf(isNegated ? complement(inside) : inside))
  }

  #set(): string | undefined {
    const start = this.#at
    if (this.#take('\\')) {
      const set = this.#escapedSet(start)
      if (set === undefined) this.#at = start
      return set
    }
    if (this.#next !== '[' || this.#chars[start + 1] !== ':') return undefined
    const end = this.#endOfNamed(start + 2)
    if (end === undefined) return undefined
    this.#at = end
    const name = this.#chars.slice(start + 2, end - 2).join('')
    const plain = name.replace(/^\^/, '')
    const set = Object.hasOwn(posixClasses, plain) ? posixClasses[plain] : undefined
    if (set === undefined) throw this.#wrong('invalid character class range', start)
    return name.startsWith('^') ? complement(set) : set
  }

  /** The place after the next `:]`. Where none is left, nobody looks for one again. */
  #endOfNamed(from: number): number | undefined {
    if (this.#lastNamedClass) return undefined
    for (let at = from; at + 1 < this.#chars.length; at++) {
      if (this.#chars[at] === ':' && this.#chars[at + 1] === ']') return at + 2
    }
    this.#lastNamedClass = true
    return undefined
  }

  #range(start: number): string {
    const from = this.#at
    const low = this.#classChar(start)
    const after = this.#chars[this.#at + 1]
    if (this.#next !== '-' || after === undefined || after === ']') return escaped(low)
    this.#at++
    const high = this.#classChar(start)
    if ((low.codePointAt(0) ?? 0) > (high.codePointAt(0) ?? 0)) {
      throw this.#wrong('invalid character class range', from)
    }
    return `${escaped(low)}-${escaped(high)}`
  }

  #classChar(start: number): string {
    const at = this.#at
    if (at === this.#chars.length) throw this.#wrong('missing closing ]', start)
    if (this.#take('\\')) return this.#escapedChar(at)
    this.#at++
    return this.#chars[at] as string
  }

  #setOf(inside: string): PatternNode {
    const pattern = new RegExp(`^[${inside}]$`, this.#flags.i ? 'ivs' : 'vs')
    return takes(char => pattern.test(char))
  }
}

function heightOf(parts: readonly Part[]): number {
  return parts.reduce((height, part) => Math.max(height, 1 + part.height), 1)
}

function isDigit(char: string): boolean {
  return char >= '0' && char <= '9'
}

function isOctal(char: string): boolean {
  return char >= '0' && char <= '7'
}

/** False if the repetitions inside of a node multiply to more than `most`. As in Go, what is
 *  repeated no times does not count. */
function isRepeatable(node: PatternNode, most: number): boolean {
  switch (node.type) {
    case 'takes':
    case 'asks':
      return true
    case 'sequence':
    case 'choice':
      return node.items.every(item => isRepeatable(item, most))
    case 'repeat': {
      const { item, min, max } = node
      if (max === 0) return true
      const times = max === Infinity ? min : max
      return times <= most && isRepeatable(item, times > 0 ? Math.floor(most / times) : most)
    }
  }
}

/** A class inside of a class: what is not in `inside`. */
function complement(inside: string): string {
  return `[^${inside}]`
}

function escaped(char: string): string {
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`
}

function takes(takes: (char: string) => boolean): PatternNode {
  return { type: 'takes', takes }
}

function asks(asks: (before: string, after: string) => boolean): PatternNode {
  return { type: 'asks', asks }
}

const isTextStart = (before: string): boolean => before === ''
const isTextEnd = (_before: string, after: string): boolean => after === ''
const isLineStart = (before: string): boolean => before === '' || before === '\n'
const isLineEnd = (_before: string, after: string): boolean => after === '' || after === '\n'
const isWordChar = (char: string): boolean => /^[0-9A-Za-z_]$/.test(char)
const isBoundary = (before: string, after: string): boolean =>
  isWordChar(before) !== isWordChar(after)
const isNoBoundary = (before: string, after: string): boolean => !isBoundary(before, after)
