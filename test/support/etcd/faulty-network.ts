/** A network with controlled failures, for simulations: calls that are lost before or after the
 *  member has done its work, late messages, broken links, members that cannot be reached, and
 *  members or clients that stop sending without closing. It does not cover the traffic between
 *  members: see `EngineMember.isolate`, `Engine.elect` and `Engine.restore`. */

import type { SeededLane, SeededScheduler } from './seeded-scheduler.ts'
import type { Clock } from '../../../lib/base/clock.ts'
import { CacheError } from '../../../lib/base/errors.ts'
import { type Random, randomInt } from '../../../lib/base/random.ts'
import type { EngineMember } from '../../../lib/etcd-server/engine/member.ts'
import type { MemberLink, LinkEnds, Network } from '../../../lib/etcd-server/engine/network.ts'

/** The chances of faults that come by themselves. All are 0 at first. */
export interface FaultChances {
  /** Chance of a call to break before the member has heard of it, or before the client has its
   *  answer: as often the one as the other. */
  readonly loss: number
  /** Chance of a message to be held back together with all that follow on its link. */
  readonly delay: number
  /** For how long, at most. */
  readonly delayMaxMs: number
  /** Chance of a stream to break with any message that is sent on it. */
  readonly disconnect: number
}

const noFaults: FaultChances = { loss: 0, delay: 0, delayMaxMs: 0, disconnect: 0 }

/** As long as the gRPC client waits for a small answer. */
const callTimeoutMs = 5000

export interface FaultyNetworkOptions {
  readonly scheduler: SeededScheduler
  readonly random: Random
  readonly clock: Clock
}

/** Chooses links: those of a client, of a member, or both. */
export interface LinkFilter {
  readonly client?: string | undefined
  readonly member?: EngineMember | undefined
}

export class FaultyNetwork implements Network {
  readonly #options: FaultyNetworkOptions
  readonly #links = new Set<FaultyLink>()
  /** Whoever matches one of these cannot be reached. */
  #cuts: LinkFilter[] = []
  #silences: LinkFilter[] = []
  /** Number of times that links were broken from outside. */
  breaks = 0
  /** A simulation may change them at any time. */
  chances: FaultChances = noFaults

  constructor(options: FaultyNetworkOptions) {
    this.#options = options
  }

  /** Number of calls and streams under way. */
  get links(): number {
    return this.#links.size
  }

  connect(ends: LinkEnds): MemberLink {
    const link = new FaultyLink(this, ends)
    this.#links.add(link)
    if (this.#cuts.some(filter => link.matches(filter))) link.break()
    if (this.#silences.some(filter => link.matches(filter))) link.hold()
    return link
  }

  /** A way for messages. For links. */
  createLane(): SeededLane {
    return this.#options.scheduler.createLane()
  }

  /** True as often as the chance says. For links. */
  happens(chance: number): boolean {
    return chance > 0 && this.#options.random.next() < chance
  }

  /** Does `task` after at most `maxMs`. For links. */
  later(maxMs: number, task: () => void): void {
    this.#options.clock.setTimer(randomInt(this.#options.random, 1, maxMs), task)
  }

  /** Gives up on a call that nobody answers. For links. */
  timeOut(task: () => void): void {
    this.#options.clock.setTimer(callTimeoutMs, task)
  }

  /** A link is no more. For links. */
  forget(link: FaultyLink): void {
    this.#links.delete(link)
  }

  /** Breaks links. Messages on them are lost; new ones can be made at once. */
  disconnect(filter: LinkFilter): void {
    this.breaks++
    for (const link of this.#links) if (link.matches(filter)) link.break()
  }

  /** Breaks links, and refuses new ones until `mend`. */
  cut(filter: LinkFilter): void {
    this.#cuts.push(filter)
    this.disconnect(filter)
  }

  /** Lets nothing through, and tells nobody, until `mend`: a paused machine, or a cable that is
   *  pulled. */
  silence(filter: LinkFilter): void {
    this.#silences.push(filter)
    for (const link of this.#links) if (link.matches(filter)) link.hold()
  }

  /** Ends all cuts and silences. What was held back arrives. */
  mend(): void {
    this.#cuts = []
    this.#silences = []
    for (const link of this.#links) link.release()
  }
}

class FaultyLink implements MemberLink {
  readonly #network: FaultyNetwork
  readonly #ends: LinkEnds
  readonly #up: SeededLane
  readonly #down: SeededLane
  /** Number of reasons to hold messages back. */
  #holds = 0
  #isSilent = false
  #isOver = false

  constructor(network: FaultyNetwork, ends: LinkEnds) {
    this.#network = network
    this.#ends = ends
    this.#up = network.createLane()
    // The answer to a call comes after its request anyway.
    this.#down = ends.kind === 'call' ? this.#up : network.createLane()
  }

  matches({ client, member }: LinkFilter): boolean {
    return (
      (client === undefined || client === this.#ends.client) &&
      (member === undefined || member === this.#ends.member)
    )
  }

  toMember(task: () => void): void {
    this.#send(this.#up, task)
  }

  toClient(task: () => void): void {
    this.#send(this.#down, task)
  }

  toClientFirst(task: () => void): void {
    this.#down.postFirst(task)
  }

  close(): void {
    if (this.#isOver) return
    this.#end()
    this.#tellMember()
  }

  /** Fails both ends, each when its turn comes. */
  break(): void {
    if (this.#isOver) return
    this.#end()
    const { endpoint } = this.#ends.member
    const failure = new CacheError('source_failed', `the connection to ${endpoint} was lost`)
    this.#network.createLane().post(() => this.#ends.lostByClient(failure))
    this.#tellMember()
  }

  hold(): void {
    if (this.#isSilent || this.#isOver) return
    this.#isSilent = true
    this.#holdOnce()
    // A client waits for an answer for so long, and for a watch as long as it likes.
    if (this.#ends.kind === 'call') {
      this.#network.timeOut(() => {
        if (this.#isSilent) this.break()
      })
    }
  }

  release(): void {
    if (!this.#isSilent) return
    this.#isSilent = false
    this.#releaseOnce()
  }

  #send(lane: SeededLane, task: () => void): void {
    const { loss, disconnect, delay, delayMaxMs } = this.#network.chances
    // A call has two messages, and is to be lost with the chance of one.
    const isLost = this.#network.happens(this.#ends.kind === 'call' ? loss / 2 : disconnect)
    if (isLost) {
      this.break()
      return
    }
    if (this.#network.happens(delay)) {
      this.#holdOnce()
      this.#network.later(delayMaxMs, () => this.#releaseOnce())
    }
    lane.post(task)
  }

  /** The member hears of it some time; what it sends until then goes nowhere. */
  #tellMember(): void {
    const { lostByMember } = this.#ends
    if (lostByMember !== undefined) this.#network.createLane().post(lostByMember)
  }

  #end(): void {
    this.#isOver = true
    this.#up.close()
    this.#down.close()
    this.#network.forget(this)
  }

  #holdOnce(): void {
    if (this.#holds++ > 0) return
    this.#up.hold()
    this.#down.hold()
  }

  #releaseOnce(): void {
    if (--this.#holds > 0) return
    this.#up.release()
    this.#down.release()
  }
}
