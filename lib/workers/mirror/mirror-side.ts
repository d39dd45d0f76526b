/** The side of the mirrors: feeds the workers, and answers what they ask. It never waits for a
 *  thread. */

import { CacheError, type Clock, type Key, type Revision, Slice } from '@watchglass/base'
import type { Client } from '@watchglass/etcd'
import {
  DeadlineList,
  type KeyspaceOf,
  type Mirrors,
  type OwnMirrors,
  type RangePage,
} from '@watchglass/cache'
import type { KeyValue } from '@watchglass/store'
import { AskedRevision, type Asking, type AskingWorker, AwaitedRevision } from './asking.ts'
import { Calls, messageOfEntries } from './calls.ts'
import { Encoder } from './encoder.ts'
import type { SharedMemory } from './facts.ts'
import { Feeder, type RingLink } from './feeder.ts'
import {
  type AnswerMessage,
  messageOfFailure,
  type PageMessage,
  type QuestionMessage,
} from './messages.ts'
import { MirrorSlots, type NumberedFeed } from './mirror-slots.ts'
import { SlabNames } from './slabs.ts'

export interface MirrorSideOptions {
  readonly mirrors: OwnMirrors
  /** The etcds, which threads call by their numbers. */
  readonly clients: readonly Client[]
  /** Which keyspace a key belongs to. */
  readonly keyspaceOf: KeyspaceOf
  readonly clock: Clock
}

/** The way to a thread and back. */
export interface WorkerLink extends RingLink {
  send(answer: AnswerMessage): void
}

/** A thread that is fed. */
export interface FedWorker {
  ask(question: QuestionMessage): void
  /** The thread has ended. */
  end(): void
}

export class MirrorSide {
  /** The memory that a thread has from its start. */
  readonly memory: SharedMemory
  readonly #options: MirrorSideOptions
  readonly #slots: MirrorSlots
  readonly #encoder: Encoder
  readonly #names: SlabNames
  readonly #threads = new Set<Thread>()
  #isDue = false

  constructor(options: MirrorSideOptions) {
    const { mirrors } = options
    this.#options = options
    this.#slots = new MirrorSlots(mirrors)
    const { layout, seen, mirrorsMax } = this.#slots
    this.memory = {
      layout,
      seen,
      mirrorsMax,
      limits: mirrors.limits,
      ownRevisions: mirrors.mirrors.map(({ ownRevision }) => ownRevision?.memory),
    }
    this.#names = new SlabNames(id => {
      for (const { feeder } of this.#threads) feeder.retired(id)
    })
    this.#encoder = new Encoder(this.#names)
    this.factsChanged()
  }

  /** Feeds a thread from now on. */
  attach(link: WorkerLink): FedWorker {
    const { mirrors } = this.#options
    const feeder = new Feeder({
      link,
      encoder: this.#encoder,
      names: this.#names,
      slots: this.#slots.all,
      proofOf: keyspace => mirrors.proofOf?.(keyspace),
    })
    const thread = new Thread({ ...this.#options, link, feeder, slots: this.#slots })
    this.#threads.add(thread)
    this.#feedSoon()
    return {
      ask: question => thread.take(question),
      end: () => {
        this.#threads.delete(thread)
        thread.end()
      },
    }
  }

  applied(keyspace: string): void {
    this.#changed(keyspace)
  }

  reset(keyspace: string): void {
    this.#changed(keyspace)
  }

  stateChanged(keyspace: string): void {
    this.#changed(keyspace)
  }

  progressed(): void {
    this.#feedSoon()
  }

  /** The value of an entry has another place: without being told, threads would keep the old one in
   *  memory. */
  moved(entry: KeyValue): void {
    const name = this.#options.keyspaceOf(entry.key)
    if (name === undefined || this.#threads.size === 0) return
    for (const { feeder } of this.#threads) feeder.moved(name, entry)
    this.#feedSoon()
  }

  /** A mirror has begun or ended; or its epoch, its compacted revision, or whether its progress can
   *  be trusted has changed. */
  factsChanged(): void {
    const begun = this.#slots.update()
    for (const { feeder } of this.#threads) for (const slot of begun) feeder.begun(slot)
    this.#feedSoon()
  }

  #changed(keyspace: string): void {
    for (const { feeder } of this.#threads) feeder.changed(keyspace)
    this.#feedSoon()
  }

  /** At the end of this turn, so that all changes of one response of etcd are told at once. */
  #feedSoon(): void {
    if (this.#isDue || this.#threads.size === 0) return
    this.#isDue = true
    queueMicrotask(() => {
      this.#isDue = false
      for (const thread of this.#threads) thread.feed()
      this.#encoder.forgetBatches()
    })
  }
}

interface WorkerOptions extends MirrorSideOptions {
  readonly link: WorkerLink
  readonly feeder: Feeder
  readonly slots: MirrorSlots
}

class Thread implements AskingWorker {
  readonly feeder: Feeder
  readonly #link: WorkerLink
  readonly #options: WorkerOptions
  readonly #asking: DeadlineList<Asking>
  readonly #reads = new Map<number, DirectRead>()
  readonly #calls: Calls
  #isFeeding = false
  #isEnded = false

  constructor(options: WorkerOptions) {
    this.feeder = options.feeder
    this.#link = options.link
    this.#options = options
    this.#calls = new Calls(options.clients, answer => options.link.send(answer))
    // One timer for all: with one for each question, they would be a tenth of what a question costs
    // here.
    const { readWaitMaxMs, initialStateWaitMs = 0 } = options.mirrors.limits
    const longestMs = Math.max(readWaitMaxMs, initialStateWaitMs)
    this.#asking = new DeadlineList(options.clock, longestMs, asking => {
      asking.isSettled = true
      asking.expired()
    })
  }

  /** Tells what there is to tell, in slices. */
  feed(): void {
    if (this.#isFeeding || this.#isEnded) return
    const slice = new Slice(this.#options.clock)
    if (this.feeder.run(() => slice.isOver) !== 'more') return
    this.#isFeeding = true
    void this.#options.clock.yield('first').then(() => {
      this.#isFeeding = false
      this.feed()
    })
  }

  end(): void {
    this.#isEnded = true
    this.#asking.takeAll(asking => (asking.isSettled = true))
    for (const read of this.#reads.values()) read.end()
    this.#reads.clear()
    this.#calls.end()
  }

  take(question: QuestionMessage): void {
    if (this.#isEnded) return
    switch (question.type) {
      case 'probe':
        this.#probe(question.mirror, question.id)
        return
      case 'need': {
        const feed = this.#options.slots.feed(question.feed)
        if (feed !== undefined) this.#need(feed, question.revision as Revision)
        // What has been reached is told at once.
        this.feed()
        return
      }
      case 'want':
        this.#options.mirrors.want?.(question.keyspace as Key)
        return
      case 'refresh': {
        const { mirrors } = this.#options
        mirrors.refresh(question.keyspaces.filter(name => mirrors.has(name)))
        return
      }
      case 'room':
        this.feed()
        return
      case 'read':
        this.#reads.set(question.id, new DirectRead(this.#options.mirrors, question))
        return
      case 'next-page':
        void this.#page(question.id)
        return
      case 'end-read':
        this.#reads.get(question.id)?.end()
        this.#reads.delete(question.id)
        return
      case 'call':
        void this.#calls.begin(question.id, question.client, question.call)
        return
      case 'abandon-call':
        this.#calls.abandon(question.id)
    }
  }

  /** Asks for as long as reads may wait. */
  #probe(number: number, id: number): void {
    const mirror = this.#options.slots.all[number]?.mirror
    if (mirror === undefined) return
    const asked = new AskedRevision(this, { mirror, number, id })
    this.#asking.add(asked)
    // A thread puts one question in a turn.
    mirror.probe.ask(asked, 'alone')
  }

  probed(asked: AskedRevision, revision: Revision): void {
    const { mirror, number, id } = asked
    this.#asking.remove(asked)
    const slot = this.#options.slots.all[number]!
    if (slot.mirror !== mirror) {
      // Another one has the number by now.
      this.notProbed(asked, true)
      return
    }
    for (const feed of slot.feeds) this.#need(feed, revision)
    // What has been reached is told before the answer.
    this.feed()
    this.#link.send({ type: 'probed', mirror: number, id, revision, epoch: slot.epoch })
  }

  notProbed({ mirror, number, id }: AskedRevision, isOver: boolean): void {
    const last = mirror.probe.outage.failure
    const failure = last && messageOfFailure(last)
    this.#link.send({ type: 'probe-failed', mirror: number, id, failure, isOver })
  }

  /** Waits in place of the reads of the thread, so that progress is asked for until it comes. Then
   *  the thread is told of it: nothing else tells of progress by a change of what is not
   *  mirrored. */
  #need({ feed }: NumberedFeed, revision: Revision): void {
    const { progress } = feed
    if (progress.revision >= revision) return
    const awaited = new AwaitedRevision(this, progress, revision)
    this.#asking.add(awaited)
    progress.wait(awaited)
    feed.need(revision)
  }

  reached(awaited: AwaitedRevision): void {
    this.#asking.remove(awaited)
    this.feed()
  }

  async #page(id: number): Promise<void> {
    try {
      const page = await this.#reads.get(id)?.next()
      if (page === undefined) this.#reads.delete(id)
      if (!this.#isEnded) this.#link.send({ type: 'page', id, page })
    } catch (error) {
      this.#reads.delete(id)
      const failure = messageOfFailure(CacheError.from(error, 'source_failed'))
      if (!this.#isEnded) this.#link.send({ type: 'read-failed', id, failure })
    }
  }
}

/** A read of etcd itself for a thread, under the bounds that all threads share. */
class DirectRead {
  readonly #abandoned = new AbortController()
  readonly #pages: () => AsyncIterator<RangePage>
  #open: AsyncIterator<RangePage> | undefined = undefined

  constructor(mirrors: Mirrors, question: Extract<QuestionMessage, { type: 'read' }>) {
    const { signal } = this.#abandoned
    this.#pages = () =>
      mirrors.readDirectly(question.keyspace, { ...question, signal })[Symbol.asyncIterator]()
  }

  async next(): Promise<PageMessage | undefined> {
    this.#open ??= this.#pages()
    const { done, value } = await this.#open.next()
    return done === true ? undefined : messageOfPage(value)
  }

  end(): void {
    this.#abandoned.abort()
    void this.#open?.return?.().catch(() => {})
  }
}

function messageOfPage({ entries, ...page }: RangePage): PageMessage {
  return { ...page, entries: messageOfEntries(entries) }
}
