/** `watchglass envtest DIR`: what KUBEBUILDER_ASSETS names. controller-runtime's envtest finds an
 *  `etcd` and a `kube-apiserver` there: small programs that start this one with their flags. The
 *  API server has an etcd in itself; the other one only says that it is healthy. */

import { existsSync } from 'node:fs'
import { chmod, rm, symlink, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { delimiter, join, resolve } from 'node:path'
import { CacheError } from '@watchglass/base'
import { commands } from '../commands.ts'
import { apiServerFlags, clientAddress, etcdFlags, parseFlags, serveArguments } from './flags.ts'
import { OptionValues } from '../../options/option-values.ts'
import type { CommandContext } from '../context.ts'
import { makeFolder } from '@watchglass/cache'
import { ownCommand } from '../program.ts'
import { serve } from '../serve.ts'
import { invalid } from '../../options/invalid.ts'

export async function envtest(context: CommandContext): Promise<number> {
  const { values, operands } = context
  switch (values.text('as')) {
    case 'etcd':
      return beEtcd(context)
    case 'kube-apiserver':
      return beApiServer(context)
    case undefined:
      break
    default:
      throw invalid(`--as "${values.text('as')}" is not etcd or kube-apiserver`)
  }
  const [folder, another] = operands
  if (folder === undefined || another !== undefined) {
    throw invalid('envtest needs one DIR to write the programs to, such as bin/envtest')
  }
  const path = resolve(folder)
  const hasKubectl = await writePrograms(path).catch((error: unknown) => {
    throw CacheError.from(error, 'invalid_request')
  })
  process.stdout.write(`export KUBEBUILDER_ASSETS=${quoted(path)}\n`)
  if (!hasKubectl) {
    context.logger.warn('kubectl was not found: tests that run kubectl need it in this folder')
  }
  return 0
}

/** True if there is a kubectl beside them. */
async function writePrograms(folder: string): Promise<boolean> {
  await makeFolder(folder)
  for (const name of ['etcd', 'kube-apiserver']) await writeLauncher(folder, name)
  return linkKubectl(folder)
}

async function writeLauncher(folder: string, name: string): Promise<void> {
  const words = [...ownCommand(), 'envtest', '--as', name, '--'].map(quoted).join(' ')
  const path = join(folder, name)
  // The folder may have links to real ones, which stay as they are.
  await rm(path, { force: true })
  await writeFile(path, `#!/bin/sh\nexec ${words} "$@"\n`, { flag: 'wx' })
  await chmod(path, 0o755)
}

/** The first one of PATH. True if there is one now. */
async function linkKubectl(folder: string): Promise<boolean> {
  const path = join(folder, 'kubectl')
  if (existsSync(path)) return true
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map(one => join(one, 'kubectl'))
    .find(one => existsSync(one))
  if (found !== undefined) {
    await rm(path, { force: true })
    await symlink(found, path)
  }
  return found !== undefined
}

/** A word for a shell. */
function quoted(word: string): string {
  return /^[\w./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

async function beApiServer(context: CommandContext): Promise<number> {
  const { operands, logger } = context
  if (helpWanted(operands)) return sayFlags(apiServerFlags)
  const { entries, unknown } = serveArguments(parseFlags(operands))
  if (unknown.length > 0) {
    logger.warn('unknown flags are ignored', { flags: unknown.join(' ') })
  }
  const usual = commands.serve.options.flatMap(({ name, fallback }): [string, string[]][] =>
    fallback === undefined ? [] : [[name, [fallback]]],
  )
  const values = new OptionValues(new Map([...usual, ...context.values.entries, ...entries]))
  return serve({ ...context, values, operands: [] })
}

/** The stand-in for the etcd of envtest: healthy, and nothing else, since the API server brings
 *  its own. */
async function beEtcd({ operands, signal }: CommandContext): Promise<number> {
  if (helpWanted(operands)) return sayFlags(etcdFlags)
  const { host, port } = clientAddress(parseFlags(operands))
  const server = createServer((request, response) => {
    const isHealth = request.url === '/health'
    response.writeHead(isHealth ? 200 : 404, { 'content-type': 'application/json' })
    response.end(isHealth ? '{"health":"true","reason":""}' : '')
  })
  server.listen(port, host)
  await once(server, 'listening').catch((error: unknown) => {
    throw CacheError.from(error, 'invalid_request')
  })
  if (!signal.aborted) await once(signal, 'abort')
  server.close()
  server.closeAllConnections()
  return 0
}

function helpWanted(operands: readonly string[]): boolean {
  return operands.includes('--help') || operands.includes('-h')
}

function sayFlags(names: readonly string[]): number {
  process.stdout.write(names.map(name => `      --${name}\n`).join(''))
  return 0
}
