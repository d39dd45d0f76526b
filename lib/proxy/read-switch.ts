/** Switches all reads to the upstream, and back. Open watches continue either way. */

import type { Logger } from '@watchglass/base'

export class ReadSwitch {
  readonly #logger: Logger
  /** No read is answered from the mirror. The admin listener and the log call this pass-through. */
  isSwitchedOff = false
  #onChange: (isSwitchedOff: boolean) => void = () => {}

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Calls `task` with each new state: other threads have switches of their own. */
  onChange(task: (isSwitchedOff: boolean) => void): void {
    this.#onChange = task
  }

  set(isSwitchedOff: boolean): void {
    if (isSwitchedOff === this.isSwitchedOff) return
    this.isSwitchedOff = isSwitchedOff
    this.#onChange(isSwitchedOff)
    this.#logger.warn(
      isSwitchedOff
        ? 'pass-through is on: all reads go to the upstream'
        : 'pass-through is off: reads are answered from the mirror again',
    )
  }

  toggle(): void {
    this.set(!this.isSwitchedOff)
  }
}
