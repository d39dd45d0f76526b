/** `--help` as text, made from the table of commands. */

import { commands } from './commands.ts'
import { type CommandRow, type Option, variableOf } from '../options/option.ts'

const width = 100

const table: Readonly<Record<string, CommandRow>> = commands

/** The help of one command, or of the program when `name` is `undefined`. */
export function helpText(name: string | undefined): string {
  const command = name === undefined ? undefined : table[name]
  return name === undefined || command === undefined ? programHelp() : commandHelp(name, command)
}

function programHelp(): string {
  const rows = Object.entries(table).map(([name, command]) => [name, command.summary] as const)
  return [
    'Watchglass: a watch cache in front of etcd that serves Kubernetes list, get and watch.',
    '',
    'Usage: watchglass COMMAND [OPTIONS]',
    '       watchglass --help | --version',
    ...section('Commands', rows),
    ...(rows.length === 0 ? [] : ['', 'watchglass COMMAND --help lists the options of a command.']),
    '',
  ].join('\n')
}

function commandHelp(name: string, command: CommandRow): string {
  const usage = [
    'watchglass',
    name,
    command.options.length > 0 ? '[OPTIONS]' : '',
    command.operands,
  ]
  return [
    command.summary,
    '',
    `Usage: ${usage.filter(word => word !== '').join(' ')}`,
    ...section(
      'Options',
      command.options.map(option => [flagOf(option), describe(option)] as const),
    ),
    '',
  ].join('\n')
}

function flagOf(option: Option): string {
  return option.value === undefined ? `--${option.name}` : `--${option.name} ${option.value}`
}

function describe(option: Option): string {
  const fallback = option.fallback === undefined ? '' : ` Default: ${option.fallback}.`
  const many = option.many === true ? ' May be given more than once.' : ''
  return `${option.help}${many}${fallback} [${variableOf(option)}]`
}

function section(title: string, rows: readonly (readonly [string, string])[]): string[] {
  if (rows.length === 0) return []
  const indent = Math.min(34, Math.max(...rows.map(([left]) => left.length)) + 4)
  return ['', `${title}:`, ...rows.flatMap(([left, right]) => wrapRow(left, right, indent))]
}

/** One row: the left part in its column (on a line of its own when it is too long), the right part
 *  wrapped beside it. */
function wrapRow(left: string, right: string, indent: number): string[] {
  const lines: string[] = []
  let line = `  ${left}`
  if (line.length >= indent) {
    lines.push(line)
    line = ''
  }
  line = line.padEnd(indent)
  for (const word of right.split(' ')) {
    if (line.trim() !== '' && line.length + word.length + 1 > width) {
      lines.push(line.trimEnd())
      line = ' '.repeat(indent)
    }
    line += line.endsWith(' ') ? word : ` ${word}`
  }
  lines.push(line)
  return lines
}
