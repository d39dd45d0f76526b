/** One request: what it asks for, what the caller is allowed, and where the response goes. Services
 *  are passed to each stage, and are not part of it. */

import { CacheError, type RequestTrace } from '@watchglass/base'
import type { ApiState, Identity, KnownRequest, RequestTarget } from '@watchglass/kube'
import type { Grant } from './grant.ts'
import type { AskedView } from './asked-view.ts'
import type { RequestFaults } from './faults.ts'
import type { HttpRequest } from '../server/http-request.ts'
import type { Reply } from './reply.ts'

/** Facts about a request for metrics and the audit log. Nothing in it is text that a client sent,
 *  except names of known resources. */
export interface RequestFacts {
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  /** The side that answered: the mirror, etcd itself, this program (discovery, its own paths), the
   *  upstream, or a refusal. */
  readonly source: 'mirror' | 'etcd' | 'own' | 'refused' | 'upstream'
  readonly hasLabelSelector: boolean
  readonly hasFieldSelector: boolean
}

/** A request as it is known when it arrives. */
export interface IncomingRequest {
  /** The state of the API when the request arrived. */
  readonly state: ApiState
  readonly request: HttpRequest
  readonly known: KnownRequest
  /** The view that is asked for; `known` is the list that it reads. */
  readonly view?: AskedView | undefined
  readonly reply: Reply
  /** When it arrived. */
  readonly startMs: number
  /** For metrics; filled in as it becomes known. */
  readonly facts: RequestFacts
  /** Faults that it meets on purpose. */
  readonly faults?: RequestFaults | undefined
  /** Undefined where nothing is traced. */
  readonly trace?: RequestTrace | undefined
}

/** Shared: creating an error for each request costs as much as a small response. */
const clientLeft = new CacheError('closed', 'the client has left')

const nothing = (): void => {}

export class RequestContext implements IncomingRequest {
  readonly state: ApiState
  readonly request: HttpRequest
  readonly known: KnownRequest
  readonly target: RequestTarget
  readonly view: AskedView | undefined
  readonly reply: Reply
  readonly isWatch: boolean
  readonly startMs: number
  readonly faults: RequestFaults | undefined
  readonly trace: RequestTrace | undefined
  facts: RequestFacts
  /** Nobody has refused its caller. */
  isAdmitted = false
  /** The path of the server itself under which the metrics of kube-apiserver report it, and the
   *  component that answers there. */
  ownPath: { readonly path: string; readonly component: string } | undefined = undefined
  /** Annotations for the audit log, by who admitted a write. */
  annotations: ReadonlyMap<string, string> | undefined = undefined
  /** The name of an object that is created, for the audit log. */
  objectName = ''
  /** Grant of the authorization; undefined before, and without authorization. */
  grant: Grant | undefined = undefined
  /** The rule by which its sender may send it, or may not; undefined where nobody says so. */
  authorizedBy: string | undefined = undefined
  /** The user in whose name it was refused. */
  refusedUser: Identity | undefined = undefined
  /** Time that it waited for an answer about its caller, for contents that are fresh enough, and
   *  for its turn. */
  reviewMs = 0
  etcdMs = 0
  turnMs = 0
  /** The part of that wait that is no slowness: a Kubernetes API that is mirrored proves within
   *  about a second, by design, how new the mirror is. */
  provingMs = 0
  /** Gives back what it has of a share; for its end at the latest. */
  leave: () => void = nothing
  #left: AbortController | undefined = undefined
  #ignoreClose: (() => void) | undefined = undefined

  constructor(incoming: IncomingRequest) {
    const { state, request, known, view, reply, startMs, facts, faults, trace } = incoming
    this.state = state
    this.request = request
    this.known = known
    this.target = known.target
    this.view = view
    this.reply = reply
    this.isWatch = known.isWatch
    this.startMs = startMs
    this.facts = facts
    this.faults = faults
    this.trace = trace
  }

  /** Aborted when the client leaves. Created when first used: most requests end before anything
   *  waits with it, and creating it costs as much as writing a small object. */
  get signal(): AbortSignal {
    if (this.#left === undefined) {
      const left = new AbortController()
      this.#left = left
      this.#ignoreClose = this.request.onClose(() => left.abort(clientLeft))
    }
    return this.#left.signal
  }

  /** The client has left, or has its whole answer. */
  get isOver(): boolean {
    return this.request.isClosed
  }

  /** Ends the request: nobody waits with its signal any more. */
  release(): void {
    this.leave()
    this.#ignoreClose?.()
  }
}
