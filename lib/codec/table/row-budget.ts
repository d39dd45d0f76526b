/** The work that the cells of one row may take: as much as reading its object takes, and a fixed
 *  amount more. Columns and objects are both made by clients, and their product is not bounded:
 *  15,000 columns of a path that looks at 700,000 values are one definition and one object. What is
 *  beyond the budget is not exact. */

import { giveUp, noteEffort } from '@watchglass/base'

/** The values that are looked at, or made, for any object: 5 ms. Real tables look at some
 *  hundred. */
const fixedSteps = 250_000

/** The steps in the time of a small thing: a microsecond. */
const stepsPerEffort = 50

export class RowBudget {
  readonly #all: number
  #left: number

  /** @param bytes the size of the row's object */
  constructor(bytes: number) {
    this.#all = fixedSteps + bytes
    this.#left = this.#all
  }

  /** Gives up when nothing is left. */
  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) giveUp('the columns of its definition take too long')
  }

  /** Says how much work there was. */
  note(): void {
    noteEffort((this.#all - Math.max(0, this.#left)) / stepsPerEffort)
  }
}
