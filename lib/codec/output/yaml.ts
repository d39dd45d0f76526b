/** YAML as kube-apiserver writes it: the JSON of an object, read and written again by go-yaml v2.
 *  Block style, names sorted, lists not indented, lines folded at the first space after column 80.
 *
 *  A list is written in pieces, an item at a time: its members sort as apiVersion, items, kind,
 *  metadata, so the list's own fields can follow its items. */

import {
  JsonNumber,
  type JsonObject,
  type JsonValue,
  quoteEscapes,
  treeInSteps,
} from '@watchglass/go'
import {
  atOnce,
  giveUp,
  GiveUp,
  isStepDue,
  NotExact,
  sortedInSteps,
  type Steps,
} from '@watchglass/base'
import { compareNames } from './yaml/order.ts'
import { type ScalarStyle, scalarForm, special, yamlNumber } from './yaml/scalars.ts'

/** libyaml's limits: a line is folded behind this column, and a longer name (in bytes) is written
 *  behind a `?`. */
const foldColumn = 80
const simpleNameMaxBytes = 128

/** The YAML of a JSON document. */
export function yamlFromJson(json: Uint8Array): Uint8Array | NotExact {
  return atOnce(yamlInSteps(json))
}

/** `yamlFromJson` in steps. */
export function yamlInSteps(json: Uint8Array): Steps<Uint8Array | NotExact> {
  return write(json, (writer, tree) => writer.document(tree))
}

/** The YAML of one item of a list that is a member of a document: `- ` and what follows. */
export function yamlItemFromJson(json: Uint8Array): Uint8Array | NotExact {
  return atOnce(write(json, (writer, tree) => writer.item(tree)))
}

/** The most characters of YAML: each line of what nests deep is indented by a thousand spaces, so
 *  that 1.5 MB of numbers in lists would make 600 MB. */
function yamlMaxLength(json: Uint8Array): number {
  return Math.min(8 * 1024 * 1024 + 8 * json.length, 256 * 1024 * 1024)
}

function* write(
  json: Uint8Array,
  render: (writer: YamlWriter, tree: JsonValue) => Steps<string>,
): Steps<Uint8Array | NotExact> {
  const maxLength = yamlMaxLength(json)
  if (json.length > maxLength) return new NotExact(tooLongForYaml)
  const text = Buffer.from(json.buffer, json.byteOffset, json.length).toString()
  if (refused.test(text)) return refusedText
  if (misread.test(text)) return misreadText
  yield
  const tree = yield* treeInSteps(json, 0, json.length)
  if (tree === undefined) return new NotExact('value is not JSON, or nested too deep')
  try {
    return Buffer.from(yield* render(new YamlWriter(maxLength), tree))
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

  *document(tree: JsonValue): Steps<string> {
    yield* this.#node(tree, -2, 'top')
    this.#startLine(0)
    return this.#text
  }

  *item(tree: JsonValue): Steps<string> {
    this.#startLine(0)
    this.#indicator('-', true)
    yield* this.#node(tree, 0, 'item')
    this.#startLine(0)
    return this.#text
  }

  /** `indent` is the one of what the node is part of. */
  *#node(tree: JsonValue, indent: number, place: 'top' | 'value' | 'item'): Steps<void> {
    if (isStepDue()) yield
    if (typeof tree === 'string') {
      this.#scalar(tree, scalarForm(tree, false).style, indent + 2)
    } else if (tree === null || typeof tree === 'boolean') {
      this.#scalar(String(tree), 'plain', indent + 2)
    } else if (tree instanceof JsonNumber) {
      this.#scalar(yamlNumber(tree.source), 'plain', indent + 2)
    } else if (tree instanceof Map) {
      if (tree.size === 0) this.#emptyNode('{', '}')
      else yield* this.#members(tree, indent + 2)
    } else if (tree.length === 0) {
      this.#emptyNode('[', ']')
    } else {
      const isUnindented = place === 'value' && !this.#isIndentation
      yield* this.#items(tree, isUnindented ? indent : indent + 2)
    }
  }

  #emptyNode(open: string, close: string): void {
    this.#indicator(open, false)
    this.#isSpace = true
    this.#write(close)
    this.#isSpace = false
  }

  *#items(items: readonly JsonValue[], indent: number): Steps<void> {
    for (const item of items) {
      this.#startLine(indent)
      this.#indicator('-', true)
      yield* this.#node(item, indent, 'item')
    }
  }

  *#members(members: JsonObject, indent: number): Steps<void> {
    for (const [name, value] of yield* sortedInSteps([...members], compareMembers)) {
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
      yield* this.#node(value, indent, 'value')
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
      const run = isAfterBreak ? '' : runAt(text, i, unfolded)
      if (run !== '') {
        // A line is folded at single spaces only.
        this.#write(run)
        this.#isIndentation &&= run.startsWith(' ')
        isAfterSpace = run.startsWith(' ')
        i += run.length - 1
      } else if (character === ' ') {
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
    for (let i = 0; i < text.length;) {
      const run = runAt(text, i, unescaped)
      if (run !== '') {
        this.#write(run)
        isAfterSpace = false
        i += run.length
        continue
      }
      const character = String.fromCodePoint(text.codePointAt(i) as number)
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
    for (let i = 0; i < text.length;) {
      const line = runAt(text, i, unbroken)
      if (line === '') {
        this.#writeBreak(text.charAt(i++))
        this.#isIndentation = true
      } else {
        this.#startLine(indent)
        this.#write(line)
        this.#isIndentation = false
        i += line.length
      }
    }
  }

  #writeBreak(character: string): void {
    this.#text += character
    this.#column = 0
  }
}

/** Runs of text that are written as they are, wherever the line ends: of plain and quoted texts
 *  (several spaces, or anything without spaces and breaks), of escaped ones, of literal ones. */
const unfolded = /  +|[^ '\n\r\u0085\u2028\u2029]+/y
const unescaped = /[!#-[\]-~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]+/y
const unbroken = /[^\n\r\u0085\u2028\u2029]+/y

/** The text that the pattern matches at a place: a megabyte takes half a second character by
 *  character. */
function runAt(text: string, at: number, pattern: RegExp): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

function compareMembers([a]: [string, JsonValue], [b]: [string, JsonValue]): number {
  return compareNames(a, b)
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
