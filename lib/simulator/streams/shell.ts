/** Simulated answers of commands in simulated pods: a few that every container has, those that an
 *  annotation of the pod gives, and a shell over both. Nothing is run. `kubectl exec` asks for
 *  them, and containers whose own command is one of them do what it does
 *  (`containers/container-script.ts`). */

import { isObject, listOf, textOf } from '@watchglass/base'

/** The container, as a command may know it. */
export interface ShellContainer {
  readonly pod: string
  readonly name: string
  readonly env: Readonly<Record<string, string>>
  /** The working directory. */
  readonly folder: string
  /** The annotation of the pod, JSON. */
  readonly answers: string | undefined
}

export interface Streams {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Pieces of the standard input, until it ends. */
  readonly input: AsyncIterable<string>
  readonly isTerminal: boolean
  readonly now: () => Date
  readonly sleep: (ms: number) => Promise<void>
}

/** A command that the shell does not have. */
export class NoSuchCommand extends Error {}

export const execAnnotation = 'watchglass.local/exec'

type Command = (
  args: readonly string[],
  streams: Streams,
  container: ShellContainer,
) => number | Promise<number>

const lineMax = 64 * 1024
/** Characters that variables may add to a line: it may name a long one again and again. */
const expandedMax = 1024 * 1024

const commands: Readonly<Record<string, Command>> = {
  true: () => 0,
  false: () => 1,
  ':': () => 0,
  echo: (args, { out }) => {
    const isBare = args[0] === '-n'
    out(`${args.slice(isBare ? 1 : 0).join(' ')}${isBare ? '' : '\n'}`)
    return 0
  },
  hostname: (_, { out }, { pod }) => {
    out(`${pod}\n`)
    return 0
  },
  pwd: (_, { out }, { folder }) => {
    out(`${folder}\n`)
    return 0
  },
  whoami: (_, { out }) => {
    out('root\n')
    return 0
  },
  id: (_, { out }) => {
    out('uid=0(root) gid=0(root) groups=0(root)\n')
    return 0
  },
  ls: (_, { out }) => {
    out('')
    return 0
  },
  date: (_, { out, now }) => {
    out(`${now().toUTCString()}\n`)
    return 0
  },
  env: (_, { out }, { env }) => {
    for (const [name, value] of Object.entries(env)) out(`${name}=${value}\n`)
    return 0
  },
  printenv: ([name], { out }, { env }) => {
    if (name === undefined) for (const one of Object.keys(env)) out(`${one}=${env[one] ?? ''}\n`)
    else if (!Object.hasOwn(env, name)) return 1
    else out(`${env[name] ?? ''}\n`)
    return 0
  },
  cat: async ([file], { out, err, input }, { pod }) => {
    if (file === '/etc/hostname') out(`${pod}\n`)
    else if (file !== undefined && file !== '-') {
      err(`cat: ${file}: No such file or directory\n`)
      return 1
    } else for await (const piece of input) out(piece)
    return 0
  },
  sleep: async ([text = ''], { err, sleep }) => {
    const [, number, unit = 's'] = /^(\d+(?:\.\d+)?|infinity)([smhd]?)$/.exec(text) ?? []
    if (number === undefined) {
      err(`sleep: invalid time interval '${text}'\n`)
      return 1
    }
    const seconds = number === 'infinity' ? Infinity : Number(number)
    await sleep(seconds * 1000 * (unitSeconds[unit] ?? 1))
    return 0
  },
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

const shells: ReadonlySet<string> = new Set([
  'sh',
  'bash',
  'ash',
  '/bin/sh',
  '/bin/bash',
  '/bin/ash',
])

/** Does as if a command were run, and gives its exit code. Throws `NoSuchCommand`. */
export async function runCommand(
  argv: readonly string[],
  streams: Streams,
  container: ShellContainer,
): Promise<number> {
  const given = givenAnswer(argv.join(' '), container.answers)
  if (given !== undefined) {
    streams.out(given.output)
    streams.err(given.error)
    return given.exitCode
  }
  const [path = '', ...args] = argv
  if (shells.has(path)) return shell(args, streams, container)
  const name = commandName(path)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) throw new NoSuchCommand(path)
  return command(args, streams, container)
}

function commandName(path: string): string {
  return path.replace(/^(?:\/usr)?\/s?bin\//, '')
}

/** A script is read at each look at its pod. */
export const scriptMax: number = 8 * 1024

/** Commands that do here what they do anywhere: files and the standard input are made up. */
const certain: ReadonlySet<string> = new Set(
  'true false : echo hostname pwd whoami id date env sleep'.split(' '),
)

/** Whether all of a command can be done here, without the answers of an annotation: a script with
 *  anything else in it, such as a loop, a pipe or a program, is not to be taken for one that
 *  fails. */
export function isKnownCommand([path = '', ...args]: readonly string[]): boolean {
  if (!shells.has(path)) return isCertain(path)
  const [flag, script, ...others] = args
  return flag === '-c' && script !== undefined && others.length === 0 && isKnownScript(script)
}

/** Whether the shell can do all of a script. */
export function isKnownScript(script: string): boolean {
  if (script.length > scriptMax) return false
  return partsOf(script).every(part => {
    if (isJoint(part)) return true
    const said = part.replace(toErrors, ' ')
    const bare = said.replace(/'[^']*'|"(?:[^"`\\$]|\$\w+|\$\{\w+\})*"|\$\{\w+\}/g, '')
    if (/[|&<>`(){}\\*?[\]"']|\$[^\w]/.test(bare)) return false
    const [first] = wordsOf(said, {})
    return first === undefined || first === 'exit' || isCertain(first)
  })
}

function isCertain(path: string): boolean {
  return certain.has(commandName(path))
}

/** Commands and what stands between them; a quoted text is one with what surrounds it. */
function partsOf(line: string): string[] {
  const parts = /(?:[^;&|\n"']|"[^"]*"|'[^']*'|["']|&(?!&)|\|(?!\|))+|;|&&|\|\||\n/g
  return line.match(parts) ?? []
}

function isJoint(part: string): boolean {
  return part === ';' || part === '&&' || part === '||' || part === '\n'
}

/** For messages. */
export const knownCommands: string = [...Object.keys(commands), 'sh'].toSorted().join(', ')

interface Given {
  readonly output: string
  readonly error: string
  readonly exitCode: number
}

/** The first answer whose command is how the line begins. */
function givenAnswer(line: string, answers: string | undefined): Given | undefined {
  if (answers === undefined) return undefined
  let list: unknown
  try {
    list = JSON.parse(answers)
  } catch {
    const error = `the annotation ${execAnnotation} of this pod is no JSON\n`
    return { output: '', error, exitCode: 126 }
  }
  for (const one of listOf(list)) {
    if (!isObject(one)) continue
    const command = textOf(one['command'])
    if (line !== command && !line.startsWith(`${command} `) && command !== '*') continue
    const { exitCode } = one
    return {
      output: textOf(one['output']),
      error: textOf(one['error']),
      exitCode: typeof exitCode === 'number' ? exitCode & 0xff : 0,
    }
  }
  return undefined
}

async function shell(
  [flag, script]: readonly string[],
  streams: Streams,
  container: ShellContainer,
): Promise<number> {
  if (flag === '-c') return (await runLine(script ?? '', streams, container)).code
  const prompt = streams.isTerminal ? '# ' : ''
  let code = 0
  streams.out(prompt)
  for await (const line of linesOf(streams)) {
    const done = await runLine(line, streams, container)
    code = done.code
    if (done.isExit) return code
    streams.out(prompt)
  }
  return code
}

interface Done {
  readonly code: number
  readonly isExit: boolean
}

/** A command whose output goes to the standard error. */
const toErrors = /(?:^|\s)1?>&2(?=\s|;|$)/

/** Commands with `;`, `&&` and `||` between them. */
async function runLine(line: string, streams: Streams, container: ShellContainer): Promise<Done> {
  let code = 0
  let joint = ';'
  for (const part of partsOf(line)) {
    if (isJoint(part)) {
      joint = part
      continue
    }
    const said = toErrors.test(part) ? { ...streams, out: streams.err } : streams
    const argv = wordsOf(part.replace(toErrors, ' '), container.env)
    if (argv.length === 0 || argv[0]?.startsWith('#') === true) continue
    if ((joint === '&&' && code !== 0) || (joint === '||' && code === 0)) continue
    if (argv[0] === 'exit') return { code: Number(argv[1] ?? code) & 0xff, isExit: true }
    try {
      code = await runCommand(argv, said, container)
    } catch (error) {
      if (!(error instanceof NoSuchCommand)) throw error
      streams.err(`sh: ${error.message}: not found\n`)
      code = 127
    }
  }
  return { code, isExit: false }
}

function wordsOf(text: string, env: Readonly<Record<string, string>>): string[] {
  const words = text.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? []
  let left = expandedMax
  const valueOf = (name: string): string => {
    const value = Object.hasOwn(env, name) ? (env[name] ?? '') : ''
    left -= value.length
    return left < 0 ? '' : value
  }
  return words.map(word =>
    word.replace(/'([^']*)'|"([^"]*)"|\$(\w+)|\$\{(\w+)\}/g, (...match: readonly string[]) => {
      const [, single, double, name, braced] = match
      if (single !== undefined) return single
      if (double !== undefined) {
        return double.replace(/\$\{?(\w+)\}?/g, (_, one: string) => valueOf(one))
      }
      return valueOf(name ?? braced ?? '')
    }),
  )
}

/** Lines of the input. Of a terminal they are echoed while they are typed, as nobody else does. */
async function* linesOf({ input, out, isTerminal }: Streams): AsyncIterable<string> {
  let line = ''
  for await (const piece of input) {
    for (const char of piece) {
      if (isTerminal && char === '\u0004' && line === '') return
      if (char === '\n' || (isTerminal && char === '\r')) {
        if (isTerminal) out('\r\n')
        yield line
        line = ''
      } else if (isTerminal && char === '\u0003') {
        out('^C\r\n# ')
        line = ''
      } else if (isTerminal && (char === '\u007f' || char === '\b')) {
        if (line !== '') out('\b \b')
        line = line.slice(0, -1)
      } else if (line.length < lineMax) {
        line += char
        if (isTerminal) out(char)
      }
    }
  }
  if (line !== '') yield line
}
