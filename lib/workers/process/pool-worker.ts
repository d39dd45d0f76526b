/** A worker, as the main thread sees it. */

import { MessageChannel, Worker } from 'node:worker_threads'
import { CacheError, type Clock, type Logger } from '@watchglass/base'
import type { FedWorker, MirrorSide } from '../mirror/mirror-side.ts'
import { createRingMemory, RingWriter } from '../mirror/ring.ts'
import type { SharedWork } from './worker-thread.ts'
import { OrderedFigures } from './ordered-figures.ts'
import {
  type DroppedFigure,
  isQuestion,
  type Report,
  type SlabMessage,
  type WorkerData,
  type WorkerFigures,
  type ToWorker,
  type ToMain,
} from './worker-messages.ts'

/** Changes of some thousand objects, and a second or two of a busy cluster: a thread that is
 *  further behind is told of the newest state from the history, or gets a snapshot. */
const ringBytes = 4 * 1024 * 1024

/** Two semi-spaces of 32 MiB, and what is too large for them: twice as much as by itself in Node 20
 *  and 22, half as much as in 24. What requests under way hold is copied at each collection, so
 *  half as many copy half as much: a get takes an eighth less of the processor (bench/threads).
 *  Twice as much again gains nothing more. A thread takes it only when it is busy. */
const youngMaxMegabytes = 96

/** The reports that concern all threads. */
export type WorkerNews = Extract<Report, { type: 'ready' | 'metrics' | 'ask' }>

export interface PoolWorkerOptions {
  /** Number of all threads. */
  readonly count: number
  readonly mirrorSide: MirrorSide
  /** Program of a thread, as a file or as its text, with the data for its start. */
  readonly script: URL | string
  readonly program: () => unknown
  readonly clock: Clock
  readonly logger: Logger
  /** A thread begins: what it takes part in, beside the mirrors. */
  readonly attach?: ((tell: (news: unknown) => void) => SharedWork) | undefined
  readonly onMessage: (message: WorkerNews) => void
  readonly onEnd: (reason: string) => void
}

export class PoolWorker {
  readonly listening: Promise<number>
  isListening = false
  isReady = false
  readonly #figures = new OrderedFigures()
  readonly #worker: Worker
  readonly #ring: RingWriter
  readonly #fed: FedWorker
  readonly #work: SharedWork | undefined
  readonly #options: PoolWorkerOptions
  readonly #number: number
  readonly #ended: Promise<void>
  #reason = 'it has ended by itself'
  #isTerminated = false
  #readUpTo = 0
  #readAtMs: number
  #onListening: (port: number) => void = () => {}
  #onFailure: (failure: Error) => void = () => {}

  constructor(number: number, port: number, options: PoolWorkerOptions) {
    const { mirrorSide, count, script, program, clock } = options
    this.#number = number
    this.#options = options
    this.#readAtMs = clock.monotonicMs()
    const ring = createRingMemory(ringBytes)
    this.#ring = new RingWriter(ring)
    const slabs = new MessageChannel()
    const data: WorkerData = {
      ...mirrorSide.memory,
      number,
      count,
      ring,
      slabs: slabs.port2,
      port,
      program: program(),
    }
    this.#worker = new Worker(script, {
      eval: typeof script === 'string',
      workerData: data,
      transferList: [slabs.port2],
      resourceLimits: { maxYoungGenerationSizeMb: youngMaxMegabytes },
    })
    this.listening = new Promise((resolve, reject) => {
      this.#onListening = resolve
      this.#onFailure = reject
    })
    const sendSlab = (type: SlabMessage['type'], id: number, memory: SharedArrayBuffer): void =>
      slabs.port1.postMessage({ type, id, memory })
    this.#fed = mirrorSide.attach({
      ring: this.#ring,
      sendSlab: (id, memory) => sendSlab('slab', id, memory),
      sendRecord: (id, memory) => sendSlab('record', id, memory),
      wake: () => this.tell({ type: 'wake' }),
      send: answer => this.tell(answer),
    })
    this.#work = options.attach?.(news => this.tell({ type: 'work', news }))
    this.#worker.on('message', (message: ToMain) => this.#hear(message))
    this.#worker.on('error', (error: Error) => (this.#reason = error.stack ?? error.message))
    this.#ended = new Promise(resolve => {
      this.#worker.once('exit', () => {
        this.isListening = false
        this.#fed.end()
        this.#work?.end()
        slabs.port1.close()
        this.#onFailure(new CacheError('closed', `worker ${number} has ended: ${this.#reason}`))
        resolve()
        options.onEnd(this.#reason)
      })
    })
    // A failure reaches whoever awaits it, and is no unhandled rejection if nobody does.
    this.listening.catch(() => {})
  }

  tell(message: ToWorker): void {
    this.#worker.postMessage(message)
  }

  get figures(): WorkerFigures {
    return this.#figures.current
  }

  dropTo(figure: DroppedFigure, bytes: number): void {
    this.#figures.ordered(figure, bytes)
    this.tell({ type: 'drop', figure, bytes })
  }

  /** For how long it has not read what there is to read. */
  stalledMs(nowMs: number): number {
    const { readUpTo, isPending } = this.#ring
    if (!isPending || readUpTo !== this.#readUpTo) {
      this.#readUpTo = readUpTo
      this.#readAtMs = nowMs
    }
    return nowMs - this.#readAtMs
  }

  /** The first reason is the one that is told. */
  terminate(reason = 'the process stops'): void {
    if (this.#isTerminated) return
    this.#isTerminated = true
    this.#reason = reason
    void this.#worker.terminate()
  }

  stop(): Promise<void> {
    this.tell({ type: 'stop' })
    return this.#ended
  }

  /** A message that cannot be shows that its thread has gone wrong: that one is ended, and takes no
   *  other with it. */
  #hear(message: ToMain): void {
    try {
      if (isQuestion(message)) this.#fed.ask(message)
      else this.#take(message)
    } catch (error) {
      const { message: why } = CacheError.from(error, 'closed')
      this.terminate(`it has sent a message that cannot be: ${why}`)
    }
  }

  #take(message: Report): void {
    switch (message.type) {
      case 'log':
        this.#options.logger[message.level](message.message, {
          ...message.fields,
          thread: this.#number,
        })
        return
      case 'listening':
        this.isListening = true
        this.#onListening(message.port)
        return
      case 'failed':
        this.#onFailure(
          new CacheError(message.isInvalid ? 'invalid_request' : 'closed', message.failure),
        )
        return
      case 'ready':
        this.isReady = true
        this.#options.onMessage(message)
        return
      case 'figures':
        this.#figures.said(message.figures, message.drops)
        return
      case 'ask':
      case 'metrics':
        this.#options.onMessage(message)
        return
      case 'work':
        this.#work?.take(message.news)
        return
      case 'stopped':
        this.#reason = 'it was stopped'
    }
  }
}
