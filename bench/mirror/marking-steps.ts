/** The steps in which V8 marks what is alive, a little at a time, while the program runs. They are
 *  work of the collector that observers of its pauses are not told of: one that meets a large table
 *  took 10 ms. Only the main thread can trace. */

import { type NodeTracing, Session } from 'node:inspector'
import { isMainThread } from 'node:worker_threads'

export interface Span {
  readonly startMs: number
  readonly endMs: number
}

interface TraceEvent {
  readonly name: string
  readonly tid: number
  /** Microseconds. */
  readonly ts: number
  readonly dur?: number
}

export class MarkingSteps {
  readonly #session: Session | undefined
  readonly #steps: Span[] = []
  /** Time of the clock of traces when that of `performance` began. */
  readonly #originMs = Number(process.hrtime.bigint()) / 1e6 - performance.now()

  /** Begins to look. */
  constructor() {
    if (!isMainThread) return
    const session = new Session()
    this.#session = session
    session.connect()
    session.on('NodeTracing.dataCollected', ({ params }) => this.#take(params))
    session.post('NodeTracing.start', { traceConfig: { includedCategories: ['v8'] } })
  }

  /** All since then. */
  async end(): Promise<readonly Span[]> {
    const session = this.#session
    if (session === undefined) return []
    await new Promise(resolve => {
      session.once('NodeTracing.tracingComplete', resolve)
      session.post('NodeTracing.stop')
    })
    session.disconnect()
    return this.#steps
  }

  #take({ value }: NodeTracing.DataCollectedEventDataType): void {
    for (const { name, tid, ts, dur = 0 } of value as TraceEvent[]) {
      if (name !== 'V8.GCIncrementalMarking' || tid !== process.pid) continue
      const startMs = ts / 1000 - this.#originMs
      this.#steps.push({ startMs, endMs: startMs + dur / 1000 })
    }
  }
}
