/** The problems of a value by its type, in the words of structured-merge-diff. */

import { goQuote, type JsonValue } from '@watchglass/go'
import { goTypeText, goValueText, nullNumber } from '../../go-value-text.ts'
import { errorsMaxLength } from '../../refusals.ts'
import { sortedMembers } from '../../sorted-members.ts'
import { type ElementPath, pathText } from '../sets/path-element.ts'
import { type ScalarType, allowsScalar } from '../types/field-type.ts'

/** The problems of one value. Their texts are a product, as each names its whole path: what is too
 *  much is not made, and the value has problems all the same. */
export class TypingProblems {
  readonly #lines: string[] = []
  #length = 0

  add(path: ElementPath, message: string): void {
    if (this.isTooLong) return
    const line = path.length === 0 ? message : `${pathText(path)}: ${message}`
    this.#length += line.length
    this.#lines.push(line)
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0
  }

  /** One problem in a line; more of them below a heading. Undefined if they are too long. */
  get text(): string | undefined {
    if (this.isTooLong) return undefined
    const lines = this.#lines
    return lines.length === 1
      ? String(lines[0])
      : ['errors:', ...lines.map(line => `  ${line}`)].join('\n')
  }

  /** True if the texts are too long: no more problems are added. */
  get isTooLong(): boolean {
    return this.#length > errorsMaxLength
  }
}

/** Thrown where a value does not fit its type. */
export class TypeProblems extends Error {
  /** The message does not tell the problems. */
  readonly isTooLong: boolean

  constructor({ text }: TypingProblems) {
    super(text ?? 'the problems of the object are too long')
    this.isTooLong = text === undefined
  }
}

/** Why the scalar type does not allow the value; undefined if it does. Null and absent values
 *  fit all types. */
export function scalarProblem(
  scalar: ScalarType,
  value: JsonValue | undefined,
  prefix = '',
): string | undefined {
  if (value === undefined || value === null || allowsScalar(scalar, value)) return undefined
  switch (scalar) {
    case 'numeric':
      return `${prefix}expected numeric (int or float), got ${goTypeText(value)}`
    case 'string':
      return `${prefix}expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`
    case 'boolean':
      return `${prefix}expected boolean, got &{${goValueText(value)}}`
    case 'untyped':
      return `${prefix}expected any scalar, got &{${goValueText(value)}}`
  }
}

export function shapeProblem(shape: 'list' | 'map', value: JsonValue): string {
  return `expected ${shape}, got &{${goValueText(value)}}`
}

/** `%#v` of a decoded value. */
function goSyntax(value: JsonValue): string {
  if (value === null) return 'interface {}(nil)'
  if (value === nullNumber) return nullNumber.text
  if (typeof value === 'string') return goQuote(value)
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`
  if (value instanceof Map) {
    const texts = sortedMembers(value).map(([key, member]) => `${goQuote(key)}:${goSyntax(member)}`)
    return `map[string]interface {}{${texts.join(', ')}}`
  }
  return goValueText(value)
}
