/** Reads a template: the language of Go's text/template without definitions of other templates. */

import { piecesOf, type Piece, type Word } from './lexer.ts'
import { TemplateProblem } from './problem.ts'
import type { Command, TemplateNode, Operand, Pipe } from './tree.ts'

const depthMax = 100

/** @param isFunction whether there is a function of that name */
export function parseTemplate(
  template: string,
  isFunction: (name: string) => boolean,
): readonly TemplateNode[] {
  return new Parser(piecesOf(template), isFunction).whole()
}

interface Block {
  readonly nodes: readonly TemplateNode[]
  /** The words of the action that ended it. */
  readonly end: readonly Word[]
}

class Parser {
  readonly #pieces: readonly Piece[]
  readonly #isFunction: (name: string) => boolean
  /** Variables that are known, the innermost last. */
  #variables: string[] = ['$']
  #at = 0
  #depth = 0

  constructor(pieces: readonly Piece[], isFunction: (name: string) => boolean) {
    this.#pieces = pieces
    this.#isFunction = isFunction
  }

  whole(): readonly TemplateNode[] {
    const { nodes, end } = this.#block()
    const [word] = end
    if (word !== undefined) throw new TemplateProblem(`unexpected {{${word.text}}}`)
    return nodes
  }

  /** Nodes up to an `else` or `end` that is not theirs. */
  #block(): Block {
    if (++this.#depth > depthMax) throw new TemplateProblem('nested too deep')
    const nodes: TemplateNode[] = []
    for (;;) {
      const piece = this.#pieces[this.#at++]
      if (piece === undefined) break
      if (piece.kind === 'text') {
        if (piece.text !== '') nodes.push(piece)
        continue
      }
      const [first] = piece.words
      if (first === undefined) throw new TemplateProblem('missing value for command')
      if (first.kind === 'name' && (first.text === 'end' || first.text === 'else')) {
        this.#depth--
        return { nodes, end: piece.words }
      }
      nodes.push(this.#node(piece.words))
    }
    this.#depth--
    return { nodes, end: [] }
  }

  #node(words: readonly Word[]): TemplateNode {
    const [{ kind, text } = { kind: 'space', text: '' }] = words
    if (kind === 'name') {
      switch (text) {
        case 'if':
        case 'with':
        case 'range':
          return this.#control(text, words.slice(1))
        case 'break':
        case 'continue':
          return { kind: text }
        case 'define':
        case 'template':
        case 'block':
          throw new TemplateProblem(`{{${text}}} is not understood here`)
        default:
      }
    }
    return { kind: 'action', pipe: this.#pipe(words) }
  }

  #control(kind: 'if' | 'with' | 'range', words: readonly Word[]): TemplateNode {
    const known = this.#variables.length
    const pipe = this.#pipe(words, kind === 'range')
    const { nodes: body, end } = this.#block()
    const otherwise = this.#otherwise(kind, end)
    this.#variables = this.#variables.slice(0, known)
    return { kind, pipe, body, otherwise }
  }

  /** The nodes behind `else`, given the action that ended the block before. */
  #otherwise(kind: string, end: readonly Word[]): readonly TemplateNode[] {
    const [first, , second] = end
    if (first === undefined) throw new TemplateProblem(`unexpected EOF: {{${kind}}} has no {{end}}`)
    if (first.text === 'end') return []
    if (second?.text === 'if' || second?.text === 'with') {
      return [this.#control(second.text, end.slice(3))]
    }
    const { nodes, end: last } = this.#block()
    if (last[0]?.text !== 'end') throw new TemplateProblem('unexpected EOF: no {{end}}')
    return nodes
  }

  #pipe(words: readonly Word[], isRange = false): Pipe {
    const reader = new WordReader(words)
    const pipe = this.#pipeFrom(reader, isRange)
    if (reader.next !== undefined) throw reader.unexpected()
    return pipe
  }

  #pipeFrom(reader: WordReader, isRange = false): Pipe {
    if (++this.#depth > depthMax) throw new TemplateProblem('nested too deep')
    const { variables, isDeclaration } = this.#set(reader, isRange)
    const commands = [this.#command(reader)]
    while (reader.takes('|')) commands.push(this.#command(reader))
    this.#depth--
    if (isDeclaration) this.#variables.push(...variables)
    return { variables, isDeclaration, commands }
  }

  /** `$x :=`, `$x =` or `$i, $x :=`. */
  #set(reader: WordReader, isRange: boolean): Pick<Pipe, 'variables' | 'isDeclaration'> {
    const names = reader.declared(isRange)
    if (names === undefined) return { variables: [], isDeclaration: false }
    const unknown = names.isDeclaration
      ? undefined
      : names.variables.find(name => !this.#variables.includes(name))
    if (unknown !== undefined) throw new TemplateProblem(`undefined variable "${unknown}"`)
    return names
  }

  #command(reader: WordReader): Command {
    reader.skipSpace()
    const operands = [this.#operand(reader)]
    while (reader.takesSpace() && !reader.isAtEnd) operands.push(this.#operand(reader))
    const [first] = operands
    if (operands.length > 1 && first?.kind !== 'function') {
      throw new TemplateProblem("can't give argument to non-function")
    }
    return { operands }
  }

  #operand(reader: WordReader): Operand {
    const operand = this.#bare(reader)
    const fields = [...operand.fields]
    while (reader.next?.kind === 'field') fields.push(reader.take().text.slice(1))
    return { ...operand, fields }
  }

  #bare(reader: WordReader): Operand {
    const fields: string[] = []
    const { kind, text } = reader.take()
    switch (kind) {
      case 'field':
        return { kind: 'dot', fields: [text.slice(1)] }
      case 'variable':
        if (this.#variables.includes(text)) return { kind: 'variable', name: text, fields }
        throw new TemplateProblem(`undefined variable "${text}"`)
      case 'text':
        return { kind: 'literal', value: textOf(text), fields }
      case 'number':
        return { kind: 'literal', value: Number(text), fields }
      case 'name': {
        if (text === 'true' || text === 'false') {
          return { kind: 'literal', value: text === 'true', fields }
        }
        if (text === 'nil') return { kind: 'nil', fields }
        if (this.#isFunction(text)) return { kind: 'function', name: text, fields }
        throw new TemplateProblem(`function "${text}" not defined`)
      }
      case 'sign':
      case 'space':
    }
    if (text === '.') return { kind: 'dot', fields }
    if (text !== '(') throw new TemplateProblem(`unexpected "${text}" in operand`)
    const pipe = this.#pipeFrom(reader)
    reader.skipSpace()
    if (!reader.takes(')')) throw new TemplateProblem('unclosed left paren')
    return { kind: 'pipe', pipe, fields }
  }
}

class WordReader {
  readonly #words: readonly Word[]
  #at = 0

  constructor(words: readonly Word[]) {
    this.#words = words
  }

  get next(): Word | undefined {
    return this.#words[this.#at]
  }

  /** Nothing more belongs to the command. */
  get isAtEnd(): boolean {
    return this.next === undefined || this.next.text === '|' || this.next.text === ')'
  }

  take(): Word {
    const word = this.next
    if (word === undefined) throw new TemplateProblem('missing value for command')
    this.#at++
    return word
  }

  /** A sign, with the space before it. */
  takes(sign: string): boolean {
    const before = this.#at
    this.skipSpace()
    if (this.next?.kind === 'sign' && this.next.text === sign) {
      this.#at++
      return true
    }
    this.#at = before
    return false
  }

  takesSpace(): boolean {
    const isSpace = this.next?.kind === 'space'
    if (isSpace) this.#at++
    return isSpace
  }

  skipSpace(): void {
    this.takesSpace()
  }

  declared(isRange: boolean): Pick<Pipe, 'variables' | 'isDeclaration'> | undefined {
    const before = this.#at
    const variables: string[] = []
    do {
      this.skipSpace()
      if (this.next?.kind !== 'variable') break
      variables.push(this.take().text)
    } while (isRange && variables.length < 2 && this.takes(','))
    const isDeclaration = variables.length > 0 && this.takes(':=')
    if (isDeclaration || (variables.length > 0 && this.takes('='))) {
      return { variables, isDeclaration }
    }
    this.#at = before
    return undefined
  }

  unexpected(): TemplateProblem {
    return new TemplateProblem(`unexpected "${this.next?.text ?? ''}" in command`)
  }
}

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '"': '"',
  '\\': '\\',
  "'": "'",
}

function textOf(quoted: string): string {
  const inner = quoted.slice(1, -1)
  if (quoted.startsWith('`')) return inner
  return inner.replace(/\\(u[\dA-Fa-f]{4}|x[\dA-Fa-f]{2}|.)/g, (_, code: string) => {
    if (code.length > 1) return String.fromCodePoint(Number.parseInt(code.slice(1), 16))
    const known = escapes[code]
    if (known === undefined) throw new TemplateProblem(`unknown escape \\${code} in ${quoted}`)
    return known
  })
}
