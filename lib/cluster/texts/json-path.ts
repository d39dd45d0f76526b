/** JSONPath as Kubernetes' templates have it: what is wrong with one, in the words of
 *  k8s.io/client-go/util/jsonpath. What it finds is of no interest here. */

/** The problem of a template as `{.spec.a}`; undefined if there is none. */
export function jsonPathProblem(template: string): string | undefined {
  return new Template(template).problem
}

const digit = /^\p{Nd}$/u
const wordPart = /^[_\p{L}\p{Nd}]$/u
const terminators = new Set(['', ' ', '\t', '\r', '\n', '.', ',', '[', ']', '$', '@', '{', '}'])

/** Reads a template from left to right, and ends at its first problem. */
class Template {
  readonly #text: string
  #at = 0
  /** The beginning of what is read just now. */
  #start = 0
  #isAfterDescent = false

  constructor(text: string) {
    this.#text = text
  }

  get problem(): string | undefined {
    for (;;) {
      const at = this.#text.indexOf('{', this.#at)
      if (at < 0) return undefined
      this.#at = at + 1
      this.#take()
      this.#isAfterDescent = false
      const problem = this.#action()
      if (problem !== undefined) return problem
    }
  }

  /** The next character, or '' at the end. */
  #next(): string {
    const code = this.#text.codePointAt(this.#at)
    if (code === undefined) return ''
    const char = String.fromCodePoint(code)
    this.#at += char.length
    return char
  }

  #peek(): string {
    const at = this.#at
    const char = this.#next()
    this.#at = at
    return char
  }

  #take(): string {
    const taken = this.#text.slice(this.#start, this.#at)
    this.#start = this.#at
    return taken
  }

  /** Reads up to the brace that ends an action. */
  #action(): string | undefined {
    for (;;) {
      const rest = this.#text.slice(this.#at, this.#at + 3)
      if (rest.startsWith('}')) {
        this.#at += 1
        this.#take()
        return undefined
      }
      const problem = this.#step(rest)
      if (problem !== undefined) return problem
    }
  }

  #step(rest: string): string | undefined {
    if (rest === '[?(') return this.#filter()
    if (rest.startsWith('..')) return this.#descend()
    const char = this.#peek()
    if (char === '' || char === '\r' || char === '\n') return 'unclosed action'
    if (char === ' ' || char === '@' || char === '$') {
      this.#next()
      this.#take()
      return undefined
    }
    this.#isAfterDescent = false
    if (char === '[') return this.#array()
    if (char === '"' || char === "'") return this.#quoted(char)
    if (char === '+' || char === '-' || digit.test(char)) return this.#number()
    if (char === '.') {
      this.#next()
      this.#field()
    } else if (wordPart.test(char)) this.#skipWord()
    else return `unrecognized character in action: ${codeText(char)}`
    return undefined
  }

  #descend(): string | undefined {
    if (this.#isAfterDescent) return 'invalid multiple recursive descent'
    this.#at += 2
    this.#take()
    const isNamed = wordPart.test(this.#peek())
    this.#isAfterDescent = !isNamed
    if (isNamed) this.#field()
    return undefined
  }

  #field(): void {
    while (!terminators.has(this.#peek())) {
      if (this.#next() === '\\') this.#next()
    }
    this.#take()
  }

  #skipWord(): void {
    while (!terminators.has(this.#peek())) this.#next()
    this.#take()
  }

  #number(): string | undefined {
    this.#next()
    while (this.#peek() === '.' || digit.test(this.#peek())) this.#next()
    const number = this.#take()
    const isNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(number)
    return isNumber ? undefined : `cannot parse number ${number}`
  }

  #quoted(quote: string): string | undefined {
    this.#next()
    for (;;) {
      const char = this.#next()
      if (char === '' || char === '\n') return 'unterminated quoted string'
      if (char === quote && this.#text[this.#at - 2] !== '\\') break
    }
    const quoted = this.#take()
    const inner = quoted.slice(1, -1)
    const escape = /\\(?:[abfnrtv\\'"]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-3][0-7]{2})/g
    const other = quote === '"' ? "\\'" : '\\"'
    const plain = inner.replaceAll(escape, found => (found === other ? other : ' '))
    const isRight = !plain.includes('\\') && !plain.includes(quote)
    return isRight ? undefined : `unquote string ${quoted} error invalid syntax`
  }

  #array(): string | undefined {
    for (;;) {
      const char = this.#next()
      if (char === '' || char === '\n') return 'unterminated array'
      if (char === ']') break
    }
    return problemOfIndex(this.#take().slice(1, -1))
  }

  #filter(): string | undefined {
    this.#at += 3
    this.#take()
    let [hasBegun, hasEnded, pair] = [false, false, '']
    for (;;) {
      const char = this.#next()
      if (char === '' || char === '\n') return 'unterminated filter'
      if (char === ')' && hasBegun === hasEnded) break
      if (char !== '"' && char !== "'") continue
      if (!hasBegun) [hasBegun, pair] = [true, char]
      else if (char === pair && this.#text[this.#at - 2] !== '\\') hasEnded = true
    }
    if (this.#next() !== ']') return 'unclosed array expect ]'
    const text = this.#take().slice(0, -2)
    const [, left, , right] = /^([^!<>=]+)([!<>=]+)(.+?)$/.exec(text) ?? []
    if (left === undefined) return jsonPathProblem(`{${text}}`)
    return jsonPathProblem(`{${left}}`) ?? jsonPathProblem(`{${right}}`)
  }
}

function problemOfIndex(text: string): string | undefined {
  const parts = text.split(',')
  if (parts.length > 1) {
    for (const part of parts) {
      const problem = jsonPathProblem(`{[${part.replaceAll(/^ +| +$/g, '')}]}`)
      if (problem !== undefined) return problem
    }
    return undefined
  }
  const name = /^'([^']*)'$/.exec(text)?.[1]
  if (name !== undefined) return jsonPathProblem(`{.${name}}`)
  const numbers = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(text === '*' ? ':' : text)
  if (numbers === null) return `invalid array index ${text}`
  for (const [i, number = ''] of numbers.slice(1).entries()) {
    const digits = i > 0 ? number.slice(1) : number
    if (digits === '' || isInt64(digits)) continue
    return `array index ${digits} is not a number`
  }
  return undefined
}

function isInt64(digits: string): boolean {
  const [sign, number] = digits.startsWith('-') ? ['-', digits.slice(1)] : ['', digits]
  const short = number.replace(/^0+(?=\d)/, '')
  if (!/^\d{1,20}$/.test(short)) return false
  const value = BigInt(`${sign}${short}`)
  return BigInt.asIntN(64, value) === value
}

/** As Go's `%#U`: `U+0028 '('`. */
function codeText(char: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
  const isPrintable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(char)
  return isPrintable ? `U+${code} '${char}'` : `U+${code}`
}
