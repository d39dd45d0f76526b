/** `watchglass serve --clusters`: many clusters in one process, each a service of its own behind
 *  one listener. */

import { type CancelTimer, type Logger, repeat } from '@watchglass/base'
import { systemClock } from '@watchglass/cache'
import {
  checkProcessOptions,
  optionsOfClusters,
  valuesOfCluster,
} from './fleet/cluster-settings.ts'
import { FleetProcess } from './fleet/fleet-process.ts'
import type { Fleet } from './fleet/fleet.ts'
import { SettingsReader } from './fleet/settings-reader.ts'
import { fleetOptions } from '../options/fleet.ts'
import type { OptionValues } from '../options/option-values.ts'
import { checkRules } from '../options/rules.ts'
import { giveCollectorRoom } from './collector.ts'
import { commands } from './commands.ts'
import type { CommandContext } from './context.ts'
import { untilAborted } from './until-aborted.ts'

/** Settings are looked at this often. */
const followMs = 5_000

const { options: serveOptions } = commands.serve

export async function serveClusters(context: CommandContext): Promise<number> {
  const { values, logger, signal } = context
  checkFleetOptions(values)
  const reader = settingsReaderOf(values)
  const first = await reader.read()
  const takeRoomBack = giveCollectorRoom()
  const running = await FleetProcess.start(context)
  const { fleet } = running
  try {
    await running.begin(first)
    introduceFleet(fleet, running.address, logger)
    const stopFollowing = follow(reader, fleet, logger)
    await untilAborted(signal)
    stopFollowing()
  } finally {
    await running.stop()
    takeRoomBack()
  }
  logger.info('stopped')
  return 0
}

/** Refuses options that do not go with many clusters, or not with each other. */
export function checkFleetOptions(values: OptionValues): void {
  checkProcessOptions(values, serveOptions)
  checkRules(values, fleetOptions)
}

/** Reads the clusters that `--clusters` names. */
export function settingsReaderOf(values: OptionValues): SettingsReader {
  return new SettingsReader(
    values.text('clusters') ?? '',
    optionsOfClusters(serveOptions),
    settings => void valuesOfCluster(settings, values, serveOptions),
  )
}

/** Reads the settings again while the process runs. */
function follow(reader: SettingsReader, fleet: Fleet, logger: Logger): CancelTimer {
  let lastReason = ''
  return repeat(systemClock, followMs, async () => {
    try {
      const settings = await reader.read()
      lastReason = ''
      // Clusters that stop may take as long as their requests.
      void fleet.apply(settings)
    } catch (error) {
      const reason = String((error as Error).message)
      if (reason !== lastReason) {
        logger.error('the clusters stay as they are: their settings cannot be read', { reason })
      }
      lastReason = reason
    }
  })
}

function introduceFleet(fleet: Fleet, address: string, logger: Logger): void {
  const { size, clusters } = fleet
  logger.info('ready', { address, clusters: size })
  const name = clusters[0]?.name ?? 'NAME'
  process.stdout.write(
    [
      `Watchglass serves ${size} clusters at ${address}/clusters/NAME`,
      `  list   curl ${address}/clusters`,
      `  first  kubectl --server ${address}/clusters/${name} get pods --all-namespaces`,
      '',
    ].join('\n'),
  )
}
