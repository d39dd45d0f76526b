/** Tells the log which resources the upstream does not let us follow: those of the same moment in
 *  one line. An account that has a Role only is refused all resources of the cluster at its
 *  start. */

import type { CancelTimer, Clock, Logger } from '@watchglass/base'

export interface RefusedName {
  readonly resource: string
  readonly reason: string
}

const momentMs = 2000

export class Refusals {
  readonly #clock: Pick<Clock, 'setTimer'>
  readonly #logger: Logger
  #refused: RefusedName[] = []
  #cancel: CancelTimer | undefined = undefined

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock
    this.#logger = logger
  }

  note(refused: RefusedName): void {
    this.#refused.push(refused)
    this.#cancel ??= this.#clock.setTimer(momentMs, () => this.#tell())
  }

  /** Tells what has not been told yet. */
  stop(): void {
    if (this.#cancel === undefined) return
    this.#cancel()
    this.#tell()
  }

  #tell(): void {
    this.#cancel = undefined
    const refused = this.#refused
    this.#refused = []
    const [first] = refused
    if (first === undefined) return
    if (refused.length === 1) {
      const fields = { resource: first.resource, reason: first.reason }
      this.#logger.warn('the upstream does not let us follow a resource: its requests pass', fields)
      return
    }
    const resources = refused.map(({ resource }) => resource).join(', ')
    const fields = { resources, firstReason: first.reason }
    this.#logger.warn('the upstream does not let us follow resources: their requests pass', fields)
  }
}
