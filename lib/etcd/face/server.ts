/** The embedded engine over gRPC, for etcdctl and every other client of etcd. Messages pass gRPC as bytes; our own codec reads and
 *  writes them. A watch whose client does not read stops being written to, and catches up from the history later. */

import {
  type handleBidiStreamingCall,
  type handleUnaryCall,
  logVerbosity,
  type ServerDuplexStream,
  Server,
  ServerCredentials,
  setLogVerbosity,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { CacheError } from '../../base/errors.ts'
import { Admin } from '../engine/admin.ts'
import type { Engine } from '../engine/engine.ts'
import { sizeOfEvent } from '../engine/fragments.ts'
import type { Member } from '../engine/member.ts'
import { leaseIdCodec, leaseResponseCodec } from '../proto/admin-messages.ts'
import { EtcdError, grpcStatus } from '../proto/failures.ts'
import {
  watchRequestCodec,
  type WatchResponseMessage,
  watchResponseCodec,
} from '../proto/watch-messages.ts'
import { type Answerer, type UnaryMethod, unaryMethods } from './server-methods.ts'

export interface EtcdServerOptions {
  readonly engine: Engine
  /** Which member answers; the first by default. */
  readonly member?: Member | undefined
  /** Such as `127.0.0.1:2379`; port 0 lets the system choose one. */
  readonly listen: string
}

/** A listening server. */
export interface EtcdServer {
  /** Where it listens, with the port that it got. */
  readonly address: string
  /** Ends all calls and streams. */
  close(): Promise<void>
}

/** etcd accepts its request limit, and half a megabyte for what gRPC adds. */
const receiveMaxBytes = 2 * 1024 * 1024

/** etcd sets no bound on concurrent streams; HTTP/2 does. */
const maxConcurrentStreams = 2 ** 31 - 1

/** Serves one member of the engine. Fails with `invalid_request` when the address cannot be listened on. */
export async function startEtcdServer(options: EtcdServerOptions): Promise<EtcdServer> {
  const [first] = options.engine.members
  const member = options.member ?? first
  if (member === undefined) throw new CacheError('invalid_request', 'the engine has no such member')
  // What gRPC would print is in the failures that it gives.
  setLogVerbosity(logVerbosity.NONE)
  const answerer = { member, admin: new Admin(options.engine, member) }
  const server = new Server({
    'grpc.max_receive_message_length': receiveMaxBytes,
    'grpc.max_concurrent_streams': maxConcurrentStreams,
    'grpc.enable_channelz': 0,
  })
  const { definition, implementation } = serviceOf(answerer)
  server.addService(definition, implementation)
  const port = await bind(server, options.listen)
  return {
    address: `${hostOf(options.listen)}:${port}`,
    close: () => closeServer(server, member),
  }
}

function bind(server: Server, listen: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(listen, ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port)
      else reject(new CacheError('invalid_request', `cannot listen on ${listen}: ${error.message}`))
    })
  })
}

function hostOf(listen: string): string {
  return listen.slice(0, listen.lastIndexOf(':'))
}

async function closeServer(server: Server, member: Member): Promise<void> {
  member.dropConnections(new EtcdError('stopped'))
  await new Promise<void>(resolve => {
    server.tryShutdown(() => resolve())
    // What is under way has been ended above; connections that stay open are of no use to anybody.
    setImmediate(() => server.forceShutdown())
  })
}

function serviceOf(answerer: Answerer): {
  definition: ServiceDefinition
  implementation: UntypedServiceImplementation
} {
  const handlers = new Map<string, UntypedServiceImplementation[string]>()
  for (const method of unaryMethods) handlers.set(method.path, unaryHandler(answerer, method))
  handlers.set('/etcdserverpb.Watch/Watch', watchHandler(answerer))
  handlers.set('/etcdserverpb.Lease/LeaseKeepAlive', keepAliveHandler(answerer))
  const definition: Record<string, ServiceDefinition[string]> = {}
  for (const path of handlers.keys()) {
    const isStream = path.endsWith('/Watch') || path.endsWith('/LeaseKeepAlive')
    definition[path] = {
      path,
      requestStream: isStream,
      responseStream: isStream,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    }
  }
  return { definition, implementation: Object.fromEntries(handlers) }
}

function asIs(bytes: Buffer): Buffer {
  return bytes
}

function unaryHandler(answerer: Answerer, method: UnaryMethod): handleUnaryCall<Buffer, Buffer> {
  return (call, callback) => {
    try {
      method.answer(answerer, call.request, outcome => {
        if (outcome instanceof Error) callback(statusOf(outcome))
        else callback(null, outcome)
      })
    } catch (error) {
      callback(statusOf(malformed(error)))
    }
  }
}

type ByteStream = ServerDuplexStream<Buffer, Buffer>

function watchHandler({ member }: Answerer): handleBidiStreamingCall<Buffer, Buffer> {
  return call => {
    const stream = member.openWatch(
      {
        send: response => call.write(encodeWatchResponse(response)),
        sendFirst: response => void call.write(encodeWatchResponse(response)),
        end: failure => fail(call, failure),
      },
      { requiresLeader: call.metadata.get('hasleader').includes('true') },
    )
    call.on('drain', () => stream.resume())
    call.on('data', (bytes: Buffer) => {
      try {
        const { request } = watchRequestCodec.decode(bytes)
        if (request !== undefined) stream.handle(request)
      } catch (error) {
        stream.end(malformed(error))
      }
    })
    // A client that has nothing more to ask still wants to hear.
    call.on('cancelled', () => stream.close())
    call.on('close', () => stream.close())
    call.on('error', () => stream.close())
  }
}

function encodeWatchResponse(response: WatchResponseMessage): Buffer {
  const bytes = response.events.reduce((sum, event) => sum + sizeOfEvent(event), 64)
  return watchResponseCodec.encode(response, bytes)
}

function keepAliveHandler({ admin }: Answerer): handleBidiStreamingCall<Buffer, Buffer> {
  return call => {
    call.on('data', (bytes: Buffer) => {
      try {
        admin.keepLeaseAlive(leaseIdCodec.decode(bytes), outcome => {
          if (outcome instanceof Error) fail(call, outcome)
          else call.write(leaseResponseCodec.encode(outcome))
        })
      } catch (error) {
        fail(call, malformed(error))
      }
    })
    call.on('end', () => call.end())
    call.on('error', () => undefined)
  }
}

function fail(call: ByteStream, failure: CacheError): void {
  call.emit('error', statusOf(failure))
}

/** What could not be read. Anything but a `CacheError` is a bug of ours. */
function malformed(error: unknown): CacheError {
  if (error instanceof CacheError) return error
  throw error
}

function statusOf(failure: CacheError): { code: number; details: string } {
  if (failure instanceof EtcdError) return { code: failure.status, details: failure.message }
  const code = failure.code === 'invalid_request' ? grpcStatus.invalidArgument : grpcStatus.unknown
  return { code, details: failure.message }
}
