/** `--help` as text, made from the table of commands. */

import { commandGroups, type CommandName, commands } from './commands.ts'
import { type CommandRow, type Example, type Option, variableOf } from '../options/option.ts'
import { type Columns, wrapRow } from './terminal-width.ts'

const table: Readonly<Record<string, CommandRow>> = commands

/** The help of one command, or of the program when `name` is `undefined`, wrapped at a width. */
export function helpText(name: string | undefined, width = 100): string {
  const command = name === undefined ? undefined : table[name]
  const lines =
    name === undefined || command === undefined ? programHelp(width) : commandHelp(name, width)
  return `${lines.join('\n')}\n`
}

const programExamples: readonly Example[] = [
  ['watchglass run -- kubectl get namespaces', 'a cluster for as long as a command takes'],
  [
    'watchglass serve --generate pods=1000 --simulate all',
    'a cluster of generated objects to look at',
  ],
  ['watchglass proxy', 'your cluster, in place of kubectl proxy'],
]

function programHelp(width: number): string[] {
  return [
    ...wrapRow('', 'Watchglass: Kubernetes list, get and watch, from memory.', {
      indent: 0,
      width,
    }),
    '',
    'Usage: watchglass COMMAND [OPTIONS]',
    '       watchglass --help | --version',
    ...commandGroups.flatMap(([title, names]) => {
      const rows = names.map(name => [name, commands[name].summary] as const)
      return section(title, rows, { width, indent: 14 })
    }),
    ...section('Examples', programExamples, { width }),
    '',
    ...wrapRow('', 'watchglass COMMAND --help lists the options of a command.', {
      indent: 0,
      width,
    }),
  ]
}

function commandHelp(name: string, width: number): string[] {
  const { summary, options, groups, operands, examples = [] } = commands[name as CommandName]
  const usage = ['watchglass', name, options.length > 0 ? '[OPTIONS]' : '', operands]
  const sections = groups ?? [{ title: 'Options', options }]
  return [
    ...wrapRow('', summary, { indent: 0, width }),
    '',
    `Usage: ${usage.filter(word => word !== '').join(' ')}`,
    ...section('Examples', examples, { width }),
    ...sections.flatMap(group => {
      const rows = group.options.map(option => [flagOf(option), describe(option)] as const)
      return section(group.title, rows, { width })
    }),
  ]
}

function flagOf(option: Option): string {
  const { name, short, value } = option
  const letter = short === undefined ? '' : `-${short}, `
  return value === undefined ? `${letter}--${name}` : `${letter}--${name} ${value}`
}

function describe(option: Option): string {
  const fallback = option.fallback === undefined ? '' : ` Default: ${option.fallback}.`
  const many = option.many === true ? ' May be given more than once.' : ''
  return `${option.help}${many}${fallback} [${variableOf(option)}]`
}

function section(
  title: string,
  rows: readonly (readonly [string, string])[],
  { width, indent }: Pick<Columns, 'width'> & Partial<Columns>,
): string[] {
  if (rows.length === 0) return []
  const longest = Math.max(...rows.map(([left]) => left.length)) + 4
  const columns = { width, indent: indent ?? Math.min(Math.floor(width / 3), longest) }
  return ['', `${title}:`, ...rows.flatMap(([left, right]) => wrapRow(`  ${left}`, right, columns))]
}
