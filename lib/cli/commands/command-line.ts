/** Parses arguments and environment into a command with its option values. An error says what is
 *  wrong and what to do. */

import { parseArgs } from 'node:util'
import { CacheError } from '@watchglass/base'
import { commands } from './commands.ts'
import { nearest } from './nearest.ts'
import {
  type CommandRow,
  type Option,
  valueFromEnvironment,
  variableOf,
} from '../options/option.ts'
import { OptionValues } from '../options/option-values.ts'

/** The meaning of a command line: run a command, show help (of one command or of all), or show the
 *  version. */
export type CommandLine =
  | { readonly kind: 'help'; readonly command: string | undefined }
  | { readonly kind: 'version' }
  | {
      readonly kind: 'run'
      readonly command: string
      readonly values: OptionValues
      readonly operands: readonly string[]
    }

/** Reads the command line (without the program's own name) and the environment. */
export function load(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  known: Readonly<Record<string, CommandRow>> = commands,
): CommandLine {
  const [first, ...rest] = args
  if (first === undefined) throw invalid('no command given', undefined)
  if (first === '--help' || first === '-h' || first === 'help') {
    return { kind: 'help', command: knownCommand(rest[0], known) }
  }
  if (first === '--version' || first === '-V') return { kind: 'version' }
  const command = Object.hasOwn(known, first) ? known[first] : undefined
  if (command === undefined) {
    throw invalid(
      first.startsWith('-')
        ? `option ${first} before the command`
        : unknownText(`unknown command "${first}"`, nearest(first, Object.keys(known))),
      undefined,
    )
  }
  const [own, theirs] = command.takesCommand === true ? splitCommand(rest, command) : [rest, []]
  if (own.includes('--help') || own.includes('-h')) return { kind: 'help', command: first }
  const { values, operands } = readOptions({ name: first, command, args: own, env })
  return { kind: 'run', command: first, values, operands: [...operands, ...theirs] }
}

/** Our arguments, and the command after them: after `--`, or from the first word that is neither
 *  an option nor the value of one. */
function splitCommand(
  args: readonly string[],
  { options }: CommandRow,
): readonly [own: readonly string[], theirs: readonly string[]] {
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? ''
    if (arg === '--') return [args.slice(0, i), args.slice(i + 1)]
    if (!arg.startsWith('-')) return [args.slice(0, i), args.slice(i)]
    const option = options.find(({ name }) => arg === `--${name}`)
    if (option?.value !== undefined) i++
  }
  return [args, []]
}

interface Source {
  readonly name: string
  readonly command: CommandRow
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

function readOptions({ name, command, args, env }: Source): {
  values: OptionValues
  operands: string[]
} {
  const declared = Object.fromEntries(
    command.options.map(({ name, value, short }) => {
      const type = value === undefined ? 'boolean' : 'string'
      return [name, { type, multiple: true, ...(short === undefined ? {} : { short }) } as const]
    }),
  )
  const given = joinDashes(args, command.options)
  checkNames(name, given, declared)
  const parsed = parseStrictly(name, given, declared)
  const values = new Map<string, readonly string[]>()
  for (const option of command.options) {
    const given = parsed.values[option.name]
    const fromEnv = valueFromEnvironment(option, env)
    if (Array.isArray(given)) {
      if (given.length > 1 && option.many !== true) {
        throw invalid(`option --${option.name} is given ${given.length} times`, name)
      }
      values.set(option.name, given.map(String))
    } else if (fromEnv !== undefined) {
      if (option.value === undefined && fromEnv !== 'true' && fromEnv !== 'false') {
        throw invalid(`${variableOf(option)} is "${fromEnv}": a switch is true or false`, name)
      }
      values.set(option.name, [fromEnv])
    } else if (option.fallback !== undefined) {
      values.set(option.name, [option.fallback])
    }
  }
  if (command.operands === '' && parsed.positionals.length > 0) {
    throw invalid(`unexpected argument "${parsed.positionals[0]}"`, name)
  }
  return { values: new OptionValues(values), operands: parsed.positionals }
}

/** `--sort -age` as `--sort=-age`, of options whose values begin with dashes. */
function joinDashes(args: readonly string[], options: readonly Option[]): readonly string[] {
  const joined: string[] = []
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? ''
    if (arg === '--') return [...joined, ...args.slice(i)]
    const { [i + 1]: next } = args
    const isJoined =
      next?.startsWith('-') === true &&
      !next.startsWith('--') &&
      options.some(({ name, takesDash }) => takesDash === true && arg === `--${name}`)
    joined.push(isJoined ? `${arg}=${next}` : arg)
    if (isJoined) i++
  }
  return joined
}

/** Names an option that there is not, with the one that may have been meant. */
function checkNames(
  command: string,
  args: readonly string[],
  declared: Readonly<Record<string, { readonly type: 'boolean' | 'string' }>>,
): void {
  for (let i = 0; i < args.length && args[i] !== '--'; i++) {
    const [, name, value] = /^--([^=]+)(=.*)?$/s.exec(args[i] ?? '') ?? []
    if (name === undefined) continue
    const option = Object.hasOwn(declared, name) ? declared[name] : undefined
    if (option === undefined) {
      const meant = nearest(name, Object.keys(declared))
      throw invalid(unknownText(`unknown option --${name}`, meant && `--${meant}`), command)
    }
    if (option.type === 'boolean' || value !== undefined) continue
    i++
    const given = args[i]
    // A dash alone is standard output.
    if (given === undefined || (given.startsWith('-') && given !== '-')) {
      throw invalid(
        `option --${name} needs a value (one that begins with a dash: --${name}=VALUE)`,
        command,
      )
    }
  }
}

function unknownText(text: string, meant: string | undefined): string {
  return meant === undefined ? text : `${text}: did you mean ${meant}?`
}

function parseStrictly(
  name: string,
  args: readonly string[],
  options: Record<string, { type: 'boolean' | 'string'; multiple: true; short?: string }>,
): { values: Record<string, unknown>; positionals: string[] } {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true })
  } catch (error) {
    const [sentence] = CacheError.from(error, 'invalid_request').message.split('. ')
    throw invalid(`${sentence ?? 'unreadable options'}`, name)
  }
}

function knownCommand(
  name: string | undefined,
  known: Readonly<Record<string, CommandRow>>,
): string | undefined {
  if (name === undefined) return undefined
  if (!Object.hasOwn(known, name)) {
    const meant = nearest(name, Object.keys(known))
    throw invalid(unknownText(`unknown command "${name}"`, meant), undefined)
  }
  return name
}

function invalid(message: string, command: string | undefined): CacheError {
  const help = command === undefined ? 'watchglass --help' : `watchglass ${command} --help`
  const end = message.endsWith('?') ? ' Otherwise' : ';'
  return new CacheError('invalid_request', `${message}${end} try "${help}"`)
}
