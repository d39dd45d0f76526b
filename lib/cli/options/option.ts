/** The types of the table in commands.ts: a command, an option, and the rules of an option. */

import type { OptionValues } from './option-values.ts'

export interface CommandRow {
  /** The arguments after the command's name, beside options. */
  readonly operands: string
  /** The operands are another command with options of its own: ours end where it begins. */
  readonly takesCommand?: boolean
  readonly summary: string
  readonly options: readonly Option[]
  /** All options by subject, where they are many. */
  readonly groups?: readonly OptionGroup[] | undefined
  /** Command lines as they are typed, with what they are for. */
  readonly examples?: readonly Example[] | undefined
}

export interface OptionGroup {
  readonly title: string
  readonly options: readonly Option[]
}

export type Example = readonly [line: string, about: string]

export interface Option {
  readonly name: string
  /** One letter that stands for it, as that of kubectl. */
  readonly short?: string
  /** A value may begin with a dash: `--sort -age`. */
  readonly takesDash?: boolean
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
  /** Refuses the option where one of these does not hold. Checked before `excludes`. */
  readonly needs?: readonly OptionRule[]
  /** Refuses the option where one of these holds. */
  readonly excludes?: readonly OptionRule[]
}

/** An option whose values are more than texts. */
export interface ParsedOption<Value> extends Option {
  /** The value that a text stands for; undefined if it is none, which `wrong` says. */
  readonly parse: (text: string) => Value | undefined
  /** The end of `--NAME "TEXT" ...`. */
  readonly wrong: string
}

/** An option that always has a value. */
export interface DefaultedOption<Value> extends ParsedOption<Value> {
  readonly fallback: string
}

/** A statement about the values of a command line. */
export interface OptionCondition {
  /** The condition as it would be typed: `--auth rbac`. */
  readonly text: string
  readonly holds: (values: OptionValues) => boolean
}

/** A condition on an option. The error is `--NAME needs TEXT: BECAUSE`, or `--NAME goes without
 *  TEXT: BECAUSE`. */
export interface OptionRule {
  readonly that: OptionCondition
  readonly because?: string
  /** The rule is about these values of the option, and the error begins with them: `--auth rbac`.
   *  Otherwise it is about the option, whatever its value. */
  readonly of?: OptionCondition
  /** The error after its beginning, where another sentence says it better. */
  readonly says?: string
}

/** The environment variable of an option. */
export function variableOf(option: Option): string {
  return `WATCHGLASS_${option.name.toUpperCase().replaceAll('-', '_')}`
}

/** The value that an option has from the environment; undefined if it has none. Kubernetes gives
 *  the pods of a namespace with a Service called `watchglass` the variable
 *  `WATCHGLASS_PORT=tcp://10.0.0.11:443`, which is no value of `--port`. */
export function valueFromEnvironment(option: Option, env: NodeJS.ProcessEnv): string | undefined {
  const name = variableOf(option)
  const value = env[name]
  const isOfService = name.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//.test(value ?? '')
  return value === '' || isOfService ? undefined : value
}
