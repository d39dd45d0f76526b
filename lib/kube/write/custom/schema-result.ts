/** What checking a value by an OpenAPI schema has found: errors, and how much matched, by which the best of several alternatives is
 *  chosen. An error with a text that is there already is left out, as upstream leaves it out. */

import type { FieldError } from '../field-errors.ts'

/** An error of a schema, with the text that upstream tells duplicates by. */
export interface SchemaError {
  readonly text: string
  readonly error: FieldError
}

export class SchemaResult {
  readonly errors: SchemaError[] = []
  matchCount = 0

  get isValid(): boolean {
    return this.errors.length === 0
  }

  add(found: SchemaError | undefined): void {
    if (found === undefined || this.errors.some(({ text }) => text === found.text)) return
    this.errors.push(found)
  }

  merge(other: SchemaResult | undefined): this {
    if (other === undefined) return this
    for (const error of other.errors) this.add(error)
    this.matchCount += other.matchCount
    return this
  }

  count(): this {
    this.matchCount++
    return this
  }
}

/** What has an error, and nothing else. */
export function failed(error: SchemaError): SchemaResult {
  const result = new SchemaResult()
  result.add(error)
  return result
}
