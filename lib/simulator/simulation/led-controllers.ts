/** The controllers of a process that may share its etcd with others: they act while it leads, and
 *  start anew, from what is stored then, when it leads again. */

import type { Key } from '@watchglass/base'
import type { Batch } from '@watchglass/store'
import { SimulatedControllers, type SimulatedControllersOptions } from './simulated-controllers.ts'
import { Leader, type LeaderOptions } from '../runtime/leader.ts'

export interface LedControllersOptions
  extends SimulatedControllersOptions, Pick<LeaderOptions, 'clusterUntil' | 'identity'> {}

export class LedControllers {
  readonly #leader: Leader
  #controllers: SimulatedControllers | undefined

  constructor(options: LedControllersOptions) {
    this.#leader = new Leader({
      ...options,
      onLead: () => {
        this.#controllers = new SimulatedControllers(options)
        this.#controllers.start()
      },
      onLost: () => this.#end(),
    })
  }

  /** Everything is mirrored. */
  start(): void {
    this.#leader.start()
  }

  applied(keyspace: Key, batch: Batch): void {
    this.#controllers?.applied(keyspace, batch)
  }

  reset(keyspace: Key): void {
    this.#controllers?.reset(keyspace)
  }

  stateChanged(keyspace: Key): void {
    this.#controllers?.stateChanged(keyspace)
  }

  stop(): Promise<void> {
    this.#end()
    return this.#leader.stop()
  }

  #end(): void {
    this.#controllers?.stop()
    this.#controllers = undefined
  }
}
