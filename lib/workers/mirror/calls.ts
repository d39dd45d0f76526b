/** Calls of etcd for a worker, in the main thread. */

import { CacheError } from '@watchglass/base'
import type { Client, OperationResult, RangeResponse } from '@watchglass/etcd'
import type { KeyValue } from '@watchglass/store'
import { EntryWriter } from './entries.ts'
import {
  type AnswerMessage,
  type CallMessage,
  type EntriesMessage,
  messageOfFailure,
  type RemoteOperation,
  type RemoteRange,
  type RemoteResult,
} from './messages.ts'
import { RecordWriter } from './record.ts'

/** The number of one thread's calls that may be under way. */
const callsMax = 2_000

export class Calls {
  readonly #clients: readonly Client[]
  readonly #send: (answer: AnswerMessage) => void
  readonly #underWay = new Map<number, AbortController>()

  constructor(clients: readonly Client[], send: (answer: AnswerMessage) => void) {
    this.#clients = clients
    this.#send = send
  }

  async begin(id: number, client: number, call: CallMessage): Promise<void> {
    const abandoned = new AbortController()
    try {
      if (this.#underWay.size >= callsMax) {
        throw new CacheError('overloaded', `${callsMax} calls of etcd are under way`, {
          retryAfterMs: 1000,
        })
      }
      this.#underWay.set(id, abandoned)
      const result = await this.#call(client, call, abandoned.signal)
      if (!abandoned.signal.aborted) this.#send({ type: 'called', id, result })
    } catch (error) {
      const failure = messageOfFailure(CacheError.from(error, 'source_failed'))
      if (!abandoned.signal.aborted) this.#send({ type: 'call-failed', id, failure })
    } finally {
      this.#underWay.delete(id)
    }
  }

  abandon(id: number): void {
    this.#underWay.get(id)?.abort()
  }

  end(): void {
    for (const call of this.#underWay.values()) call.abort()
  }

  async #call(number: number, call: CallMessage, signal: AbortSignal): Promise<RemoteResult> {
    const client = this.#clients[number]
    if (client === undefined) throw new CacheError('invalid_request', `no etcd ${number}`)
    if (call.method === 'range') {
      const response = await client.range(call.request, signal)
      return { method: 'range', response: messageOfRange(response) }
    }
    if (call.method === 'grantLease') {
      const lease = await client.grantLease(call.ttlSeconds, call.id, signal)
      return { method: 'grantLease', lease }
    }
    const { results, ...rest } = await client.txn(call.request, signal)
    return { method: 'txn', response: { ...rest, results: results.map(messageOfOperation) } }
  }
}

export function messageOfEntries(entries: readonly KeyValue[]): EntriesMessage {
  const writer = new EntryWriter(new RecordWriter(), { idOf: () => undefined })
  for (const entry of entries) writer.entry(entry)
  return { bytes: new Uint8Array(writer.record.bytes), count: entries.length }
}

function messageOfRange({ entries, ...rest }: RangeResponse): RemoteRange {
  return { ...rest, entries: messageOfEntries(entries) }
}

function messageOfOperation(result: OperationResult): RemoteOperation {
  return result.type === 'range'
    ? { type: 'range', response: messageOfRange(result.response) }
    : result
}
