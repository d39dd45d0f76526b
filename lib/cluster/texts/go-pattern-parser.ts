/** Reads the syntax of Go's regular expressions. A pattern that Go refuses is refused. */

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
}

class Refused extends Error {}

/** Groups nest no deeper, and nothing is repeated more often: as in Go. */
const depthMax = 1000
const repeatMax = 1000

/** The bounds of looking ahead, so that reading takes a time that grows with the length only: names
 *  of groups, and everything else. */
const [nameMax, aheadMax] = [1_000, 64]

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

const controls: Readonly<Record<string, string>> = {
  a: '\x07',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

export class PatternParser {
  readonly #chars: readonly string[]
  #at = 0
  #depth = 0
  #flags: Flags = { i: false, m: false, s: false }

  constructor(source: string) {
    this.#chars = Array.from(source)
  }

  /** The whole pattern; undefined if Go refuses it. */
  pattern(): PatternNode | undefined {
    try {
      const node = this.#choice()
      return this.#at === this.#chars.length ? node : undefined
    } catch (error) {
      // A class that JavaScript does not know either is a SyntaxError.
      if (error instanceof Refused || error instanceof SyntaxError) return undefined
      throw error
    }
  }

  get #next(): string {
    return this.#chars[this.#at] ?? ''
  }

  #take(text: string): boolean {
    const isNext = this.#chars.slice(this.#at, this.#at + text.length).join('') === text
    if (isNext) this.#at += text.length
    return isNext
  }

  /** Text that comes next. */
  #ahead(length = aheadMax): string {
    return this.#chars.slice(this.#at, this.#at + length).join('')
  }

  #choice(): PatternNode {
    const items = [this.#sequence()]
    while (this.#take('|')) items.push(this.#sequence())
    return items.length === 1 ? (items[0] as PatternNode) : { type: 'choice', items }
  }

  #sequence(): PatternNode {
    const items: PatternNode[] = []
    while (this.#next !== '' && this.#next !== '|' && this.#next !== ')') {
      const atom = this.#atom()
      if (atom === undefined) continue
      items.push(...atom.slice(0, -1))
      const last = atom.at(-1)
      if (last !== undefined) items.push(this.#repeated(last))
    }
    return { type: 'sequence', items }
  }

  #repeated(atom: PatternNode): PatternNode {
    const counts = this.#counts()
    if (counts === undefined) return atom
    const isLazy = this.#take('?')
    const [min, max] = counts
    if (
      (min >= 2 || (max >= 2 && max !== Infinity)) &&
      !isRepeatable(atom, Math.floor(repeatMax / (max === Infinity ? min : max)))
    ) {
      throw new Refused('invalid repeat count')
    }
    const start = this.#at
    if (this.#counts() !== undefined) throw new Refused('repeated twice')
    this.#at = start
    return { type: 'repeat', item: atom, min, max, isLazy }
  }

  #counts(): readonly [min: number, max: number] | undefined {
    if (this.#take('*')) return [0, Infinity]
    if (this.#take('+')) return [1, Infinity]
    if (this.#take('?')) return [0, 1]
    if (this.#next !== '{') return undefined
    const match = /^\{(\d+)(,(\d*))?\}/.exec(this.#ahead())
    if (match === null) return undefined
    this.#at += match[0].length
    const min = Number(match[1])
    const max = match[2] === undefined ? min : match[3] === '' ? Infinity : Number(match[3])
    const largest = max === Infinity ? min : max
    if (min > max || largest > repeatMax) throw new Refused('invalid repeat count')
    return [min, max]
  }

  /** An element that can be repeated; of quoted text only the last character can be. Undefined
   *  for a group that only sets flags. */
  #atom(): PatternNode[] | undefined {
    const char = this.#next
    this.#at++
    switch (char) {
      case '(':
        return this.#group()
      case '[':
        return [this.#class()]
      case '.':
        return [takes(this.#flags.s ? () => true : taken => taken !== '\n')]
      case '^':
        return [asks(this.#flags.m ? isLineStart : isTextStart)]
      case '$':
        return [asks(this.#flags.m ? isLineEnd : isTextEnd)]
      case '\\':
        return this.#escape()
      case '*':
      case '+':
      case '?':
        throw new Refused('missing argument to repetition operator')
      default:
        return [this.#literal(char)]
    }
  }

  #literal(char: string): PatternNode {
    if (!this.#flags.i || char.toLowerCase() === char.toUpperCase()) {
      return takes(taken => taken === char)
    }
    const pattern = new RegExp(`^${escaped(char)}$`, 'iu')
    return takes(taken => pattern.test(taken))
  }

  #group(): PatternNode[] | undefined {
    if (++this.#depth > depthMax) throw new Refused('expression nests too deeply')
    const before = this.#flags
    if (this.#take('?')) {
      const name = /^(?:P?<[A-Za-z_][0-9A-Za-z_]*>)/.exec(
        this.#ahead(this.#next === 'P' || this.#next === '<' ? nameMax : 0),
      )?.[0]
      if (name !== undefined) this.#at += name.length
      else if (!this.#setFlags()) {
        this.#depth--
        return undefined
      }
    }
    const inner = this.#choice()
    if (!this.#take(')')) throw new Refused('missing closing )')
    this.#flags = before
    this.#depth--
    return [inner]
  }

  /** Flags of a group; false if they are for the rest of the enclosing group. */
  #setFlags(): boolean {
    const match = /^([imsU]*)(?:-([imsU]+))?([:)])/.exec(this.#ahead())
    if (match === null || match[0] === ')') throw new Refused('invalid or unsupported Perl syntax')
    const [whole, on = '', off = '', end] = match
    this.#at += whole.length
    const flag = (name: 'i' | 'm' | 's'): boolean =>
      off.includes(name) ? false : on.includes(name) || this.#flags[name]
    this.#flags = { i: flag('i'), m: flag('m'), s: flag('s') }
    return end === ':'
  }

  #escape(): PatternNode[] {
    const char = this.#next
    switch (char) {
      case 'A':
      case 'z':
      case 'b':
      case 'B':
        this.#at++
        return [asks({ A: isTextStart, z: isTextEnd, b: isBoundary, B: isNoBoundary }[char])]
      case 'Q':
        this.#at++
        return this.#quoted()
    }
    const set = this.#escapedSet()
    if (set !== undefined) return [this.#setOf(set)]
    return [this.#literal(this.#escapedChar())]
  }

  #quoted(): PatternNode[] {
    const items: PatternNode[] = []
    while (this.#at < this.#chars.length && !this.#take('\\E')) {
      items.push(this.#literal(this.#next))
      this.#at++
    }
    return items
  }

  /** The inside of a JavaScript class for \d, \pL and such; undefined if the escape is one
   *  character. */
  #escapedSet(): string | undefined {
    const char = this.#next
    const perl = perlClasses[char.toLowerCase()]
    if (perl !== undefined && /[dwsDWS]/.test(char)) {
      this.#at++
      return char === char.toLowerCase() ? perl : complement(perl)
    }
    if (char !== 'p' && char !== 'P') return undefined
    this.#at++
    const match = /^(?:\{(\^?)(\w+)\}|(\w))/.exec(this.#ahead())
    if (match === null) throw new Refused('invalid character class range')
    this.#at += match[0].length
    const isNegated = (char === 'P') !== (match[1] === '^')
    const name = match[2] ?? match[3] ?? ''
    // Categories have one or two letters; everything else is a script.
    const property = name === 'Any' || name.length <= 2 ? name : `Script=${name}`
    return `\\${isNegated ? 'P' : 'p'}{${property}}`
  }

  #escapedChar(): string {
    const char = this.#next
    this.#at++
    if (Object.hasOwn(controls, char)) return controls[char] as string
    const rest = this.#chars.slice(this.#at, this.#at + 10).join('')
    if (char === 'x') {
      const hex = /^(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2}))/.exec(rest)
      const code = hex === null ? Infinity : Number.parseInt(hex[1] ?? hex[2] ?? '', 16)
      if (hex === null || code > 0x10ffff) throw new Refused('invalid escape sequence')
      this.#at += hex[0].length
      return String.fromCodePoint(code)
    }
    if (/[0-7]/.test(char)) {
      const octal = /^[0-7]{0,2}/.exec(rest)?.[0] ?? ''
      if (char !== '0' && octal === '') throw new Refused('invalid escape sequence')
      this.#at += octal.length
      return String.fromCodePoint(Number.parseInt(char + octal, 8))
    }
    // Only punctuation may be escaped for itself.
    if (char === '' || /[0-9A-Za-z]/.test(char) || char > '\x7f') {
      throw new Refused('invalid escape sequence')
    }
    return char
  }

  #class(): PatternNode {
    const isNegated = this.#take('^')
    let inside = ''
    for (let isFirst = true; isFirst || this.#next !== ']'; isFirst = false) {
      if (this.#next === '') throw new Refused('missing closing ]')
      inside += this.#posixSet() ?? this.#range()
    }
    this.#at++
    return this.#setOf(isNegated ? complement(inside) : inside)
  }

  #posixSet(): string | undefined {
    if (this.#next === '\\') {
      this.#at++
      const set = this.#escapedSet()
      if (set === undefined) this.#at--
      return set
    }
    const match = /^\[:(\^?)(\w+):\]/.exec(this.#ahead())
    if (match === null) return undefined
    const [whole, not, name = ''] = match
    const set = Object.hasOwn(posixClasses, name) ? posixClasses[name] : undefined
    if (set === undefined) throw new Refused('invalid character class range')
    this.#at += whole.length
    return not === '^' ? complement(set) : set
  }

  #range(): string {
    const low = this.#classChar()
    if (
      this.#next !== '-' ||
      this.#chars[this.#at + 1] === ']' ||
      this.#at + 1 >= this.#chars.length
    ) {
      return escaped(low)
    }
    this.#at++
    const high = this.#classChar()
    if ((low.codePointAt(0) ?? 0) > (high.codePointAt(0) ?? 0)) {
      throw new Refused('invalid character class range')
    }
    return `${escaped(low)}-${escaped(high)}`
  }

  #classChar(): string {
    if (this.#take('\\')) return this.#escapedChar()
    const char = this.#next
    this.#at++
    return char
  }

  #setOf(inside: string): PatternNode {
    const pattern = new RegExp(`^[${inside}]$`, this.#flags.i ? 'ivs' : 'vs')
    return takes(char => pattern.test(char))
  }
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
