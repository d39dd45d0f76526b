/** A template of Go's text/template, read once and rendered for each object. It knows no clock and
 *  draws nothing: functions that do are handed in. A rendering is bounded in its steps,
 *  its work and its size. */

import { plainFunctions, type TemplateFunction } from './functions.ts'
import { parseTemplate } from './parser.ts'
import { TemplateProblem } from './problem.ts'
import type { Command, TemplateNode, Operand, Pipe } from './tree.ts'
import { fieldOf, isTrue, kindOf, sizeOf, textOf, type TemplateValue } from './values.ts'
import { isObject } from '@watchglass/base'

export type { TemplateFunction } from './functions.ts'

const stepsMax = 100_000
const charactersMax = 1024 * 1024
/** Sizes of all values that functions take and make, together. */
const workMax = 4 * 1024 * 1024

export type GivenFunctions = Readonly<Record<string, TemplateFunction>>

export class Template {
  readonly #nodes: readonly TemplateNode[]

  /** Throws `TemplateProblem`.
   *  @param given names of the functions that are handed in when it is rendered */
  constructor(text: string, given: ReadonlySet<string>) {
    const isFunction = (name: string): boolean =>
      name === 'and' || name === 'or' || plainFunctions.has(name) || given.has(name)
    this.#nodes = parseTemplate(text.trim(), isFunction)
  }

  /** The text for a value. Throws `TemplateProblem`. */
  render(value: TemplateValue, given: GivenFunctions): string {
    return new Rendering(value, given).textOf(this.#nodes)
  }
}

type Left = 'break' | 'continue' | undefined

class Rendering {
  readonly #given: GivenFunctions
  readonly #variables: [name: string, value: TemplateValue][]
  #dot: TemplateValue
  #text = ''
  #steps = 0
  #work = 0

  constructor(value: TemplateValue, given: GivenFunctions) {
    this.#given = given
    this.#dot = value
    this.#variables = [['$', value]]
  }

  textOf(nodes: readonly TemplateNode[]): string {
    this.#walk(nodes)
    return this.#text
  }

  #walk(nodes: readonly TemplateNode[]): Left {
    for (const node of nodes) {
      this.#step()
      const left = this.#visit(node)
      if (left !== undefined) return left
    }
    return undefined
  }

  #visit(node: TemplateNode): Left {
    switch (node.kind) {
      case 'text':
        this.#write(node.text)
        return undefined
      case 'action': {
        const value = this.#evaluate(node.pipe)
        if (node.pipe.variables.length === 0) this.#write(textOf(value))
        return undefined
      }
      case 'range':
        return this.#range(node)
      case 'if':
      case 'with':
        return this.#choose(node)
      case 'break':
      case 'continue':
        return node.kind
    }
  }

  #step(): void {
    if (++this.#steps > stepsMax) throw new TemplateProblem('the template takes too many steps')
  }

  #write(text: string): void {
    this.#text += text
    if (this.#text.length > charactersMax) throw new TemplateProblem('the template makes too much')
  }

  /** Runs with another dot, and forgets the variables that are declared meanwhile. */
  #within(dot: TemplateValue, nodes: readonly TemplateNode[]): Left {
    const [before, known] = [this.#dot, this.#variables.length]
    this.#dot = dot
    const left = this.#walk(nodes)
    this.#dot = before
    this.#variables.length = known
    return left
  }

  #choose({
    kind,
    pipe,
    body,
    otherwise,
  }: Extract<TemplateNode, { kind: 'if' | 'with' | 'range' }>): Left {
    const known = this.#variables.length
    const value = this.#evaluate(pipe)
    const dot = kind === 'with' && isTrue(value) ? value : this.#dot
    const left = this.#within(dot, isTrue(value) ? body : otherwise)
    this.#variables.length = known
    return left
  }

  #range({
    pipe,
    body,
    otherwise,
  }: Extract<TemplateNode, { kind: 'if' | 'with' | 'range' }>): Left {
    const { variables, isDeclaration } = pipe
    const entries = entriesOf(this.#valueOf(pipe))
    this.#spend(entries.length)
    if (entries.length === 0) return this.#within(this.#dot, otherwise)
    const known = this.#variables.length
    for (const [key, value] of entries) {
      // A body may be empty.
      this.#step()
      const values = variables.length === 2 ? [key, value] : [value]
      variables.forEach((name, i) => this.#set(name, values[i], isDeclaration))
      const left = this.#within(value, body)
      this.#variables.length = known
      if (left === 'break') break
    }
    return undefined
  }

  #set(name: string, value: TemplateValue, isNew: boolean): void {
    const known = isNew ? undefined : this.#variables.findLast(([one]) => one === name)
    if (known === undefined) this.#variables.push([name, value])
    else known[1] = value
  }

  #evaluate(pipe: Pipe): TemplateValue {
    const value = this.#valueOf(pipe)
    for (const name of pipe.variables) this.#set(name, value, pipe.isDeclaration)
    return value
  }

  #valueOf({ commands }: Pipe): TemplateValue {
    let piped: readonly TemplateValue[] = []
    for (const command of commands) piped = [this.#run(command, piped)]
    return piped[0]
  }

  #run({ operands }: Command, piped: readonly TemplateValue[]): TemplateValue {
    const [first, ...args] = operands
    if (first?.kind !== 'function') {
      if (piped.length > 0) throw new TemplateProblem("can't give argument to non-function")
      return first && this.#operand(first)
    }
    return fields(this.#call(first.name, args, piped), first.fields)
  }

  #call(name: string, args: readonly Operand[], piped: readonly TemplateValue[]): TemplateValue {
    this.#step()
    if (name === 'and' || name === 'or') return this.#logic(name === 'and', args, piped)
    const values = [...args.map(one => this.#operand(one)), ...piped]
    const called = Object.hasOwn(this.#given, name) ? this.#given[name] : plainFunctions.get(name)
    if (called === undefined) throw new TemplateProblem(`function "${name}" not defined`)
    for (const value of values) this.#spend(sizeOf(value))
    const made = called(...values)
    if (typeof made === 'string' || Array.isArray(made)) this.#spend(made.length)
    return made
  }

  #spend(size: number): void {
    this.#work += size
    if (this.#work > workMax) throw new TemplateProblem('the template takes too much work')
  }

  /** The first argument that decides, or the last one. */
  #logic(isAnd: boolean, args: readonly Operand[], piped: readonly TemplateValue[]): TemplateValue {
    let value: TemplateValue
    for (const arg of args) {
      value = this.#operand(arg)
      if (isTrue(value) !== isAnd) return value
    }
    return piped.length === 0 ? value : piped[0]
  }

  #operand(operand: Operand): TemplateValue {
    return fields(this.#bare(operand), operand.fields)
  }

  #bare(operand: Operand): TemplateValue {
    switch (operand.kind) {
      case 'dot':
        return this.#dot
      case 'nil':
        return null
      case 'literal':
        return operand.value
      case 'variable':
        return this.#variables.findLast(([name]) => name === operand.name)?.[1]
      case 'function':
        return this.#call(operand.name, [], [])
      case 'pipe':
        return this.#evaluate(operand.pipe)
    }
  }
}

function fields(value: TemplateValue, names: readonly string[]): TemplateValue {
  return names.reduce(fieldOf, value)
}

/** The entries that `range` goes through: keys in their order. */
function entriesOf(
  value: TemplateValue,
): readonly (readonly [key: TemplateValue, value: TemplateValue])[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value.map((item: TemplateValue, i) => [i, item] as const)
  if (isObject(value)) {
    return Object.keys(value)
      .toSorted()
      .map(key => [key, value[key]] as const)
  }
  if (typeof value !== 'number') {
    throw new TemplateProblem(`range can't iterate over ${kindOf(value)}`)
  }
  return Array.from({ length: Math.min(Math.max(0, value), stepsMax) }, (_, i) => [i, i] as const)
}
