/** A server of etcd's API, whoever answers its calls: they are counted, and those under way may
 *  finish when it stops. */

import type { SecureContextOptions } from 'node:tls'
import type { Clock } from '@watchglass/base'
import type { OpenFiles } from '@watchglass/cache'
import { type CallMetrics, countCall } from './call-metrics.ts'
import type { GrpcCall } from './listen/grpc-call.ts'
import { GrpcServer } from './listen/grpc-server.ts'

/** The answers to the calls of a server. */
export interface ServedCalls {
  /** Answers a call, some time, or refuses it. */
  take(call: GrpcCall): void
  start(): void
  /** Ends the calls that have no end. */
  stop(): void
}

export interface CallServerOptions {
  /** Such as `127.0.0.1:2379`. */
  readonly listen: string
  readonly tls?: SecureContextOptions | undefined
  readonly clock: Clock
  readonly metrics: CallMetrics
  readonly openFiles?: OpenFiles | undefined
  /** Told of mistakes of ours. */
  readonly onFault: (error: unknown) => void
}

/** A listening server. */
export interface CallServer {
  /** Address that it listens on, with the port that it got. */
  readonly address: string
  renewTls(tls: SecureContextOptions): void
  /** Takes no more calls, waits for those under way, but not longer than this, and ends the
   *  rest. */
  close(drainMaxMs: number): Promise<void>
}

/** The interval at which a closing server looks whether all calls have ended. */
const drainCheckMs = 20

/** Listens. Fails with `invalid_request` when the address cannot be listened on. */
export async function serveCalls(
  { listen, tls, clock, metrics, openFiles, onFault }: CallServerOptions,
  calls: ServedCalls,
): Promise<CallServer> {
  const server = await GrpcServer.listen({
    listen,
    tls,
    clock,
    openFiles,
    onFault,
    handle(call) {
      countCall(call, metrics)
      calls.take(call)
    },
  })
  calls.start()
  return {
    address: server.address,
    renewTls: renewed => server.renewTls(renewed),
    async close(drainMaxMs) {
      server.drain()
      calls.stop()
      const deadlineMs = clock.monotonicMs() + drainMaxMs
      while (server.calls > 0 && clock.monotonicMs() < deadlineMs) {
        await new Promise<void>(resolve => clock.setTimer(drainCheckMs, resolve))
      }
      await server.close()
    },
  }
}
