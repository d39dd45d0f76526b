/** Random reads of two services over one real etcd, while writers never rest, against a naive
 *  oracle. The seed decides what is written and asked for; what is under way at the same time is up
 *  to the machine. To ask for the same again: READS_SEED=N. */

import * as http from 'node:http'
import t, { type Test } from 'tap'
import { createRandom, type Random, randomInt, randomItem } from '../../lib/base/random.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { defaultLimits } from '../../lib/cache/mirror/limits.ts'
import { startEtcd } from '../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'
import {
  ask,
  caughtUp,
  type HttpAnswer,
  type SentRequest,
  type Served,
  startServed,
} from '../support/http/served.ts'
import { judgeGet, judgeList, type Moment, type Verdict } from './reads/judge.ts'
import {
  getPath,
  listPath,
  type OpenChain,
  randomContinuation,
  randomGet,
  randomList,
} from './reads/requests.ts'
import { World } from './reads/world.ts'
import { effort } from '../support/effort.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { moment } from '../support/http/moment.ts'

const etcd = await findEtcd('3.5')
const seed = Number(process.env['READS_SEED'] ?? Math.floor(Math.random() * 2 ** 32))

const readers = 6
const writers = 3
const requests = 300 * effort
const requestsMax = 4 * requests
/** The kinds of answers of which there must be some. */
const wanted = ['list', 'exact', 'continued', 'exact, from etcd', 'expired, to go on']
/** So many writes before the services start: what they were, only etcd knows. */
const writesBefore = 600
/** Kept for later: chains go on when others have been written and compacted. */
const openChainsMax = 60
/** So many at least go on only when their revision is compacted. */
const laidAsideMin = 20

interface Server {
  readonly served: Served
  readonly mirroredSince: number
}

class Model {
  readonly world: World
  readonly counts = new Map<string, number>()
  readonly #agent = new http.Agent({ keepAlive: true })
  readonly #servers: readonly Server[]
  readonly #chains: OpenChain[] = []
  /** Chains that go on only when their revision is compacted. */
  readonly #laidAside: OpenChain[] = []
  /** Both servers have seen the newest compaction. */
  knowsCompaction = false
  asked = 0

  constructor(world: World, servers: readonly Server[]) {
    this.world = world
    this.#servers = servers
  }

  async read(random: Random): Promise<void> {
    this.asked++
    const server = randomItem(random, this.#servers)
    const around = this.world.acknowledged
    const { floor, compacted } = { floor: around, compacted: this.world.compactedThrough }
    const { mirroredSince } = server
    const momentAfter = async (): Promise<Moment> => {
      const ceiling = await this.world.now()
      const { compactingThrough: compacting } = this.world
      const { knowsCompaction } = this
      return { floor, ceiling, compacted, compacting, mirroredSince, knowsCompaction }
    }
    if (random.next() < 0.2) {
      const request = randomGet(random, around)
      await this.#ask(
        server,
        { path: getPath(request), headers: acceptOf(random, 'PartialObjectMetadata') },
        async answer => judgeGet(this.world, request, answer, await momentAfter()),
      )
      return
    }
    const chain = random.next() < 0.5 ? this.#takeChain(random) : undefined
    const request =
      chain === undefined ? randomList(random, around) : randomContinuation(random, chain)
    const next = await this.#ask(
      server,
      { path: listPath(request), headers: acceptOf(random, 'PartialObjectMetadataList') },
      async answer => judgeList(this.world, request, answer, await momentAfter()),
    )
    if (next.continue !== '') this.#keepChain(random, { shape: request, continue: next.continue })
  }

  async #ask(
    { served }: Server,
    request: SentRequest,
    judge: (answer: HttpAnswer) => Promise<Verdict>,
  ): Promise<Verdict> {
    const answer = await ask(served.service.port, request, this.#agent)
    try {
      const verdict = await judge(answer)
      this.counts.set(verdict.kind, (this.counts.get(verdict.kind) ?? 0) + 1)
      return verdict
    } catch (error) {
      throw new Error(`GET ${request.path}: ${String(error)}`, { cause: error })
    }
  }

  #takeChain(random: Random): OpenChain | undefined {
    if (this.#chains.length === 0) return undefined
    const [chain] = this.#chains.splice(randomInt(random, 0, this.#chains.length - 1), 1)
    return chain
  }

  #keepChain(random: Random, chain: OpenChain): void {
    const isNeeded = this.#laidAside.length < laidAsideMin || random.next() < 0.1
    if (!this.knowsCompaction && isNeeded) this.#laidAside.push(chain)
    if (this.#chains.length < openChainsMax) this.#chains.push(chain)
    else this.#chains[randomInt(random, 0, openChainsMax - 1)] = chain
  }

  async status(path: string, { served }: Server): Promise<number> {
    return (await ask(served.service.port, { path }, this.#agent)).status
  }

  /** Resolves when every server refuses what is compacted. */
  async untilCompactionIsKnown(): Promise<void> {
    const revision = this.world.compactedThrough - 1
    const path = `/api/v1/configmaps?resourceVersion=${revision}&resourceVersionMatch=Exact&limit=1`
    for (const server of this.#servers) {
      while ((await this.status(path, server)) !== 410) await moment()
    }
    this.knowsCompaction = true
    this.#chains.push(...this.#laidAside)
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** The whole object, or at times its metadata only. */
function acceptOf(random: Random, view: string): SentRequest['headers'] {
  return random.next() < 0.8
    ? {}
    : { accept: `application/json;as=${view};v=v1;g=meta.k8s.io,application/json` }
}

async function startServer(t: Test, endpoint: string, world: World): Promise<Server> {
  // What is to come is waited for as long as a slow machine needs.
  const limits = { ...defaultLimits, readWaitMaxMs: 60_000 }
  const mirroredSince = world.acknowledged
  const client = new GrpcClient({ endpoints: [endpoint] })
  const served = await startServed(t, { client, limits })
  t.teardown(() => client.close())
  await served.service.ready
  await caughtUp(served, mirroredSince)
  return { served, mirroredSince }
}

t.test(
  'random reads under writes are as an oracle over etcd has them',
  { skip: etcd.skip },
  async t => {
    t.comment(`READS_SEED=${seed}`)
    const { endpoints } = await startEtcd(t, etcd)
    const [endpoint = ''] = endpoints
    const world = new World(endpoint, seed)
    t.teardown(() => world.close())
    await world.begin(writesBefore)
    const servers = [await startServer(t, endpoint, world), await startServer(t, endpoint, world)]
    const model = new Model(world, servers)
    t.teardown(() => model.close())
    const isRare = (): boolean => wanted.some(kind => (model.counts.get(kind) ?? 0) <= 5)
    let isReading = true
    const write = async (): Promise<void> => {
      while (isReading) {
        await world.write()
        await systemClock.yield()
      }
    }
    const read = async (random: Random, until: number): Promise<void> => {
      while (model.asked < until) await model.read(random)
    }
    const readUntil = async (until: number): Promise<void> => {
      const all = Array.from({ length: readers }, (_, i) => createRandom(seed + until + i))
      await Promise.all(all.map(random => read(random, until)))
    }
    const writing = Array.from({ length: writers }, write)
    try {
      await readUntil(requests * 0.4)
      await Promise.all([readUntil(requests * 0.7), world.compact(writesBefore / 2)])
      const compactAndRead = async (until: number): Promise<void> => {
        await world.compact(world.acknowledged - 50)
        await model.untilCompactionIsKnown()
        await readUntil(until)
      }
      await compactAndRead(requests)
      // How often a token is met that has expired is left to chance.
      while (model.asked < requestsMax && isRare()) await compactAndRead(model.asked + requests / 4)
    } catch (error) {
      throw new Error(`READS_SEED=${seed}: ${String(error)}`, { cause: error })
    } finally {
      isReading = false
      await Promise.all(writing)
    }
    for (const kind of [...model.counts.keys()].sort()) {
      t.comment(`${kind}: ${model.counts.get(kind)}`)
    }
    t.comment(`${world.acknowledged} revisions`)
    for (const kind of wanted) t.ok(model.counts.has(kind), kind)
  },
)
