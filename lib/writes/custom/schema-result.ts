/** The result of checking a value by an OpenAPI schema: errors, and how much matched, by which the
 *  best of several alternatives is chosen. An error with a text that is there already is left out,
 *  as upstream leaves it out. */

import type { FieldError } from '../field-errors.ts'
import { spend } from './budget.ts'

/** An error of a schema, with the text that upstream tells duplicates by. */
export interface SchemaError {
  readonly text: string
  readonly error: FieldError
}

export class SchemaResult {
  /** In the order in which they were found, by their texts: a list may have an error in each of
   *  a hundred thousand items. Undefined: none. */
  #errors: Map<string, SchemaError> | undefined
  matchCount = 0
  /** The value is known to be another than the old one. */
  hasChanged = false

  get errors(): readonly SchemaError[] {
    return this.#errors === undefined ? [] : [...this.#errors.values()]
  }

  get isValid(): boolean {
    return this.#errors === undefined
  }

  add(found: SchemaError | undefined): void {
    if (found === undefined || this.#errors?.has(found.text) === true) return
    this.#errors ??= new Map()
    this.#errors.set(found.text, found)
  }

  /** Takes what the other has found, which is not used any more. */
  merge(other: SchemaResult | undefined): this {
    if (other === undefined) return this
    const found = other.#errors
    if (found !== undefined) {
      // The errors of a deep value are moved up through its levels, and not copied at each.
      if (this.#errors === undefined) this.#errors = found
      else for (const error of found.values()) this.add(error)
    }
    this.matchCount += other.matchCount
    this.hasChanged ||= other.hasChanged
    return this
  }

  count(): this {
    this.matchCount++
    return this
  }
}

/** The result with one error, and nothing else. */
export function failed(error: SchemaError): SchemaResult {
  spend('characters', error.error.message.length)
  const result = new SchemaResult()
  result.add(error)
  return result
}
