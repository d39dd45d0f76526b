/** Imported into the measured program: times the turns of its event loop while its parent wants it
 *  to. */

import '../list/with-parent.ts'
import { measureTurns, type TurnReport } from '../mirror/turns.ts'

/** Often enough to see every long turn, and seldom enough not to keep a processor busy. */
const everyMs = 1

let end: () => void = () => {}

process.on('message', (order: 'begin' | 'end') => {
  if (order === 'end') {
    end()
    return
  }
  const task = (): Promise<void> => new Promise(resolve => (end = resolve))
  void measureTurns(task, everyMs).then((report: TurnReport) => process.send?.(report))
})
// The listener must not keep the program alive.
process.channel?.unref()
