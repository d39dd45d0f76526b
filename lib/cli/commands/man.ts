/** `watchglass man`: prints the manual page, made from the table of commands: roff, as `man` reads
 *  it. What is installed from one file has no other way to it. */

import { CacheError, version } from '@watchglass/base'
import { commands } from './commands.ts'
import { type CommandRow, type Option, variableOf } from '../options/option.ts'
import type { CommandContext } from './context.ts'

export async function man({ operands }: CommandContext): Promise<number> {
  if (operands.length > 0) {
    throw new CacheError('invalid_request', 'man takes no operand: watchglass man | man -l -')
  }
  process.stdout.write(manPage())
  return 0
}

/** watchglass(1). */
export function manPage(): string {
  const table: readonly (readonly [string, CommandRow])[] = Object.entries(commands)
  return [
    `.TH WATCHGLASS 1 "" "Watchglass ${version}" "User Commands"`,
    '.SH NAME',
    roff('watchglass - a watch cache in front of etcd that serves Kubernetes list, get and watch'),
    '.SH SYNOPSIS',
    ...table.map(
      ([name, { operands }]) => `.B watchglass ${name}\n[OPTIONS] ${roff(operands)}\n.br`,
    ),
    '.SH DESCRIPTION',
    roff(
      'Watchglass keeps a copy of etcd in memory and answers Kubernetes lists, gets and watches from it, byte for byte as kube-apiserver would. What it cannot answer exactly passes to the API server behind it, or is refused.',
    ),
    '.PP',
    roff(
      'Every option is a flag or an environment variable, which is named in brackets. The flag wins.',
    ),
    '.SH COMMANDS',
    ...table.flatMap(([name, command]) => [
      `.SS watchglass ${name}`,
      roff(command.summary),
      ...command.options.flatMap(manOption),
    ]),
    '.SH SIGNALS',
    '.TP\n.B SIGTERM, SIGINT\nStops in order. A second one stops at once.',
    '.TP\n.B SIGUSR2\nWith an upstream: passes all reads to it. A second one takes that back.',
    '.TP\n.B SIGUSR1\nLogs everything (the level debug). A second one goes back to \\-\\-log\\-level.',
    '.TP\n.B SIGHUP\nOn a terminal, which was closed: stops in order. Elsewhere nothing is to be reloaded: log files are opened for each write, and certificates and tokens are read again within a minute of a change.',
    '.SH EXIT STATUS',
    '.TP\n.B 0\nDone.\n.TP\n.B 1\nFailed.\n.TP\n.B 2\nThe command line was wrong.',
    '',
  ].join('\n')
}

function manOption(option: Option): string[] {
  const { name, short, value, help, fallback, many } = option
  const letter = short === undefined ? '' : `-${short}, `
  const flag = `\\fB${roff(`${letter}--${name}`)}\\fR${value === undefined ? '' : ` \\fI${roff(value)}\\fR`}`
  const more = [
    many === true ? ' May be given more than once.' : '',
    fallback === undefined ? '' : ` Default: ${fallback}.`,
    ` [${variableOf(option)}]`,
  ]
  return ['.TP', flag, roff(`${help}${more.join('')}`)]
}

/** Text that roff prints as it is: backslashes and dashes escaped, no line that looks like a
 *  request. */
function roff(text: string): string {
  return text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replace(/^[.']/, '\\&$&')
}
