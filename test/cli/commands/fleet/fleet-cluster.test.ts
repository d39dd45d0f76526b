import t from 'tap'
import { CacheError } from '../../../../lib/base/errors.ts'
import { AcceptedCallers } from '../../../../lib/cli/commands/fleet/accepted-callers.ts'
import { ClusterPort } from '../../../../lib/cli/commands/fleet/cluster-port.ts'
import { FleetCluster } from '../../../../lib/cli/commands/fleet/fleet-cluster.ts'
import { Fleet } from '../../../../lib/cli/commands/fleet/fleet.ts'
import type { OpenCluster } from '../../../../lib/cli/commands/fleet/open-cluster.ts'
import type { SenderStanding } from '../../../../lib/cli/commands/fleet/sender-check.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { ScriptedRequest } from '../../../support/http/scripted-request.ts'
import { sayingLogger } from '../../../support/saying-logger.ts'
import { silentLogger } from '../../../support/silent-logger.ts'

/** A cluster that opens and closes when a test says so. Its requests stay open until they leave. */
class World {
  readonly clock = new FakeClock()
  opened = 0
  closed = 0
  memoryBytes = 10
  isRoom = true
  refuse: (refusal: CacheError) => void = () => {}
  ready: () => void = () => {}
  canPass = true
  opening: () => Promise<void> = () => Promise.resolve()
  readonly begun: ScriptedRequest[] = []
  standing: () => Promise<SenderStanding> = () => Promise.resolve('known')
  readonly senders = {
    authorities: ['of files'],
    check: () => this.standing(),
    readAuthorities: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  }

  async open(): Promise<OpenCluster> {
    await this.opening()
    this.opened++
    const port = new ClusterPort({ port: 1, guardedHosts: undefined })
    port.serve(request => {
      request.accept()
      request.onAccept?.()
      this.begun.push(request as ScriptedRequest)
    })
    const bytes = this.memoryBytes
    return {
      port,
      canPass: this.canPass,
      authorities: () => ['PEM'],
      stop: () => {
        this.closed++
        port.server.close()
        return Promise.resolve()
      },
      service: {
        adminHandler: () => {},
        entries: () => new Map([['/registry/pods/', 3]]),
        isReady: true,
        kept: { segments: none, indexes: none } as unknown as OpenCluster['service']['kept'],
        memoryBytes: bytes,
        problem: undefined,
        reads: { all: 5, fromMemory: 4 },
        ready: new Promise(resolve => (this.ready = resolve)),
        refused: new Promise(resolve => (this.refuse = resolve)),
      },
    }
  }

  cluster(name = 'a', callers?: AcceptedCallers, makeRoom?: () => boolean): FleetCluster {
    return new FleetCluster({
      name,
      open: () => this.open(),
      makeRoom: makeRoom ?? (() => this.isRoom),
      callers,
      senders: this.senders,
      hasPage: false,
      clock: this.clock,
      logger: silentLogger,
    })
  }

  /** Lets promises settle. */
  settle(): Promise<void> {
    return this.clock.advance(0)
  }
}

const none = { bytes: 0, dropTo() {} }

t.test('the first request wakes a cluster, and those that wait are answered in order', async t => {
  const world = new World()
  const cluster = world.cluster()
  t.equal(cluster.state, 'idle')
  t.strictSame(cluster.authorities, ['of files'], 'TLS knows them before the first client')
  const requests = [new ScriptedRequest(), new ScriptedRequest(), new ScriptedRequest()]
  for (const request of requests) cluster.handle(request)
  requests[1]?.leave()
  t.equal(cluster.state, 'starting')
  await world.settle()
  t.equal(cluster.state, 'awake')
  t.equal(world.opened, 1)
  t.strictSame(world.begun, [requests[0], requests[2]], 'nobody is asked for whoever has left')
  t.match(cluster.facts, { requests: 3, starts: 1, requestsInFlight: 2, objects: 3 })
  t.strictSame(cluster.authorities, ['PEM'])
  t.equal(world.clock.pendingTimers, 2, 'each waiting request has one, until its client has gone')
  requests[0]?.leave()
  requests[2]?.leave()
  t.equal(world.clock.pendingTimers, 0)
})

t.test('without an upstream the first request waits for the mirror, for so long', async t => {
  const world = new World()
  world.canPass = false
  const cluster = world.cluster()
  cluster.handle(new ScriptedRequest())
  await world.settle()
  t.equal(cluster.state, 'starting')
  world.ready()
  await world.settle()
  t.equal(cluster.state, 'awake')
  const slow = new World()
  slow.canPass = false
  const other = slow.cluster()
  other.handle(new ScriptedRequest())
  await slow.clock.advance(20_000)
  t.equal(other.state, 'awake', 'what cannot be answered yet is refused as by a server alone')
})

t.test('a cluster that nobody asks for is idle again, and costs no connection', async t => {
  const world = new World()
  const cluster = world.cluster()
  const watch = new ScriptedRequest()
  cluster.handle(watch)
  await world.settle()
  await world.clock.advance(1_000_000)
  t.equal(cluster.isUnused(600_000), false, 'a watch is open')
  watch.leave()
  t.equal(cluster.isUnused(600_000), true)
  void cluster.sleep()
  t.equal(cluster.state, 'stopping')
  const early = new ScriptedRequest()
  cluster.handle(early)
  await world.settle()
  t.equal(world.closed, 1)
  t.equal(world.opened, 2, 'a request that comes meanwhile starts it once more')
  t.strictSame(world.begun.at(-1), early)
  t.equal(cluster.lastMemoryBytes, 10)
})

t.test('what strangers have woken is idle again after a minute', async t => {
  const world = new World()
  const cluster = world.cluster()
  await cluster.wake()
  await world.clock.advance(59_000)
  t.equal(cluster.isUnused(600_000), false)
  await world.clock.advance(1_000)
  t.equal(cluster.isUnused(600_000), true)
  cluster.handle(new ScriptedRequest())
  world.begun[0]?.leave()
  t.equal(cluster.isUnused(600_000), false, 'somebody was accepted')
})

t.test('a broken cluster refuses at once, and is tried again after a pause', async t => {
  const world = new World()
  const { logger, said } = sayingLogger()
  let tries = 0
  const cluster = new FleetCluster({
    name: 'a',
    open: () => {
      tries++
      return Promise.reject(new CacheError('invalid_request', 'the file secret.pem is broken'))
    },
    makeRoom: () => true,
    callers: undefined,
    hasPage: false,
    clock: world.clock,
    logger,
  })
  const asked = async (): Promise<ScriptedRequest> => {
    const request = new ScriptedRequest()
    cluster.handle(request)
    await world.settle()
    return request
  }
  const first = await asked()
  t.equal(first.responded?.status, 503)
  t.equal(first.responded?.headers['retry-after'], '2')
  t.notMatch(first.text, /secret/, 'whoever asks is not known')
  t.match(cluster, { state: 'failed', problem: 'the file secret.pem is broken' })
  t.equal((await asked()).responded?.status, 503)
  t.equal(tries, 1)
  await world.clock.advance(2_000)
  await asked()
  t.equal(tries, 2)
  for (const pauseMs of [4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
    await world.clock.advance(pauseMs)
    await asked()
  }
  t.equal(tries, 8)
  t.equal(said.length, 1, 'the same reason is said once')
  t.equal(world.clock.pendingTimers, 0)
})

t.test('a start that takes too long has failed, and is undone when it is over', async t => {
  const world = new World()
  let answer = (): void => {}
  world.opening = () => new Promise(resolve => (answer = resolve))
  const cluster = world.cluster()
  const request = new ScriptedRequest()
  cluster.handle(request)
  await world.clock.advance(30_000)
  t.equal(request.responded?.status, 503)
  t.equal(cluster.state, 'failed')
  answer()
  await world.settle()
  t.match(world, { opened: 1, closed: 1 })
})

t.test('more requests than may wait are refused', async t => {
  const world = new World()
  world.opening = () => new Promise(() => {})
  const cluster = world.cluster()
  const requests = Array.from({ length: 1_001 }, () => new ScriptedRequest())
  for (const request of requests) cluster.handle(request)
  t.equal(requests.at(-1)?.responded?.status, 429)
  t.equal(requests.at(-2)?.responded, undefined)
  await world.clock.advance(60_000)
  t.ok(requests.every(({ responded }) => responded !== undefined))
  t.equal(world.clock.pendingTimers, 0)
})

t.test('a cluster that does not fit into its own budget is failed, and closed', async t => {
  const world = new World()
  const cluster = world.cluster()
  await cluster.wake()
  world.refuse(new CacheError('overloaded', 'too much'))
  await world.settle()
  t.match(cluster, { state: 'failed', problem: 'too much' })
  t.equal(world.closed, 1)
  t.equal(cluster.memoryBytes, 0)
})

t.test('a cluster that goes while it starts is closed', async t => {
  const world = new World()
  let answer = (): void => {}
  world.opening = () => new Promise(resolve => (answer = resolve))
  const cluster = world.cluster()
  const request = new ScriptedRequest()
  cluster.handle(request)
  await world.settle()
  const stopping = cluster.stop()
  t.equal(request.responded?.status, 503)
  await world.settle()
  answer()
  await stopping
  await world.settle()
  t.match(world, { opened: 1, closed: 1 })
  const late = new ScriptedRequest()
  cluster.handle(late)
  t.equal(late.responded?.status, 503)
})

t.test('over the budget the coldest cluster goes first, and none that is in use', async t => {
  const world = new World()
  const { clock } = world
  const created = new Map<string, FleetCluster>()
  const fleet = new Fleet({
    create: ({ name }, all) => {
      const cluster: FleetCluster = world.cluster(name, undefined, () => all.makeRoomFor(cluster))
      created.set(name, cluster)
      return cluster
    },
    idleAfterMs: 600_000,
    budgetBytes: 30,
    clock,
    logger: silentLogger,
  })
  const names = ['a', 'b', 'c', 'd']
  await fleet.apply({ clusters: names.map(name => ({ name, options: {} })), problems: [] })
  const used = async (name: string): Promise<ScriptedRequest> => {
    const request = new ScriptedRequest()
    fleet.find(name)?.handle(request)
    await clock.advance(1)
    return request
  }
  const states = (): string => fleet.clusters.map(({ state }) => state[0]).join('')
  const held = await used('a')
  for (const name of ['b', 'c']) (await used(name)).leave()
  t.equal(states(), 'aaai')
  t.equal(fleet.memoryBytes, 30)
  fleet.start()
  world.memoryBytes = 20
  ;(await used('d')).leave()
  await clock.advance(1_000)
  t.equal(states(), 'aiia', 'a is the coldest, but in use; b and c go')
  t.equal(fleet.memoryBytes, 30)
  t.equal(created.get('d')?.lastMemoryBytes, 0)
  const again = await used('b')
  t.equal(states(), 'aaii', 'd is the coldest now')
  const refused = await used('d')
  t.equal(refused.responded?.status, 503, 'all others are in use')
  again.leave()
  held.leave()
  await fleet.stop()
  t.equal(world.opened, world.closed)
})

t.test('clusters come, go and change with their settings; a wrong one stays', async t => {
  const world = new World()
  const fleet = new Fleet({
    create: ({ name }) => world.cluster(name),
    idleAfterMs: 0,
    budgetBytes: undefined,
    clock: world.clock,
    logger: silentLogger,
  })
  const settings = (name: string, digest = ''): { name: string; options: {}; digest: string } => ({
    name,
    options: {},
    digest,
  })
  await fleet.apply({ clusters: ['a', 'b', 'c'].map(name => settings(name)), problems: [] })
  await world.settle()
  t.equal(world.opened, 3, 'never idle: all are started at once')
  const before = fleet.clusters
  await fleet.apply({
    clusters: [settings('a'), settings('b', 'renewed'), settings('d')],
    problems: [{ name: 'c', text: 'is wrong' }],
  })
  await world.settle()
  t.strictSame(
    fleet.clusters.map(({ name }) => name),
    ['a', 'b', 'c', 'd'],
  )
  t.strictSame(
    ['a', 'b', 'c'].map((name, i) => fleet.find(name) === before[i]),
    [true, false, true],
  )
  t.match(world, { opened: 5, closed: 1 })
  await fleet.apply({ clusters: [], problems: [] })
  t.equal(fleet.size, 0)
  t.equal(world.closed, 5)
})

t.test('strangers wake no cluster, and hold no place among those who wait for it', async t => {
  const world = new World()
  const nowMs = (): number => world.clock.monotonicMs()
  const cluster = world.cluster('a', new AcceptedCallers({ identityHeaders: [], nowMs }))
  const asked = async (standing: SenderStanding): Promise<ScriptedRequest> => {
    world.standing = () => Promise.resolve(standing)
    const request = new ScriptedRequest()
    cluster.handle(request)
    await world.settle()
    return request
  }
  const rows: readonly (readonly [SenderStanding, number])[] = [
    ['stranger', 401],
    ['unanswered', 503],
    ['crowded', 429],
  ]
  for (const [standing, status] of rows) {
    t.equal((await asked(standing)).responded?.status, status, standing)
    t.match(cluster.facts, { state: 'idle', starts: 0, requestsInFlight: 0 })
  }
  t.equal(world.opened, 0)
  let answer = (): void => {}
  world.opening = () => new Promise(resolve => (answer = resolve))
  const known = await asked('known')
  t.equal(cluster.state, 'starting')
  t.equal((await asked('stranger')).responded?.status, 401, 'while it starts, too')
  t.equal(cluster.requestsInFlight, 1)
  answer()
  await world.settle()
  t.strictSame(world.begun, [known])
  const stranger = await asked('stranger')
  t.strictSame(world.begun, [known, stranger], 'awake it decides itself')
})

t.test('a cluster whose authentication cannot be opened is broken, for a pause', async t => {
  const world = new World()
  const nowMs = (): number => world.clock.monotonicMs()
  const cluster = world.cluster('a', new AcceptedCallers({ identityHeaders: [], nowMs }))
  world.standing = () => Promise.reject(new CacheError('invalid_request', 'no authority'))
  const requests = [new ScriptedRequest(), new ScriptedRequest()]
  for (const request of requests) cluster.handle(request)
  await world.settle()
  for (const { responded } of requests) {
    t.match(responded, { status: 503, headers: { 'retry-after': '2' } })
  }
  t.match(cluster.facts, { state: 'failed', problem: 'no authority', failedStarts: 1 })
})

t.test(
  'reads are counted over all the times that it was awake, and problems since when',
  async t => {
    const world = new World()
    const cluster = world.cluster()
    await cluster.wake()
    t.match(cluster.facts, { reads: 5, readsFromMemory: 4, problemSinceMs: undefined })
    await cluster.sleep()
    t.match(cluster.facts, { reads: 5, readsFromMemory: 4 })
    world.opening = () => Promise.reject(new CacheError('source_failed', 'gone'))
    await cluster.wake()
    const sinceMs = world.clock.wallMs()
    await world.clock.advance(5_000)
    await cluster.wake()
    t.match(cluster.facts, { problem: 'gone', problemSinceMs: sinceMs })
  },
)

class Caller extends ScriptedRequest {
  override readonly headers: Record<string, string>
  override readonly rawHeaders: readonly string[]

  constructor(headers: Record<string, string>) {
    super()
    this.headers = headers
    this.rawHeaders = Object.entries(headers).flat()
  }
}

t.test('a cluster is listed to whom it has accepted, also while it is idle', async t => {
  const world = new World()
  const nowMs = (): number => world.clock.monotonicMs()
  const callers = new AcceptedCallers({ identityHeaders: ['x-remote-user', 'x-extra-'], nowMs })
  const cluster = world.cluster('a', callers)
  const one = { authorization: 'Bearer one', 'x-remote-user': 'ann' }
  cluster.handle(new Caller(one))
  await world.settle()
  world.begun[0]?.leave()
  await cluster.sleep()
  t.equal(cluster.isListedTo(new Caller(one)), true)
  t.equal(cluster.isListedTo(new Caller({ authorization: 'Bearer two' })), false)
  t.equal(cluster.isListedTo(new Caller({ ...one, 'x-remote-user': 'bob' })), false)
  t.equal(cluster.isListedTo(new Caller({ ...one, 'x-extra-a': 'b' })), false)
  t.equal(cluster.isListedTo(new Caller({})), false)
  await world.clock.advance(13 * 3_600_000)
  t.equal(cluster.isListedTo(new Caller(one)), false, 'that was long ago')
  for (let i = 0; i < 300; i++) callers.note(new Caller({ authorization: `Bearer ${i}` }))
  t.equal(callers.size, 256)
  callers.shrink()
  t.equal(callers.size, 64)
  t.equal(callers.knows(new Caller({ authorization: 'Bearer 299' })), true)
})
