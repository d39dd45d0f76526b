/** Imported into the measured program, and so into each of its threads: times the turns of their
 *  event loops while the parent wants it to. */

import '../list/with-parent.ts'
import { readFileSync } from 'node:fs'
import { BroadcastChannel, isMainThread } from 'node:worker_threads'
import { measureTurns, type TurnReport } from '../mirror/turns.ts'

export interface ThreadReport extends TurnReport {
  readonly isMain: boolean
  /** For how long the thread had something to do, but no processor: others had them all. */
  readonly queuedMs: number
}

type News = 'begin' | 'end' | ThreadReport

/** Often enough to see every long turn, and seldom enough not to keep a processor busy. */
const everyMs = 1

const channel = new BroadcastChannel('turns')
let end: () => void = () => {}

function take(order: 'begin' | 'end'): void {
  if (order === 'end') {
    end()
    return
  }
  const task = (): Promise<void> => new Promise(resolve => (end = resolve))
  const beforeMs = queuedMs()
  void measureTurns(task, everyMs).then(report =>
    tell({ ...report, isMain: isMainThread, queuedMs: queuedMs() - beforeMs }),
  )
}

/** The time that this thread has waited for a processor since it began; 0 where the kernel does not
 *  say. */
function queuedMs(): number {
  try {
    const [, nanoseconds = ''] = readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')
    return Number(nanoseconds) / 1e6
  } catch {
    return 0
  }
}

function tell(report: ThreadReport): void {
  if (isMainThread) process.send?.(report)
  else channel.postMessage(report)
}

channel.onmessage = event => {
  const { data: news } = event as { readonly data: News }
  if (typeof news === 'string') take(news)
  else if (isMainThread) tell(news)
}
// Listening must not keep a thread alive.
channel.unref()

if (isMainThread) {
  process.on('message', (order: 'begin' | 'end') => {
    channel.postMessage(order)
    take(order)
  })
  process.channel?.unref()
}
