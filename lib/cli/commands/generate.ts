/** `watchglass generate`: writes a generated cluster into an etcd, and goes on changing it if asked
 *  to. */

import { CacheError, sleep } from '@watchglass/base'
import { prefixOption, seedOption } from '../options/cluster.ts'
import { valueOf } from '../options/rules.ts'
import { progressOnStderr } from './progress.ts'
import { load } from '../compose/loaded-code.ts'
import { etcdConnection } from './plan/etcd-connection.ts'
import { GrpcClient } from '@watchglass/etcd'
import { systemClock } from '@watchglass/cache'
import type { CommandContext } from './context.ts'

export async function generate(context: CommandContext): Promise<number> {
  const { values, operands, logger } = context
  const [plan, ...rest] = operands
  if (plan === undefined || rest.length > 0) {
    throw new CacheError(
      'invalid_request',
      'say what to generate, such as pods=1000; try "watchglass generate --help"',
    )
  }
  const { clusterOf, fill, rateOf, startChurnOf } = await load.generator()
  const cluster = clusterOf({
    plan,
    seed: valueOf(values, seedOption),
    prefix: valueOf(values, prefixOption),
  })
  const rate = rateOf(values.text('churn'))
  const client = new GrpcClient(etcdConnection(values))
  try {
    await fill(client, cluster, { ...context, progress: progressOnStderr() })
    if (rate !== undefined) {
      await changing(() => startChurnOf({ client, cluster, rate, logger }), rate, context)
    }
  } finally {
    await client.close()
  }
  return 0
}

/** Changes the cluster at a rate until the program is asked to stop. */
async function changing(
  start: () => () => void,
  rate: number,
  { logger, signal }: CommandContext,
): Promise<void> {
  logger.info('changing objects until stopped', { changesPerSecond: rate })
  const stop = start()
  await sleep(systemClock, 2 ** 31 - 1, signal)
  stop()
}
