/** An engine of several members on a network that fails as a test tells it to: nothing is
 *  delivered, and no time passes, until the test says so. */

import { SeededScheduler } from './seeded-scheduler.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { Engine, type EngineOptions } from '../../../lib/etcd-server/engine/engine.ts'
import { FaultyNetwork } from './faulty-network.ts'
import type { EngineMember } from '../../../lib/etcd-server/engine/member.ts'
import { FakeClock, settle } from '../fake-clock.ts'

export interface SimEngineOptions extends Partial<EngineOptions> {
  readonly seed?: number
  readonly memberCount?: number
}

export class SimEngine {
  readonly clock: FakeClock = new FakeClock()
  readonly scheduler: SeededScheduler
  readonly network: FaultyNetwork
  readonly engine: Engine

  constructor({ seed = 1, memberCount = 3, ...options }: SimEngineOptions = {}) {
    const random = createRandom(seed)
    const { clock } = this
    this.scheduler = new SeededScheduler(random)
    this.network = new FaultyNetwork({ scheduler: this.scheduler, random, clock })
    const members = Array.from({ length: memberCount }, () => ({}))
    this.engine = new Engine({ clock, random, scheduler: this.scheduler, members, ...options })
  }

  member(index: number): EngineMember {
    return this.engine.members[index]!
  }

  /** A client that knows these members only, by number; all if none are given. */
  client(...members: number[]): EngineClient {
    const known = members.length === 0 ? undefined : members.map(index => this.member(index))
    return new EngineClient({ engine: this.engine, network: this.network, members: known })
  }

  /** Delivers until nothing is left to deliver. */
  async run(): Promise<void> {
    do {
      while (this.scheduler.step());
      await settle()
    } while (this.scheduler.readyLanes > 0)
  }

  /** The outcome of the promise, once everything is delivered. */
  async outcome<T>(promise: Promise<T>): Promise<T> {
    // A failure belongs to whoever awaits the outcome.
    promise.catch(() => undefined)
    await this.run()
    return promise
  }
}
