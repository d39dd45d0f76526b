/** Reads the parts of a range in parallel and returns their pages in key order.
 *
 *  The first unfinished part is read as fast as its pages are taken. The parts after it are read
 *  ahead, up to a bound in bytes over all of them, so that etcd and the decoder have work while a
 *  page is being used. */

import type { NextPart } from './range-parts.ts'

/** A page of a part, with its size. */
export interface SizedPage {
  readonly bytes: number
}

export interface PartReadsOptions<Page extends SizedPage> {
  /** The next part in key order; `undefined` after the last one. Called again only after it has
   *  resolved. */
  readonly nextPart: () => Promise<NextPart | undefined>
  readonly readPart: (part: NextPart) => AsyncIterable<Page>
  /** Parts that are read at the same time. */
  readonly partsAtOnce: number
  /** Bytes of pages that may wait to be taken. */
  readonly aheadMaxBytes: number
}

interface PartRead<Page> {
  readonly pages: Page[]
  isDone: boolean
}

export class PartReads<Page extends SizedPage> {
  readonly #options: PartReadsOptions<Page>
  /** The parts that are being read, or have pages that are not taken, in key order. */
  readonly #reads: PartRead<Page>[] = []
  #waitingBytes = 0
  #readers = 0
  #isStopped = false
  #failure: { readonly error: unknown } | undefined
  /** Parts are requested one after the other, so that they begin in order. */
  #asking: Promise<NextPart | undefined> = Promise.resolve(undefined)
  #wakeAll: () => void = () => {}
  #change: Promise<void> = Promise.resolve()

  constructor(options: PartReadsOptions<Page>) {
    this.#options = options
    this.#awaitChange()
  }

  /** Begins to read before the first page is taken. */
  begin(): void {
    for (let i = 0; i < this.#options.partsAtOnce; i++) void this.#readOn()
  }

  /** Stops reading. */
  stop(): void {
    this.#isStopped = true
    this.#changed()
  }

  /** The next page in key order; `undefined` after the last one. Throws the failure of any part. */
  async next(): Promise<Page | undefined> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.error
      const head = this.#reads[0]
      const page = head?.pages.shift()
      if (page !== undefined) {
        this.#waitingBytes -= page.bytes
        this.#changed()
        return page
      }
      if (head?.isDone === true) {
        this.#reads.shift()
        this.#changed()
      } else if (head === undefined && this.#readers === 0) {
        return undefined
      } else {
        await this.#change
      }
    }
  }

  /** Reads one part after the other until there are no more. */
  async #readOn(): Promise<void> {
    this.#readers++
    try {
      while (!this.#isStopped && this.#failure === undefined && (await this.#readNext()));
    } catch (error) {
      this.#failure ??= { error }
    } finally {
      this.#readers--
      this.#changed()
    }
  }

  async #readNext(): Promise<boolean> {
    while (this.#waitingBytes >= this.#options.aheadMaxBytes && !this.#isStopped) await this.#change
    const read: PartRead<Page> = { pages: [], isDone: false }
    const part = await this.#nextPart(read)
    if (part === undefined) return false
    for await (const page of this.#options.readPart(part)) {
      read.pages.push(page)
      this.#waitingBytes += page.bytes
      this.#changed()
      while (!this.#mayGoOn(read)) await this.#change
      if (this.#isStopped) return false
    }
    read.isDone = true
    this.#changed()
    return true
  }

  /** Requests one part after the other and queues each at once, so that the parts stay in order. */
  #nextPart(read: PartRead<Page>): Promise<NextPart | undefined> {
    this.#asking = this.#asking.then(async () => {
      const part = await this.#options.nextPart()
      if (part !== undefined) this.#reads.push(read)
      return part
    })
    return this.#asking
  }

  #mayGoOn(read: PartRead<Page>): boolean {
    if (this.#isStopped || this.#waitingBytes < this.#options.aheadMaxBytes) return true
    // Pages of later parts cannot be taken before those of this one.
    return this.#reads[0] === read && read.pages.length === 0
  }

  #changed(): void {
    const wakeAll = this.#wakeAll
    this.#awaitChange()
    wakeAll()
  }

  #awaitChange(): void {
    this.#change = new Promise(resolve => {
      this.#wakeAll = resolve
    })
  }
}
