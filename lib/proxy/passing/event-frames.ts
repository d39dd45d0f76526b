/** Asks the upstream for single events, as it shows them to watchers: a watch of one object that
 *  begins just before the event, with the selectors of whoever waits for it. Its first frame is the
 *  event in the upstream's own bytes, after which it is over. */

import { headerLines } from '../upstream/header-lines.ts'
import type { Clock } from '@watchglass/base'
import { frameWithoutColumns } from '@watchglass/codec'
import type { HeldEvent } from '@watchglass/cache'
import { defaultPace, Pace, type PaceLimits } from '../evidence/pace.ts'
import { acceptOf, eventPath, nameOf } from '../evidence/question.ts'
import type { ForwardControl, ForwardSink, Upstream } from '../upstream/upstream.ts'
import { FrameCutter, isEventAt } from './first-frame.ts'

/** Watches at the same time. */
const underWayMax = 16
/** A watch cache has the event at hand, and sends it at once. */
const askMaxMs = 2_000

export interface EventFramesOptions {
  readonly upstream: Pick<Upstream, 'forward' | 'credentials'>
  readonly clock: Clock
  readonly pace?: PaceLimits | undefined
}

export class EventFrames {
  readonly #options: EventFramesOptions
  readonly #pace: Pace
  readonly #waiting: (() => void)[] = []
  #underWay = 0
  #isRunDue = false

  constructor(options: EventFramesOptions) {
    this.#options = options
    this.#pace = new Pace(options.pace ?? defaultPace)
  }

  /** The frame, or why there is none. */
  async ask(held: HeldEvent): Promise<Uint8Array | string> {
    const name = nameOf(held.resource, held.told.entry.key)
    const { encoding } = held.form
    if (name === undefined || (encoding !== 'json' && encoding !== 'protobuf')) {
      return 'the upstream cannot be asked for it in this form'
    }
    const path = eventPath(held.resource, name, held)
    await this.#turn()
    try {
      const sent = await this.#first(path, acceptOf(held.form, 'alone'), encoding)
      if (typeof sent === 'string') return sent
      this.#pace.answered(sent.length)
      if (!isEventAt(sent, encoding, held.told)) return 'the upstream sent another event'
      if (held.form.rendering !== 'Table') return sent
      return frameWithoutColumns(sent, held.encoder) ?? 'the upstream has other columns'
    } finally {
      this.#underWay--
      this.#run()
    }
  }

  /** Waits until it may be asked. */
  async #turn(): Promise<void> {
    const turn = new Promise<void>(resolve => this.#waiting.push(resolve))
    this.#run()
    await turn
  }

  #run(): void {
    const { clock } = this.#options
    while (this.#waiting.length > 0 && this.#underWay < underWayMax) {
      const waitMs = this.#pace.waitMs(clock.monotonicMs())
      if (waitMs > 0) {
        this.#runIn(waitMs)
        return
      }
      this.#pace.asked(clock.monotonicMs())
      this.#underWay++
      this.#waiting.shift()?.()
    }
  }

  #runIn(delayMs: number): void {
    if (this.#isRunDue) return
    this.#isRunDue = true
    this.#options.clock.setTimer(delayMs, () => {
      this.#isRunDue = false
      this.#run()
    })
  }

  /** The first frame of a watch. */
  async #first(
    path: string,
    accept: string,
    encoding: 'json' | 'protobuf',
  ): Promise<Uint8Array | string> {
    const { upstream, clock } = this.#options
    try {
      const own = await upstream.credentials()
      const headers = headerLines({ accept, ...own })
      return await new Promise(resolve => {
        const sink = new FirstFrame(new FrameCutter(encoding), result => {
          cancel()
          control?.abort()
          resolve(result)
        })
        let control: ForwardControl | undefined = undefined
        const cancel = clock.setTimer(askMaxMs, () => sink.give('the upstream did not send it'))
        const request = { method: 'GET', path, headers, body: undefined, isLongRunning: true }
        control = upstream.forward({ ...request, as: 'ourselves', isIdentified: true }, sink)
        if (sink.isGiven) control.abort()
      })
    } catch (error) {
      return (error as Error).message
    }
  }
}

/** Takes a response until its first frame is whole. */
class FirstFrame implements ForwardSink {
  isGiven = false
  readonly #cutter: FrameCutter
  readonly #done: (result: Uint8Array | string) => void

  constructor(cutter: FrameCutter, done: (result: Uint8Array | string) => void) {
    this.#cutter = cutter
    this.#done = done
  }

  /** The result; what comes after it is nothing. */
  give(result: Uint8Array | string): void {
    if (this.isGiven) return
    this.isGiven = true
    this.#done(result)
  }

  started(code: number): void {
    if (code !== 200) this.give(`the upstream answers a watch with ${code}`)
  }

  data(piece: Uint8Array): boolean {
    if (!this.isGiven) {
      const frame = this.#cutter.add(piece)
      if (frame !== undefined) this.give(frame)
    }
    return true
  }

  ended(): void {
    this.give('the watch of the upstream ended before it')
  }

  failed(failure: Error): void {
    this.give(failure.message)
  }
}
