/** The calls of etcd's API where a Kubernetes API is mirrored. Ranges and watches of one resource
 *  are answered. What writes, or needs one order over all resources, is refused with the reason. */

import { CacheError, type CancelTimer, type Clock, type Random, repeat } from '@watchglass/base'
import { EtcdError, grpcStatus, type WatchCreateMessage } from '@watchglass/etcd'
import type { AccessRules } from './access/access.ts'
import { Rights } from './access/rights.ts'
import { AnsweredRevisions } from './answers/answered-revisions.ts'
import { isKnownWatchRequest } from './answers/known-fields.ts'
import { createTurns } from './answers/turns.ts'
import { WatchAnswers } from './answers/watch-answers.ts'
import { type CallMetrics, countedRoom } from './call-metrics.ts'
import { cutOff, endedEarly, type GrpcCall } from './listen/grpc-call.ts'
import type { ServedCalls } from './serve-calls.ts'
import { statusOf, uncompressed, unimplemented } from './statuses.ts'
import { WatchCall } from './watch-call.ts'
import type { ApiResources } from './resources/api-resources.ts'
import { ResourceRanges } from './resources/resource-ranges.ts'
import { UnservedWatches } from './resources/unserved-watches.ts'

export interface ResourceCallsOptions {
  readonly resources: ApiResources
  /** Rights of each name; everybody may read everything if it is left out. */
  readonly rules?: AccessRules | undefined
  readonly clock: Clock
  readonly random: Random
  readonly metrics: CallMetrics
  readonly onFault: (error: unknown) => void
}

const watchPath = '/etcdserverpb.Watch/Watch'
const rangePath = '/etcdserverpb.KV/Range'
const rangeStreamPath = '/etcdserverpb.KV/RangeStream'

/** Resources that are watched are said to be wanted: others are let go after half an hour. */
const wantEveryMs = 60_000

const readOnly = 'write through the Kubernetes API that is mirrored here'
const noOrder = 'a Kubernetes API has an order of revisions for each resource only'

/** Why the calls of a service are refused, or one of them. */
const refusals: readonly (readonly [path: string, why: string])[] = [
  ['/etcdserverpb.KV/Put', readOnly],
  ['/etcdserverpb.KV/DeleteRange', readOnly],
  ['/etcdserverpb.KV/Txn', `${noOrder}, and a transaction needs one over all keys`],
  ['/etcdserverpb.KV/Compact', `${noOrder}, and each has a history of its own`],
  ['/etcdserverpb.Lease/', `there are no leases: ${readOnly}`],
  ['/etcdserverpb.Maintenance/', `there is no member of an etcd here, and ${noOrder}`],
  ['/etcdserverpb.Cluster/', 'there is no cluster of etcd here'],
  ['/etcdserverpb.Auth/', 'there are no users of etcd here: see --etcd-listen-allow'],
  ['/v3lockpb.', readOnly],
  ['/v3electionpb.', readOnly],
]

export class ResourceCalls implements ServedCalls {
  readonly #options: ResourceCallsOptions
  readonly #rights: ReadonlyMap<string, Rights> | undefined
  readonly #ranges: ResourceRanges
  readonly #watches: WatchAnswers
  #cancelWanting: CancelTimer = () => {}

  constructor(options: ResourceCallsOptions) {
    const { resources, rules, clock, random, onFault } = options
    this.#options = options
    this.#rights =
      rules && new Map([...rules].map(([name, prefixes]) => [name, new Rights(name, prefixes)]))
    this.#ranges = new ResourceRanges(resources, clock)
    const unserved = new UnservedWatches(resources, onFault)
    this.#watches = new WatchAnswers({
      etcd: resources,
      elsewhere: () => unserved,
      // What was said of one resource says nothing of another, and of its own the mirror is never
      // behind it.
      answered: new AnsweredRevisions(),
      clock,
      random,
      scheduler: createTurns(clock),
    })
  }

  start(): void {
    const { clock, resources } = this.#options
    this.#cancelWanting = repeat(clock, wantEveryMs, () => {
      for (const part of resources.asked) if (this.#watches.concerns(part)) part.want()
    })
  }

  stop(): void {
    this.#cancelWanting()
    this.#watches.stop()
  }

  take(call: GrpcCall): void {
    try {
      const rights = this.#rightsOf(call)
      if (call.path === watchPath) this.#takeWatch(call, rights)
      else if (call.path === rangePath || call.path === rangeStreamPath) {
        this.#takeRange(call, rights)
      } else this.#refuse(call)
    } catch (error) {
      this.#end(call, error)
    }
  }

  /** Undefined if there are no limits. */
  #rightsOf(call: GrpcCall): Rights | undefined {
    if (this.#rights === undefined) return undefined
    const rights = this.#rights.get(call.certificateName ?? '')
    if (rights === undefined) throw new EtcdError('permissionDenied')
    return rights
  }

  #refuse(call: GrpcCall): void {
    const [, why] = refusals.find(([path]) => call.path.startsWith(path)) ?? []
    if (why === undefined) call.finish(unimplemented(call.path))
    else this.#end(call, new CacheError('unsupported', `watchglass: ${why}`))
  }

  #takeRange(call: GrpcCall, rights: Rights | undefined): void {
    const isInParts = call.path === rangeStreamPath
    let isAsked = false
    call.read({
      message: message => {
        if (isAsked) return
        isAsked = true
        call.hold()
        void (async () => {
          try {
            const bytes = uncompressed(message)
            if (isInParts) await this.#ranges.answerInParts(call, bytes, rights)
            else await this.#ranges.answer(call, bytes, rights)
          } catch (error) {
            this.#end(call, error)
          }
        })()
      },
      ended(isCutOff) {
        if (!isAsked) call.finish(endedEarly(isCutOff))
      },
      isSingle: true,
    })
  }

  #takeWatch(call: GrpcCall, rights: Rights | undefined): void {
    const mayWatch = rights && ((request: WatchCreateMessage) => rights.mayRange(request))
    call.source = 'mirror'
    const served = new WatchCall(call, (connection, options) => {
      const room = countedRoom(options.room, this.#options.metrics)
      return this.#watches.open(connection, { ...options, room, mayWatch })
    })
    call.read({
      message: message => {
        if (message.isCompressed || isKnownWatchRequest(message.bytes)) served.take(message)
        else this.#end(call, unknownRequest())
      },
      // A client that has nothing more to ask still wants to hear.
      ended(isCutOff) {
        if (isCutOff) call.finish(cutOff)
      },
    })
  }

  #end(call: GrpcCall, error: unknown): void {
    if (error instanceof CacheError) {
      call.finish(statusOf(error))
      return
    }
    this.#options.onFault(error)
    call.finish({ code: grpcStatus.internal, details: 'watchglass: internal error' })
  }
}

function unknownRequest(): CacheError {
  return new CacheError('unsupported', 'watchglass: a field of the watch request is not known')
}
