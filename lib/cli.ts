#!/usr/bin/env node
/** The program: reads arguments and environment, runs one command, turns signals into a stop and failures into an exit code.
 *
 *  Exit codes: 0 done, 1 failed, 2 the command line was wrong. */

import { readFileSync } from 'node:fs'
import { CacheError } from './base/errors.ts'
import type { Logger } from './base/logger.ts'
import { createStderrLogger } from './commands/logger.ts'
import { runnerOf } from './commands/run.ts'
import { helpText } from './config/help.ts'
import { type Invocation, load } from './config/load.ts'

async function main(): Promise<number> {
  const invocation = load(process.argv.slice(2), process.env)
  switch (invocation.kind) {
    case 'help':
      process.stdout.write(helpText(invocation.command))
      return 0
    case 'version':
      process.stdout.write(`watchglass ${version()}\n`)
      return 0
    case 'run':
      return run(invocation)
  }
}

async function run({
  command,
  values,
  operands,
}: Extract<Invocation, { kind: 'run' }>): Promise<number> {
  const runner = await runnerOf(command)
  const logger = createStderrLogger(values)
  const signal = stopSignal(logger)
  const onSwitch = (task: () => void): void => void process.on('SIGUSR2', task)
  return runner({ values, operands, logger, signal, onSwitch })
}

/** Aborted by the first SIGINT or SIGTERM; the second one ends the process at once. */
function stopSignal(logger: Logger): AbortSignal {
  const stop = new AbortController()
  const onSignal = (name: string): void => {
    if (stop.signal.aborted) process.exit(1)
    logger.info('stopping', { signal: name })
    stop.abort()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return stop.signal
}

/** The version in package.json, which lies two folders above this file once built. */
function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

main().then(
  code => {
    process.exitCode = code
  },
  (error: unknown) => {
    // What is not a failure is a bug of ours: it ends the process with its stack.
    if (!(error instanceof CacheError)) throw error
    process.stderr.write(`watchglass: ${error.message}\n`)
    process.exitCode = error.code === 'invalid_request' ? 2 : 1
  },
)
