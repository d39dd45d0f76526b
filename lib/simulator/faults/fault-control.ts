/** Faults on purpose, as they are switched on and replaced while the program runs: the rules that
 *  requests meet, and the compactions that they ask for. */

import type { Clock, Logger, Revision } from '@watchglass/base'
import type { FaultCount, FaultSwitch } from '@watchglass/cache'
import { Compactor } from './compactor.ts'
import { InjectedFaults, type SharedFaults } from './injected-faults.ts'
import { type FaultType, parseFaultRule } from './rule.ts'

export interface FaultRulesOptions {
  /** As they are written (`rule.ts`). */
  readonly rules: readonly string[]
  readonly seed: number
  /** In a worker: see `InjectedFaults`. */
  readonly memory?: SharedArrayBuffer | undefined
}

export interface FaultControlOptions extends FaultRulesOptions {
  /** Compacts etcd at the newest revision; undefined in a worker. */
  readonly compact: (() => Promise<Revision>) | undefined
  /** Resolves when all other threads have the new rules. */
  readonly passOn?: ((faults: InjectedFaults) => Promise<void>) | undefined
  readonly onMet: (type: FaultType) => void
  readonly clock: Clock
  readonly logger: Logger
}

export class FaultControl implements FaultSwitch {
  readonly faults: InjectedFaults
  readonly #compactor: Compactor | undefined
  readonly #passOn: FaultControlOptions['passOn']
  readonly #logger: Logger

  constructor(options: FaultControlOptions) {
    this.faults = new InjectedFaults({ ...options, rules: options.rules.map(parseFaultRule) })
    const { compact } = options
    this.#compactor = compact && new Compactor({ ...options, compact })
    this.#passOn = options.passOn
    this.#logger = options.logger
  }

  get counts(): readonly FaultCount[] {
    return this.faults.counts
  }

  /** The rules of another thread. */
  take({ texts, memory }: SharedFaults): void {
    this.faults.replace(texts.map(parseFaultRule), memory)
  }

  async replace(rules: readonly string[]): Promise<void> {
    this.faults.replace(rules.map(parseFaultRule))
    this.start()
    await this.#passOn?.(this.faults)
    this.#logger.warn('the faults were replaced', { rules: rules.join('; ') })
  }

  /** Begins the compactions. */
  start(): void {
    this.#compactor?.follow(this.faults.compactions, done => this.faults.compacted(done))
  }

  stop(): void {
    this.#compactor?.stop()
  }
}
