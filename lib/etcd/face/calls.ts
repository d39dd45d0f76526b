/** Decides for each call of a door who answers it: the mirror, or etcd. */

import type { Clock } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'
import { compactionCodec } from '../proto/kv-messages.ts'
import { EtcdError, grpcStatus } from '../proto/failures.ts'
import type { EtcdSessions } from './pass/etcd-sessions.ts'
import type { GrpcCall } from './listen/grpc-call.ts'
import { type Message, messagePrefix } from './listen/message-reader.ts'
import type { MirroredEtcd } from './answers/mirrored.ts'
import { passCall, type PassObserver } from './pass/pass-call.ts'
import { RangeAnswers } from './answers/range-answers.ts'
import { Said } from './answers/said.ts'
import { statusOf } from './statuses.ts'
import { Users } from './pass/users.ts'

export interface CallsOptions {
  readonly sessions: EtcdSessions
  readonly mirrored?: MirroredEtcd | undefined
  readonly clock: Clock
  readonly onFault: (error: unknown) => void
}

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

  constructor(options: CallsOptions) {
    const { sessions, mirrored, clock } = options
    this.#options = options
    this.#users = new Users(sessions, clock)
    this.#ranges = mirrored && new RangeAnswers(mirrored, this.#said, clock)
    mirrored?.follow({
      applied: () => {},
      progressed: () => {},
      reset: () => {},
      epochEnded: () => this.#said.epochEnded(),
      stateChanged: () => {},
    })
  }

  start(): void {
    if (this.#options.mirrored !== undefined) this.#users.ask()
  }

  stop(): void {
    this.#users.stop()
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
    const ranges = this.#ranges
    if (ranges === undefined) this.#pass(call)
    else if (call.path === compactPath) this.#passCompaction(call)
    else if (usersPaths.has(call.path)) this.#passChangeOfUsers(call)
    else if (call.path !== rangePath || !this.#mayAnswer(call)) this.#pass(call)
    else this.#withRequest(call, ({ bytes }) => ranges.answer(call, bytes))
  }

  /** Where etcd has users, it decides; and a client with a token wants to be known by it. */
  #mayAnswer(call: GrpcCall): boolean {
    const hasToken = call.metadata('token') ?? call.metadata('authorization')
    return this.#users.areNone && hasToken === undefined
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

/** A message as it came, with its prefix. */
function asSent({ isCompressed, bytes }: Message): Buffer {
  const prefix = messagePrefix(bytes.length)
  if (isCompressed) prefix[0] = 1
  return Buffer.concat([prefix, bytes])
}
