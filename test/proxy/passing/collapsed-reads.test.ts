import type { IncomingHttpHeaders } from 'node:http'
import t from 'tap'
import { createRandom, type Random, randomInt } from '../../../lib/base/random.ts'
import { type CollapsibleRead, CollapsedReads } from '../../../lib/proxy/passing/collapsed-reads.ts'
import { collapseKey } from '../../../lib/proxy/passing/collapse-key.ts'
import type {
  ForwardControl,
  ForwardRequest,
  ForwardSink,
} from '../../../lib/proxy/upstream/upstream.ts'
import { parseTarget } from '../../../lib/kube/request/request.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { type AskedQuestion, AskedUpstream } from '../../support/upstream/asked-upstream.ts'

const megabyte = 1024 * 1024

function requestOf(path: string, more: Partial<ForwardRequest> = {}): ForwardRequest {
  return {
    method: 'GET',
    path,
    headers: ['Accept', 'application/json', 'Authorization', 'Bearer a'],
    body: undefined,
    isLongRunning: false,
    as: 'caller',
    isIdentified: true,
    ...more,
  }
}

/** A client, which notes what it is told. */
class Client implements ForwardSink {
  readonly key: string
  control: ForwardControl = { resume() {}, abort() {} }
  code = 0
  headers: IncomingHttpHeaders = {}
  body = ''
  bytes = 0
  end: 'ended' | 'failed' | undefined = undefined
  failure: Error | undefined = undefined
  hasLeft = false
  sharedWith = 0
  /** Takes no more while it is set. */
  isFull = false
  /** Calls that came after the last one that may. */
  late = 0

  constructor(key: string) {
    this.key = key
  }

  started(code: number, headers: IncomingHttpHeaders): void {
    this.#called()
    this.code = code
    this.headers = headers
  }

  data(piece: Uint8Array): boolean {
    this.#called()
    if (piece.length < 100) this.body += Buffer.from(piece).toString()
    this.bytes += piece.length
    return !this.isFull
  }

  ended(): void {
    this.#called()
    this.end = 'ended'
  }

  failed(failure: Error): void {
    this.#called()
    this.end = 'failed'
    this.failure = failure
  }

  leave(): void {
    this.hasLeft = true
    this.control.abort()
  }

  drain(): void {
    this.isFull = false
    this.control.resume()
  }

  #called(): void {
    if (this.end !== undefined || this.hasLeft) this.late++
  }
}

interface World {
  readonly clock: FakeClock
  readonly upstream: AskedUpstream
  readonly spared: () => number
  readonly come: (key?: string, more?: Partial<CollapsibleRead>) => Client
}

function world(): World {
  const clock = new FakeClock()
  const upstream = new AskedUpstream()
  let spared = 0
  const reads = new CollapsedReads({
    upstream,
    clock,
    metrics: { collapsed: count => void (spared += count) },
  })
  const come: World['come'] = (key = '/pods', more = {}) => {
    const client = new Client(key)
    const onShared = (count: number): void => {
      client.sharedWith = count
    }
    const request = requestOf(key)
    const takeSlot = () => () => {}
    client.control = reads.forward({ key, request, sink: client, takeSlot, onShared, ...more })
    return client
  }
  return { clock, upstream, spared: () => spared, come }
}

function answer({ sink }: AskedQuestion, body: string): void {
  sink.started(200, { 'audit-id': body })
  sink.data(Buffer.from(body))
  sink.ended({})
}

t.test('five hundred identical lists are two questions', async t => {
  const { upstream, come, spared, clock } = world()
  const clients = Array.from({ length: 500 }, () => come())
  t.equal(upstream.questions.length, 1)
  answer(upstream.questions[0]!, 'first')
  t.equal(upstream.questions.length, 2)
  answer(upstream.questions[1]!, 'second')
  await clock.advance(0)
  t.equal(upstream.questions.length, 2)
  const [first, ...others] = clients
  t.match(first, { body: 'first', end: 'ended', sharedWith: 0 })
  for (const other of others) {
    t.match(other, { body: 'second', end: 'ended', sharedWith: 499, code: 200 })
    t.equal(other.headers['audit-id'], 'second')
  }
  t.equal(spared(), 498)
  t.equal(clock.pendingTimers, 0)
})

t.test('no read has an answer that was asked for before it came', async t => {
  const { upstream, come, clock } = world()
  come()
  const second = come()
  upstream.questions[0]!.sink.started(200, {})
  t.equal(upstream.questions.length, 2, 'asked as soon as the first answer begins')
  const third = come()
  answer(upstream.questions[1]!, 'b')
  answer(upstream.questions[2]!, 'c')
  await clock.advance(0)
  t.equal(second.body, 'b')
  t.equal(third.body, 'c', 'the question for the second was under way')
})

t.test('an upstream that does not answer is asked anew after a second', async t => {
  const { upstream, come, clock } = world()
  const first = come()
  const others = [come(), come()]
  await clock.advance(999)
  t.equal(upstream.questions.length, 1)
  await clock.advance(1)
  t.equal(upstream.questions.length, 2)
  answer(upstream.questions[1]!, 'b')
  await clock.advance(0)
  t.same(
    others.map(({ body }) => body),
    ['b', 'b'],
  )
  const later = come()
  t.equal(upstream.questions.length, 3, 'the old question keeps nobody waiting any more')
  first.leave()
  t.ok(upstream.questions[0]!.isAborted)
  answer(upstream.questions[2]!, 'c')
  t.equal(later.body, 'c')
})

t.test('one client that leaves ends nothing for the others, and the last ends the question', t => {
  const { upstream, come, clock } = world()
  const first = come()
  const [a, b, c] = [come(), come(), come()]
  a.leave()
  first.leave()
  t.ok(upstream.questions[0]!.isAborted)
  t.equal(upstream.questions.length, 2, 'the others need not wait for it')
  const [, shared] = upstream.questions
  b.leave()
  t.notOk(shared!.isAborted)
  shared!.sink.started(200, {})
  shared!.sink.data(Buffer.from('x'))
  c.leave()
  t.ok(shared!.isAborted)
  t.same([a.late, b.late, c.late], [0, 0, 0])
  t.equal(clock.pendingTimers, 0)
  const alone = come()
  const gone = come()
  gone.leave()
  answer(upstream.questions[2]!, 'y')
  t.equal(alone.body, 'y')
  t.equal(upstream.questions.length, 3, 'nobody waits any more')
  t.equal(clock.pendingTimers, 0)
  t.end()
})

t.test('failures, and what came before them, are told to each', async t => {
  const { upstream, come, clock } = world()
  const first = come()
  const others = [come(), come()]
  const failure = new Error('cut')
  upstream.questions[0]!.sink.failed(failure)
  t.equal(first.failure, failure)
  const [, shared] = upstream.questions
  shared!.sink.started(429, { 'retry-after': '3' })
  shared!.sink.data(Buffer.from('ab'))
  await clock.advance(0)
  const [busy] = others
  busy!.isFull = true
  shared!.sink.data(Buffer.from('cd'))
  shared!.sink.failed(failure)
  await clock.advance(0)
  for (const other of others) {
    t.match(other, { code: 429, headers: { 'retry-after': '3' }, end: 'failed', failure })
    t.equal(other.body, 'abcd')
  }
})

t.test('a question that must not be asked is refused to all who wait for it', async t => {
  const { upstream, come, clock } = world()
  let taken = 0
  const takeSlot = (): (() => void) => {
    if (taken === 1) throw new Error('no slot')
    taken++
    return () => taken--
  }
  const more = { takeSlot }
  const first = come('/pods', more)
  const others = [come('/pods', more), come('/pods', more)]
  await clock.advance(1000)
  t.same(
    others.map(({ failure }) => failure?.message),
    ['no slot', 'no slot'],
  )
  t.throws(() => come('/nodes', more), { message: 'no slot' })
  first.leave()
  t.equal(taken, 0)
  const again = come('/nodes', more)
  answer(upstream.questions[1]!, 'a')
  t.equal(again.body, 'a')
  t.equal(taken, 0)
  t.equal(clock.pendingTimers, 0)
})

/** Sends pieces until the answer is paused, or has so many bytes. */
function pour({ sink }: AskedQuestion, maxBytes: number): number {
  const piece = Buffer.alloc(megabyte)
  let bytes = 0
  while (bytes < maxBytes) {
    bytes += piece.length
    if (!sink.data(piece)) break
  }
  return bytes
}

t.test('a client that does not read holds the others up only at the bound', async t => {
  const { upstream, come, clock } = world()
  come()
  const slow = come()
  const quick = [come(), come()]
  answer(upstream.questions[0]!, 'x')
  const shared = upstream.questions[1]!
  slow.isFull = true
  shared.sink.started(200, {})
  t.equal(pour(shared, 32 * megabyte), 32 * megabyte, 'half of the bound')
  for (const { bytes } of quick) t.equal(bytes, 32 * megabyte)
  t.equal(slow.bytes, megabyte)
  const more = pour(shared, 1024 * megabyte)
  t.ok(more < 40 * megabyte, `paused after ${more} bytes more`)
  t.equal(shared.resumed, 0)
  await clock.advance(9_999)
  t.equal(slow.end, undefined)
  await clock.advance(1)
  t.equal(slow.end, 'failed')
  t.match(slow.failure?.message, /too slowly/)
  t.equal(shared.resumed, 1)
  pour(shared, 200 * megabyte)
  shared.sink.ended({})
  await clock.advance(0)
  for (const client of quick) {
    t.match(client, { end: 'ended', bytes: (32 + 200) * megabyte + more })
  }
  t.equal(clock.pendingTimers, 0)
})

t.test('clients who all read slowly are waited for', async t => {
  const { upstream, come, clock } = world()
  come()
  const slow = [come(), come()]
  answer(upstream.questions[0]!, 'x')
  const shared = upstream.questions[1]!
  for (const client of slow) client.isFull = true
  shared.sink.started(200, {})
  const poured = pour(shared, 100 * megabyte)
  t.ok(poured <= 3 * megabyte)
  await clock.advance(60_000)
  for (const client of slow) {
    t.equal(client.end, undefined)
    client.drain()
  }
  t.equal(shared.resumed, 1)
  shared.sink.ended({})
  await clock.advance(0)
  for (const client of slow) t.match(client, { end: 'ended', bytes: poured })
})

t.test('where much is kept already, each read asks by itself', async t => {
  const { upstream, come, clock } = world()
  const slow: Client[] = []
  for (const key of ['/a', '/b', '/c']) {
    come(key)
    const clients = [come(key), come(key)]
    answer(upstream.questions.at(-1)!, 'x')
    const shared = upstream.questions.at(-1)!
    clients[0]!.isFull = true
    slow.push(clients[0]!)
    shared.sink.started(200, {})
    pour(shared, 60 * megabyte)
  }
  come('/d')
  const others = [come('/d'), come('/d')]
  const before = upstream.questions.length
  answer(upstream.questions.at(-1)!, 'x')
  await clock.advance(0)
  t.equal(upstream.questions.length, before + 2)
  for (const question of upstream.questions.slice(before)) answer(question, 'own')
  for (const other of others) t.match(other, { body: 'own', end: 'ended', sharedWith: 0 })
  for (const client of slow) client.leave()
  come('/e')
  const together = [come('/e'), come('/e')]
  answer(upstream.questions.at(-1)!, 'x')
  answer(upstream.questions.at(-1)!, 'y')
  await clock.advance(0)
  for (const client of together) t.match(client, { body: 'y', sharedWith: 2 })
})

t.test('identical is what the upstream cannot tell apart', t => {
  const keyOf = (path: string, more: Partial<ForwardRequest> = {}): string | undefined =>
    collapseKey(parseTarget(path)!, requestOf(path, more))
  const list = '/api/v1/namespaces/default/pods'
  const key = keyOf(list)
  t.type(key, 'string')
  const { headers } = requestOf(list)
  const same = ['X-Forwarded-For', '10.0.0.9', 'traceparent', '00-1-2-01', 'tracestate', 'a=b']
  t.equal(keyOf(list, { headers: [...headers, ...same] }), key)
  const others: readonly [string, string | undefined][] = [
    ['query', keyOf(`${list}?limit=5`)],
    ['connections', keyOf(list, { as: 'ourselves' })],
    [
      'token',
      keyOf(list, { headers: ['Accept', 'application/json', 'Authorization', 'Bearer b'] }),
    ],
    ...[
      ['Impersonate-User', 'jane'],
      ['X-Remote-Group', 'b'],
      ['X-Remote-Extra-scopes', 'c'],
      ['Accept-Encoding', 'gzip'],
      ['User-Agent', 'curl/8'],
      ['Cookie', 'a'],
      ['Audit-ID', '1'],
    ].map(([name = '', value = '']): [string, string | undefined] => [
      name,
      keyOf(list, { headers: [...headers, name, value] }),
    ]),
  ]
  for (const [what, other] of others) t.not(other, key, what)
  t.equal(new Set(others.map(([, other]) => other)).size, others.length)
  t.end()
})

t.test('what is no plain read is asked for alone', t => {
  const list = '/api/v1/namespaces/default/pods'
  const plain = requestOf(list)
  const body = { async *pieces() {}, trailers: () => [] }
  const rows: readonly [string, string, Partial<ForwardRequest>][] = [
    ['a write', list, { method: 'POST' }],
    ['HEAD', list, { method: 'HEAD' }],
    ['a body', list, { body }],
    ['a watch', `${list}?watch=1`, { isLongRunning: true }],
    ['an old watch path', '/api/v1/watch/pods', {}],
    ['a log', `${list}/a/log`, {}],
    ['a subresource', `${list}/a/status`, {}],
    ['discovery, which depends on the address', '/api', {}],
    ['discovery of a version', '/apis/apps/v1', {}],
    ['another path', '/metrics', {}],
    ['a path that servers read differently', '/api/v1/namespaces/default//pods', {}],
    ...['If-None-Match', 'If-Modified-Since', 'Range'].map(
      (name): [string, string, Partial<ForwardRequest>] => [
        name,
        list,
        { headers: [...plain.headers, name, 'x'] },
      ],
    ),
  ]
  for (const [what, path, more] of rows) {
    t.equal(collapseKey(parseTarget(path)!, requestOf(path, more)), undefined, what)
  }
  t.end()
})

/** One random course of clients and answers. */
class Course {
  readonly random: Random
  readonly world = world()
  readonly clients: { readonly client: Client; readonly cameAfter: number }[] = []
  readonly #sent = new Map<AskedQuestion, { state: 'asked' | 'begun' | 'over'; body: string }>()

  constructor(seed: number) {
    this.random = createRandom(seed)
  }

  #any<T>(all: readonly T[]): T | undefined {
    return all[randomInt(this.random, 0, Math.max(0, all.length - 1))]
  }

  get #open(): AskedQuestion[] {
    const { questions } = this.world.upstream
    return questions.filter(one => !one.isAborted && this.sent(one).state !== 'over')
  }

  sent(question: AskedQuestion): { state: 'asked' | 'begun' | 'over'; body: string } {
    const known = this.#sent.get(question) ?? { state: 'asked' as const, body: '' }
    this.#sent.set(question, known)
    return known
  }

  async step(): Promise<void> {
    const chance = randomInt(this.random, 0, 99)
    const waiting = this.clients.filter(({ client }) => client.end === undefined && !client.hasLeft)
    const client = this.#any(waiting)?.client
    if (chance < 45) this.#come()
    else if (chance < 50) client?.leave()
    else if (chance < 55 && client !== undefined) client.isFull = true
    else if (chance < 65 && client?.isFull === true) client.drain()
    else if (chance < 95) this.#answer(this.#any(this.#open))
    else await this.world.clock.advance(randomInt(this.random, 0, 700))
  }

  #come(): void {
    const cameAfter = this.world.upstream.questions.length
    const client = this.world.come(this.#any(['/a user=a', '/a user=b', '/b user=a']))
    this.clients.push({ client, cameAfter })
  }

  #answer(question: AskedQuestion | undefined): void {
    if (question === undefined) return
    const sent = this.sent(question)
    const { sink, request } = question
    const id = this.world.upstream.questions.indexOf(question)
    const chance = randomInt(this.random, 0, 9)
    if (chance === 0) {
      sent.state = 'over'
      sink.failed(new Error('cut'))
    } else if (sent.state === 'asked') {
      sent.state = 'begun'
      sink.started(200, { id: String(id), path: request.path })
    } else if (chance < 7) {
      const piece = `${id}.${sent.body.length} `
      sent.body += piece
      sink.data(Buffer.from(piece))
    } else {
      sent.state = 'over'
      sink.ended({})
    }
  }

  async finish(): Promise<void> {
    for (;;) {
      for (const { client } of this.clients) if (client.isFull) client.drain()
      await this.world.clock.advance(1000)
      const [open] = this.#open
      if (open === undefined) return
      const sent = this.sent(open)
      if (sent.state === 'asked') {
        open.sink.started(200, { id: this.#idOf(open), path: open.request.path })
      }
      sent.state = 'over'
      open.sink.ended({})
    }
  }

  #idOf(question: AskedQuestion): string {
    return String(this.world.upstream.questions.indexOf(question))
  }
}

t.test(
  'in any course each client has one whole answer that was asked for after it came',
  async t => {
    let shared = 0
    for (let seed = 1; seed <= 150; seed++) {
      const course = new Course(seed)
      for (let i = 0; i < 200; i++) await course.step()
      await course.finish()
      const { questions } = course.world.upstream
      for (const { client, cameAfter } of course.clients) {
        if (client.late > 0) t.fail(`seed ${seed}: told after its end`)
        if (client.hasLeft) continue
        if (client.end === undefined) t.fail(`seed ${seed}: never answered`)
        if (client.code === 0) continue
        const id = Number(client.headers['id'])
        const question = questions[id]!
        if (id < cameAfter) t.fail(`seed ${seed}: asked before it came`)
        if (client.headers['path'] !== client.key) t.fail(`seed ${seed}: another read's answer`)
        const { body } = course.sent(question)
        const isWhole = client.end === 'ended' ? client.body === body : body.startsWith(client.body)
        if (!isWhole) t.fail(`seed ${seed}: ${client.body} of ${body}`)
        if (client.sharedWith > 1) shared++
      }
      const left = course.world.clock.pendingTimers
      if (left > 0) t.fail(`seed ${seed}: ${left} timers are left`)
      const before = questions.length
      course.world.come('/a user=a')
      if (questions.length !== before + 1) t.fail(`seed ${seed}: a line is left`)
    }
    t.ok(shared > 1000, `${shared} shared answers`)
  },
)
