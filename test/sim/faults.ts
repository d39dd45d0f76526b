/** The faults of a simulation, and how often they come: one profile for each world. */

import { type Random, randomInt, randomItem } from '../../lib/base/random.ts'
import { inOneStep } from '../../lib/etcd-server/engine/at-once.ts'
import type { Backup, Engine } from '../../lib/etcd-server/engine/engine.ts'
import type { FaultChances, FaultyNetwork, LinkFilter } from '../support/etcd/faulty-network.ts'
import { CacheError } from '../../lib/base/errors.ts'
import type { SimClock } from './sim-clock.ts'
import { anyKey } from './keys.ts'
import type { Stats } from './stats.ts'
import type { Truth } from './truth.ts'

export interface Profile {
  readonly name: string
  readonly chances: FaultChances
  /** Chances at each step. */
  readonly trouble: number
  readonly compaction: number
  readonly restore: number
}

const quiet: FaultChances = { loss: 0, delay: 0, delayMaxMs: 1, disconnect: 0 }
const slow: FaultChances = { loss: 0, delay: 0.02, delayMaxMs: 400, disconnect: 0 }
const lossy: FaultChances = { loss: 0.03, delay: 0.01, delayMaxMs: 200, disconnect: 0.01 }

/** Faults of every kind alone, where each gets far, and all of them together. */
export const profiles: readonly Profile[] = [
  { name: 'calm', chances: quiet, trouble: 0, compaction: 0.0005, restore: 0 },
  { name: 'slow', chances: slow, trouble: 0.0002, compaction: 0.001, restore: 0 },
  { name: 'lossy', chances: lossy, trouble: 0.0002, compaction: 0.001, restore: 0 },
  { name: 'partitions', chances: quiet, trouble: 0.002, compaction: 0.001, restore: 0 },
  { name: 'compactions', chances: lossy, trouble: 0.001, compaction: 0.02, restore: 0 },
  { name: 'restores', chances: slow, trouble: 0.0005, compaction: 0.001, restore: 0.0004 },
  { name: 'everything', chances: lossy, trouble: 0.002, compaction: 0.005, restore: 0.0002 },
]

export type RestoreKind = 'other id' | 'gone back' | 'passed'
/** Signs of a restore: another cluster, or a revision that goes back, is always seen. */
export const plainRestores: readonly RestoreKind[] = ['other id', 'gone back']
/** An etcd that has passed all that was known gives itself away by its changes alone, if it does
 *  (lib/ARCHITECTURE.md). */
export const allRestores: readonly RestoreKind[] = [...plainRestores, 'passed']

export interface FaultsOptions {
  readonly profile: Profile
  readonly engine: Engine
  readonly network: FaultyNetwork
  readonly clock: SimClock
  readonly random: Random
  readonly truth: Truth
  readonly stats: Stats
  readonly clients: readonly string[]
  readonly restoreKinds: readonly RestoreKind[]
}

export class Faults {
  readonly #options: FaultsOptions
  /** Ends of what is under way. */
  #isolated = 0
  #isCut = false
  #backup: Backup | undefined = undefined

  constructor(options: FaultsOptions) {
    this.#options = options
    options.network.chances = options.profile.chances
  }

  /** Maybe makes something go wrong. Says how a restore can be noticed where the cluster id does
   *  not tell. */
  step(): RestoreKind | undefined {
    const { profile, random } = this.#options
    if (profile.restore > 0 && random.next() < profile.restore) return this.#restore()
    if (profile.trouble > 0 && random.next() < profile.trouble) this.#trouble()
    return undefined
  }

  /** Nothing goes wrong any more. */
  heal(): void {
    const { network, engine } = this.#options
    network.chances = quiet
    network.mend()
    for (const member of engine.members) member.rejoin()
  }

  #trouble(): void {
    const { random, stats, network, engine } = this.#options
    const kind = randomItem(random, [
      'disconnect',
      'cut',
      'silence',
      'isolate',
      'elect',
      'restart',
      'none reachable',
    ] as const)
    stats.count(`fault ${kind}`)
    switch (kind) {
      case 'disconnect':
        network.disconnect(this.#links())
        return
      case 'cut':
        this.#forSomeTime(() => network.cut(this.#links()))
        return
      case 'silence':
        this.#forSomeTime(() => network.silence(this.#links()))
        return
      case 'none reachable':
        this.#forSomeTime(() => network.cut({}))
        return
      case 'isolate':
        this.#isolate()
        return
      case 'elect':
        if (this.#isolated === 0) engine.elect(randomItem(random, engine.members))
        return
      case 'restart': {
        const member = randomItem(random, engine.members)
        member.dropConnections(new CacheError('source_failed', 'the member restarts'))
        network.disconnect({ member })
      }
    }
  }

  #links(): LinkFilter {
    const { random, engine, clients } = this.#options
    const choice = random.next()
    const member = choice < 0.7 ? randomItem(random, engine.members) : undefined
    const client = choice > 0.4 ? randomItem(random, clients) : undefined
    return { member, client }
  }

  #forSomeTime(begin: () => void): void {
    const { clock, random, network } = this.#options
    if (this.#isCut) return
    this.#isCut = true
    begin()
    clock.setTimer(this.#duration(random), () => {
      this.#isCut = false
      network.mend()
    })
  }

  /** One member at a time, so that the others still have a majority. */
  #isolate(): void {
    const { clock, random, engine } = this.#options
    if (this.#isolated > 0) return
    const [first, ...others] = engine.members
    const member = randomItem(random, engine.members)
    if (member === engine.leader) {
      const next = member === first ? others[0] : first
      if (next === undefined) return
      engine.elect(next)
    }
    this.#isolated++
    member.isolate()
    clock.setTimer(this.#duration(random), () => {
      this.#isolated--
      member.rejoin()
    })
  }

  /** Mostly short, now and then longer than any patience. */
  #duration(random: Random): number {
    return random.next() < 0.8 ? randomInt(random, 10, 1500) : randomInt(random, 1500, 12_000)
  }

  /** Takes a backup, or puts the last one in place. */
  #restore(): RestoreKind | undefined {
    const { engine, network, random, truth, stats, restoreKinds } = this.#options
    if (this.#backup === undefined || this.#isolated > 0) {
      this.#backup = engine.backup()
      return undefined
    }
    stats.count('fault restore')
    network.disconnect({})
    // With the old cluster id, only a revision that goes back gives a restore away, or changes that
    // are not what they were.
    const kind = randomItem(random, restoreKinds)
    const before = engine.revision
    engine.restore(this.#backup, { keepClusterId: kind !== 'other id' })
    this.#backup = undefined
    truth.restored()
    if (kind === 'passed') this.#pass(before)
    return kind
  }

  /** Writes until etcd has passed the revision that the clients know: its term has, too. */
  #pass(before: number): void {
    const { engine, random, stats } = this.#options
    stats.count('fault passed')
    const most = before + randomInt(random, 0, 5)
    while (engine.revision < most) {
      const write = engine.write(transaction =>
        inOneStep(() => {
          const value = Buffer.from(`passed ${random.next()}`)
          const asked = { previous: false, ignoreValue: false, ignoreLease: false }
          transaction.put({ key: anyKey(random), value, lease: 0n, ...asked })
        }),
      )
      engine.decide(write, () => {})
    }
  }
}
