/** The watches of a replica in the simulation: real streams over a simulated mirror, with clients
 *  that read slowly, leave, and come back to where they were, as etcd's own client does. Every
 *  event and every progress mark is judged by the truth. */

import type { CacheError } from '../../lib/base/errors.ts'
import { keyFromText, prefixRange } from '../../lib/base/keys.ts'
import { type Random, randomInt, randomItem } from '../../lib/base/random.ts'
import type { Engine } from '../../lib/etcd-server/engine/engine.ts'
import type { Network } from '../../lib/etcd-server/engine/network.ts'
import type { Scheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import { AnsweredRevisions } from '../../lib/etcd-server/answers/answered-revisions.ts'
import { WatchAnswers } from '../../lib/etcd-server/answers/watch-answers.ts'
import type {
  WatchCreateMessage,
  WatchResponseMessage,
} from '../../lib/etcd/proto/watch-messages.ts'
import type {
  ElsewhereStreams,
  ElsewhereSink,
  ElsewhereWatch,
} from '../../lib/etcd-server/engine/watches/batch-source.ts'
import type { WatcherStream } from '../../lib/etcd-server/engine/watches/watcher-stream.ts'
import { EtcdView } from '../../lib/etcd-server/view/etcd-view.ts'
import type { Mirror } from '../../lib/cache/mirror/mirror.ts'
import type { MirrorSink } from '../../lib/cache/mirror/mirrored-keyspace.ts'
import type { Client } from '../../lib/etcd/client.ts'
import { joinParts } from '../support/etcd/join-parts.ts'
import { SimFailure } from './checks.ts'
import { keyspaceNames } from './keys.ts'
import type { SimClock } from './sim-clock.ts'
import type { Stats } from './stats.ts'
import type { EpochTruth, Truth } from './truth.ts'

export interface SimReplicaOptions {
  readonly mirror: Mirror
  readonly client: Client
  readonly engine: Engine
  readonly network: Network
  readonly scheduler: Scheduler
  readonly clock: SimClock
  readonly random: Random
  readonly truth: Truth
  readonly stats: Stats
  readonly fail: (error: unknown) => void
}

const clientCount = 4

export class SimReplica {
  /** Told what the mirror does. */
  readonly sink: MirrorSink
  readonly #options: SimReplicaOptions
  readonly #clients: ReplicaClient[]

  constructor(options: SimReplicaOptions) {
    const { mirror, client } = options
    this.#options = options
    const view = new EtcdView({ mirror, client, keyspaces: keyspaceNames })
    this.sink = view
    const answered = new AnsweredRevisions()
    view.follow(answered)
    const answers = new WatchAnswers({
      ...options,
      etcd: view,
      answered,
      elsewhere: () => new SimElsewhere(options, answered),
    })
    this.#clients = Array.from(
      { length: clientCount },
      (_, i) => new ReplicaClient(options, answers, `replica client ${i}`),
    )
  }

  /** Some client does something. */
  act(): void {
    randomItem(this.#options.random, this.#clients).act()
  }

  /** Clients read everything from now on, and stay. */
  heal(): void {
    for (const client of this.#clients) client.heal()
  }

  /** Every client has been told everything. */
  get isSettled(): boolean {
    return this.#clients.every(({ isSettled }) => isSettled)
  }

  describe(): string {
    return this.#clients.map(client => client.describe()).join('; ')
  }
}

/** A watcher as its client knows it. */
interface Watched {
  readonly id: bigint
  readonly keyspace: string
  /** Nothing up to here is missing. */
  position: number
  /** The histories that what has come may be of. */
  epochs: readonly EpochTruth[]
  isCreated: boolean
}

class ReplicaClient {
  readonly #options: SimReplicaOptions
  readonly #answers: WatchAnswers
  readonly #name: string
  #stream: WatcherStream | undefined
  #watched = new Map<bigint, Watched>()
  #nextId = 1n
  #isSlow = false
  #isHealed = false

  constructor(options: SimReplicaOptions, answers: WatchAnswers, name: string) {
    this.#options = options
    this.#answers = answers
    this.#name = name
  }

  get isSettled(): boolean {
    const { current } = this.#options.truth
    return [...this.#watched.values()].every(watched => {
      const isOver = current.nextChange(watched.keyspace, watched.position) === undefined
      return watched.isCreated && isOver && this.#epochsOf(watched).includes(current)
    })
  }

  act(): void {
    const { random, stats } = this.#options
    const roll = random.next()
    if (this.#isHealed) return
    if (this.#stream === undefined) this.#connect()
    else if (roll < 0.1) this.#isSlow = true
    else if (roll < 0.4) this.#readAgain()
    else if (roll < 0.43) {
      stats.count('replica client left')
      const stream = this.#stream
      this.#stream = undefined
      stream.close()
    } else if (roll < 0.6 && this.#watched.size < 4) {
      this.#create(randomItem(random, keyspaceNames))
    } else if (roll < 0.65) {
      const watched = [...this.#watched.values()][0]
      if (watched?.isCreated !== true) return
      this.#watched.delete(watched.id)
      this.#stream.handle({ type: 'cancel', value: { watchId: watched.id } })
    } else this.#stream.handle({ type: 'progress', value: {} })
  }

  heal(): void {
    this.#isHealed = true
    if (this.#stream === undefined) this.#connect()
    this.#readAgain()
  }

  describe(): string {
    const watched = [...this.#watched.values()].map(
      one => `${one.keyspace}@${one.position}${one.isCreated ? '' : ' not created'}`,
    )
    return `${this.#name}${this.#stream === undefined ? ' away' : ''} ${watched.join(' ')}`
  }

  #readAgain(): void {
    if (!this.#isSlow) return
    this.#isSlow = false
    this.#stream?.resume()
  }

  /** Comes back: each watcher goes on after what it has seen. */
  #connect(): void {
    const { scheduler } = this.#options
    const lane = scheduler.createLane()
    // What is on its way to a client that has left is lost.
    const later = (task: () => void): void =>
      lane.post(() => {
        if (this.#stream === stream) task()
      })
    const send = (response: WatchResponseMessage): boolean => {
      later(() => this.#guard(() => this.#take(response)))
      return !this.#isSlow
    }
    const stream = this.#answers.open(
      {
        send,
        sendPart: joinParts(send),
        sendFirst: () => this.#options.fail(new SimFailure('progress overtakes events')),
        end: failure => later(() => this.#ended(failure)),
      },
      { requiresLeader: this.#options.random.next() < 0.3 },
    )
    this.#stream = stream
    this.#isSlow = false
    const before = [...this.#watched.values()]
    this.#watched = new Map()
    for (const one of before) this.#create(one.keyspace, one.position)
  }

  #ended(failure: CacheError): void {
    this.#options.stats.count(`replica stream ended ${failure.code}`)
    this.#stream = undefined
    if (this.#isHealed) this.#options.clock.setTimer(50, () => this.#connect())
  }

  #create(keyspace: string, position?: number): void {
    const { random, truth } = this.#options
    const isOld = random.next() < 0.5
    const old = Math.max(1, truth.current.latest - randomInt(random, -2, 100))
    const startRevision = position === undefined ? (isOld ? old : 0) : position + 1
    const id = this.#nextId++
    this.#watched.set(id, {
      id,
      keyspace,
      position: startRevision - 1,
      epochs: truth.epochs,
      isCreated: false,
    })
    const { start, end } = prefixRange(keyFromText(`/r/${keyspace}/`))
    const value: WatchCreateMessage = {
      key: start,
      rangeEnd: end!,
      startRevision,
      progressNotify: random.next() < 0.2,
      filters: [],
      previous: random.next() < 0.5,
      watchId: id,
      fragment: false,
    }
    this.#stream?.handle({ type: 'create', value })
  }

  #take(response: WatchResponseMessage): void {
    const { stats } = this.#options
    const { created, canceled, events, compactRevision, header } = response
    const revision = header?.revision ?? 0
    const watched = this.#watched.get(response.watchId)
    if (response.watchId === -1n) {
      if (created) throw this.#failure(`refused: ${response.cancelReason}`)
      stats.count('replica progress')
      for (const one of this.#watched.values()) if (one.isCreated) this.#proven(one, revision)
    } else if (watched === undefined) {
      // It has been canceled, and what was on its way still comes.
      return
    } else if (created) {
      watched.isCreated = true
      if (watched.position < 0) watched.position = revision
    } else if (canceled) {
      stats.count('replica watcher compacted')
      if (compactRevision <= watched.position) {
        throw this.#failure(`canceled at ${watched.position} by a compaction at ${compactRevision}`)
      }
      this.#watched.delete(watched.id)
      this.#stream?.handle({ type: 'cancel', value: { watchId: watched.id } })
      this.#create(watched.keyspace)
    } else if (events.length === 0) this.#proven(watched, revision)
    else this.#tell(watched, response)
  }

  /** Ordered, unique, atomic, reliable: the next revisions of the keyspace, whole, with nothing
   *  left out. */
  #tell(watched: Watched, { events }: WatchResponseMessage): void {
    const { keyspace } = watched
    for (let at = 0; at < events.length;) {
      const { revision } = events[at]!
      const told = events.slice(at).filter(event => event.revision === revision)
      watched.epochs = this.#epochsOf(watched).filter(epoch => {
        const expected = epoch.eventsAt(keyspace, revision)
        return (
          epoch.nextChange(keyspace, watched.position) === revision &&
          expected.length === told.length &&
          expected.every(({ key, after }, i) => {
            const one = told[i]!
            const isSame = after?.version === one.after?.version
            return key === one.key && isSame && after?.createRevision === one.after?.createRevision
          })
        )
      })
      if (watched.epochs.length === 0) {
        const { current } = this.#options.truth
        const expected = current.nextChange(keyspace, watched.position)
        throw this.#failure(
          `${keyspace} at ${watched.position} was told ${revision}, where ${expected ?? 'nothing'} should come`,
        )
      }
      watched.position = revision
      this.#options.stats.count('replica event', told.length)
      at += told.length
    }
  }

  /** A restored backup that has all that a watcher was told goes on from there. */
  #epochsOf({ epochs, position }: Watched): EpochTruth[] {
    const possible = [...epochs]
    for (const epoch of this.#options.truth.epochs) {
      const isOfThese = possible.some(({ index }) => index === epoch.index - 1)
      if (!possible.includes(epoch) && isOfThese && epoch.forkedAt >= position) possible.push(epoch)
    }
    return possible
  }

  /** Bookmarkable: nothing up to the revision is missing. */
  #proven(watched: Watched, revision: number): void {
    const { keyspace, position } = watched
    watched.epochs = this.#epochsOf(watched).filter(
      epoch => (epoch.nextChange(keyspace, position) ?? Infinity) > revision,
    )
    if (watched.epochs.length === 0) {
      throw this.#failure(`${keyspace} at ${position} was told progress ${revision}`)
    }
    watched.position = Math.max(position, revision)
  }

  #failure(text: string): SimFailure {
    return new SimFailure(`${this.#name}: ${text}`)
  }

  #guard(task: () => void): void {
    try {
      task()
    } catch (error) {
      this.#options.fail(error)
    }
  }
}

/** etcd over the simulated network. */
class SimElsewhere implements ElsewhereStreams {
  readonly #options: SimReplicaOptions
  readonly #answered: AnsweredRevisions

  constructor(options: SimReplicaOptions, answered: AnsweredRevisions) {
    this.#options = options
    this.#answered = answered
  }

  open(request: WatchCreateMessage, sink: ElsewhereSink): ElsewhereWatch {
    const { network, engine, random, clock, stats } = this.#options
    stats.count('replica watch at etcd')
    const member = randomItem(random, engine.members)
    let there: WatcherStream | undefined
    let isOver = false
    let isAsking = false
    const end = (failure: CacheError): void => {
      if (isOver) return
      isOver = true
      sink.failed(failure)
    }
    const received = (response: WatchResponseMessage): void => {
      if (isOver) return
      this.#answered.told(response.header?.revision ?? 0)
      if (response.events.length === 0 && !response.created) isAsking = false
      sink.received(response)
    }
    const link = network.connect({
      client: 'replica',
      member,
      kind: 'stream',
      lostByClient: end,
      lostByMember: () => there?.close(),
    })
    link.toMember(() => {
      const send = (response: WatchResponseMessage): boolean => {
        link.toClient(() => received(response))
        return true
      }
      there = member.openWatch(
        {
          send,
          sendPart: joinParts(send),
          sendFirst: response => link.toClientFirst(() => received(response)),
          end: failure => link.toClient(() => end(failure)),
        },
        { requiresLeader: false },
      )
      there.handle({ type: 'create', value: request })
    })
    const ask = (): void => {
      if (isOver || !isAsking) return
      link.toMember(() => there?.handle({ type: 'progress', value: {} }))
      clock.setTimer(100, ask)
    }
    return {
      heldBytes: 0,
      askProgress() {
        if (isAsking) return
        isAsking = true
        ask()
      },
      pause: () => undefined,
      resume: () => undefined,
      close() {
        isOver = true
        link.close()
      },
    }
  }
}
