/** JSONPath as Kubernetes' templates have it (k8s.io/client-go/util/jsonpath): columns of custom
 *  resources show what is there, and policies name fields so. */

import { controlEscapes, goParseInt, goText, JsonNumber, trimSpaces } from '@watchglass/go'

/** One step from values to values. */
export type JsonPathStep =
  | { readonly type: 'member'; readonly name: string }
  | { readonly type: 'members' }
  | { readonly type: 'descent' }
  | { readonly type: 'slice'; readonly slice: JsonPathSlice }
  | { readonly type: 'filter'; readonly filter: JsonPathFilter }
  | { readonly type: 'union'; readonly paths: readonly ParsedJsonPath[] }
  | { readonly type: 'text'; readonly text: string }
  /** Each value becomes this one. An integer is not of the type that integers of objects have. */
  | { readonly type: 'constant'; readonly value: boolean | bigint | JsonNumber }
  /** A word that is no keyword, `range` or `end`. These would loop over all the template, and the
   *  upstream never ends a loop that its first object has begun. */
  | { readonly type: 'word' }

export type ParsedJsonPath = readonly JsonPathStep[]

/** As in `[from:to:step]`; a lone index is a slice of one. */
export interface JsonPathSlice {
  readonly from: number
  readonly to: number | undefined
  readonly step: number | undefined
  readonly isIndex: boolean
}

/** `?(@.a == "b")`, or `?(@.a)` for what exists: it has no operator. */
export interface JsonPathFilter {
  readonly left: ParsedJsonPath
  readonly operator: string | undefined
  readonly right: ParsedJsonPath
}

/** The actions of a template as `{.spec.a}`, or what is wrong with it. */
export function parseJsonPath(template: string): readonly ParsedJsonPath[] | string {
  try {
    return new Template(template).actions()
  } catch (error) {
    if (error instanceof Wrong) return error.message
    throw error
  }
}

class Wrong extends Error {}

const digit = /^\p{Nd}$/u
const wordPart = /^[_\p{L}\p{Nd}]$/u
const terminators = new Set(['', ' ', '\t', '\r', '\n', '.', ',', '[', ']', '$', '@', '{', '}'])

/** Reads a template from left to right, and ends at its first problem. */
class Template {
  readonly #text: string
  #at = 0
  /** The beginning of what is read just now. */
  #start = 0
  #steps: JsonPathStep[] = []

  constructor(text: string) {
    this.#text = text
  }

  actions(): ParsedJsonPath[] {
    const actions: ParsedJsonPath[] = []
    for (;;) {
      const at = this.#text.indexOf('{', this.#at)
      if (at < 0) return actions
      this.#at = at + 1
      this.#take()
      this.#steps = []
      while (!this.#text.startsWith('}', this.#at)) this.#step()
      this.#at++
      actions.push(this.#steps)
    }
  }

  /** The next character, or '' at the end. */
  #next(): string {
    const char = this.#peek()
    this.#at += char.length
    return char
  }

  #peek(): string {
    const code = this.#text.codePointAt(this.#at)
    return code === undefined ? '' : String.fromCodePoint(code)
  }

  #take(): string {
    const taken = this.#text.slice(this.#start, this.#at)
    this.#start = this.#at
    return taken
  }

  #step(): void {
    if (this.#text.startsWith('[?(', this.#at)) return this.#filter()
    if (this.#text.startsWith('..', this.#at)) return this.#descend()
    const char = this.#next()
    if (char === '' || char === '\r' || char === '\n') throw new Wrong('unclosed action')
    if (char === '[') this.#array()
    else if (char === '"' || char === "'") this.#quoted(char)
    else if (char === '+' || char === '-' || digit.test(char)) this.#number()
    else if (char === '.') this.#member()
    else if (wordPart.test(char)) this.#word()
    else if (char !== ' ' && char !== '@' && char !== '$') {
      throw new Wrong(`unrecognized character in action: ${codeText(char)}`)
    }
    this.#take()
  }

  #descend(): void {
    if (this.#steps.at(-1)?.type === 'descent') {
      throw new Wrong('invalid multiple recursive descent')
    }
    this.#at += 2
    this.#steps.push({ type: 'descent' })
    if (wordPart.test(this.#peek())) this.#member()
    this.#take()
  }

  #member(): void {
    this.#take()
    while (!terminators.has(this.#peek())) if (this.#next() === '\\') this.#next()
    const name = this.#take().replaceAll('\\', '')
    this.#steps.push(name === '*' ? { type: 'members' } : { type: 'member', name })
  }

  #word(): void {
    while (!terminators.has(this.#peek())) this.#next()
    const word = this.#take()
    const isTruth = word === 'true' || word === 'false'
    this.#steps.push(isTruth ? { type: 'constant', value: word === 'true' } : { type: 'word' })
  }

  #number(): void {
    while (this.#peek() === '.' || digit.test(this.#peek())) this.#next()
    const number = this.#take()
    const integer = goParseInt(number)
    const isFloat = /^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(number) && Number.isFinite(Number(number))
    if (integer.error !== undefined && !isFloat) throw new Wrong(`cannot parse number ${number}`)
    const value = integer.error === undefined ? integer.value : new JsonNumber(number)
    this.#steps.push({ type: 'constant', value })
  }

  #quoted(quote: string): void {
    for (;;) {
      const char = this.#next()
      if (char === '' || char === '\n') throw new Wrong('unterminated quoted string')
      if (char === quote && this.#text[this.#at - 2] !== '\\') break
    }
    const quoted = this.#take()
    const text = unquoted(quoted.slice(1, -1), quote)
    if (text === undefined) throw new Wrong(`unquote string ${quoted} error invalid syntax`)
    this.#steps.push({ type: 'text', text })
  }

  #array(): void {
    for (;;) {
      const char = this.#next()
      if (char === '' || char === '\n') throw new Wrong('unterminated array')
      if (char === ']') break
    }
    const text = this.#take().slice(1, -1)
    const parts = text.split(',')
    const name = /^'([^']*)'$/.exec(text)?.[1]
    if (parts.length > 1) {
      const paths = parts.map(part => actionOf(`[${trimSpaces(part)}]`))
      this.#steps.push({ type: 'union', paths })
    } else if (name === undefined) this.#steps.push({ type: 'slice', slice: sliceFrom(text) })
    else for (const step of actionOf(`.${name}`)) this.#steps.push(step)
  }

  #filter(): void {
    this.#at += 3
    this.#take()
    let [hasBegun, hasEnded, pair] = [false, false, '']
    for (;;) {
      const char = this.#next()
      if (char === '' || char === '\n') throw new Wrong('unterminated filter')
      if (char === ')' && hasBegun === hasEnded) break
      if (char !== '"' && char !== "'") continue
      if (!hasBegun) [hasBegun, pair] = [true, char]
      else if (char === pair && this.#text[this.#at - 2] !== '\\') hasEnded = true
    }
    if (this.#next() !== ']') throw new Wrong('unclosed array expect ]')
    const text = this.#take().slice(0, -2)
    const [, before, operator, after] = /^([^!<>=]+)([!<>=]+)([^\n]+)$/.exec(text) ?? []
    const left = actionOf(before ?? text)
    const right = after === undefined ? [] : actionOf(after)
    this.#steps.push({ type: 'filter', filter: { left, operator, right } })
  }
}

/** The steps of the first action: what follows a brace inside is read, and not used. */
function actionOf(text: string): ParsedJsonPath {
  return new Template(`{${text}}`).actions()[0] ?? []
}

/** Indexes beyond any list are as good as one another. */
const indexMax = 2 ** 52

function sliceFrom(text: string): JsonPathSlice {
  const parts = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(text === '*' ? ':' : text)
  if (parts === null) throw new Wrong(`invalid array index ${text}`)
  const [from, to, step] = parts.slice(1).map((part: string | undefined) => {
    const digits = part?.replace(':', '') ?? ''
    if (digits === '') return undefined
    const { value, error } = goParseInt(digits)
    if (error !== undefined) throw new Wrong(`array index ${digits} is not a number`)
    return Math.max(-indexMax, Math.min(indexMax, Number(value)))
  })
  const isIndex = parts[2] === undefined
  return { from: from ?? 0, to: isIndex ? (from ?? 0) + 1 : to, step, isIndex }
}

const escapes =
  /\\(?:([abfnrtv\\'"])|x([\da-fA-F]{2})|([0-3][0-7]{2})|(u[\da-fA-F]{4}|U[\da-fA-F]{8}))|[\\'"]/g

/** As Go's strconv.Unquote, whose escapes are bytes; undefined if there is a wrong one. */
function unquoted(inner: string, quote: string): string | undefined {
  let isRight = true
  const bytes = inLatin1(inner).replace(escapes, (found, ...groups: (string | undefined)[]) => {
    const [char, hex, octal, point] = groups
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8))
    const code = Number.parseInt(point?.slice(1) ?? '0', 16)
    // The quote has to be escaped, the other one may not be.
    const isQuote = /['"]$/.test(found)
    const isWrong = isQuote ? found.endsWith(quote) !== (char !== undefined) : found === '\\'
    isRight &&= !isWrong && code <= 0x10ffff && (code & 0xfffff800) !== 0xd800
    if (point !== undefined) return isRight ? inLatin1(String.fromCodePoint(code)) : ''
    return controlEscapes[char ?? ''] ?? char ?? found
  })
  return isRight ? goText(Buffer.from(bytes, 'latin1')) : undefined
}

/** One character for each byte. */
function inLatin1(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** As Go's `%#U`: `U+0028 '('`. */
function codeText(char: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
  const isPrintable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(char)
  return isPrintable ? `U+${code} '${char}'` : `U+${code}`
}
