/** Switches all reads to the upstream, and back. Open watches continue either way. */

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
      isOff
        ? 'pass-through is on: all reads go to the upstream'
        : 'pass-through is off: reads are answered from the mirror again',
    )
  }

  toggle(): void {
    this.set(!this.#isOff)
  }
}
