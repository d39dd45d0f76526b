/** Decides for each call of a door who answers it: the mirror, or etcd. */

import type { Clock } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'
import type { Random } from '../../base/random.ts'
import { WireReader } from '../../wire/reader.ts'
import { compactionCodec } from '../proto/kv-messages.ts'
import { EtcdError, grpcStatus } from '../proto/failures.ts'
import type { EtcdSessions } from './pass/etcd-sessions.ts'
import type { GrpcCall } from './listen/grpc-call.ts'
import { type Message, messagePrefix } from './listen/message-reader.ts'
import type { MirroredEtcd } from './answers/mirrored.ts'
import { passCall, type PassObserver } from './pass/pass-call.ts'
import { hasOnlyFields } from './answers/known-fields.ts'
import { createTurns } from './answers/turns.ts'
import { WatchAnswers } from './answers/watch-answers.ts'
import { RangeAnswers } from './answers/range-answers.ts'
import { Said } from './answers/said.ts'
import { statusOf } from './statuses.ts'
import { WatchCall } from './watch-call.ts'
import { Users } from './pass/users.ts'

export interface CallsOptions {
  readonly sessions: EtcdSessions
  readonly mirrored?: MirroredEtcd | undefined
  readonly clock: Clock
  readonly random: Random
  readonly onFault: (error: unknown) => void
}

const watchPath = '/etcdserverpb.Watch/Watch'
const rangePath = '/etcdserverpb.KV/Range'
const compactPath = '/etcdserverpb.KV/Compact'
const usersPaths = new Set(['/etcdserverpb.Auth/AuthEnable', '/etcdserverpb.Auth/AuthDisable'])

/** Answers a call; or says that it must pass, perhaps with somebody who looks at etcd's answer. */
type Answer = (message: Message) => Promise<'answered' | PassObserver | undefined>

export class Calls {
  readonly #options: CallsOptions
  readonly #said = new Said()
  readonly #users: Users
  readonly #ranges: RangeAnswers | undefined
  readonly #watches: WatchAnswers | undefined

  constructor(options: CallsOptions) {
    const { sessions, mirrored, clock } = options
    this.#options = options
    this.#users = new Users(sessions, clock)
    this.#ranges = mirrored && new RangeAnswers(mirrored, this.#said, clock)
    const scheduler = createTurns(clock)
    // First: what is said to others must not be of the old epoch.
    mirrored?.follow(this.#said)
    this.#watches =
      mirrored && new WatchAnswers({ ...options, etcd: mirrored, said: this.#said, scheduler })
  }

  start(): void {
    if (this.#options.mirrored !== undefined) this.#users.ask()
  }

  stop(): void {
    this.#users.stop()
    this.#watches?.stop()
  }

  /** Answers a call, or passes it. */
  take(call: GrpcCall): void {
    try {
      this.#take(call)
    } catch (error) {
      this.#endByFault(call, error)
    }
  }

  #take(call: GrpcCall): void {
    const [ranges, watches] = [this.#ranges, this.#watches]
    if (ranges === undefined || watches === undefined) this.#pass(call)
    else if (call.path === compactPath) this.#passCompaction(call)
    else if (usersPaths.has(call.path)) this.#passChangeOfUsers(call)
    else if (!this.#mayAnswer(call)) this.#pass(call)
    else if (call.path === rangePath) {
      this.#withRequest(call, ({ bytes }) => ranges.answer(call, bytes))
    } else if (call.path === watchPath) this.#takeWatch(call, watches)
    else this.#pass(call)
  }

  /** Where etcd has users, it decides; and a client with a token wants to be known by it. */
  #mayAnswer(call: GrpcCall): boolean {
    const hasToken = call.metadata('token') ?? call.metadata('authorization')
    return this.#users.areNone && hasToken === undefined
  }

  /** Serves a watch stream, unless its first request has something that we do not know. */
  #takeWatch(call: GrpcCall, watches: WatchAnswers): void {
    let served: WatchCall | undefined
    call.read({
      message: message => {
        if (served === undefined && (message.isCompressed || !isKnownRequest(message.bytes))) {
          this.#pass(call, Buffer.concat([asSent(message), call.detach()]))
          return
        }
        call.source = 'mirror'
        served ??= new WatchCall(call, (connection, options) => watches.open(connection, options))
        served.take(message)
      },
      ended: () => {
        if (served === undefined) this.#pass(call)
      },
    })
  }

  /** Reads the request, and passes the call unless `answer` answers it. */
  #withRequest(call: GrpcCall, answer: Answer): void {
    call.read({
      message: message => {
        const rest = call.detach()
        const bytes = Buffer.concat([asSent(message), rest])
        if (message.isCompressed) this.#pass(call, bytes)
        else void this.#answerOrPass(call, bytes, () => answer(message))
      },
      ended: () => this.#pass(call),
      tooLarge: () => this.#pass(call),
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

  #pass(call: GrpcCall, bytes?: Buffer, observer?: PassObserver): void {
    const { sessions } = this.#options
    passCall(sessions, call, bytes, {
      answered: start => this.#said.passed(start),
      ...observer,
    })
  }

  #passCompaction(call: GrpcCall): void {
    this.#withRequest(call, async ({ bytes }) => {
      const { revision } = compactionCodec.decode(bytes)
      return {
        finished: code => {
          if (code === 0 && Number.isSafeInteger(revision)) this.#said.compacted(revision)
        },
      }
    })
  }

  #passChangeOfUsers(call: GrpcCall): void {
    this.#users.changing()
    call.onClose(() => this.#users.ask())
    this.#pass(call)
  }

  #endByFault(call: GrpcCall, error: unknown): void {
    this.#options.onFault(error)
    call.finish({ code: grpcStatus.internal, details: 'watchglass: internal error' })
  }
}

/** True if a watch request has only fields that we know. */
function isKnownRequest(bytes: Buffer): boolean {
  if (!hasOnlyFields(bytes, lastRequestField)) return false
  const reader = new WireReader()
  reader.reset(bytes, 0, bytes.length)
  while (reader.nextField()) {
    if (!reader.readWindow()) return false
    const inner = bytes.subarray(reader.start, reader.at)
    if (reader.field === createField && !hasOnlyFields(inner, lastCreateField)) return false
  }
  return !reader.isMalformed
}

/** The fields of a watch request: create, cancel, progress. */
const createField = 1
const lastRequestField = 3
const lastCreateField = 8

/** A message as it came, with its prefix. */
function asSent({ isCompressed, bytes }: Message): Buffer {
  const prefix = messagePrefix(bytes.length)
  if (isCompressed) prefix[0] = 1
  return Buffer.concat([prefix, bytes])
}
