/** JSON as Go's encoding/json reads it: the same texts are refused, with the same words. Small
 *  texts only; what clients send in a continue token ends in an error message byte for byte. */

import { goQuote } from './text.ts'

/** A value as it was written: numbers keep their text, the outermost object its members with order
 *  and duplicates. */
export type GoJsonValue =
  | { readonly kind: 'object'; readonly members: readonly (readonly [string, GoJsonValue])[] }
  | { readonly kind: 'array' | 'bool' | 'null' }
  | { readonly kind: 'string' | 'number'; readonly text: string }

/** A text that is no JSON. */
export class GoJsonError extends Error {}

/** Parses UTF-8 bytes; throws `GoJsonError`. O(length). */
export function parseGoJson(bytes: Buffer): GoJsonValue {
  return new Scanner(bytes.toString('latin1')).parse()
}

const depthMax = 10_000

const literals: Readonly<Record<string, readonly [word: string, kind: 'bool' | 'null']>> = {
  t: ['true', 'bool'],
  f: ['false', 'bool'],
  n: ['null', 'null'],
}

class Scanner {
  /** One character for each byte. */
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  parse(): GoJsonValue {
    this.#skipSpaces()
    const value = this.#peek() === '{' ? this.#object() : this.#value()
    this.#skipSpaces()
    if (this.#at < this.#text.length) throw this.#unexpected('after top-level value')
    return value
  }

  /** The outermost object, with its members. */
  #object(): GoJsonValue {
    const members: (readonly [string, GoJsonValue])[] = []
    this.#at++
    this.#skipSpaces()
    if (this.#skip('}')) return { kind: 'object', members }
    for (;;) {
      const name = this.#key()
      this.#skipSpaces()
      members.push([name, this.#value()])
      this.#skipSpaces()
      if (this.#skip('}')) return { kind: 'object', members }
      if (!this.#skip(',')) throw this.#unexpected('after object key:value pair')
    }
  }

  /** Any value; of what is in lists and inner objects nothing is kept. */
  #value(): GoJsonValue {
    const char = this.#peek()
    if (char !== '{' && char !== '[') return this.#scalar()
    this.#skipContainer()
    return char === '{' ? { kind: 'object', members: [] } : { kind: 'array' }
  }

  #scalar(): GoJsonValue {
    const char = this.#peek()
    if (char === '"') return { kind: 'string', text: this.#string() }
    if (/[-0-9]/.test(char)) return { kind: 'number', text: this.#number() }
    const literal = literals[char]
    if (literal === undefined) throw this.#unexpected('looking for beginning of value')
    return this.#literal(...literal)
  }

  /** Goes past a list or object. Depth is in an array and not on the stack, since a client decides
   *  about it. */
  #skipContainer(): void {
    const open: string[] = []
    do {
      this.#skipSpaces()
      const char = this.#peek()
      if (char !== '{' && char !== '[') this.#scalar()
      else if (this.#opens(char, open)) continue
      this.#closeAll(open)
    } while (open.length > 0)
  }

  /** Enters a list or object. True if a value is next, false if it was empty. */
  #opens(char: '{' | '[', open: string[]): boolean {
    this.#at++
    if (open.push(char) >= depthMax) throw new GoJsonError('exceeded max depth')
    this.#skipSpaces()
    if (this.#skip(char === '{' ? '}' : ']')) {
      open.pop()
      return false
    }
    if (char === '{') this.#key()
    return true
  }

  /** After a value: leaves what ends here, and goes to where the next value begins, if there is
   *  one. */
  #closeAll(open: string[]): void {
    for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
      this.#skipSpaces()
      if (this.#skip(inner === '{' ? '}' : ']')) {
        open.pop()
        continue
      }
      if (!this.#skip(',')) {
        throw this.#unexpected(
          inner === '{' ? 'after object key:value pair' : 'after array element',
        )
      }
      if (inner === '{') this.#key()
      return
    }
  }

  #key(): string {
    this.#skipSpaces()
    if (this.#peek() !== '"') throw this.#unexpected('looking for beginning of object key string')
    const name = this.#string()
    this.#skipSpaces()
    if (!this.#skip(':')) throw this.#unexpected('after object key')
    return name
  }

  #string(): string {
    const start = this.#at++
    for (;;) {
      const char = this.#peek()
      if (char < ' ') throw this.#unexpected('in string literal')
      this.#at++
      if (char === '"') break
      if (char === '\\') this.#escape()
    }
    const raw = this.#text.slice(start, this.#at)
    return JSON.parse(Buffer.from(raw, 'latin1').toString('utf8')) as string
  }

  #escape(): void {
    if (!/["\\/bfnrtu]/.test(this.#peekInside())) throw this.#unexpected('in string escape code')
    if (this.#text[this.#at++] !== 'u') return
    for (let i = 0; i < 4; i++) {
      if (!/[0-9a-fA-F]/.test(this.#peekInside())) {
        throw this.#unexpected('in \\u hexadecimal character escape')
      }
      this.#at++
    }
  }

  #number(): string {
    const start = this.#at
    this.#skip('-')
    if (!this.#skip('0')) this.#digits('in numeric literal')
    if (this.#skip('.')) this.#digits('after decimal point in numeric literal')
    if (this.#skip('e') || this.#skip('E')) {
      if (!this.#skip('+')) this.#skip('-')
      this.#digits('in exponent of numeric literal')
    }
    return this.#text.slice(start, this.#at)
  }

  #digits(context: string): void {
    if (!/[0-9]/.test(this.#peekInside())) throw this.#unexpected(context)
    while (this.#at < this.#text.length && /[0-9]/.test(this.#text.charAt(this.#at))) this.#at++
  }

  #literal(word: string, kind: 'bool' | 'null'): GoJsonValue {
    for (const expected of word) {
      if (this.#peekInside() !== expected) {
        throw this.#unexpected(`in literal ${word} (expecting '${expected}')`)
      }
      this.#at++
    }
    return { kind }
  }

  #skipSpaces(): void {
    while (/[ \t\r\n]/.test(this.#text.charAt(this.#at))) this.#at++
  }

  #skip(char: string): boolean {
    if (this.#text[this.#at] !== char) return false
    this.#at++
    return true
  }

  /** The next byte, which must be there. */
  #peek(): string {
    const char = this.#text[this.#at]
    if (char === undefined) throw new GoJsonError('unexpected end of JSON input')
    return char
  }

  /** The next byte inside a token; Go takes the end of the text for a space there. */
  #peekInside(): string {
    return this.#text[this.#at] ?? ' '
  }

  #unexpected(context: string): GoJsonError {
    return new GoJsonError(`invalid character ${quoteByte(this.#peekInside())} ${context}`)
  }
}

function quoteByte(char: string): string {
  if (char === "'") return "'\\''"
  if (char === '"') return `'"'`
  return `'${goQuote(char).slice(1, -1)}'`
}
