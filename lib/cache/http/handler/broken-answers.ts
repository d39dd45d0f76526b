/** Logs answers that failed after they had begun. The first is told at once, and the others of the
 *  same moment together: one lost connection to the upstream ends every watch that passes. */

import type { Clock, Logger, LogFields } from '@watchglass/base'

const momentMs = 1000

export class BrokenAnswers {
  readonly #clock: Pick<Clock, 'setTimer'>
  readonly #logger: Logger
  #isMoment = false
  #others = 0

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock
    this.#logger = logger
  }

  note(fields: LogFields & { readonly reason: string }): void {
    if (this.#isMoment) {
      this.#others++
      return
    }
    this.#isMoment = true
    this.#logger.warn('a response failed after it had begun: the connection was closed', fields)
    this.#clock.setTimer(momentMs, () => {
      this.#isMoment = false
      if (this.#others === 0) return
      const { reason } = fields
      this.#logger.warn('other responses failed within the same second', {
        responses: this.#others,
        firstReason: reason,
      })
      this.#others = 0
    })
  }
}
