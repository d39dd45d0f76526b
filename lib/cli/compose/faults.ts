/** Faults on purpose, of a service that may have some. Their code is a part of the simulator and
 *  is loaded with the first rule: that of `--fault`, or one that PUT /faults brings while the
 *  program runs. Until then no request meets any. */

import type { FaultControl, InjectedFaults, SharedFaults } from '@watchglass/simulator'
import type { FaultCount, FaultSwitch, SwitchableFaults } from '@watchglass/cache'

export interface ServiceFaultsOptions {
  /** Undefined where there are no rules yet. */
  readonly control: FaultControl | undefined
  /** Loads the code. */
  readonly load: () => Promise<FaultControl>
}

export class ServiceFaults implements FaultSwitch, SwitchableFaults {
  /** Every request looks here. */
  faults: InjectedFaults | undefined
  readonly #load: () => Promise<FaultControl>
  #control: FaultControl | undefined
  #loading: Promise<FaultControl> | undefined

  constructor({ control, load }: ServiceFaultsOptions) {
    this.#control = control
    this.faults = control?.faults
    this.#load = load
  }

  get counts(): readonly FaultCount[] {
    return this.faults?.counts ?? []
  }

  /** The rules for other threads; undefined as long as there were none. */
  get shared(): SharedFaults | undefined {
    return this.faults?.shared
  }

  async replace(rules: readonly string[]): Promise<void> {
    const control = await this.#loaded()
    await control.replace(rules)
  }

  /** The rules of another thread. */
  async take(shared: SharedFaults): Promise<void> {
    const control = await this.#loaded()
    control.take(shared)
  }

  /** Begins the compactions. */
  start(): void {
    this.#control?.start()
  }

  stop(): void {
    this.#control?.stop()
  }

  async #loaded(): Promise<FaultControl> {
    this.#loading ??= this.#load()
    this.#control ??= await this.#loading
    this.faults = this.#control.faults
    return this.#control
  }
}
