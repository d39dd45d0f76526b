/** The same watch stream on two servers: the same watchers are made and canceled on both, and what
 *  each is told is compared. How events are packed into responses is up to the server, so events
 *  are compared one by one. */

import assert from 'node:assert/strict'
import type { ClientDuplexStream } from '@grpc/grpc-js'
import { type Random, randomInt, randomItem } from '../../../lib/base/random.ts'
import { type Message, type RawEtcd, withoutIds } from '../../support/etcd/raw-etcd.ts'
import type { Pair } from './differential.ts'
import { patient } from '../../support/patience.ts'

const broadcastId = '-1'

export class WatchPair {
  readonly #real: Side
  readonly #ours: Side
  /** Watchers that were made and not canceled. */
  readonly #ids = new Set<string>()
  #nextId = 1000
  #compared = 0

  constructor(pair: Pair) {
    this.#real = new Side(pair.real)
    this.#ours = new Side(pair.ours)
  }

  /** Number of notices compared. */
  get compared(): number {
    return this.#compared
  }

  /** Makes a watcher, or cancels one, or one that there is not. */
  async change(
    random: Random,
    { watcher, compactRevision }: { watcher: Message; compactRevision: number },
  ): Promise<void> {
    const mayCreate = this.#ids.size < 10
    if (mayCreate && random.next() < 0.8) {
      await this.#create(this.#withId(random, watcher), compactRevision)
    } else if (this.#ids.size > 0) {
      await this.#cancel(randomItem(random, [...this.#ids]))
    }
    if (random.next() < 0.1) this.#send({ cancelRequest: { watchId: '12345' } })
  }

  /** Waits until both servers have told everything up to `revision`, and compares it. Watchers that
   *  were ended by a compaction, or that wait for a later revision, keep a server from telling
   *  progress, so they are canceled first. */
  async settle(revision: number): Promise<void> {
    for (const id of this.#ids) {
      const { isCanceled, startRevision } = this.#real.watcher(id)
      if (isCanceled || startRevision > revision) await this.#cancel(id)
    }
    if (this.#ids.size > 0) {
      await Promise.all([this.#real.untilProgress(revision), this.#ours.untilProgress(revision)])
    }
    // Before 3.4.25 and 3.5.8 etcd's progress may overtake events: ours does not, so it says how
    // many there must be.
    await this.#real.untilNotices(this.#ours.noticeCount)
    this.#compare()
  }

  close(): void {
    this.#real.close()
    this.#ours.close()
  }

  /** Lets the server choose an id, chooses one, or asks for one that is taken. */
  #withId(random: Random, request: Message): Message {
    const roll = random.next()
    if (roll < 0.5) return request
    if (roll < 0.9 || this.#ids.size === 0) {
      this.#nextId += randomInt(random, 1, 3)
      return { ...request, watchId: String(this.#nextId) }
    }
    return { ...request, watchId: randomItem(random, [...this.#ids]) }
  }

  async #create(request: Message, compactRevision: number): Promise<void> {
    this.#send({ createRequest: request })
    const startRevision = Number(request['startRevision'])
    const [real, ours] = await Promise.all([
      this.#real.untilCreated(startRevision),
      this.#ours.untilCreated(startRevision),
    ])
    assert.deepEqual(ours, real, `watch ${JSON.stringify(request)}`)
    if (real['canceled'] === true) return
    const id = idOf(real)
    this.#ids.add(id)
    if (startRevision > 0 && startRevision < compactRevision) {
      await Promise.all([this.#real.untilEnded(id), this.#ours.untilEnded(id)])
    }
  }

  async #cancel(id: string): Promise<void> {
    this.#send({ cancelRequest: { watchId: id } })
    this.#ids.delete(id)
    await Promise.all([this.#real.untilCanceled(id), this.#ours.untilCanceled(id)])
  }

  #send(message: Message): void {
    this.#real.send(message)
    this.#ours.send(message)
  }

  #compare(): void {
    const real = this.#real.take()
    const ours = this.#ours.take()
    assert.deepEqual([...ours.keys()].sort(), [...real.keys()].sort(), 'watchers with events')
    for (const [id, notices] of real) {
      assert.deepEqual(ours.get(id), notices, `events of watcher ${id}`)
      this.#compared += notices.length
    }
  }
}

interface Watcher {
  /** Notices in order: events, and that it was canceled. */
  notices: Message[]
  startRevision: number
  isCanceled: boolean
  /** Canceled by request: what was sent in between is not the same on both servers. */
  isCanceledByClient: boolean
}

/** The stream on one server. */
class Side {
  readonly #stream: ClientDuplexStream<Message, Message>
  readonly #watchers = new Map<string, Watcher>()
  #progress = 0
  #created: Message[] = []
  #wake: (() => void) | undefined
  #failure: Error | undefined

  constructor(server: RawEtcd) {
    this.#stream = server.stream('Watch', 'Watch')
    this.#stream.on('data', (message: Message) => {
      this.#receive(message)
      this.#wake?.()
    })
    this.#stream.on('error', error => {
      this.#failure = error
      this.#wake?.()
    })
  }

  watcher(id: string): Watcher {
    const watcher = this.#watchers.get(id)
    if (watcher === undefined) throw new Error(`no watcher ${id}`)
    return watcher
  }

  send(message: Message): void {
    this.#stream.write(message)
  }

  async untilCreated(startRevision: number): Promise<Message> {
    await this.#until(() => this.#created.length > 0)
    const [message] = this.#created.splice(0) as [Message]
    const watcher = this.#watchers.get(idOf(message))
    if (watcher !== undefined) watcher.startRevision = startRevision
    return withoutIds(message)
  }

  /** Waits until the server has ended the watcher by itself. */
  async untilEnded(id: string): Promise<void> {
    const watcher = this.watcher(id)
    await this.#until(() => watcher.isCanceled)
  }

  async untilCanceled(id: string): Promise<void> {
    const watcher = this.watcher(id)
    const count = watcher.notices.filter(({ canceled }) => canceled).length
    // One that was ended by a compaction is told a second time.
    await this.#until(() => watcher.notices.filter(({ canceled }) => canceled).length > count)
    watcher.isCanceledByClient = true
  }

  async untilProgress(revision: number): Promise<void> {
    this.#progress = 0
    while (this.#progress < revision) {
      this.send({ progressRequest: {} })
      // A server drops the request while a watcher is behind.
      const turn = new Promise<void>(resolve => setTimeout(resolve, 15))
      await Promise.race([this.#until(() => this.#progress >= revision), turn])
    }
  }

  /** Number of notices of compared watchers since the last time. */
  get noticeCount(): number {
    let count = 0
    for (const { notices, isCanceledByClient } of this.#watchers.values()) {
      if (!isCanceledByClient) count += notices.length
    }
    return count
  }

  /** Waits for so many notices, but not for ever: the comparison says what is missing. */
  async untilNotices(count: number): Promise<void> {
    let isLate = false
    const deadline = setTimeout(() => {
      isLate = true
      this.#wake?.()
    }, patient(5000))
    await this.#until(() => isLate || this.noticeCount >= count)
    clearTimeout(deadline)
  }

  /** Notices of watchers since the last time. */
  take(): Map<string, Message[]> {
    const taken = new Map<string, Message[]>()
    for (const [id, watcher] of this.#watchers) {
      if (watcher.notices.length > 0 && !watcher.isCanceledByClient) taken.set(id, watcher.notices)
      watcher.notices = []
      if (watcher.isCanceledByClient) this.#watchers.delete(id)
    }
    return taken
  }

  close(): void {
    this.#stream.removeAllListeners()
    this.#stream.on('error', () => undefined)
    this.#stream.cancel()
  }

  #receive(message: Message): void {
    const id = idOf(message)
    if (message['created'] === true) {
      this.#created.push(message)
      if (message['canceled'] !== true) {
        this.#watchers.set(id, {
          notices: [],
          startRevision: 0,
          isCanceled: false,
          isCanceledByClient: false,
        })
      }
      return
    }
    const events = message['events'] as Message[] | undefined
    if (id === broadcastId || (events === undefined && message['canceled'] !== true)) {
      this.#progress = Number((message['header'] as Message)['revision'])
      return
    }
    const watcher = this.#watchers.get(id)
    if (watcher === undefined) throw new Error(`events of watcher ${id}, which there is not`)
    if (events !== undefined) watcher.notices.push(...events)
    if (message['canceled'] === true) {
      const { header: _header, ...notice } = message
      watcher.notices.push(notice)
      watcher.isCanceled = true
    }
  }

  async #until(isMet: () => boolean): Promise<void> {
    while (!isMet()) {
      if (this.#failure !== undefined) throw this.#failure
      await new Promise<void>(resolve => {
        const before = this.#wake
        this.#wake = () => {
          before?.()
          resolve()
        }
      })
      if (isMet()) this.#wake = undefined
    }
  }
}

function idOf(message: Message): string {
  return (message['watchId'] as string | undefined) ?? '0'
}
