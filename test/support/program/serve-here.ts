/** `watchglass serve` in the process of the test: for tests whose subject is what is served. It
 *  prints and logs nothing. To start the program takes a second of the processor, and V8 compiles
 *  all of it anew; a test of its process (exit codes, signals, memory, output) needs that. */

import { load } from '../../../lib/cli/commands/command-line.ts'
import { whileServing } from '../../../lib/cli/commands/serve.ts'
import { untilAborted } from '../../../lib/cli/commands/until-aborted.ts'
import type { Teardown } from '../etcd/etcd-cluster.ts'
import { silentLogger } from '../silent-logger.ts'

export interface ServedHere {
  readonly address: string
  readonly port: number
}

/** Serves an embedded cluster on a free port until the end of the test. */
export async function serveHere(scope: Teardown, args: readonly string[]): Promise<ServedHere> {
  const invocation = load(['serve', '--listen', 'http://127.0.0.1:0', ...args], {})
  if (invocation.kind !== 'run') throw new Error('nothing is run')
  const { values, operands } = invocation
  const logger = { ...silentLogger, level: 'warn' } as const
  const stop = new AbortController()
  const { signal } = stop
  const context = { values, operands, logger, signal, takeSignals: () => {}, onSwitch: () => {} }
  return new Promise((resolve, reject) => {
    const ended = whileServing(context, async (service, address) => {
      await service.ready
      resolve({ address, port: service.port })
      await untilAborted(signal)
    })
    ended.catch(reject)
    scope.teardown(() => {
      stop.abort()
      return ended
    })
  })
}
