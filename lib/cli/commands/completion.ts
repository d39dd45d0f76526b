/** `watchglass completion`: prints the completion script of a shell, made from the table of
 *  commands. */

import { CacheError } from '@watchglass/base'
import { commands } from './commands.ts'
import type { CommandRow, Option } from '../options/option.ts'
import type { CommandContext } from './context.ts'

export async function completion({ operands: [name, ...rest] }: CommandContext): Promise<number> {
  const shell = shells.find(one => one === name)
  if (shell === undefined || rest.length > 0) {
    throw new CacheError(
      'invalid_request',
      'say for which shell: watchglass completion bash, zsh or fish',
    )
  }
  process.stdout.write(completionScript(shell))
  return 0
}

export const shells = ['bash', 'zsh', 'fish'] as const

export type Shell = (typeof shells)[number]

/** The script for a shell. */
export function completionScript(shell: Shell): string {
  switch (shell) {
    case 'bash':
      return bashScript()
    case 'zsh':
      return zshScript()
    case 'fish':
      return fishScript()
  }
}

const table: readonly (readonly [string, CommandRow])[] = Object.entries(commands)

const names = table.map(([name]) => name).join(' ')

/** The completions of a value: the words of a list, the names of files, or nothing. */
function valuesOf({ choices, words, value }: Option): readonly string[] | 'files' | 'none' {
  const known = choices ?? words
  if (known !== undefined) return known
  return ['FILE', 'DIR', 'FILE|FOLDER'].includes(value ?? '') ? 'files' : 'none'
}

/** The summaries of help and version, which are no commands of the table. */
const helpSummary = 'Lists the options of a command.'
const versionSummary = 'Prints the version.'

/** The operands of a command that are a list of words. */
function wordsOf({ operands }: CommandRow): readonly string[] {
  return /^[a-z]+(?:\|[a-z]+)+$/.test(operands) ? operands.split('|') : []
}

function bashScript(): string {
  const cases = table.map(([name, command]) => {
    const { options } = command
    const valued = options.filter(({ value }) => value !== undefined)
    const flags = options.map(option => `--${option.name}`)
    const values = valued.map(option => {
      const values = valuesOf(option)
      const reply =
        values === 'files'
          ? 'COMPREPLY=($(compgen -f -- "$word"))'
          : `COMPREPLY=($(compgen -W "${values === 'none' ? '' : values.join(' ')}" -- "$word"))`
      return `        --${option.name}) ${reply}; return ;;`
    })
    return [
      `    ${name})`,
      '      case "$before" in',
      ...values,
      '      esac',
      `      COMPREPLY=($(compgen -W "${[...flags, '--help', ...wordsOf(command)].join(' ')}" -- "$word"))`,
      '      ;;',
    ].join('\n')
  })
  return [
    '# bash completion of watchglass: source <(watchglass completion bash)',
    '_watchglass() {',
    '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
    '  COMPREPLY=()',
    '  # bash takes --option=value for three words.',
    '  if [ "$word" = = ]; then word=',
    '  elif [ "$before" = = ]; then before="${COMP_WORDS[COMP_CWORD-2]}"; fi',
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    COMPREPLY=($(compgen -W "${names} help --help --version" -- "$word"))`,
    '    return',
    '  fi',
    '  case "${COMP_WORDS[1]}" in',
    ...cases,
    `    help) COMPREPLY=($(compgen -W "${names}" -- "$word")) ;;`,
    '  esac',
    '}',
    'complete -o default -F _watchglass watchglass',
    '',
  ].join('\n')
}

function zshScript(): string {
  const described = [...table, ['help', { summary: helpSummary }] as const].map(
    ([name, { summary }]) => quoted(`${name}:${summary}`),
  )
  const flags = [`--help:${helpSummary}`, `--version:${versionSummary}`].map(quoted)
  const cases = table.map(([name, command]) => {
    const rows = command.options.map(option => {
      const many = option.many === true ? '*' : ''
      const value =
        option.value === undefined ? '' : `:${zshText(option.value)}:${zshValues(option)}`
      const equals = option.value === undefined ? '' : '='
      return `        ${quoted(`${many}--${option.name}${equals}[${zshText(option.help)}]${value}`)}`
    })
    const words = wordsOf(command)
    const operand = words.length === 0 ? [] : [`        ${quoted(`1:what:(${words.join(' ')})`)}`]
    return [
      `      ${name})`,
      '        _arguments \\',
      [...rows, `        ${quoted(`(- *)--help[${helpSummary}]`)}`, ...operand].join(' \\\n'),
      '        ;;',
    ].join('\n')
  })
  return [
    '#compdef watchglass',
    '# zsh completion of watchglass: watchglass completion zsh > "${fpath[1]}/_watchglass"',
    '_watchglass() {',
    '  local -a commands flags',
    `  commands=(${described.join(' ')})`,
    `  flags=(${flags.join(' ')})`,
    '  if (( CURRENT == 2 )); then',
    "    _describe 'command' commands",
    "    _describe -o 'option' flags",
    '    return',
    '  fi',
    '  local command="$words[2]"',
    '  shift words',
    '  (( CURRENT-- ))',
    '  case "$command" in',
    ...cases,
    "      help) (( CURRENT == 2 )) && _describe 'command' commands ;;",
    '  esac',
    '}',
    'if [ "$funcstack[1]" = "_watchglass" ]; then _watchglass "$@"; else compdef _watchglass watchglass; fi',
    '',
  ].join('\n')
}

function zshValues(option: Option): string {
  const values = valuesOf(option)
  if (values === 'files') return '_files'
  return values === 'none' ? '' : `(${values.join(' ')})`
}

/** Colons and brackets separate the parts of a row. */
function zshText(text: string): string {
  return text.replaceAll(/[\\:[\]]/g, '\\$&')
}

function fishScript(): string {
  const first = "-n 'test (count (commandline -opc)) -eq 1'"
  const lines = [
    '# fish completion of watchglass: watchglass completion fish | source',
    'function __watchglass_command',
    '  set -l words (commandline -opc)',
    '  test (count $words) -gt 1; and test "$words[2]" = "$argv[1]"',
    'end',
    'complete -c watchglass -f',
    `complete -c watchglass ${first} -a help -d ${quoted(helpSummary)}`,
    `complete -c watchglass ${first} -l version -d ${quoted(versionSummary)}`,
    `complete -c watchglass -l help -d ${quoted(helpSummary)}`,
    `complete -c watchglass -n '__watchglass_command help' -a ${quoted(names)}`,
  ]
  for (const [name, command] of table) {
    lines.push(`complete -c watchglass ${first} -a ${name} -d ${quoted(command.summary)}`)
    const here = `-n '__watchglass_command ${name}'`
    for (const option of command.options) {
      lines.push(
        `complete -c watchglass ${here} -l ${option.name}${fishValues(option)} -d ${quoted(option.help)}`,
      )
    }
    const words = wordsOf(command)
    if (words.length > 0) lines.push(`complete -c watchglass ${here} -a ${quoted(words.join(' '))}`)
  }
  return `${lines.join('\n')}\n`
}

function fishValues(option: Option): string {
  if (option.value === undefined) return ''
  const values = valuesOf(option)
  if (values === 'files') return ' -r -F'
  return values === 'none' ? ' -x' : ` -x -a ${quoted(values.join(' '))}`
}

/** In single quotes, as all three shells read them. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`
}
