/** YAML as kube-apiserver writes it: the JSON of an object, read and written again by go-yaml v2.
 *  Block style, names sorted, lists not indented, lines folded at the first space after column 80.
 *
 *  A list is written in pieces, an item at a time: its members sort as apiVersion, items, kind,
 *  metadata, so the list's own fields can follow its items. */

import {
  JsonNumber,
  type JsonObject,
  type JsonValue,
  parseTree,
  quoteEscapes,
} from '@watchglass/go'
import { giveUp, GiveUp, NotExact } from '@watchglass/base'
import { compareNames } from './yaml/order.ts'
import { type ScalarStyle, scalarForm, special, yamlNumber } from './yaml/scalars.ts'

/** libyaml's limits: a line is folded behind this column, and a longer name (in bytes) is written
 *  behind a `?`. */
const foldColumn = 80
const simpleNameMaxBytes = 128

/** The YAML of a JSON document. */
export function yamlFromJson(json: Uint8Array): Uint8Array | NotExact {
  return write(json, (writer, tree) => writer.document(tree))
}

/** The YAML of one item of a list that is a member of a document: `- ` and what follows. */
export function yamlItemFromJson(json: Uint8Array): Uint8Array | NotExact {
  return write(json, (writer, tree) => writer.item(tree))
}

/** The most characters of YAML: each line of what nests deep is indented by a thousand spaces, so
 *  that 1.5 MB of numbers in lists would make 600 MB. */
function yamlMaxLength(json: Uint8Array): number {
  return Math.min(8 * 1024 * 1024 + 8 * json.length, 256 * 1024 * 1024)
}

function write(
  json: Uint8Array,
  render: (writer: YamlWriter, tree: JsonValue) => string,
): Uint8Array | NotExact {
  const maxLength = yamlMaxLength(json)
  if (json.length > maxLength) return new NotExact(tooLongForYaml)
  const text = Buffer.from(json.buffer, json.byteOffset, json.length).toString()
  if (refused.test(text)) return refusedText
  if (misread.test(text)) return misreadText
  const tree = parseTree(json, 0, json.length)
  if (tree === undefined) return new NotExact('value is not JSON, or nested too deep')
  try {
    return Buffer.from(render(new YamlWriter(maxLength), tree))
  } catch (error) {
    if (error instanceof GiveUp) return new NotExact(error.reason)
    throw error
  }
}

/** go-yaml refuses these anywhere in the JSON that it reads. */
const refused = /[\u007f-\u0084\u0086-\u009f\ufeff\ufffe\uffff]/
const refusedText = new NotExact(
  'a text has a character that YAML cannot hold',
  'yaml: control characters are not allowed',
)

/** The end of a line for go-yaml, and halves of pairs. A backslash that is escaped itself begins no
 *  escape. */
const misread = /\u0085|(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]/
const misreadText = new NotExact('a text has a character that YAML reads as another')

/** go-yaml cannot read a name whose `:` is more than 1,024 characters away; this is below that. */
const nameMaxLength = 1000

const tooLongForYaml = 'its YAML is too long'

/** Follows libyaml's emitter, which decides about line breaks by where it is and what it wrote
 *  last. */
class YamlWriter {
  #text = ''
  #column = 0
  /** The last thing written was white space, or nothing yet. */
  #isSpace = true
  /** Only indentation and `-`, `?`, `:` stand on this line. */
  #isIndentation = true
  readonly #maxLength: number

  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  document(tree: JsonValue): string {
    this.#node(tree, -2, 'top')
    this.#startLine(0)
    return this.#text
  }

  item(tree: JsonValue): string {
    this.#startLine(0)
    this.#indicator('-', true)
    this.#node(tree, 0, 'item')
    this.#startLine(0)
    return this.#text
  }

  /** `indent` is the one of what the node is part of. */
  #node(tree: JsonValue, indent: number, place: 'top' | 'value' | 'item'): void {
    if (typeof tree === 'string') {
      this.#scalar(tree, scalarForm(tree, false).style, indent + 2)
    } else if (tree === null || typeof tree === 'boolean') {
      this.#scalar(String(tree), 'plain', indent + 2)
    } else if (tree instanceof JsonNumber) {
      this.#scalar(yamlNumber(tree.source), 'plain', indent + 2)
    } else if (tree instanceof Map) {
      if (tree.size === 0) this.#emptyNode('{', '}')
      else this.#members(tree, indent + 2)
    } else if (tree.length === 0) {
      this.#emptyNode('[', ']')
    } else {
      const isUnindented = place === 'value' && !this.#isIndentation
      this.#items(tree, isUnindented ? indent : indent + 2)
    }
  }

  #emptyNode(open: string, close: string): void {
    this.#indicator(open, false)
    this.#isSpace = true
    this.#write(close)
    this.#isSpace = false
  }

  #items(items: readonly JsonValue[], indent: number): void {
    for (const item of items) {
      this.#startLine(indent)
      this.#indicator('-', true)
      this.#node(item, indent, 'item')
    }
  }

  #members(members: JsonObject, indent: number): void {
    for (const [name, value] of [...members].sort(([a], [b]) => compareNames(a, b))) {
      this.#startLine(indent)
      const form = scalarForm(name, true)
      if (!form.isMultiline && Buffer.byteLength(name) <= simpleNameMaxBytes) {
        this.#scalar(name, form.style, Infinity)
        this.#write(':')
        this.#isSpace = false
      } else {
        if (JSON.stringify(name).length > nameMaxLength) giveUp('a name is too long for YAML')
        this.#indicator('?', true)
        this.#scalar(name, scalarForm(name, false).style, indent + 2)
        this.#startLine(indent)
        this.#indicator(':', true)
      }
      this.#node(value, indent, 'value')
    }
  }

  #indicator(text: string, isIndentation: boolean): void {
    if (!this.#isSpace) this.#write(' ')
    this.#write(text)
    this.#isSpace = false
    this.#isIndentation &&= isIndentation
  }

  /** Text without line breaks: every character is a column. */
  #write(text: string): void {
    this.#text += text
    this.#column += text.length
  }

  #break(): void {
    this.#text += '\n'
    this.#column = 0
  }

  #startLine(indent: number): void {
    const isTaken = this.#column > indent || (this.#column === indent && !this.#isSpace)
    if (!this.#isIndentation || isTaken) this.#break()
    if (this.#column < indent) this.#write(' '.repeat(indent - this.#column))
    if (this.#text.length > this.#maxLength) giveUp(tooLongForYaml)
    this.#isSpace = true
    this.#isIndentation = true
  }

  /** Folded lines continue at `indent`; a name is never folded, and says so with an infinite
   *  one. */
  #scalar(text: string, style: ScalarStyle, indent: number): void {
    if (style === 'literal') {
      this.#literal(text, indent)
      return
    }
    const quote = style === 'plain' ? '' : style === 'single' ? "'" : '"'
    this.#indicator(quote, false)
    if (style === 'double') this.#doubleQuoted(text, indent)
    else if (/[ \n\r\u0085\u2028\u2029]/.test(text)) this.#folded(text, style, indent)
    else this.#write(style === 'single' ? text.replaceAll("'", "''") : text)
    this.#write(quote)
    this.#isSpace = false
    this.#isIndentation = false
  }

  /** Plain and single quoted texts, character by character. */
  #folded(text: string, style: ScalarStyle, indent: number): void {
    const isSingle = style === 'single'
    let isAfterSpace = false
    let isAfterBreak = false
    for (let i = 0; i < text.length; i++) {
      const character = text.charAt(i)
      if (character === ' ') {
        const isInside = !isSingle || (i > 0 && i < text.length - 1)
        const isFold = !isAfterSpace && isInside && text.charAt(i + 1) !== ' '
        if (isFold && this.#isFull(indent)) this.#startLine(indent)
        else this.#write(' ')
        isAfterSpace = true
      } else if (isLineBreak(character)) {
        if (!isAfterBreak && character === '\n') this.#break()
        this.#writeBreak(character)
        this.#isIndentation = true
        isAfterBreak = true
      } else {
        if (isAfterBreak) this.#startLine(indent)
        if (isSingle && character === "'") this.#write("'")
        this.#write(character)
        this.#isIndentation = false
        isAfterSpace = false
        isAfterBreak = false
      }
    }
  }

  #doubleQuoted(text: string, indent: number): void {
    let isAfterSpace = false
    let i = 0
    for (const character of text) {
      if (mustEscape(character)) {
        this.#write(escaped(character))
        isAfterSpace = false
      } else if (character === ' ') {
        const isInside = i > 0 && i < text.length - 1
        if (!isAfterSpace && isInside && this.#isFull(indent)) {
          this.#startLine(indent)
          if (text.charAt(i + 1) === ' ') this.#write('\\')
        } else {
          this.#write(' ')
        }
        isAfterSpace = true
      } else {
        this.#write(character)
        isAfterSpace = false
      }
      i += character.length
    }
  }

  #isFull(indent: number): boolean {
    return this.#column > foldColumn && indent !== Infinity
  }

  #literal(text: string, indent: number): void {
    const first = text.charAt(0)
    const hint = first === ' ' || isLineBreak(first) ? '2' : ''
    const last = text.at(-1) ?? ''
    const isKept = isLineBreak(last) && (text.length === 1 || isLineBreak(text.at(-2) ?? ''))
    const chomp = isLineBreak(last) ? (isKept ? '+' : '') : '-'
    this.#indicator(`|${hint}${chomp}`, false)
    this.#break()
    this.#isIndentation = true
    this.#isSpace = true
    let isAfterBreak = true
    for (const character of text) {
      if (isLineBreak(character)) {
        this.#writeBreak(character)
        this.#isIndentation = true
        isAfterBreak = true
      } else {
        if (isAfterBreak) this.#startLine(indent)
        this.#write(character)
        this.#isIndentation = false
        isAfterBreak = false
      }
    }
  }

  #writeBreak(character: string): void {
    this.#text += character
    this.#column = 0
  }
}

function isLineBreak(character: string): boolean {
  return /[\n\r\u0085\u2028\u2029]/.test(character)
}

function mustEscape(character: string): boolean {
  return (
    character === '"' || character === '\\' || special.test(character) || isLineBreak(character)
  )
}

const shortEscapes: Readonly<Record<string, string>> = {
  ...quoteEscapes,
  '\0': '\\0',
  '\u001b': '\\e',
  '\u0085': '\\N',
  '\u2028': '\\L',
  '\u2029': '\\P',
}

function escaped(character: string): string {
  const short = shortEscapes[character]
  if (short !== undefined) return short
  const code = character.codePointAt(0)!
  const digits = code.toString(16).toUpperCase()
  if (code <= 0xff) return `\\x${digits.padStart(2, '0')}`
  return code <= 0xffff ? `\\u${digits.padStart(4, '0')}` : `\\U${digits.padStart(8, '0')}`
}
