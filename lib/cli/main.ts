/** The program: reads arguments and environment, runs one command, turns signals into a stop and
 *  failures into an exit code.
 *
 *  Exit codes: 0 done, 1 failed, 2 the command line was wrong; `run` has its command's. */

import { CacheError, type LevelledLogger, type Logger, version } from '@watchglass/base'
import type { CommandContext } from './commands/context.ts'
import { createStderrLogger } from './commands/logger.ts'
import { runnerOf } from './commands/run.ts'
import { helpText } from './commands/help.ts'
import { terminalWidth } from './commands/terminal-width.ts'
import { type CommandLine, load } from './commands/command-line.ts'

// Node's warnings about its own future tell an operator nothing, and are no JSON lines.
process.noDeprecation ??= true

// A reader that has gone is an error of the stream, and would end the process.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

async function main(): Promise<number> {
  const invocation = load(process.argv.slice(2), process.env)
  switch (invocation.kind) {
    case 'help':
      process.stdout.write(helpText(invocation.command, terminalWidth(process.stdout)))
      return 0
    case 'version':
      process.stdout.write(`watchglass ${version}\n`)
      return 0
    case 'run':
      return run(invocation)
  }
}

async function run({
  command,
  values,
  operands,
}: Extract<CommandLine, { kind: 'run' }>): Promise<number> {
  const runner = await runnerOf(command)
  const logger = createStderrLogger(values)
  const stop = new AbortController()
  const takeSignals = stopOnSignals(stop, logger, command)
  logMoreOnSignal(logger)
  const fault = stopOnFault(stop, logger)
  const onSwitch = (task: () => void): void => void process.on('SIGUSR2', task)
  const { signal } = stop
  const { stdout } = process
  const context = { values, operands, logger, stdout, signal, takeSignals, onSwitch }
  const code = await runner(context).finally(() => {
    if (signal.aborted && !fault.hasHappened) endSoon()
  })
  if (!fault.hasHappened) return code
  logger.error('the process ended because of the internal error above')
  return 1
}

/** Aborts with the first SIGINT or SIGTERM, or when the terminal is closed; the second one ends the
 *  process at once. The answer has a command take the signals itself. */
function stopOnSignals(
  stop: AbortController,
  logger: Logger,
  command: string,
): CommandContext['takeSignals'] {
  let taken: ((name: NodeJS.Signals) => void) | undefined
  const onSignal = (name: NodeJS.Signals): void => {
    if (taken !== undefined) {
      taken(name)
      return
    }
    if (name === 'SIGHUP' && command === 'serve' && !process.stderr.isTTY) {
      logger.info(nothingToReload, { signal: name })
      return
    }
    if (stop.signal.aborted) endNow(name)
    logger.info('stopping', { signal: name })
    stop.abort()
  }
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, onSignal)
  return task => {
    taken = task
  }
}

/** The answer to a signal by which services are told to reload. */
const nothingToReload =
  'nothing to reload: log files are opened for each write, and certificates and tokens are read again within a minute of a change'

/** The time for last lines to be read, once a command is over. */
const lastLinesMs = 1_000

/** The time for anything else, such as sockets that are closing on a busy machine: whoever waits
 *  for the process shall see its own exit code. */
const lastThingsMs = 5_000

/** Ends a process that was asked to stop, and that only output keeps that nobody takes: a pipe that
 *  is not read, a disk that does not answer. */
function endSoon(): void {
  setTimeout(() => {
    if (process.stdout.writableLength + process.stderr.writableLength > 0) endNow('SIGTERM')
  }, lastLinesMs).unref()
  setTimeout(() => endNow('SIGTERM'), lastThingsMs).unref()
}

/** Ends the process as the signal would without a listener: `process.exit` waits for threads that a
 *  disk holds. The first process of a container cannot be ended by its own signal, and exits. */
function endNow(name: NodeJS.Signals): never {
  process.emit('exit', 1)
  process.removeAllListeners(name)
  process.kill(process.pid, name)
  process.exit(1)
}

/** SIGUSR1 has everything logged; the next one goes back. Without a listener Node would open a
 *  debugger, through which anyone who can connect reads every secret in memory. */
function logMoreOnSignal(logger: LevelledLogger): void {
  const { level } = logger
  process.on('SIGUSR1', () => {
    logger.level = logger.level === 'debug' ? level : 'debug'
    logger.warn('the log level was changed by SIGUSR1', { level: logger.level })
  })
}

/** The time limit of a command to stop after a bug: responses under way have 10 s to end. */
const faultyMaxMs = 20_000

/** An uncaught error is a bug, after which the state of the process is not certain. The process
 *  stops in order: listeners close first, and responses under way end. */
function stopOnFault(stop: AbortController, logger: Logger): { readonly hasHappened: boolean } {
  const fault = { hasHappened: false }
  process.on('uncaughtException', error => {
    const stack = error instanceof Error ? error.stack : String(error)
    logger.error('internal error: the process stops', { error: stack })
    if (fault.hasHappened) return
    fault.hasHappened = true
    stop.abort()
    setTimeout(() => endNow('SIGKILL'), faultyMaxMs).unref()
  })
  return fault
}

main().then(
  code => {
    process.exitCode = code
  },
  (error: unknown) => {
    // Any other error is a bug: it ends the process with its stack.
    if (!(error instanceof CacheError)) throw error
    process.stderr.write(`watchglass: ${error.message}\n`)
    process.exitCode = error.code === 'invalid_request' ? 2 : 1
  },
)
