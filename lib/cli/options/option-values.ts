/** The values that were given for the options of a command. */

/** The values of one command's options, with fallbacks applied. */
export class OptionValues {
  readonly #values: ReadonlyMap<string, readonly string[]>

  constructor(values: ReadonlyMap<string, readonly string[]>) {
    this.#values = values
  }

  /** The value, or `undefined` when the option is absent and has no fallback. */
  text(name: string): string | undefined {
    return this.#values.get(name)?.at(-1)
  }

  /** Every value of an option that may be given more than once. */
  all(name: string): readonly string[] {
    return this.#values.get(name) ?? []
  }

  /** A copy with other values of one option. */
  with(name: string, values: readonly string[]): OptionValues {
    return new OptionValues(new Map([...this.#values, [name, values]]))
  }

  /** All values, for another thread. */
  get entries(): [string, readonly string[]][] {
    return [...this.#values]
  }

  switch(name: string): boolean {
    return this.#values.get(name)?.at(-1) === 'true'
  }
}

/** Every value of an option whose values may be separated by commas, too. */
export function listed(values: OptionValues, name: string): string[] {
  const parts = values.all(name).flatMap(text => text.split(','))
  return parts.map(text => text.trim()).filter(text => text !== '')
}
