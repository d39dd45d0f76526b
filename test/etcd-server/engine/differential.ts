/** Runs the same random calls on a real etcd and on the engine, both over gRPC, and compares every
 *  answer and every watch event. */

import assert from 'node:assert/strict'
import type { Test } from 'tap'
import { createRandom, type Random, randomInt } from '../../../lib/base/random.ts'
import { startEtcdServer } from '../../../lib/etcd-server/server.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { startEtcd } from '../../support/etcd/etcd-cluster.ts'
import { type Answer, comparable, RawEtcd } from '../../support/etcd/raw-etcd.ts'
import type { Program } from '../../support/etcd/real-etcd.ts'
import {
  startTestReplica,
  type TestReplica,
  type TestReplicaOptions,
} from '../../support/etcd/test-replica.ts'
import { type Call, Calls } from './operations.ts'
import { WatchPair } from './watch-pair.ts'

/** The two servers. */
export interface Pair {
  readonly real: RawEtcd
  readonly ours: RawEtcd
  readonly realAddress: string
  readonly ourAddress: string
}

/** Starts both servers for one test. */
export async function startPair(t: Test, etcd: Program): Promise<Pair> {
  const cluster = await startEtcd(t, etcd)
  const ourAddress = await startEngine(t)
  const realAddress = String(cluster.endpoints[0]).replace('http://', '')
  const real = new RawEtcd(realAddress)
  const ours = new RawEtcd(ourAddress)
  t.teardown(() => {
    real.close()
    ours.close()
  })
  return { real, ours, realAddress, ourAddress }
}

/** Starts a server of the engine for one test; its address. */
export async function startEngine(t: Test): Promise<string> {
  const engine = new Engine({
    clock: systemClock,
    random: createRandom(1),
    scheduler: createDirectScheduler(),
  })
  const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  t.teardown(async () => {
    await server.close()
    engine.close()
  })
  return server.address
}

/** Starts two real etcds for one test, one of them behind a replica with a mirror. */
export async function startReplicaPair(
  t: Test,
  etcd: Program,
  options: TestReplicaOptions = {},
): Promise<Pair & { replica: TestReplica }> {
  const [bare, behind] = await Promise.all([startEtcd(t, etcd), startEtcd(t, etcd)])
  const replica = await startTestReplica(t, behind.endpoints, options)
  await replica.ready()
  const realAddress = String(bare.endpoints[0]).replace('http://', '')
  const real = new RawEtcd(realAddress)
  const ours = new RawEtcd(replica.address)
  t.teardown(async () => {
    real.close()
    ours.close()
  })
  return { real, ours, realAddress, ourAddress: replica.address, replica }
}

export interface RunOptions {
  readonly seed: number
  readonly calls: number
  /** Also sort by what entries have in common. */
  readonly withTies: boolean
}

/** The number of calls between two compactions, about. */
const callsPerRound = 250

export class Differential {
  readonly #pair: Pair
  readonly #options: RunOptions
  readonly #random: Random
  readonly #calls: Calls
  readonly #watches: WatchPair[]
  #revision = 1
  #compactRevision = -1
  #done = 0

  constructor(pair: Pair, options: RunOptions) {
    this.#pair = pair
    this.#options = options
    this.#random = createRandom(options.seed)
    this.#calls = new Calls(this.#random, options)
    this.#watches = [0, 1, 2].map(() => new WatchPair(pair))
  }

  /** Number of watch events compared. */
  get events(): number {
    return this.#watches.reduce((sum, watch) => sum + watch.compared, 0)
  }

  async run(): Promise<void> {
    try {
      for (let i = 0; i < 12; i++) await this.#changeWatchers()
      while (this.#done < this.#options.calls) await this.#round()
      for (const watch of this.#watches) watch.close()
    } catch (error) {
      if (error instanceof Error) error.message = `seed ${this.#options.seed}: ${error.message}`
      throw error
    }
  }

  async #round(): Promise<void> {
    for (let i = 0; i < callsPerRound;) {
      if (this.#random.next() < 0.06) await this.#changeWatchers()
      const calls = [this.#calls.next(this.#state)]
      // Reads may be on their way together: they cannot tell who was first.
      while (calls.at(-1)?.isRead === true && calls.length < 8) {
        calls.push(this.#calls.next(this.#state))
      }
      const [last] = calls.slice(-1) as [Call]
      const reads = calls.filter(({ isRead }) => isRead)
      await Promise.all(reads.map(call => this.#compare(call)))
      if (!last.isRead) await this.#compare(last)
      i += calls.length
    }
    // An event that is still on its way when its predecessor is compacted may or may not have a
    // previous value.
    for (const watch of this.#watches) await watch.settle(this.#revision)
    await this.#compact()
  }

  async #compact(): Promise<void> {
    const call = this.#calls.compaction(this.#state)
    const answer = await this.#compare(call)
    if ('response' in answer) this.#compactRevision = Number(call.request['revision'])
  }

  async #changeWatchers(): Promise<void> {
    const watch = this.#watches[randomInt(this.#random, 0, this.#watches.length - 1)]
    const { compactRevision } = this.#state
    await watch?.change(this.#random, {
      watcher: this.#calls.watcher(this.#state),
      compactRevision,
    })
  }

  get #state() {
    return { revision: this.#revision, compactRevision: this.#compactRevision }
  }

  async #compare(call: Call): Promise<Answer> {
    const { service, method, request } = call
    const answers = await Promise.all([
      this.#pair.real.call(service, method, request),
      this.#pair.ours.call(service, method, request),
    ])
    const [real, ours] = answers.map(answer => normalized(call, comparable(answer))) as [
      Answer,
      Answer,
    ]
    this.#done++
    assert.deepEqual(ours, real, `${service} ${method} ${JSON.stringify(request)}`)
    if ('response' in real) {
      const header = real.response['header'] as { revision?: string } | undefined
      this.#revision = Math.max(this.#revision, Number(header?.revision ?? 0))
    }
    return real
  }
}

/** The answer without what depends on the moment of asking (seconds that are left), or on chance
 *  (etcd lists the keys of a lease in the order of a hash map). */
function normalized(call: Call, answer: Answer): Answer {
  if (call.method !== 'LeaseTimeToLive' || !('response' in answer)) return answer
  const { response } = answer
  const keys = ((response['keys'] as string[] | undefined) ?? []).toSorted()
  return { response: { ...response, TTL: Number(response['TTL']) < 0 ? '-1' : 'some', keys } }
}
