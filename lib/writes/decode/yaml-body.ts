/** YAML bodies: read by the package, with the meaning that go-yaml gives to plain texts (`yes`
 *  is true, `0777` is octal), and turned into the JSON that the API server goes on with. */

import {
  type Alias,
  type CST,
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Scalar,
  type YAMLMap,
} from 'yaml'
import { isStepDue, ShallowParser, type Steps, yamlDepthMax, YamlTooDeep } from '@watchglass/base'
import {
  canonicalNumber,
  goQuote,
  JsonNumber,
  type JsonObject,
  type JsonValue,
} from '@watchglass/go'
import type { StatusError } from '@watchglass/kube'
import { tooLarge } from '../refusals.ts'
import { boundedInSteps } from './documents.ts'
import { DecodeError } from './typed-decoder.ts'

export interface YamlBody {
  readonly value: JsonValue
  /** Errors of a strict parser: repeated keys. */
  readonly strictErrors: readonly string[]
}

/** A document may become this many values, and texts of so many characters, aliases counted as
 *  often as they are used. */
const valuesMax = 100_000
const charactersMax = 16 * 1024 * 1024

/** YAML takes the package 2 to 5 s a megabyte, a hundred times what JSON takes us, and composing a
 *  document is one step. Clients in Go send JSON, also where they read YAML; what people write by
 *  hand is far below these bounds. */
const yamlMaxBytes = 1024 * 1024
const tokensMax = 250_000

/** Parses the first document of a body in steps; throws `DecodeError`. Most bodies are JSON, which
 *  is YAML too, and is parsed at once. */
export function* parseYaml(body: Uint8Array): Steps<YamlBody> {
  const json = body[0] === 0x7b ? yield* boundedInSteps(body) : undefined
  if (json !== undefined && !json.hasRepeatedMembers) return { value: json.value, strictErrors: [] }
  if (body.length > yamlMaxBytes) throw tooMuchYaml()
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString()
  const lines = new LineCounter()
  const document = yield* firstDocument(text, lines)
  const [error] = document?.errors ?? []
  if (error !== undefined) {
    const [at] = error.pos
    const { line } = at === -1 ? { line: 1 } : lines.linePos(at)
    const what = error.message.split('\n')[0]?.replace(/ at line \d+.*$/, '') ?? ''
    throw new DecodeError(`error converting YAML to JSON: yaml: line ${line}: ${what}`)
  }
  const reader = new YamlReader(lines)
  const value = reader.read(document?.contents, 0)
  const { repeated } = reader
  const strictErrors =
    repeated.length === 0
      ? []
      : [`error converting YAML to JSON: yaml: unmarshal errors:\n${repeated.join('\n')}`]
  return { value, strictErrors }
}

const options = {
  version: '1.1',
  schema: 'failsafe',
  uniqueKeys: false,
  logLevel: 'silent',
} as const

/** The first document, as the package's own function composes it, but in steps. Only what follows
 *  the parsing of a document is one step: composing its nodes. */
function* firstDocument(text: string, lines: LineCounter): Steps<Document.Parsed | undefined> {
  const parser = new ShallowParser(lines.addNewLine)
  const composer = new Composer(options)
  const documents: Document.Parsed[] = []
  const compose = (tokens: Iterable<CST.Token>): void => {
    for (const token of tokens) documents.push(...composer.next(token))
  }
  lines.addNewLine(0)
  let tokens = 0
  try {
    for (const lexeme of new Lexer().lex(text)) {
      if (++tokens > tokensMax) throw tooMuchYaml()
      if (isStepDue()) yield
      compose(parser.next(lexeme))
    }
  } catch (error) {
    throw error instanceof YamlTooDeep ? tooDeep() : error
  }
  yield
  compose(parser.end())
  documents.push(...composer.end(true, text.length))
  return documents[0]
}

function tooDeep(): DecodeError {
  return new DecodeError('error converting YAML to JSON: exceeded max depth')
}

function tooMuchYaml(): StatusError {
  return tooLarge(
    `the YAML in the body is larger than this server reads: at most ${yamlMaxBytes} bytes and ${tokensMax} tokens; send it as JSON`,
  )
}

class YamlReader {
  readonly #lines: LineCounter
  readonly repeated: string[] = []
  /** The last node with each anchor so far. The package would walk through the whole document
   *  for each alias. */
  readonly #anchored = new Map<string, unknown>()
  #isInAlias = false
  #count = 0
  #characters = 0

  constructor(lines: LineCounter) {
    this.#lines = lines
  }

  read(node: unknown, depth: number): JsonValue {
    if (isScalar(node) && typeof node.value === 'string') this.#characters += node.value.length
    if (++this.#count > valuesMax || this.#characters > charactersMax) {
      throw new DecodeError(
        'error converting YAML to JSON: yaml: document contains excessive aliasing',
      )
    }
    if (depth > yamlDepthMax) throw tooDeep()
    if (isAlias(node)) return this.#alias(node, depth)
    this.#note(node)
    if (isMap(node)) return this.#map(node as YAMLMap, depth)
    if (!isSeq(node)) return isScalar(node) ? scalarValue(node) : null
    const items: JsonValue[] = []
    for (const item of node.items) items.push(this.read(item, depth + 1))
    return items
  }

  #note(node: unknown): void {
    const isNamed = isMap(node) || isSeq(node) || isScalar(node)
    if (isNamed && node.anchor !== undefined && !this.#isInAlias) {
      this.#anchored.set(node.anchor, node)
    }
  }

  #alias({ source }: Alias, depth: number): JsonValue {
    const node = this.#anchored.get(source)
    if (node === undefined) {
      const what = `yaml: unknown anchor '${source}' referenced`
      throw new DecodeError(`error converting YAML to JSON: ${what}`)
    }
    const isInner = this.#isInAlias
    this.#isInAlias = true
    const value = this.read(node, depth + 1)
    this.#isInAlias = isInner
    return value
  }

  #map(node: YAMLMap, depth: number): JsonObject {
    const object: JsonObject = new Map()
    const merged: JsonObject = new Map()
    for (const { key, value } of node.items) {
      if (isScalar(key) && key.value === '<<' && key.type === 'PLAIN') {
        this.#merge(merged, this.read(value, depth + 1))
        continue
      }
      this.#note(key)
      const name = keyText(key)
      if (object.has(name)) {
        const at = isScalar(key) ? (key.range?.[0] ?? 0) : 0
        this.repeated.push(
          `  line ${this.#lines.linePos(at).line}: key ${goQuote(name)} already set in map`,
        )
      }
      object.set(name, this.read(value, depth + 1))
    }
    for (const [name, value] of merged) if (!object.has(name)) object.set(name, value)
    return object
  }

  #merge(into: JsonObject, value: JsonValue): void {
    for (const source of Array.isArray(value) ? value : [value]) {
      if (!(source instanceof Map)) {
        throw new DecodeError(
          'error converting YAML to JSON: yaml: map merge requires map or sequence of maps as the value',
        )
      }
      for (const [name, item] of source) if (!into.has(name)) into.set(name, item)
    }
  }
}

function keyText(key: unknown): string {
  const value = isScalar(key) ? scalarValue(key) : null
  if (typeof value === 'string') return value
  if (value instanceof JsonNumber) return value.text
  return value === null ? 'null' : String(value as boolean)
}

function scalarValue(node: Scalar): JsonValue {
  const text = typeof node.value === 'string' ? node.value : ''
  const { tag } = node
  if (tag === '!!binary' || tag === 'tag:yaml.org,2002:binary') {
    return Buffer.from(text, 'base64').toString()
  }
  if (node.type !== 'PLAIN' || tag === '!!str' || tag === 'tag:yaml.org,2002:str') return text
  return plainValue(text)
}

const words: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ...['', '~', 'null', 'Null', 'NULL'].map(word => [word, null] as const),
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map(
    word => [word, true] as const,
  ),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map(
    word => [word, false] as const,
  ),
])

const floatPattern = /^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/

/** A plain text, as go-yaml resolves it. */
function plainValue(text: string): JsonValue {
  const word = words.get(text)
  if (word !== undefined) return word
  if (!/^[-+.0-9]/.test(text)) return text
  const digits = text.replaceAll('_', '')
  const integer = integerOf(digits)
  if (integer !== undefined) return new JsonNumber(integer)
  if (!floatPattern.test(digits)) return text
  const number = canonicalNumber(String(Number(digits)))
  return number === undefined ? text : new JsonNumber(number)
}

/** The digits of the longest number of 64 bits. */
const digitsMax = 20

/** An integer as strconv.ParseInt reads it with base 0. */
function integerOf(text: string): string | undefined {
  const match = /^([-+]?)(?:0x([0-9a-fA-F]+)|0b([01]+)|0o?([0-7]+)|(0|[1-9]\d*))$/.exec(text)
  if (match === null) return undefined
  const [, sign, hex, binary, octal, decimal] = match
  const digits =
    hex !== undefined
      ? `0x${hex}`
      : binary !== undefined
        ? `0b${binary}`
        : octal !== undefined
          ? `0o${octal}`
          : (decimal ?? '0')
  // To read a megabyte of decimal digits takes a tenth of a second.
  if (decimal !== undefined && decimal.length > digitsMax) return undefined
  const value = BigInt(digits) * (sign === '-' ? -1n : 1n)
  const isHeld = value >= -(2n ** 63n) && value < 2n ** 64n
  return isHeld ? String(value) : undefined
}
