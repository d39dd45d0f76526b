/** The seats of priority levels, under the name of kube-apiserver. */

import { seriesMax } from '../../tally.ts'
import { familyText } from './exposition.ts'

type LevelsShown = () => readonly { readonly level: string; readonly seats: number }[]

export class FlowGauges {
  #levels: LevelsShown = () => []

  /** Sets what is shown. Called once. */
  show(levels: LevelsShown): void {
    this.#levels = levels
  }

  text(): string {
    const levels = this.#levels().slice(0, seriesMax)
    return familyText(
      'apiserver_flowcontrol_nominal_limit_seats',
      levels.map(({ level, seats }) => [[level], seats]),
    )
  }
}
