/** `watchglass serve`: runs until it is asked to stop. */

import { sleep } from '../base/clock.ts'
import { CacheError } from '../base/errors.ts'
import { systemClock } from '../ops/system.ts'
import type { CommandContext } from './context.ts'
import { startEmbeddedEtcd } from './embedded-etcd.ts'

export async function serve({ values, logger, signal }: CommandContext): Promise<number> {
  const etcd = values.text('etcd')
  const listen = values.text('etcd-listen')
  if (etcd !== 'embedded') {
    throw new CacheError('invalid_request', `--etcd "${etcd ?? ''}" cannot be served: embedded can`)
  }
  if (listen === undefined) {
    throw new CacheError('invalid_request', '--etcd embedded needs --etcd-listen')
  }
  const embedded = await startEmbeddedEtcd({ listen, load: values.text('load'), logger })
  await untilAborted(signal)
  await embedded.close()
  return 0
}

/** A timer keeps the process alive as well as the listeners do, and no timer is longer than this. */
async function untilAborted(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await sleep(systemClock, 2 ** 31 - 1, signal)
}
