/** The embedded engine over gRPC, for etcdctl and every other client of etcd. Our own codec
 *  reads and writes the messages. A watch whose client does not read stops being written to, and
 *  catches up from the history later. */

import type { SecureContextOptions } from 'node:tls'
import { CacheError } from '@watchglass/base'
import type { OpenFiles } from '@watchglass/cache'
import { Admin } from './engine/admin.ts'
import type { Engine } from './engine/engine.ts'
import type { EngineMember } from './engine/member.ts'
import {
  EtcdError,
  grpcStatus,
  leaseIdCodec,
  leaseResponseCodec,
  rangeCodec,
  type RangeResponseMessage,
} from '@watchglass/etcd'
import { unsorted, unstreamable } from './engine/range-order.ts'
import { type RangeBody, sendRangeParts } from './answers/range-body.ts'
import { cutOff, endedEarly, type GrpcCall } from './listen/grpc-call.ts'
import { GrpcServer } from './listen/grpc-server.ts'
import { type Answerer, type UnaryMethod, unaryMethods } from './server-methods.ts'
import { malformed, statusOf, unimplemented, uncompressed } from './statuses.ts'
import { serveWatch } from './watch-call.ts'

export interface EtcdServerOptions {
  readonly engine: Engine
  /** Which member answers; the first by default. */
  readonly member?: EngineMember | undefined
  /** Such as `127.0.0.1:2379`; port 0 lets the system choose one. */
  readonly listen: string
  /** Plain if it is left out. */
  readonly tls?: SecureContextOptions | undefined
  readonly openFiles?: OpenFiles | undefined
}

/** A listening server. */
export interface EtcdServer {
  /** Address that it listens on, with the port that it got. */
  readonly address: string
  renewTls(tls: SecureContextOptions): void
  /** Ends all calls and streams. */
  close(): Promise<void>
}

type Handler = (answerer: Answerer, call: GrpcCall) => void

const handlers = new Map<string, Handler>([
  ...unaryMethods.map((method): [string, Handler] => [
    method.path,
    (answerer, call) => answerUnary(answerer, call, method),
  ]),
  ['/etcdserverpb.KV/RangeStream', answerRangeStream],
  ['/etcdserverpb.Watch/Watch', answerWatch],
  ['/etcdserverpb.Lease/LeaseKeepAlive', answerKeepAlive],
])

/** Serves one member of the engine. Fails with `invalid_request` when the address cannot be
 *  listened on. */
export async function startEtcdServer(options: EtcdServerOptions): Promise<EtcdServer> {
  const [first] = options.engine.members
  const member = options.member ?? first
  if (member === undefined) throw new CacheError('invalid_request', 'the engine has no such member')
  const { clock } = options.engine
  const answerer = { member, admin: new Admin(options.engine, member), clock }
  const server = await GrpcServer.listen({
    listen: options.listen,
    tls: options.tls,
    clock,
    openFiles: options.openFiles,
    handle: call => {
      const handler = handlers.get(call.path)
      if (handler === undefined) call.finish(unimplemented(call.path))
      else handler(answerer, call)
    },
  })
  return {
    address: server.address,
    renewTls: renewed => server.renewTls(renewed),
    async close() {
      member.dropConnections(new EtcdError('stopped'))
      server.drain()
      // What is under way has been ended above; its last frames leave in this turn.
      await new Promise<void>(resolve => setImmediate(resolve))
      await server.close()
    },
  }
}

function answerUnary(answerer: Answerer, call: GrpcCall, method: UnaryMethod): void {
  readOne(call, bytes =>
    method.answer(answerer, bytes, outcome => {
      if (outcome instanceof Error) {
        call.finish(statusOf(outcome))
      } else {
        call.send(outcome)
        call.finish()
      }
    }),
  )
}

/** Hands over the only message of a call. */
function readOne(call: GrpcCall, answer: (bytes: Buffer) => void): void {
  let isAsked = false
  call.read({
    message(message) {
      // Only the first message of such a call counts.
      if (isAsked) return
      isAsked = true
      try {
        answer(uncompressed(message))
      } catch (error) {
        call.finish(statusOf(malformed(error)))
      }
    },
    ended(isCutOff) {
      if (!isAsked) call.finish(endedEarly(isCutOff))
    },
    isSingle: true,
  })
}

/** Answers a range in parts (KEP-5966). */
function answerRangeStream({ member, clock }: Answerer, call: GrpcCall): void {
  readOne(call, bytes => {
    const request = rangeCodec.decode(bytes)
    const refusal = unstreamable(request)
    if (refusal !== undefined) {
      call.finish({ code: grpcStatus.unimplemented, details: refusal })
      return
    }
    member.readRange(unsorted(request), outcome => {
      if (outcome instanceof Error) call.finish(statusOf(outcome))
      else void sendRangeParts(call, bodyOf(outcome), clock)
    })
  })
}

/** The engine's answer. Its entries have no values where only keys are asked for. */
function bodyOf({ header, entries, more, count }: RangeResponseMessage): RangeBody {
  return { header, entries: () => entries, withValues: true, more, count }
}

function answerWatch({ member }: Answerer, call: GrpcCall): void {
  serveWatch(call, (connection, options) => member.openWatch(connection, options))
}

function answerKeepAlive({ admin }: Answerer, call: GrpcCall): void {
  call.read({
    message(message) {
      try {
        admin.keepLeaseAlive(leaseIdCodec.decode(uncompressed(message)), outcome => {
          if (outcome instanceof Error) call.finish(statusOf(outcome))
          else call.send(leaseResponseCodec.encode(outcome))
        })
      } catch (error) {
        call.finish(statusOf(malformed(error)))
      }
    },
    ended: isCutOff => call.finish(isCutOff ? cutOff : undefined),
  })
}
