/** etcd for a worker: ranges, transactions and their leases, which the main thread passes on
 *  with its own connection. Everything else that a client can do is the main thread's alone. */

import { CacheError } from '@watchglass/base'
import type { Client, OperationResult, RangeResponse, TxnResponse } from '@watchglass/etcd'
import type { Ask } from './worker-feed.ts'
import {
  type AnswerMessage,
  type CallMessage,
  failureOfMessage,
  type RemoteRange,
  type RemoteResult,
} from './messages.ts'
import { entriesOfMessage } from './remote-reads.ts'

type CallAnswer = Extract<AnswerMessage, { type: 'called' | 'call-failed' }>

export class RemoteClients {
  readonly #ask: Ask
  readonly #waiting = new Map<number, (answer: CallAnswer) => void>()
  #lastId = 0

  constructor(ask: Ask) {
    this.#ask = ask
  }

  /** The client of that number among those of the main thread. */
  client(number: number): Client {
    return {
      range: async (request, signal) => {
        const result = await this.#call(number, { method: 'range', request }, signal)
        if (result.method !== 'range') throw unexpected()
        return rangeOfMessage(result.response)
      },
      txn: async (request, signal) => {
        const result = await this.#call(number, { method: 'txn', request }, signal)
        if (result.method !== 'txn') throw unexpected()
        return txnOfMessage(result)
      },
      watch: refuse,
      compact: refuse,
      grantLease: async (ttlSeconds, id, signal) => {
        const result = await this.#call(number, { method: 'grantLease', ttlSeconds, id }, signal)
        if (result.method !== 'grantLease') throw unexpected()
        return result.lease
      },
      revokeLease: refuse,
      keepLeaseAlive: refuse,
      status: refuse,
      close: async () => {},
    }
  }

  answered(answer: CallAnswer): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    waiting?.(answer)
  }

  #call(client: number, call: CallMessage, signal?: AbortSignal): Promise<RemoteResult> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(new CacheError('closed', 'call was abandoned'))
        return
      }
      const leave = (): void => {
        this.#waiting.delete(id)
        this.#ask({ type: 'abandon-call', id })
        reject(new CacheError('closed', 'call was abandoned'))
      }
      signal?.addEventListener('abort', leave, { once: true })
      this.#waiting.set(id, answer => {
        signal?.removeEventListener('abort', leave)
        if (answer.type === 'called') resolve(answer.result)
        else reject(failureOfMessage(answer.failure))
      })
      this.#ask({ type: 'call', id, client, call })
    })
  }
}

function rangeOfMessage({ entries, ...rest }: RemoteRange): RangeResponse {
  return { ...rest, entries: entriesOfMessage(entries) }
}

function txnOfMessage({
  response: { results, ...rest },
}: Extract<RemoteResult, { method: 'txn' }>): TxnResponse {
  return {
    ...rest,
    results: results.map((result): OperationResult =>
      result.type === 'range'
        ? { type: 'range', response: rangeOfMessage(result.response) }
        : result,
    ),
  }
}

function refuse(): never {
  throw new CacheError('unsupported', 'a worker does not call etcd that way')
}

function unexpected(): Error {
  return new Error('the answer is of another call')
}
