/** The actors of a process that may share its etcd with others: they act while it leads, and start
 *  anew, from what is stored then, when it leads again. */

import type { Key } from '@watchglass/base'
import type { Batch } from '@watchglass/store'
import { Actors, type ActorsOptions } from './actors.ts'
import { Leader, type LeaderOptions } from './leader.ts'

export interface LedActorsOptions
  extends ActorsOptions, Pick<LeaderOptions, 'clusterUntil' | 'identity'> {}

export class LedActors {
  readonly #leader: Leader
  #actors: Actors | undefined

  constructor(options: LedActorsOptions) {
    this.#leader = new Leader({
      ...options,
      onLead: () => {
        this.#actors = new Actors(options)
        this.#actors.start()
      },
      onLost: () => this.#end(),
    })
  }

  /** Everything is mirrored. */
  start(): void {
    this.#leader.start()
  }

  applied(keyspace: Key, batch: Batch): void {
    this.#actors?.applied(keyspace, batch)
  }

  reset(keyspace: Key): void {
    this.#actors?.reset(keyspace)
  }

  stateChanged(keyspace: Key): void {
    this.#actors?.stateChanged(keyspace)
  }

  stop(): Promise<void> {
    this.#end()
    return this.#leader.stop()
  }

  #end(): void {
    this.#actors?.stop()
    this.#actors = undefined
  }
}
