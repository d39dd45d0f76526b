/** A worker from inside: what it was given, and the way to the main thread. */

import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { CacheError, Logger } from '@watchglass/base'
import type { MirrorLimits } from '@watchglass/cache'
import { WorkerMirrors, type WorkerMirrorsOptions } from '../mirror/worker-mirrors.ts'
import { failureOfMessage } from '../mirror/messages.ts'
import { RemoteClients } from '../mirror/remote-client.ts'
import { RingReader } from '../mirror/ring.ts'
import { SlabShelf } from '../mirror/slabs.ts'
import {
  isAnswer,
  type Order,
  type SlabMessage,
  type WorkerData,
  type ToWorker,
  type ToMain,
} from './worker-messages.ts'

export type CopyParts = Pick<
  WorkerMirrorsOptions,
  'clock' | 'metrics' | 'sink' | 'history' | 'isWantedAtStart' | 'isWatched'
>

/** The main thread's orders to a worker. */
export type WorkerOrder = Exclude<Order, { type: 'answer' | 'no-answer' | 'work' }>

/** Work that the program shares between its threads, as the main thread sees it in one thread. */
export interface SharedWork {
  take(news: unknown): void
  /** The thread has ended. */
  end(): void
}

interface Asked {
  readonly resolve: (answer: unknown) => void
  readonly reject: (failure: CacheError) => void
}

export class WorkerThread {
  readonly data: WorkerData
  readonly #port: MessagePort
  readonly #records = new Map<number, SharedArrayBuffer>()
  /** The etcds, by way of the main thread. */
  readonly clients: RemoteClients = new RemoteClients(question => this.tell(question))
  #mirrors: WorkerMirrors | undefined = undefined
  #shelf: SlabShelf | undefined = undefined
  #onWork: (news: unknown) => void = () => {}
  #lastAsked = 0
  readonly #asked = new Map<number, Asked>()

  private constructor(data: WorkerData, port: MessagePort) {
    this.data = data
    this.#port = port
  }

  /** This thread; undefined in the main one. */
  static here(): WorkerThread | undefined {
    return parentPort === null ? undefined : new WorkerThread(workerData as WorkerData, parentPort)
  }

  tell(message: ToMain): void {
    this.#port.postMessage(message)
  }

  /** Calls `task` with each order of the main thread. */
  onOrder(task: (order: WorkerOrder) => void): void {
    this.#port.on('message', (message: ToWorker) => {
      if (isAnswer(message)) this.#mirrors?.answered(message)
      else if (message.type === 'answer') this.#take(message.id)?.resolve(message.answer)
      else if (message.type === 'no-answer') {
        this.#take(message.id)?.reject(failureOfMessage(message.failure))
      } else if (message.type === 'work') this.#onWork(message.news)
      else task(message)
    })
  }

  /** Calls `task` with what the main thread says of work that is shared: to be called before
   *  `onOrder`. */
  onWork(task: (news: unknown) => void): void {
    this.#onWork = task
  }

  /** The number of a slab that all threads have; undefined for other memory. */
  slabOf(bytes: Uint8Array): number | undefined {
    return this.#shelf?.idOf(bytes)
  }

  /** The log is written by the main thread. */
  readonly logger: Logger = {
    debug: (message, fields = {}) => this.tell({ type: 'log', level: 'debug', message, fields }),
    info: (message, fields = {}) => this.tell({ type: 'log', level: 'info', message, fields }),
    warn: (message, fields = {}) => this.tell({ type: 'log', level: 'warn', message, fields }),
    error: (message, fields = {}) => this.tell({ type: 'log', level: 'error', message, fields }),
  }

  /** Asks the main thread for what it alone knows. */
  ask(question: unknown): Promise<unknown> {
    const id = ++this.#lastAsked
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject })
      this.tell({ type: 'ask', id, question })
    })
  }

  #take(id: number): Asked | undefined {
    const asked = this.#asked.get(id)
    this.#asked.delete(id)
    return asked
  }

  /** Copies of the mirrors. */
  createMirrors(parts: CopyParts): WorkerMirrors {
    const { ring, limits, count } = this.data
    const shelf = new SlabShelf(() => this.#receiveSlabs(shelf))
    this.#shelf = shelf
    this.#mirrors = new WorkerMirrors({
      ...parts,
      memory: { ...this.data, limits: shareOf(limits, count) },
      shelf,
      ring: new RingReader(ring),
      takeRecord: id => {
        this.#receiveSlabs(shelf)
        const record = this.#records.get(id)
        if (record === undefined) throw new Error(`record ${id} was not sent`)
        this.#records.delete(id)
        return record
      },
      ask: question => this.tell(question),
      clients: this.clients,
    })
    return this.#mirrors
  }

  #receiveSlabs(shelf: SlabShelf): void {
    for (;;) {
      const received = receiveMessageOnPort(this.data.slabs)
      if (received === undefined) return
      const { type, id, memory } = received.message as SlabMessage
      if (type === 'slab') shelf.add(id, memory)
      else this.#records.set(id, memory)
    }
  }
}

/** The limits of one thread: what the upstream is asked in a second, all of them ask together. */
function shareOf(limits: MirrorLimits, count: number): MirrorLimits {
  const { cheapPasses } = limits
  if (cheapPasses === undefined) return limits
  const { perSecond, burst } = cheapPasses
  return {
    ...limits,
    cheapPasses: { ...cheapPasses, perSecond: perSecond / count, burst: burst / count },
  }
}
