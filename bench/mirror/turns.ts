/** The time for which the event loop is held: each of its turns is timed, and the garbage
 *  collector's pauses and steps and time of other processes are separated from our own work. */

import { readFileSync } from 'node:fs'
import { PerformanceObserver } from 'node:perf_hooks'
import { percentile } from '../bench.ts'
import { MarkingSteps, type Span } from './marking-steps.ts'

export interface TurnReport {
  /** The longest that a turn worked, beside the collector. */
  readonly ownMaxMs: number
  /** 99.9 % of turns took no longer, whatever it was. */
  readonly p999Ms: number
  readonly maxMs: number
  readonly collectorMaxMs: number
  /** 99 % of its pauses took no longer. */
  readonly collectorP99Ms: number
  readonly turns: number
}

/** A turn, and for how long of it this thread had a processor. */
interface Turn extends Span {
  readonly ranMs: number
}

/** Short turns are counted, but not kept. */
const keptMinMs = 2

/** Times every turn of the event loop while `task` runs. With `everyMs` the loop may rest so long
 *  between two looks: what is then taken for one turn may be short ones that together took less
 *  than that. */
export async function measureTurns(
  task: () => Promise<void>,
  everyMs?: number,
): Promise<TurnReport> {
  const pauses: Span[] = []
  const observer = new PerformanceObserver(list => {
    for (const { startTime, duration } of list.getEntries()) {
      pauses.push({ startMs: startTime, endMs: startTime + duration })
    }
  })
  observer.observe({ entryTypes: ['gc'] })
  const marking = new MarkingSteps()
  const kept: Turn[] = []
  let turns = 0
  let isOver = false
  let lastMs = performance.now()
  let lastRanMs = ranMs()
  const tick = (): void => {
    const nowMs = performance.now()
    const ran = ranMs()
    turns++
    if (nowMs - lastMs >= keptMinMs) {
      kept.push({ startMs: lastMs, endMs: nowMs, ranMs: Math.min(ran - lastRanMs, nowMs - lastMs) })
    }
    lastMs = nowMs
    lastRanMs = ran
    if (!isOver) again()
  }
  const again = (): void => {
    if (everyMs === undefined) setImmediate(tick)
    else setTimeout(tick, everyMs)
  }
  setImmediate(tick)
  await task()
  isOver = true
  // The observer is told of the last pauses in a later turn.
  await new Promise(resolve => setTimeout(resolve, 50))
  observer.disconnect()
  return reportOf(kept, { pauses, steps: await marking.end() }, turns)
}

/** The pauses and the steps of the collector. */
interface Collected {
  readonly pauses: readonly Span[]
  readonly steps: readonly Span[]
}

function reportOf(kept: readonly Turn[], { pauses, steps }: Collected, turns: number): TurnReport {
  const collected = [...pauses, ...steps]
  const lengths = kept.map(({ startMs, endMs }) => endMs - startMs).sort((a, b) => b - a)
  const ownMs = kept.map(turn => {
    const lengthMs = turn.endMs - turn.startMs
    const collectorMs = collected.reduce((sum, span) => sum + overlapMs(turn, span), 0)
    return Math.max(0, lengthMs - collectorMs) * (turn.ranMs / lengthMs)
  })
  const collectorMs = pauses.map(({ startMs, endMs }) => endMs - startMs)
  return {
    ownMaxMs: Math.max(0, ...ownMs),
    p999Ms: lengths[Math.floor(turns / 1000)] ?? keptMinMs,
    maxMs: lengths[0] ?? keptMinMs,
    collectorMaxMs: Math.max(0, ...collectorMs),
    collectorP99Ms: collectorMs.length === 0 ? 0 : percentile(collectorMs, 0.99),
    turns,
  }
}

/** For how long this thread has had a processor, in all. Where the kernel does not say, all the
 *  time is taken as ours. */
function ranMs(): number {
  try {
    const [nanoseconds = ''] = readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')
    return Number(nanoseconds) / 1e6
  } catch {
    return performance.now()
  }
}

function overlapMs(one: Span, other: Span): number {
  return Math.max(0, Math.min(one.endMs, other.endMs) - Math.max(one.startMs, other.startMs))
}
