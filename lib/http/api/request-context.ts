/** What one request has with it on its way. */

import { CacheError } from '../../base/errors.ts'
import type { RequestTarget } from '../../kube/request/request.ts'
import type { ApiState } from '../../kube/api-state.ts'
import type { ApiOptions, RequestFacts } from './api.ts'
import type { Grant } from '../auth/authorizer.ts'
import type { Exchange } from '../server/exchange.ts'
import type { Reply } from './reply.ts'

/** What is known of a request when it comes. */
export interface IncomingRequest {
  readonly options: ApiOptions
  /** Of the moment at which the request came. */
  readonly state: ApiState
  readonly exchange: Exchange
  readonly target: RequestTarget
  readonly reply: Reply
  /** When it came. */
  readonly startMs: number
  /** For metrics; filled in as it becomes known. */
  readonly facts: RequestFacts
}

/** One for all: an error made anew for each request costs as much as a small answer. */
const clientLeft = new CacheError('closed', 'the client has left')

export class RequestContext implements IncomingRequest {
  readonly options: ApiOptions
  readonly state: ApiState
  readonly exchange: Exchange
  readonly target: RequestTarget
  readonly reply: Reply
  readonly startMs: number
  facts: RequestFacts
  /** What authorization has allowed; undefined before, and where everybody may read. */
  grant: Grant | undefined = undefined
  #left: AbortController | undefined = undefined
  #ignoreClose: (() => void) | undefined = undefined

  constructor({ options, state, exchange, target, reply, startMs, facts }: IncomingRequest) {
    this.options = options
    this.state = state
    this.exchange = exchange
    this.target = target
    this.reply = reply
    this.startMs = startMs
    this.facts = facts
  }

  /** Aborted when the client leaves. Made when first asked for: most requests end before anybody has to wait with it, and making
   *  it costs as much as writing a small object. */
  get signal(): AbortSignal {
    if (this.#left === undefined) {
      const left = new AbortController()
      this.#left = left
      this.#ignoreClose = this.exchange.onClose(() => left.abort(clientLeft))
    }
    return this.#left.signal
  }

  /** The client has left, or has its whole answer. */
  get isOver(): boolean {
    return this.exchange.isClosed
  }

  /** Nobody looks at the signal any more. */
  release(): void {
    this.#ignoreClose?.()
  }
}
