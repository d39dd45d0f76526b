/** Faults on purpose: the rules, the requests that meet them, and the compactions that they ask for. */

import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Client } from '../etcd/client.ts'
import type { FaultSwitch } from '../http/admin/fault-switch.ts'
import { Compactor } from '../http/faults/compactor.ts'
import { Faults } from '../http/faults/faults.ts'
import type { FaultRule } from '../http/faults/rule.ts'
import { compactNow } from '../mirror/compact-now.ts'
import type { FaultCounts } from '../ops/metrics/fault-counts.ts'

export interface FaultsOptions {
  readonly rules: readonly FaultRule[]
  readonly seed: number
}

export interface FaultsSide {
  readonly faults: Faults
  readonly faultSwitch: FaultSwitch
  start(): void
  stop(): void
}

interface FaultsParts {
  readonly faults?: FaultsOptions | undefined
  readonly client: Client
  readonly logger: Logger
}

/** Undefined where there are to be none. */
export function createFaults(
  { faults: plan, client, logger }: FaultsParts,
  { clock, counts }: { readonly clock: Clock; readonly counts: FaultCounts },
): FaultsSide | undefined {
  if (plan === undefined) return undefined
  const faults = new Faults({ ...plan, onMet: type => counts.met(type) })
  const compactor = new Compactor({ clock, logger, compact: () => compactNow(client) })
  const compact = (): void =>
    compactor.follow(faults.compactions, compaction => faults.compacted(compaction))
  return {
    faults,
    faultSwitch: {
      get counts() {
        return faults.counts
      },
      replace(rules) {
        faults.replace(rules)
        compact()
        logger.warn('the faults were replaced', { rules: rules.map(({ text }) => text).join('; ') })
      },
    },
    start: compact,
    stop: () => compactor.stop(),
  }
}
