/** Identical reads that pass share answers: five hundred identical lists are two questions.
 *
 *  A read that nobody else is asking for is asked at once, and costs nothing more than before.
 *  Reads that come while an identical one is unanswered gather, and share the next question:
 *
 *  ```
 *  read 1   ├─── asks ───┤ answer begins
 *  read 2        ┌───────┤
 *  read 3            ┌───┼─── ask together ───┤ answer begins
 *  read 4                         ┌───────────┼─── asks ───┤
 *  ```
 *
 *  No read gets an answer to a question that was asked before it came, so each is as fresh as if
 *  it had been asked alone. What it pays is the wait for the answer that is under way to begin,
 *  bounded by `gatherMaxMs`. */

import type { IncomingHttpHeaders } from 'node:http'
import { type CancelTimer, type Clock, Slice } from '@watchglass/base'
import type { ForwardControl, ForwardRequest, ForwardSink, Upstream } from '../upstream/upstream.ts'
import { type SharedAnswerBytes, SharedAnswer } from './shared-answer.ts'

/** Reads gather for no longer than this. An upstream that does not answer one question holds nobody
 *  else up, and is asked once a second at most. */
const gatherMaxMs = 1_000

/** Pieces of shared answers that some clients have not read yet, in all. Beyond half of it, answers
 *  are not shared any more: each read asks by itself, as if nobody else asked. */
const heldMaxBytes = 256 * 1024 * 1024

/** A read that may share its answer. */
export interface CollapsibleRead {
  /** Equal for reads that the upstream cannot tell apart: `collapseKey`. */
  readonly key: string
  readonly request: ForwardRequest
  readonly sink: ForwardSink
  /** Called before the upstream is asked; throws if it must not be. The returned function is called
   *  when the answer has begun, or will not. */
  readonly takeSlot: () => () => void
  /** Called before the upstream is asked once for so many reads, of which this is one. */
  readonly onShared: (reads: number) => void
}

export interface CollapseMetrics {
  /** Called with the number of requests that the upstream was spared. */
  collapsed(reads: number): void
}

export interface CollapsedReadsOptions {
  readonly upstream: Pick<Upstream, 'forward'>
  readonly clock: Clock
  readonly metrics: CollapseMetrics
}

/** Identical reads of which at least one is unanswered. */
interface Line {
  /** The newest question; those before it have taken too long. */
  latest: Question | undefined
  readonly gathered: Set<GatheredRead>
  cancelTimer: CancelTimer
}

const nothing = (): void => {}

export class CollapsedReads {
  readonly #options: CollapsedReadsOptions
  readonly #lines = new Map<string, Line>()
  readonly #held: SharedAnswerBytes = { bytes: 0, max: heldMaxBytes }

  constructor(options: CollapsedReadsOptions) {
    this.#options = options
  }

  /** Asks the upstream, alone or together with others. Throws what `takeSlot` throws. */
  forward(read: CollapsibleRead): ForwardControl {
    const line = this.#lines.get(read.key)
    if (line !== undefined) return this.#gather(line, read)
    const question = this.#questionOf(read, read.sink)
    const first = { latest: question, gathered: new Set<GatheredRead>(), cancelTimer: nothing }
    this.#lines.set(read.key, first)
    question.ask(read.request, this.#options.upstream)
    return question
  }

  #gather(line: Line, read: CollapsibleRead): ForwardControl {
    if (line.gathered.size === 0) {
      const ask = (): void => this.#askGathered(line)
      line.cancelTimer = this.#options.clock.setTimer(gatherMaxMs, ask)
    }
    const gathered = new GatheredRead(read, () => {
      line.gathered.delete(gathered)
      if (line.gathered.size === 0) line.cancelTimer()
    })
    line.gathered.add(gathered)
    return gathered
  }

  /** The answer to a question has begun, or there will be none. */
  #answered(key: string, question: Question): void {
    const line = this.#lines.get(key)
    if (line === undefined || line.latest !== question) return
    line.latest = undefined
    if (line.gathered.size > 0) this.#askGathered(line)
    else this.#lines.delete(key)
  }

  #askGathered(line: Line): void {
    line.cancelTimer()
    const reads = [...line.gathered]
    line.gathered.clear()
    if (reads.length > 1 && this.#held.bytes < this.#held.max / 2) this.#askTogether(line, reads)
    else void this.#askEach(line, reads)
  }

  #askTogether(line: Line, reads: readonly GatheredRead[]): void {
    const [first] = reads
    if (first === undefined) return
    const { clock, upstream, metrics } = this.#options
    const answer = new SharedAnswer(clock, this.#held)
    for (const { read, join } of reads) {
      read.onShared(reads.length)
      join(answer.join(read.sink))
    }
    const question = this.#takenBy(line, first.read, answer)
    if (question === undefined) return
    answer.control = question
    metrics.collapsed(reads.length - 1)
    question.ask(first.read.request, upstream)
  }

  async #askEach(line: Line, reads: readonly GatheredRead[]): Promise<void> {
    const slice = new Slice(this.#options.clock)
    for (const gathered of reads) {
      if (gathered.hasLeft) continue
      const { read, join } = gathered
      const question = this.#takenBy(line, read, read.sink)
      if (question !== undefined) {
        join(question)
        question.ask(read.request, this.#options.upstream)
      }
      await slice.giveWay()
    }
  }

  /** The next question of a line. If it must not be asked, whoever waits for it is told. */
  #takenBy(line: Line, read: CollapsibleRead, sink: ForwardSink): Question | undefined {
    try {
      const question = this.#questionOf(read, sink)
      // While each was asked for itself, the line may have ended and another begun.
      const current = this.#lines.get(read.key) ?? line
      current.latest = question
      this.#lines.set(read.key, current)
      return question
    } catch (error) {
      if (line.latest === undefined && line.gathered.size === 0) this.#lines.delete(read.key)
      sink.failed(error instanceof Error ? error : new Error(String(error)))
      return undefined
    }
  }

  #questionOf({ key, takeSlot }: CollapsibleRead, sink: ForwardSink): Question {
    const free = takeSlot()
    return new Question(sink, question => {
      free()
      this.#answered(key, question)
    })
  }
}

/** One request to the upstream, which tells when its answer has begun, or will not. */
class Question implements ForwardSink, ForwardControl {
  readonly #sink: ForwardSink
  readonly #onAnswered: (question: Question) => void
  #control: ForwardControl | undefined = undefined
  #isAnswered = false

  constructor(sink: ForwardSink, onAnswered: (question: Question) => void) {
    this.#sink = sink
    this.#onAnswered = onAnswered
  }

  ask(request: ForwardRequest, upstream: Pick<Upstream, 'forward'>): void {
    this.#control = upstream.forward(request, this)
  }

  started(code: number, headers: IncomingHttpHeaders): void {
    this.#answered()
    this.#sink.started(code, headers)
  }

  data(piece: Uint8Array): boolean {
    return this.#sink.data(piece)
  }

  ended(trailers: IncomingHttpHeaders): void {
    this.#sink.ended(trailers)
  }

  failed(failure: Error): void {
    this.#answered()
    this.#sink.failed(failure)
  }

  resume(): void {
    this.#control?.resume()
  }

  abort(): void {
    this.#control?.abort()
    this.#answered()
  }

  #answered(): void {
    if (this.#isAnswered) return
    this.#isAnswered = true
    this.#onAnswered(this)
  }
}

/** A read that waits for the next question, and then has its part of the answer. */
class GatheredRead implements ForwardControl {
  readonly read: CollapsibleRead
  hasLeft = false
  readonly #leave: () => void
  #control: ForwardControl | undefined = undefined

  constructor(read: CollapsibleRead, leave: () => void) {
    this.read = read
    this.#leave = leave
  }

  /** The upstream is asked. */
  readonly join = (control: ForwardControl): void => {
    this.#control = control
  }

  resume(): void {
    this.#control?.resume()
  }

  abort(): void {
    this.hasLeft = true
    if (this.#control === undefined) this.#leave()
    else this.#control.abort()
  }
}
