/** One simulated world: an etcd of three members, writers, mirrors with readers and watchers, a
 *  network and a clock, in one process and without real time. The seed decides everything: which
 *  message is delivered next, who writes and reads what, what breaks.
 *
 *  A step delivers one message or lets one timer fire, after somebody may have begun something.
 *  Each counts as an event. */

import { SeededScheduler } from '../support/etcd/seeded-scheduler.ts'
import { createRandom, type Random, randomInt, randomItem } from '../../lib/base/random.ts'
import { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { OwnRevision } from '../../lib/etcd/own-revision.ts'
import { FaultyNetwork } from '../support/etcd/faulty-network.ts'
import type { Snapshot } from '../../lib/store/snapshot.ts'
import { SimFailure } from './checks.ts'
import { allRestores, Faults, plainRestores, type Profile } from './faults.ts'
import { SimClient } from './sim-client.ts'
import { SimClock } from './sim-clock.ts'
import { SimReplica } from './sim-replica.ts'
import { SimMirror } from './sim-mirror.ts'
import { Stats } from './stats.ts'
import { sumOf, Truth } from './truth.ts'
import { keyspaceNames, nameOf } from './keys.ts'
import { Writer } from './writer.ts'

export interface WorldOptions {
  readonly seed: number
  readonly profile: Profile
  /** Events after which faults and writes end and everything must come to rest. */
  readonly events: number
  /** etcd's progress answers overtake events. */
  readonly hasProgressBug?: boolean | undefined
  /** The version that etcd gives. */
  readonly version?: string | undefined
  readonly isCheckingVersions?: boolean | undefined
  /** Workers of each mirror; none if it is left out. */
  readonly threads?: number | undefined
  /** One mirror has an etcd server, with clients that watch. */
  readonly hasReplica?: boolean | undefined
  /** Whoever asks for etcd's revision finds it in memory, as with an etcd in the process; where no
   *  fault restores it. */
  readonly hasOwnRevision?: boolean | undefined
  /** Restores are plain to see. */
  readonly isPlain?: boolean | undefined
}

/** Everything must have come to rest after so long. */
const healMaxMs = 120_000
/** By then a mirror has connected again. */
const noticeMaxMs = 30_000

const mirrorCount = 3
const writerCount = 4
const readsMax = 40

export class World {
  readonly stats: Stats = new Stats()
  readonly #options: WorldOptions
  readonly #random: Random
  readonly #clock = new SimClock()
  readonly #scheduler: SeededScheduler
  readonly #engine: Engine
  readonly #truth: Truth
  readonly #faults: Faults
  readonly #writers: Writer[]
  readonly #mirrors: SimMirror[]
  readonly #replica: SimReplica | undefined
  #failure: Error | undefined = undefined
  #events = 0
  /** Writers rest until every mirror has noticed a restore that only revisions give away. */
  #isResting = false
  /** Nothing is compacted until every mirror has noticed a restore that only changes give away. */
  #isKept = false

  constructor(options: WorldOptions) {
    const { seed, profile, version, hasProgressBug, isCheckingVersions = true } = options
    const { hasOwnRevision = false } = options
    this.#options = options
    this.#random = createRandom(seed)
    this.#scheduler = new SeededScheduler(this.#fork())
    const clock = this.#clock
    const network = new FaultyNetwork({ scheduler: this.#scheduler, random: this.#fork(), clock })
    this.#engine = new Engine({
      clock,
      random: this.#fork(),
      scheduler: this.#scheduler,
      members: [{}, {}, {}],
      version,
      progressOvertakesEvents: hasProgressBug,
      ownRevision: hasOwnRevision && profile.restore === 0 ? new OwnRevision() : undefined,
    })
    const engine = this.#engine
    this.#truth = new Truth(engine, nameOf)
    const common = { truth: this.#truth, stats: this.stats, fail: this.#fail }
    const clientNamed = (name: string, i: number): SimClient => {
      const { members } = engine
      const turned = members.map((_, j) => members[(i + j) % members.length]!)
      return new SimClient({ engine, network, name, members: turned })
    }
    const writers = Array.from({ length: writerCount }, (_, i) => `writer${i}`)
    const mirrors = Array.from({ length: mirrorCount }, (_, i) => `mirror${i}`)
    this.#writers = writers.map(
      (name, i) => new Writer({ ...common, client: clientNamed(name, i), random: this.#fork() }),
    )
    this.#mirrors = mirrors.map(
      (name, i) =>
        new SimMirror({
          ...common,
          name,
          client: clientNamed(name, i),
          clock,
          scheduler: this.#scheduler,
          threads: options.threads ?? 0,
          random: this.#fork(),
          isSplit: i === 1,
          isCheckingVersions,
          mayViolate: hasProgressBug === true,
        }),
    )
    this.#faults = new Faults({
      profile,
      engine,
      network,
      clock,
      random: this.#fork(),
      truth: this.#truth,
      stats: this.stats,
      restoreKinds: options.isPlain === true ? plainRestores : allRestores,
      clients: [...writers, ...mirrors, ...(options.hasReplica === true ? ['replica'] : [])],
    })
    this.#replica =
      options.hasReplica === true
        ? this.#openReplica(network, clientNamed('replica', 0))
        : undefined
  }

  /** A replica in front of the first mirror. */
  #openReplica(network: FaultyNetwork, client: SimClient): SimReplica {
    const [first] = this.#mirrors as [SimMirror]
    const replica = new SimReplica({
      mirror: first.mirror,
      client,
      engine: this.#engine,
      network,
      scheduler: this.#scheduler,
      clock: this.#clock,
      random: this.#fork(),
      truth: this.#truth,
      stats: this.stats,
      fail: this.#fail,
    })
    first.follower = replica.sink
    return replica
  }

  get events(): number {
    return this.#events
  }

  /** Runs to the end; fails with what the first check that did not hold has to say. */
  async run(): Promise<void> {
    for (const { mirror } of this.#mirrors) mirror.start()
    while (this.#events < this.#options.events) {
      this.#act()
      await this.#step()
    }
    await this.#comeToRest()
    for (const { mirror } of this.#mirrors) void mirror.stop()
    await settle()
    this.#check()
  }

  readonly #fail = (error: unknown): void => {
    this.#failure ??= error instanceof Error ? error : new Error(`thrown: ${String(error)}`)
  }

  #fork(): Random {
    return createRandom(randomInt(this.#random, 0, 0xffff_ffff))
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Somebody may begin something. */
  #act(): void {
    const random = this.#random
    const restore = this.#faults.step()
    if (restore === 'gone back') this.#rest('writes')
    else if (restore === 'passed') this.#rest('compactions')
    const { threads = 0, profile } = this.#options
    if (threads > 0 && random.next() < profile.trouble) randomItem(random, this.#mirrors).trouble()
    const choice = random.next()
    if (this.#replica !== undefined && random.next() < 0.06) this.#replica.act()
    if (choice < 0.08) this.#write()
    else if (choice < 0.14) this.#read()
    else if (choice < 0.2) randomItem(random, this.#mirrors).watch()
    else if (choice < 0.202) this.#toggle(randomItem(random, this.#mirrors))
    else if (choice < 0.202 + this.#options.profile.compaction) this.#compact()
  }

  /** The ranges of a replica are mirrored for good. */
  #toggle(mirror: SimMirror): void {
    if (this.#replica === undefined || mirror !== this.#mirrors[0]) mirror.toggleKeyspace()
  }

  #write(): void {
    if (this.#isResting) return
    this.#begin()
    randomItem(this.#random, this.#writers).write()
  }

  #read(): void {
    const mirror = randomItem(this.#random, this.#mirrors)
    if (mirror.reading >= readsMax) return
    this.#begin()
    mirror.read()
  }

  /** Anything from just below the oldest that anybody may still need, up to now. */
  #compact(): void {
    const { revision } = this.#engine
    const at = revision - (this.#random.next() < 0.3 ? 0 : randomInt(this.#random, 1, 50))
    if (this.#isResting || this.#isKept || at < 1) return
    this.#begin()
    randomItem(this.#random, this.#writers).compact(at)
  }

  #begin(): void {
    this.#events++
  }

  #rest(what: 'writes' | 'compactions'): void {
    const epochs = this.stats.of('new epoch')
    const untilMs = this.#clock.monotonicMs() + noticeMaxMs
    const set = (isResting: boolean): void => {
      if (what === 'writes') this.#isResting = isResting
      else this.#isKept = isResting
    }
    set(true)
    const look = (): void => {
      const isNoticed = this.stats.of('new epoch') - epochs >= mirrorCount
      // A mirror that was behind the backup has nothing to notice of changes that are others.
      const isOver = what === 'compactions' && this.#clock.monotonicMs() > untilMs
      if (isNoticed || isOver) set(false)
      else this.#clock.setTimer(100, look)
    }
    this.#clock.setTimer(100, look)
  }

  /** Delivers one message, or fires one timer, and lets promises settle. */
  async #step(): Promise<void> {
    const random = this.#random
    this.#clock.advance(random.next() * 0.6)
    if (!this.#clock.runDue()) {
      const isIdle = this.#scheduler.readyLanes === 0
      if (isIdle || random.next() < 0.001) this.#clock.skipToNext()
      if (!isIdle) this.#scheduler.step()
    }
    this.#events++
    this.#truth.pull()
    // Several messages may arrive before any of the code that waits for them runs.
    if (random.next() < 0.6) await settle()
    this.#check()
  }

  /** Nothing goes wrong any more, and nobody writes: every mirror gets ready and equals etcd, key
   *  for key. */
  async #comeToRest(): Promise<void> {
    this.#faults.heal()
    this.#isResting = true
    for (const mirror of this.#mirrors) mirror.addAll()
    this.#replica?.heal()
    const untilMs = this.#clock.monotonicMs() + healMaxMs
    const isDone = (): boolean =>
      this.#writers.every(writer => !writer.isBusy) &&
      this.#mirrors.every(mirror => mirror.isReady && mirror.reading === 0)
    await this.#stepUntil(isDone, untilMs, 'come to rest')
    // One last change of every keyspace, so that a mirror that waits for events sees one.
    const last = this.#writers[0]!
    last.touch(keyspaceNames)
    await this.#stepUntil(() => !last.isBusy, untilMs, 'see the last write')
    const replica = this.#replica
    if (replica !== undefined) {
      await this.#stepUntil(
        () => replica.isSettled,
        untilMs,
        'tell the clients of the replica everything',
      )
    }
    let compared = 0
    for (const mirror of this.#mirrors) {
      mirror
        .readAll()
        .then(places => places.forEach(contents => this.#compare(mirror.name, contents)))
        .then(() => compared++)
        .catch(this.#fail)
    }
    await this.#stepUntil(() => compared === mirrorCount, untilMs, 'read everything')
  }

  async #stepUntil(isDone: () => boolean, untilMs: number, what: string): Promise<void> {
    while (!isDone()) {
      if (this.#clock.monotonicMs() > untilMs) {
        throw new SimFailure(`mirrors did not ${what}: ${this.#describe()}`)
      }
      await this.#step()
      if (this.#scheduler.readyLanes === 0) this.#clock.skipToNext()
    }
  }

  #compare(name: string, contents: ReadonlyMap<string, Snapshot>): void {
    for (const keyspace of keyspaceNames) {
      const snapshot = contents.get(keyspace)
      const { current } = this.#truth
      // At its own revision: a lease may have expired meanwhile. That it is fresh was checked with
      // the answer.
      const isEqual =
        snapshot !== undefined && sumOf(snapshot) === current.sumAt(keyspace, snapshot.revision)
      if (!isEqual) throw new SimFailure(`${name}: ${keyspace} differs from etcd in the end`)
    }
  }

  #describe(): string {
    return this.#mirrors
      .map(({ name, mirror, reading }) => {
        const states = mirror.statuses().map(one => `${one.name}=${one.state}@${one.revision}`)
        return `${name} ${states.join(' ')} reading=${reading}`
      })
      .concat(this.#replica?.describe() ?? [])
      .join('; ')
  }
}

/** Lets everything that promises have pending run. */
function settle(): Promise<void> {
  return new Promise(resolve => {
    setImmediate(resolve)
  })
}
