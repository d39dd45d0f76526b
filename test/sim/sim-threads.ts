/** Workers in the simulation: the real feeders, rings and copies, with messages that the
 *  scheduler delivers when the seed says so. They stall, fall so far behind that their ring is
 *  full, and are killed and started again. */

import type { Clock } from '../../lib/base/clock.ts'
import { type Random, randomInt, randomItem } from '../../lib/base/random.ts'
import type { MirrorSet } from '../../lib/cache/mirror/mirror-set.ts'
import type { MirrorMetrics } from '../../lib/cache/mirror/metrics.ts'
import type { MirrorSink } from '../../lib/cache/mirror/mirrored-keyspace.ts'
import type { HistoryBounds } from '../../lib/store/history.ts'
import { WorkerMirrors } from '../../lib/workers/mirror/worker-mirrors.ts'
import { MirrorSide, type FedWorker } from '../../lib/workers/mirror/mirror-side.ts'
import type { AnswerMessage, QuestionMessage } from '../../lib/workers/mirror/messages.ts'
import { RemoteClients } from '../../lib/workers/mirror/remote-client.ts'
import { createRingMemory, RingReader, RingWriter } from '../../lib/workers/mirror/ring.ts'
import { SlabShelf } from '../../lib/workers/mirror/slabs.ts'
import type { SeededLane, SeededScheduler } from '../support/etcd/seeded-scheduler.ts'
import { nameOf } from './keys.ts'
import type { Stats } from './stats.ts'

export interface SimThreadsOptions {
  readonly count: number
  readonly mirrors: MirrorSet
  readonly scheduler: SeededScheduler
  readonly clock: Clock
  readonly random: Random
  readonly metrics: MirrorMetrics
  readonly history: HistoryBounds
  readonly stats: Stats
  /** The sink of a thread's copies. */
  readonly sinkOf: (thread: SimThread) => MirrorSink
}

/** Small, so that it is full again and again. */
const ringBytes = 1024

export class SimThreads {
  readonly mirrorSide: MirrorSide
  readonly threads: SimThread[]
  readonly #options: SimThreadsOptions

  constructor(options: SimThreadsOptions) {
    const { mirrors, clock } = options
    this.#options = options
    this.mirrorSide = new MirrorSide({
      mirrors,
      clients: [],
      keyspaceOf: nameOf,
      clock,
    })
    this.threads = Array.from({ length: options.count }, () => this.#start())
  }

  /** Maybe one of them stalls, or dies. */
  trouble(): void {
    const { random, stats, clock } = this.#options
    const at = randomInt(random, 0, this.threads.length - 1)
    const thread = this.threads[at]
    if (thread === undefined || thread.isStalled) return
    if (random.next() < 0.3) {
      stats.count('fault thread killed')
      thread.kill()
      this.threads[at] = this.#start()
      return
    }
    stats.count('fault thread stalled')
    thread.stall()
    clock.setTimer(randomInt(random, 1, 6000), () => thread.goOn())
  }

  /** A thread that runs. */
  any(): SimThread {
    return randomItem(this.#options.random, this.threads)
  }

  heal(): void {
    for (const thread of this.threads) thread.goOn()
  }

  #start(): SimThread {
    return new SimThread(this.mirrorSide, this.#options)
  }
}

export class SimThread {
  readonly mirrors: WorkerMirrors
  readonly #fed: FedWorker
  /** Answers on their way to the thread, and questions on their way back. */
  readonly #lanes: readonly [SeededLane, SeededLane]
  #isStalled = false
  #isDead = false
  /** Reads that have not ended. */
  reading = 0

  constructor(mirrorSide: MirrorSide, options: SimThreadsOptions) {
    const { scheduler, clock, metrics, history, stats, sinkOf } = options
    const memory = createRingMemory(ringBytes)
    const ring = new RingReader(memory)
    const [down, up] = [scheduler.createLane(), scheduler.createLane()]
    this.#lanes = [down, up]
    const shelf = new SlabShelf(() => {})
    const long = new Map<number, SharedArrayBuffer>()
    const send = (answer: AnswerMessage): void => down.post(() => this.mirrors.answered(answer))
    const sink = sinkOf(this)
    const ask = (question: QuestionMessage): void => {
      if (question.type === 'room') stats.count('ring was full')
      up.post(() => this.#fed.ask(question))
    }
    this.mirrors = new WorkerMirrors({
      memory: mirrorSide.memory,
      ring,
      shelf,
      clock,
      metrics,
      history,
      sink,
      takeRecord: id => {
        const record = long.get(id)!
        long.delete(id)
        stats.count('long record')
        return record
      },
      ask,
      clients: new RemoteClients(ask),
    })
    this.#fed = mirrorSide.attach({
      ring: new RingWriter(memory),
      sendSlab: (id, slab) => shelf.add(id, slab),
      sendRecord: (id, record) => void long.set(id, record),
      wake: () => send({ type: 'wake' }),
      send,
    })
    this.mirrors.start()
  }

  get isStalled(): boolean {
    return this.#isStalled
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** It reads nothing and answers nothing. */
  stall(): void {
    this.#isStalled = true
    for (const lane of this.#lanes) lane.hold()
  }

  goOn(): void {
    if (!this.#isStalled || this.#isDead) return
    this.#isStalled = false
    for (const lane of this.#lanes) lane.release()
  }

  kill(): void {
    this.#isDead = true
    for (const lane of this.#lanes) lane.close()
    void this.mirrors.stop()
    this.#fed.end()
  }
}
