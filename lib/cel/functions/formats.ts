/** Named formats of texts: `format.dns1123Label().validate(self)`. What they accept is handed in:
 *  it is that of the objects' own validation. */

import type { Library } from '../declarations.ts'
import { noOverload } from '../values/errors.ts'
import { ArrayList, none, Opaque, Optional, type Value } from '../values/values.ts'

/** Says what is wrong with a text, and nothing if it is right. */
export type FormatCheck = (text: string) => readonly string[]

/** The checks by their names in `format.`. */
export type FormatChecks = Readonly<Record<string, FormatCheck>>

/** A format, and how long its regular expression is, for the cost. */
export class NamedFormat extends Opaque {
  readonly typeName = 'kubernetes.NamedFormat'
  readonly name: string
  readonly check: FormatCheck

  constructor(name: string, check: FormatCheck) {
    super()
    this.name = name
    this.check = check
  }

  get patternSize(): number {
    return patternSizes[this.name] ?? 60
  }

  equals(other: Opaque): boolean {
    return other instanceof NamedFormat && other.name === this.name
  }
}

const patternSizes: Readonly<Record<string, number>> = {
  dns1123Label: 30,
  dns1035Label: 30,
  dns1123LabelPrefix: 30,
  dns1035LabelPrefix: 30,
  labelValue: 40,
}

const type = 'kubernetes.NamedFormat'

export function formatsOf(checks: FormatChecks): Library {
  const known = new Map(
    Object.entries(checks).map(([name, check]) => [name, new NamedFormat(name, check)]),
  )
  const names = [...known.keys()]
  return {
    signatures: {
      validate: [`format-validate: ${type}.(string) optional(list(string))`],
      'format.named': [`format-named: (string) optional(${type})`],
      ...Object.fromEntries(names.map(name => [`format.${name}`, [`format.${name}: () ${type}`]])),
    },
    implementations: {
      validate: (format: Value, text: Value) => {
        if (!(format instanceof NamedFormat) || typeof text !== 'string') throw noOverload()
        const problems = format.check(text)
        return problems.length === 0 ? none : new Optional(new ArrayList([...problems]))
      },
      'format.named': (name: Value) => {
        const found = typeof name === 'string' ? known.get(name) : undefined
        return found === undefined ? none : new Optional(found)
      },
      ...Object.fromEntries(
        names.map(name => [`format.${name}`, () => known.get(name) as NamedFormat]),
      ),
    },
  }
}
