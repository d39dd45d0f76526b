/** The number of threads that serve, read from the options, and whether this machine can have
 *  several. */

import { availableParallelism } from 'node:os'
import type { OptionValues } from '../../options/option-values.ts'
import { invalid } from '../../options/invalid.ts'
import { threadsOption } from '../../options/process.ts'
import { valueOf } from '../../options/rules.ts'

const most = 8

/** The machine's properties that decide. */
export interface Machine {
  readonly cores: number
  readonly platform: NodeJS.Platform
  /** The version of Node. */
  readonly node: string
}

const thisMachine: Machine = {
  cores: availableParallelism(),
  platform: process.platform,
  node: process.versions.node,
}

/** The number of `--threads`. More than one is refused where threads cannot listen on the same
 *  port. */
export function threadsOf(values: OptionValues, machine: Machine = thisMachine): number {
  const count = valueOf(values, threadsOption)
  if (count === 'auto') {
    // Each thread would compare the upstream's answers for itself.
    const isOne = machine.cores <= 2 || values.text('upstream') !== undefined
    return isOne || !canSharePort(machine) ? 1 : Math.min(machine.cores - 1, most)
  }
  if (count > 1 && !canSharePort(machine)) {
    const { platform, node } = machine
    throw invalid(
      `--threads ${count} needs Linux and Node 22.12 or newer, where several threads can listen on one port, and this is Node ${node} on ${platform}: use a newer Node, or --threads 1`,
    )
  }
  return count
}

/** Node can listen with `reusePort` from 22.12 and from 23.1 on; before, it ignores the option.
 *  Linux spreads connections over such sockets; other systems have no such option, or give all
 *  connections to one of them. */
export function canSharePort({ platform, node }: Omit<Machine, 'cores'>): boolean {
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const isNewEnough = major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12)
  return platform === 'linux' && isNewEnough
}
