/** What a command and an option are: the rows of the table in commands.ts. */

export interface Command {
  /** What follows the command's name on the line, beside options. */
  readonly operands: string
  readonly summary: string
  readonly options: readonly Option[]
}

export interface Option {
  readonly name: string
  /** What stands for the value in `--help`; none for a switch. */
  readonly value?: string
  /** The value when the option is absent, as it would be typed. */
  readonly fallback?: string
  /** May be given more than once. */
  readonly many?: boolean
  /** One or two sentences: what it does, its unit, its bounds. */
  readonly help: string
}

/** The environment variable that stands in for an option. */
export function variableOf(option: Option): string {
  return `WATCHGLASS_${option.name.toUpperCase().replaceAll('-', '_')}`
}
