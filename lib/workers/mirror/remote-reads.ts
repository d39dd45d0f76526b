/** Reads of etcd itself by a worker: the thread with the mirrors reads the pages, one at a
 *  time. */

import { CacheError } from '@watchglass/base'
import type { DirectReadRequest, RangePage } from '@watchglass/cache'
import type { KeyValue } from '@watchglass/store'
import { EntryReader } from './entries.ts'
import type { Ask } from './worker-feed.ts'
import { type AnswerMessage, type EntriesMessage, failureOfMessage } from './messages.ts'
import { RecordReader } from './record.ts'
import { SlabShelf } from './slabs.ts'

type PageAnswer = Extract<AnswerMessage, { type: 'page' | 'read-failed' }>

export class RemoteReads {
  readonly #ask: Ask
  readonly #waiting = new Map<number, (answer: PageAnswer) => void>()
  #lastId = 0

  constructor(ask: Ask) {
    this.#ask = ask
  }

  async *read(
    keyspace: string,
    { range, revision, limit, signal }: DirectReadRequest,
  ): AsyncGenerator<RangePage, void, undefined> {
    const id = ++this.#lastId
    this.#ask({ type: 'read', id, keyspace, range, revision, limit })
    let isOpen = true
    try {
      for (;;) {
        const answer = await this.#nextPage(id, signal)
        if (answer.type === 'page' && answer.page !== undefined) {
          yield { ...answer.page, entries: entriesOfMessage(answer.page.entries) }
          continue
        }
        isOpen = false
        if (answer.type === 'read-failed') throw failureOfMessage(answer.failure)
        return
      }
    } finally {
      if (isOpen) this.#ask({ type: 'end-read', id })
    }
  }

  answered(answer: PageAnswer): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    waiting?.(answer)
  }

  #nextPage(id: number, signal: AbortSignal): Promise<PageAnswer> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(id)
        reject(new CacheError('closed', 'paged read was abandoned'))
      }
      if (signal.aborted) {
        leave()
        return
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.set(id, answer => {
        signal.removeEventListener('abort', leave)
        resolve(answer)
      })
      this.#ask({ type: 'next-page', id })
    })
  }
}

/** The empty shelf of records that travel alone: they name no slabs. */
const noSlabs = new SlabShelf(() => {})

export function entriesOfMessage({ bytes, count }: EntriesMessage): KeyValue[] {
  const record = new RecordReader()
  record.begin(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), 0)
  const reader = new EntryReader(record, noSlabs)
  return Array.from({ length: count }, () => reader.entry())
}
