/** The form of a command and of an option: a row of the table in commands.ts. */

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
