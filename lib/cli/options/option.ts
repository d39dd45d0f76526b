/** The types of the table in commands.ts: a command and an option. */

export interface CommandRow {
  /** The arguments after the command's name, beside options. */
  readonly operands: string
  /** The operands are another command with options of its own: ours end where it begins. */
  readonly takesCommand?: boolean
  readonly summary: string
  readonly options: readonly Option[]
}

export interface Option {
  readonly name: string
  /** The name of the value in `--help`; undefined for a switch. */
  readonly value?: string
  /** The default, as it would be typed. */
  readonly fallback?: string
  /** Values to choose from, where there is a list. */
  readonly choices?: readonly string[]
  /** The words that values are made of, for completion: a value may have several. */
  readonly words?: readonly string[]
  /** May be given more than once. */
  readonly many?: boolean
  /** One or two sentences: what it does, its unit, its bounds. */
  readonly help: string
}

/** The environment variable of an option. */
export function variableOf(option: Option): string {
  return `WATCHGLASS_${option.name.toUpperCase().replaceAll('-', '_')}`
}
