/** Faults on purpose, as they are switched on and replaced while the program runs: the rules that requests meet, and the compactions that
 *  they ask for. */

import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Revision } from '../../base/revision.ts'
import type { FaultSwitch } from '../admin/fault-switch.ts'
import { Compactor } from './compactor.ts'
import { type FaultCount, Faults } from './faults.ts'
import type { FaultRule, FaultType } from './rule.ts'

export interface FaultsOptions {
  readonly rules: readonly FaultRule[]
  readonly seed: number
}

export interface FaultControlOptions extends FaultsOptions {
  /** Compacts etcd at the newest revision. */
  readonly compact: () => Promise<Revision>
  readonly onMet: (type: FaultType) => void
  readonly clock: Clock
  readonly logger: Logger
}

export class FaultControl implements FaultSwitch {
  readonly faults: Faults
  readonly #compactor: Compactor
  readonly #logger: Logger

  constructor(options: FaultControlOptions) {
    this.faults = new Faults(options)
    this.#compactor = new Compactor(options)
    this.#logger = options.logger
  }

  get counts(): readonly FaultCount[] {
    return this.faults.counts
  }

  replace(rules: readonly FaultRule[]): void {
    this.faults.replace(rules)
    this.start()
    const texts = rules.map(({ text }) => text).join('; ')
    this.#logger.warn('the faults were replaced', { rules: texts })
  }

  /** Begins the compactions. */
  start(): void {
    this.#compactor.follow(this.faults.compactions, done => this.faults.compacted(done))
  }

  stop(): void {
    this.#compactor.stop()
  }
}
