/** Decides for each call of a replica who answers it: the mirror, or etcd. */

import { CacheError, type Clock, type Random } from '@watchglass/base'
import {
  asSent,
  compactionCodec,
  EtcdError,
  grpcStatus,
  leaseIdCodec,
  leaseResponseCodec,
  type Message,
  messagePrefix,
  type WatchCreateMessage,
} from '@watchglass/etcd'
import type { EtcdSessions } from './pass/etcd-sessions.ts'
import { cutOff, type GrpcCall } from './listen/grpc-call.ts'
import type { MirroredEtcd } from './answers/mirrored.ts'
import { MessageHeads } from './pass/message-heads.ts'
import { passCall, type PassObserver, passThroughGate } from './pass/pass-call.ts'
import { isKnownWatchRequest } from './answers/known-fields.ts'
import { createTurns } from './answers/turns.ts'
import { EtcdWatches } from './answers/etcd-watches.ts'
import { WatchAnswers } from './answers/watch-answers.ts'
import { RangeAnswers } from './answers/range-answers.ts'
import { AnsweredRevisions, messageHeadBytes } from './answers/answered-revisions.ts'
import { statusOf, uncompressed } from './statuses.ts'
import { Access, type AccessRules, type Check, uncheckable } from './access/access.ts'
import { leasesPath } from './access/leases.ts'
import type { Rights } from './access/rights.ts'
import { WatchCall } from './watch-call.ts'
import { type CallMetrics, countedRoom } from './call-metrics.ts'
import type { ServedCalls } from './serve-calls.ts'
import { Users } from './pass/users.ts'
import { StreamPace } from './pass/stream-pace.ts'

export interface CallsOptions {
  readonly sessions: EtcdSessions
  readonly mirrored?: MirroredEtcd | undefined
  readonly clock: Clock
  readonly random: Random
  /** Rights of each name; everybody may do everything if it is left out. */
  readonly rules?: AccessRules | undefined
  readonly metrics: CallMetrics
  readonly onFault: (error: unknown) => void
}

const watchPath = '/etcdserverpb.Watch/Watch'
const rangePath = '/etcdserverpb.KV/Range'
const rangeStreamPath = '/etcdserverpb.KV/RangeStream'
const compactPath = '/etcdserverpb.KV/Compact'
const keepAlivePath = '/etcdserverpb.Lease/LeaseKeepAlive'
const usersPaths = new Set(['/etcdserverpb.Auth/AuthEnable', '/etcdserverpb.Auth/AuthDisable'])

/** Answers a call; or says that it must pass, perhaps with an observer of etcd's answer. */
type Answer = (bytes: Buffer) => Promise<'answered' | PassObserver | undefined>

export class CallRouter implements ServedCalls {
  readonly #options: CallsOptions
  readonly #answered = new AnsweredRevisions()
  readonly #users: Users
  readonly #access: Access
  readonly #ranges: RangeAnswers | undefined
  readonly #watches: WatchAnswers | undefined
  readonly #pace: StreamPace
  readonly #seeAnswer: PassObserver = { answered: start => this.#answered.passed(start) }

  constructor(options: CallsOptions) {
    const { sessions, mirrored, clock } = options
    this.#options = options
    this.#users = new Users(sessions, clock)
    this.#access = new Access(options.rules, sessions, clock)
    this.#ranges = mirrored && new RangeAnswers(mirrored, this.#answered, clock)
    const scheduler = createTurns(clock)
    // First: what is said to others must not be of the old epoch.
    mirrored?.follow(this.#answered)
    const answered = this.#answered
    const pace = new StreamPace(clock)
    const elsewhere = (requiresLeader: boolean): EtcdWatches =>
      new EtcdWatches({ sessions, pace, answered, clock }, requiresLeader)
    this.#pace = pace
    this.#watches =
      mirrored && new WatchAnswers({ ...options, etcd: mirrored, elsewhere, answered, scheduler })
  }

  start(): void {
    if (this.#options.mirrored !== undefined) this.#users.ask()
  }

  stop(): void {
    this.#users.stop()
    this.#watches?.stop()
    this.#pace.stop()
  }

  /** Answers a call, or passes it. */
  take(call: GrpcCall): void {
    try {
      const rights = this.#access.rightsOf(call)
      if (rights === undefined) this.#take(call)
      else this.#takeLimited(call, rights)
    } catch (error) {
      this.#endBy(call, error)
    }
  }

  #take(call: GrpcCall): void {
    const watches = this.#watches
    const answer = this.#answerOf(call)
    if (usersPaths.has(call.path)) this.#passChangeOfUsers(call)
    else if (answer !== undefined) this.#withRequest(call, answer)
    else if (call.path !== watchPath || watches === undefined || !this.#mayAnswer(call)) {
      this.#pass(call)
    } else this.#takeWatch(call, watches)
  }

  /** Answers or passes a call of a name with limited rights. */
  #takeLimited(call: GrpcCall, rights: Rights): void {
    const watches = this.#watches
    if (this.#access.isOpen(call.path)) {
      this.#pass(call)
    } else if (call.path === watchPath) {
      // Its requests are read here only where the stream is served here.
      if (watches === undefined || !this.#mayAnswer(call)) throw cannotServe()
      this.#takeWatch(call, watches, rights)
    } else if (call.path === keepAlivePath) {
      passThroughGate(this.#options.sessions, call, message =>
        this.#mayKeepAlive(call, rights, message),
      )
    } else {
      const check = this.#access.checkOf(call.path)
      this.#withChecked(call, rights, check)
    }
  }

  /** Whether a request to keep a lease alive goes on. The lease of another is answered as one that
   *  is not there: a client has all of its leases on one stream, and keeps the others. */
  async #mayKeepAlive(call: GrpcCall, rights: Rights, message: Message): Promise<boolean> {
    try {
      const bytes = uncompressed(message)
      if (await this.#access.mayKeepAlive(rights, bytes)) return true
      const { id } = leaseIdCodec.decode(bytes)
      call.send(leaseResponseCodec.encode({ header: undefined, id, ttl: 0 }))
    } catch (error) {
      this.#endBy(call, error)
    }
    return false
  }

  /** Chooses what answers a call of one message; undefined if etcd alone does. */
  #answerOf(call: GrpcCall): Answer | undefined {
    const ranges = this.#ranges
    if (ranges === undefined) return undefined
    if (call.path === compactPath) return bytes => this.#notedCompaction(bytes)
    const isInParts = call.path === rangeStreamPath
    if ((call.path !== rangePath && !isInParts) || !this.#mayAnswer(call)) return undefined
    return async bytes => {
      // There may be users by the time that the request has come.
      if (!this.#users.areNone) return undefined
      return isInParts ? ranges.answerInParts(call, bytes) : ranges.answer(call, bytes)
    }
  }

  /** Chooses what answers a call of a limited name, which is told of its own leases only. */
  #answerOfLimited(call: GrpcCall, rights: Rights): Answer | undefined {
    if (call.path !== leasesPath) return this.#answerOf(call)
    return async bytes => {
      const own = await this.#access.ownLeases(rights, bytes)
      call.source = 'etcd'
      call.send(own)
      call.finish()
      return 'answered'
    }
  }

  /** False where etcd has users, which decides then; or where a client has a token, by which it
   *  wants to be known. */
  #mayAnswer(call: GrpcCall): boolean {
    const hasToken = call.metadata('token') ?? call.metadata('authorization')
    return this.#users.areNone && hasToken === undefined
  }

  /** Serves a watch stream, unless its first request has something that we do not know. */
  #takeWatch(call: GrpcCall, watches: WatchAnswers, rights?: Rights): void {
    let served: WatchCall | undefined
    const mayWatch = rights && ((request: WatchCreateMessage) => rights.mayRange(request))
    call.read({
      message: message => {
        const isKnown = !message.isCompressed && isKnownWatchRequest(message.bytes)
        const { areNone } = this.#users
        if (served === undefined && rights === undefined && !(isKnown && areNone)) {
          this.#pass(call, asSent(message))
        } else if (!areNone) {
          // What is watched on this stream already etcd would go on with too; what is new it would
          // check.
          call.finish(statusOf(usersHaveCome()))
        } else if (!isKnown) {
          call.finish(statusOf(uncheckable()))
        } else {
          call.source = 'mirror'
          served ??= new WatchCall(call, (connection, options) => {
            const room = countedRoom(options.room, this.#options.metrics)
            return watches.open(connection, { ...options, room, mayWatch })
          })
          served.take(message)
        }
      },
      ended: isCutOff => {
        if (isCutOff) call.finish(cutOff)
        else if (served === undefined) call.finish()
      },
    })
  }

  /** Reads the request, and passes the call unless `answer` answers it. */
  #withRequest(call: GrpcCall, answer: Answer): void {
    call.read({
      message: message => {
        call.hold()
        const bytes = asSent(message)
        if (message.isCompressed) this.#pass(call, bytes)
        else void this.#answerOrPass(call, bytes, () => answer(message.bytes))
      },
      ended: () => this.#pass(call),
      tooLarge: () => this.#pass(call),
      isSingle: true,
    })
  }

  /** Reads the request of a limited name; the call goes on with what the check has made of it. */
  #withChecked(call: GrpcCall, rights: Rights, check: Check): void {
    call.read({
      message: message => {
        call.hold()
        const answer = this.#answerOfLimited(call, rights)
        void (async () => {
          try {
            if (message.isCompressed) throw uncheckable()
            const bytes = await check(rights, message.bytes)
            const outcome = await answer?.(bytes)
            if (outcome === 'answered') return
            this.#pass(call, Buffer.concat([messagePrefix(bytes.length), bytes]), outcome)
          } catch (error) {
            this.#endBy(call, error)
          }
        })()
      },
      ended: () => call.finish(statusOf(uncheckable())),
      isSingle: true,
    })
  }

  async #answerOrPass(
    call: GrpcCall,
    bytes: Buffer,
    answer: () => ReturnType<Answer>,
  ): Promise<void> {
    try {
      const outcome = await answer()
      if (outcome !== 'answered') this.#pass(call, bytes, outcome)
    } catch (error) {
      if (!(error instanceof CacheError)) {
        this.#endByFault(call, error)
      } else if (error.code === 'invalid_request' && !(error instanceof EtcdError)) {
        // What we cannot read, etcd refuses in words of its own.
        this.#pass(call, bytes)
      } else {
        call.source = 'mirror'
        call.finish(statusOf(error))
      }
    }
  }

  #pass(call: GrpcCall, bytes: Buffer = noBytes, observer?: PassObserver): void {
    const { sessions } = this.#options
    passCall(sessions, call, bytes, {
      ...(call.path === rangeStreamPath ? this.#seeParts() : this.#seeAnswer),
      ...observer,
    })
  }

  /** The observer of a range in parts that passes: its last part has the header. */
  #seeParts(): PassObserver {
    const heads = new MessageHeads(messageHeadBytes, head => this.#answered.passedPart(head))
    return { passed: bytes => heads.push(bytes) }
  }

  async #notedCompaction(bytes: Buffer): Promise<PassObserver> {
    const { revision } = compactionCodec.decode(bytes)
    return {
      finished: code => {
        if (code === 0 && Number.isSafeInteger(revision)) this.#answered.compacted(revision)
      },
    }
  }

  #passChangeOfUsers(call: GrpcCall): void {
    this.#users.changing()
    call.onClose(() => this.#users.ask())
    this.#pass(call)
  }

  #endBy(call: GrpcCall, error: unknown): void {
    if (error instanceof CacheError) call.finish(statusOf(error))
    else this.#endByFault(call, error)
  }

  #endByFault(call: GrpcCall, error: unknown): void {
    this.#options.onFault(error)
    call.finish({ code: grpcStatus.internal, details: 'watchglass: internal error' })
  }
}

/** etcd has users, or has not said yet whether it has: watches are between it and the client
 *  then. */
function cannotServe(): CacheError {
  const details = 'watchglass: watches of limited certificates are served where etcd has no users'
  return new CacheError('not_ready', details)
}

/** The stream was opened before: another one passes to etcd, which asks who it is. */
function usersHaveCome(): CacheError {
  return new CacheError('not_ready', 'watchglass: etcd has users now, or may have: watch again')
}

const noBytes = Buffer.alloc(0)
