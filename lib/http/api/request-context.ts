/** One request on its way: what it is, who may see it, where its answer goes. What answers it is given to each stage. */

import { CacheError } from '../../base/errors.ts'
import type { RequestTarget } from '../../kube/request/request.ts'
import type { ApiState } from '../../kube/api-state.ts'
import type { Grant } from '../auth/authorizer.ts'
import type { Exchange } from '../server/exchange.ts'
import type { Reply } from './reply.ts'

/** What is said about a request once it is over. None of it is made of what a client sent, but for known resources. */
export interface RequestFacts {
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  /** Who answered: the mirror, etcd itself, what we know ourselves, the upstream, or a refusal. */
  readonly source: 'mirror' | 'etcd' | 'own' | 'refused' | 'upstream'
  readonly hasLabelSelector: boolean
  readonly hasFieldSelector: boolean
}

/** What is known of a request when it comes. */
export interface IncomingRequest {
  /** Of the moment at which the request came. */
  readonly state: ApiState
  readonly exchange: Exchange
  readonly target: RequestTarget
  readonly reply: Reply
  /** It asks for a watch: by its path, or by its query. */
  readonly isWatch: boolean
  /** When it came. */
  readonly startMs: number
  /** For metrics; filled in as it becomes known. */
  readonly facts: RequestFacts
}

/** One for all: an error made anew for each request costs as much as a small answer. */
const clientLeft = new CacheError('closed', 'the client has left')

export class RequestContext implements IncomingRequest {
  readonly state: ApiState
  readonly exchange: Exchange
  readonly target: RequestTarget
  readonly reply: Reply
  readonly isWatch: boolean
  readonly startMs: number
  facts: RequestFacts
  /** What authorization has allowed; undefined before, and where everybody may read. */
  grant: Grant | undefined = undefined
  #left: AbortController | undefined = undefined
  #ignoreClose: (() => void) | undefined = undefined

  constructor(incoming: IncomingRequest) {
    const { state, exchange, target, reply, isWatch, startMs, facts } = incoming
    this.state = state
    this.exchange = exchange
    this.target = target
    this.reply = reply
    this.isWatch = isWatch
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
