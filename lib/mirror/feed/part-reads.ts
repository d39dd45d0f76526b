/** Reads the parts of a range side by side and hands out their pages in key order.
 *
 *  The first part that is not finished is read as fast as its pages are taken. Parts behind it are read ahead, up to a bound in
 *  bytes over all of them, so that etcd and the decoder have work while a page is being used. */

import type { NextPart } from './range-parts.ts'

/** A page of a part, with what it weighs. */
export interface SizedPage {
  readonly bytes: number
}

export interface PartReadsOptions<Page extends SizedPage> {
  /** The next part in key order; `undefined` after the last one. Asked again only when it has answered. */
  readonly nextPart: () => Promise<NextPart | undefined>
  readonly readPart: (part: NextPart) => AsyncIterable<Page>
  /** Parts that are read at once. */
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
  /** In key order: those that are read, or have pages that nobody has taken. */
  readonly #reads: PartRead<Page>[] = []
  #waitingBytes = 0
  #readers = 0
  #isStopped = false
  #failure: { readonly error: unknown } | undefined
  /** Parts are asked for one after the other, so that they begin in their order. */
  #asking: Promise<NextPart | undefined> = Promise.resolve(undefined)
  #wakeAll: () => void = () => {}
  #change: Promise<void> = Promise.resolve()

  constructor(options: PartReadsOptions<Page>) {
    this.#options = options
    this.#awaitChange()
  }

  /** Begins to read, before anybody takes a page. */
  begin(): void {
    for (let i = 0; i < this.#options.partsAtOnce; i++) void this.#readOn()
  }

  /** Reads no more, whatever is left. */
  stop(): void {
    this.#isStopped = true
    this.#changed()
  }

  /** The next page in key order; `undefined` after the last one. Throws what any of the parts failed with. */
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

  /** One is asked for after the other, and put in line at once, so that the parts stay in their order. */
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
    // Whatever waits behind it cannot be taken before its pages are.
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
