#!/usr/bin/env node
/** The program: reads arguments and environment, runs one command, turns signals into a stop and failures into an exit code.
 *
 *  Exit codes: 0 done, 1 failed, 2 the command line was wrong. */

import { readFileSync } from 'node:fs'
import { CacheError } from './base/errors.ts'
import { helpText } from './config/help.ts'
import { load } from './config/load.ts'

/** The version in package.json, which lies two folders above this file once built. */
function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

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
      throw new CacheError('invalid_request', `command ${invocation.command} has no implementation`)
  }
}

main().then(
  code => {
    process.exitCode = code
  },
  (error: unknown) => {
    if (!(error instanceof CacheError)) throw error
    process.stderr.write(`watchglass: ${error.message}\n`)
    process.exitCode = error.code === 'invalid_request' ? 2 : 1
  },
)
