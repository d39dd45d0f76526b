/** Header lines that all answers have. They change once a second. */

import type { Clock } from '@watchglass/base'

export class CommonFields {
  readonly #clock: Clock
  readonly #keepsFor: string
  #second = 0
  #date = ''

  constructor(clock: Clock, idleTimeoutMs: number) {
    this.#clock = clock
    this.#keepsFor = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(idleTimeoutMs / 1000)}\r\n`
  }

  dateField(): string {
    const second = Math.floor(this.#clock.wallMs() / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#date = `Date: ${new Date(second * 1000).toUTCString()}\r\n`
    }
    return this.#date
  }

  persistence(isLast: boolean): string {
    return isLast ? 'Connection: close\r\n' : this.#keepsFor
  }
}
