/** `serve --load FILE --speed 1x`: the recorded changes happen again while the API is served. */

import { CacheError } from '@watchglass/base'
import { schemaOf } from '@watchglass/codec'
import type { OptionValues } from '../../options/option-values.ts'
import type { Client } from '@watchglass/etcd'
import { warnIncomplete } from './load.ts'
import { parseSpeed, RecordingReplay, type ReplaySpeed } from './recording-replay.ts'
import { load } from '../../compose/loaded-code.ts'
import { systemClock } from '@watchglass/cache'
import type { CommandContext } from '../context.ts'
import { replayOptions } from '../../options/cluster.ts'
import { checkRules } from '../../options/rules.ts'

export interface ReplayPlan {
  readonly path: string
  readonly speed: ReplaySpeed
  readonly isLooped: boolean
}

/** Undefined if nothing is to be replayed: a recording without a speed is loaded as it is. */
export function replayPlanOf(values: OptionValues): ReplayPlan | undefined {
  checkRules(values, replayOptions)
  const path = values.text('load')
  const speed = values.text('speed')
  if (path === undefined || speed === undefined) return undefined
  return { path, speed: parseSpeed(speed), isLooped: values.switch('loop') }
}

/** Writes what there was, and goes on with the changes in the background. The answer stops them. */
export async function startReplay(
  plan: ReplayPlan,
  client: Client,
  { logger, signal }: Pick<CommandContext, 'logger' | 'signal'>,
): Promise<() => void> {
  const { moveTimes } = await load.movedTimes()
  const stopping = new AbortController()
  const replay = new RecordingReplay({
    ...plan,
    client,
    clock: systemClock,
    moveTimes: (value, byMs) => moveTimes(value, byMs, schemaOf()),
    onLeftOut: (reason, count) =>
      logger.warn('a part of the recording is left out', { reason, count }),
    onIncomplete: warnIncomplete(plan.path, logger),
    onRound: revisions => logger.info('replayed the recording', { revisions }),
    signal: AbortSignal.any([signal, stopping.signal]),
  })
  await replay.begin()
  replay.run().catch((error: unknown) => {
    if (stopping.signal.aborted || signal.aborted) return
    const { message } = CacheError.from(error, 'source_failed')
    logger.error('the replay has ended', { reason: message })
  })
  return () => stopping.abort()
}
