/** By which all reads pass to the upstream, and come back. Open watches go on either way. */

import type { Logger } from '../../base/logger.ts'

export class ReadSwitch {
  readonly #logger: Logger
  #isOff = false

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Nothing is answered from the mirror. */
  get isOff(): boolean {
    return this.#isOff
  }

  set(isOff: boolean): void {
    if (isOff === this.#isOff) return
    this.#isOff = isOff
    this.#logger.warn(
      isOff ? 'all reads pass to the upstream from now on' : 'reads are answered here again',
    )
  }

  toggle(): void {
    this.set(!this.#isOff)
  }
}
