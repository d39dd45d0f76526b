/** `watchglass serve` in the process of the test: for tests whose subject is what is served. It
 *  prints and logs nothing. To start the program takes a second of the processor, and V8 compiles
 *  all of it anew; a test of its process (exit codes, signals, memory, output) needs that. */

import { whileServing } from '../../../lib/cli/commands/serve.ts'
import { untilAborted } from '../../../lib/cli/commands/until-aborted.ts'
import type { Teardown } from '../etcd/etcd-cluster.ts'
import { contextHere } from './run-here.ts'

export interface ServedHere {
  readonly address: string
  readonly port: number
}

/** Serves an embedded cluster on a free port until the end of the test. */
export async function serveHere(scope: Teardown, args: readonly string[]): Promise<ServedHere> {
  const stop = new AbortController()
  const { signal } = stop
  const context = contextHere(['serve', '--listen', 'http://127.0.0.1:0', ...args], { signal })
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
