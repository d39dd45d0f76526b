/** Responses to watchers of a large transaction: made in steps, once for all who are told the same,
 *  and only for clients that take them. Work is counted in events that are looked at. */

import t from 'tap'
import type { Key } from '../../../lib/base/keys.ts'
import { createRandom, type Random, randomInt } from '../../../lib/base/random.ts'
import { type Revision, revision } from '../../../lib/base/revision.ts'
import { fragmentsOf, headBytesOf } from '../../../lib/etcd-server/engine/fragments.ts'
import type { Lane, Scheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import type {
  BatchSource,
  WatchConnection,
  WatchHome,
} from '../../../lib/etcd-server/engine/watches/batch-source.ts'
import type { ResponsePart } from '../../../lib/etcd-server/engine/watches/response-part.ts'
import { SharedBatches } from '../../../lib/etcd-server/engine/watches/shared-batches.ts'
import { WatcherStream } from '../../../lib/etcd-server/engine/watches/watcher-stream.ts'
import type { HeaderMessage } from '../../../lib/etcd/proto/kv-messages.ts'
import type { WatchEvent } from '../../../lib/etcd/proto/key-value.ts'
import {
  type WatchCreateMessage,
  watchFilter,
  watchResponseCodec,
  type WatchResponseMessage,
} from '../../../lib/etcd/proto/watch-messages.ts'
import { type Batch, type Event, KeyValue } from '../../../lib/store/event.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const count = 60_000
/** Events of a step, each of which may be looked at a few times. */
const stepMax = 25_000

/** Events that were looked at so far. */
let looks = 0

class CountedEvent implements Event {
  readonly #key: Key
  readonly before: KeyValue | undefined
  readonly after: KeyValue | undefined

  constructor(key: Key, before: KeyValue | undefined, after: KeyValue | undefined) {
    this.#key = key
    this.before = before
    this.after = after
  }

  get key(): Key {
    looks++
    return this.#key
  }
}

/** Tasks that the test runs one by one. */
class Tasks implements Scheduler {
  readonly #tasks: (() => void)[] = []
  /** Most events that were looked at in one of them. */
  longest = 0
  steps = 0

  createLane(): Lane {
    let isClosed = false
    const post = (task: () => void): void =>
      void this.#tasks.push(() => {
        if (!isClosed) task()
      })
    return { post, postFirst: post, close: () => (isClosed = true) }
  }

  run(): void {
    for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) {
      this.step(task)
    }
  }

  step(task: () => void): void {
    const before = looks
    task()
    this.steps++
    this.longest = Math.max(this.longest, looks - before)
  }
}

/** A source of one batch and more, and the home of streams. */
class TestSource implements BatchSource, WatchHome {
  revision = revision(9)
  compactRevision = -1
  readonly oldestBatch = 1
  readonly isServed = true
  readonly isCutOff = false
  readonly isProgressSound = true
  readonly progressOvertakesEvents = false
  readonly answersProgressLater = false
  readonly elsewhere = undefined
  readonly #batches: Batch[] = []
  readonly #streams: WatcherStream[] = []
  readonly #shared = new SharedBatches()
  readonly #header = { clusterId: 1n << 63n, memberId: 2n, raftTerm: 3n }
  readonly tasks = new Tasks()

  get newest(): Revision {
    return this.revision
  }

  get syncedStart(): number {
    return this.revision
  }

  header(at: number): HeaderMessage {
    return { ...this.#header, revision: at }
  }

  *batches(from: Revision): Iterable<Batch> {
    yield* this.#batches.filter(batch => batch.revision >= from)
  }

  sourceOf(): BatchSource {
    return this
  }

  isSameHistory(): boolean {
    return true
  }

  mayWatch(): boolean {
    return true
  }

  refresh(): void {}

  open(connection: WatchConnection): WatcherStream {
    const stream = new WatcherStream({
      home: this,
      connection,
      clock: new FakeClock(),
      random: createRandom(1),
      progressIntervalMs: 1000,
      requiresLeader: false,
      shared: this.#shared,
      lane: this.tasks.createLane(),
      closed: () => {},
    })
    this.#streams.push(stream)
    return stream
  }

  /** Applies a batch, in one step as a member does, and whatever follows of it. */
  apply(events: readonly Event[]): void {
    this.revision = revision(this.revision + 1)
    const batch = { revision: this.revision, events, appliedAtMs: 0 }
    this.#batches.push(batch)
    this.tasks.step(() => {
      const told = this.#shared.eventsOf(batch)
      for (const stream of this.#streams) stream.applied(this, told)
    })
    this.tasks.run()
  }
}

/** A client: the messages that it was sent, and whether it takes more. */
class TestClient implements WatchConnection {
  readonly messages: Buffer[] = []
  parts = 0
  /** Parts that it takes before it takes no more. */
  room = Infinity
  #pieces: Buffer[] = []

  send(response: WatchResponseMessage): boolean {
    this.messages.push(watchResponseCodec.encode(response))
    return true
  }

  sendFirst(response: WatchResponseMessage): void {
    this.send(response)
  }

  sendPart(part: ResponsePart): boolean {
    this.parts++
    this.room--
    if (part.isFirst) this.#pieces.push(watchResponseCodec.encode(part.response))
    this.#pieces.push(part.bytes())
    if (part.isLast) this.messages.push(Buffer.concat(this.#pieces.splice(0)))
    return this.room > 0
  }

  end(): void {}

  /** The responses with events. */
  get told(): WatchResponseMessage[] {
    return this.messages
      .map(bytes => watchResponseCodec.decode(bytes))
      .filter(({ events }) => events.length > 0)
  }
}

function watch(stream: WatcherStream, fields: Partial<WatchCreateMessage>): void {
  const value = {
    key: '/k/' as Key,
    rangeEnd: '/k0' as Key,
    startRevision: 0,
    progressNotify: false,
    filters: [],
    previous: false,
    watchId: 0n,
    fragment: false,
    ...fields,
  }
  stream.handle({ type: 'create', value })
}

function keyOf(i: number): Key {
  return `/k/${String(i).padStart(6, '0')}` as Key
}

function entryOf(key: Key, size: number, at = 5): KeyValue {
  const bytes = Buffer.alloc(size, key)
  const meta = { createRevision: revision(4), modRevision: revision(at), version: 3, lease: 0n }
  return new KeyValue(key, { bytes, start: 0, end: size }, meta)
}

function deletes(size = 0): Event[] {
  return Array.from({ length: count }, (_, i) => {
    const key = keyOf(i)
    return new CountedEvent(key, entryOf(key, size), undefined)
  })
}

t.test('60,000 deletes are made once for a hundred watchers, in steps', async t => {
  const source = new TestSource()
  const clients = Array.from({ length: 100 }, () => {
    const client = new TestClient()
    watch(source.open(client), {})
    return client
  })
  looks = 0
  source.apply(deletes())
  t.ok(source.tasks.longest <= stepMax, `${source.tasks.longest} in the longest step`)
  t.ok(looks <= 6 * count, `${looks} events in all`)
  const [first] = clients
  t.strictSame(
    first!.told.map(({ events, fragment }) => [events.length, fragment]),
    [[count, false]],
    'a watcher without fragments has one response',
  )
  const lengths = new Set(clients.map(({ messages }) => messages.at(-1)!.length))
  t.strictSame([...lengths], [first!.messages.at(-1)!.length])
  t.strictSame(first!.told[0]!.events.map(({ key }) => key).slice(0, 2), [keyOf(0), keyOf(1)])
})

t.test('ten thousand watchers of other keys cost a search each', async t => {
  const source = new TestSource()
  const client = new TestClient()
  const stream = source.open(client)
  for (let i = 0; i < 10_000; i++) watch(stream, { key: `/other/${i}` as Key, rangeEnd: '' as Key })
  watch(stream, { key: keyOf(7), rangeEnd: '' as Key })
  looks = 0
  source.apply(deletes())
  t.ok(source.tasks.longest <= stepMax, `${source.tasks.longest} in the longest step`)
  t.ok(looks <= 3 * count + 10_001 * 40, `${looks} events in all`)
  t.strictSame(
    client.told.map(({ watchId, events }) => [watchId, events.map(({ key }) => key)]),
    [[10_000n, [keyOf(7)]]],
  )
})

t.test('many watchers of batches that are not large take turns, too', async t => {
  const source = new TestSource()
  const client = new TestClient()
  const stream = source.open(client)
  for (let i = 0; i < 2000; i++) watch(stream, { key: `/other/${i}` as Key, rangeEnd: '' as Key })
  watch(stream, { key: keyOf(7), rangeEnd: '' as Key })
  source.apply(deletes().slice(0, 900))
  t.ok(source.tasks.longest <= 5 * stepMax, `${source.tasks.longest} in the longest step`)
  t.equal(client.told.length, 1)
})

t.test('a client that takes nothing makes no work', async t => {
  const source = new TestSource()
  const client = new TestClient()
  const stream = source.open(client)
  watch(stream, {})
  client.room = 3
  looks = 0
  source.apply(deletes())
  t.equal(client.parts, 3)
  t.notOk(stream.takesRequests)
  const before = looks
  source.tasks.run()
  t.equal(looks, before, 'nothing is made ahead')
  watch(stream, { watchId: 5n })
  source.apply([new CountedEvent('/k/new' as Key, undefined, entryOf('/k/new' as Key, 3, 11))])
  t.equal(client.told.length, 0, 'nothing comes in between')
  client.room = Infinity
  stream.resume()
  source.tasks.run()
  const responses = client.messages.map(bytes => watchResponseCodec.decode(bytes))
  t.strictSame(
    responses.map(({ watchId, created, events }) => [watchId, created, events.length]),
    [
      [0n, true, 0],
      [0n, false, count],
      [5n, true, 0],
      [0n, false, 1],
      [5n, false, 1],
    ],
  )
  t.ok(stream.takesRequests)
})

t.test('a stream that ends in between gives back what it shares', async t => {
  const source = new TestSource()
  const clients = [new TestClient(), new TestClient()]
  const streams = clients.map(client => source.open(client))
  for (const stream of streams) watch(stream, {})
  for (const client of clients) client.room = 2
  source.apply(deletes())
  streams[0]!.close()
  clients[1]!.room = Infinity
  streams[1]!.resume()
  source.tasks.run()
  t.strictSame(
    clients.map(({ told }) => told.length),
    [0, 1],
  )
})

/** A batch as a transaction of several operations may have it: runs of keys that ascend. */
function randomBatch(random: Random): Event[] {
  const events: Event[] = []
  const runs = randomInt(random, 1, 12)
  for (let run = 0; run < runs; run++) {
    const length = randomInt(random, 1, 400)
    for (let i = 0; i < length; i++) {
      const key = `/k/${randomInt(random, 0, 9)}${run}/${String(i).padStart(4, '0')}` as Key
      const size = randomInt(random, 0, random.next() < 0.01 ? 700_000 : 5000)
      const before = random.next() < 0.8 ? entryOf(key, size) : undefined
      const isDelete = before !== undefined && random.next() < 0.6
      events.push(new CountedEvent(key, before, isDelete ? undefined : entryOf(key, size, 10)))
    }
  }
  // One that is large in any case.
  return [...events, new CountedEvent('/k/z' as Key, entryOf('/k/z' as Key, 5e6), undefined)]
}

/** The responses of a batch as they are where everything is made at once. */
function expected(
  events: readonly Event[],
  watcher: Partial<WatchCreateMessage>,
  head: WatchResponseMessage,
): Buffer[] {
  const { key = '/k/', rangeEnd = '/k0', filters = [], previous = false, fragment } = watcher
  const wanted: WatchEvent[] = events
    .filter(event => event.key >= key && event.key < rangeEnd)
    .filter(({ after }) => !filters.includes(after === undefined ? 1 : 0))
    .map(({ key: name, before, after }) => ({
      key: name,
      revision: revision(10),
      after,
      previous: previous ? before : undefined,
    }))
  if (wanted.length === 0) return []
  const parts = fragment === true ? fragmentsOf(wanted, headBytesOf(head)) : [wanted]
  return parts.map((part, i) =>
    watchResponseCodec.encode({ ...head, events: part, fragment: i < parts.length - 1 }),
  )
}

t.test('the bytes are those of a response that is made at once', async t => {
  const random = createRandom(Number(process.env['SEED'] ?? 56))
  const watchers: Partial<WatchCreateMessage>[] = [
    {},
    { previous: true },
    { fragment: true },
    { fragment: true, previous: true },
    { filters: [watchFilter.noPut], previous: true },
    { filters: [watchFilter.noDelete] },
    { filters: [watchFilter.noDelete, watchFilter.noPut] },
    { key: '/k/3' as Key, rangeEnd: '/k/6' as Key, fragment: true },
    { key: '/none' as Key, rangeEnd: '/nonf' as Key },
  ]
  for (let round = 0; round < 5; round++) {
    const source = new TestSource()
    const clients = watchers.map(fields => {
      const client = new TestClient()
      watch(source.open(client), { ...fields, watchId: 300n })
      return client
    })
    const events = randomBatch(random)
    source.apply(events)
    const head = watchResponseCodec.decode(
      watchResponseCodec.encode({
        ...watchResponseCodec.decode(Buffer.alloc(0)),
        header: source.header(10),
        watchId: 300n,
      }),
    )
    for (const [i, client] of clients.entries()) {
      const told = client.messages.slice(1)
      const wanted = expected(events, watchers[i]!, head)
      t.equal(told.length, wanted.length, `${told.length} responses of watcher ${i}`)
      t.ok(
        told.every((bytes, at) => bytes.equals(wanted[at]!)),
        `responses of watcher ${i}`,
      )
    }
  }
})
