/** One connection to one etcd member, on which calls are made with messages as bytes. grpc-js is
 *  used below its stubs: they decode into an object for every field, which costs as much as the
 *  transfer (CHANGELOG.md has the figures). */

import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  type ClientDuplexStream,
  Metadata,
  type ServiceError,
  connectivityState,
  status,
} from '@grpc/grpc-js'
import { Bag } from '../../base/bag.ts'
import { CacheError } from '../../base/errors.ts'
import { failureFromStatus } from './failures.ts'

/** The number of bytes that etcd may send before we have read them, for a stream and for the
 *  connection. HTTP/2's own 64 KB stop the transfer once in a round trip: 64 MB/s at 1 ms, 6 MB/s
 *  at 10 ms. */
const windowBytes = 8 * 1024 * 1024

/** The options of every connection. */
export const channelOptions: ChannelOptions = {
  // Connections are ours alone: otherwise grpc-js gives the watches and the reads of a member the
  // same one.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.max_receive_message_length': -1,
  'grpc-node.flow_control_window': windowBytes,
  // etcd ends a connection that pings more often than every 5 s, or at all while no call is under
  // way.
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.keepalive_permit_without_calls': 0,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  // Which call may be repeated, and where, is the client's decision.
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  'grpc.service_config_disable_resolution': 1,
  // etcd is never behind a web proxy, and loopback must not go to one.
  'grpc.enable_http_proxy': 0,
}

export interface CallOptions {
  readonly metadata: Metadata
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

/** A stream of messages in both directions. */
export type MessageStream = ClientDuplexStream<Buffer, Buffer>

export class Channel {
  /** The member's address as it was given. */
  readonly endpoint: string
  /** Nothing came for too long. The connection may be dead without anybody having said so, which
   *  pings would find out only within 40 s, so it is better to make a new one. */
  isSuspect = false
  readonly #client: Client
  readonly #calls = new Bag<{ cancel(): void }>()
  #connecting: Promise<void> | undefined
  #isClosed = false

  /** `address` is `host:port`. No connection is made yet. */
  constructor(endpoint: string, address: string, credentials: ChannelCredentials) {
    this.endpoint = endpoint
    this.#client = new Client(address, credentials, channelOptions)
  }

  get isConnected(): boolean {
    return this.#state() === connectivityState.READY
  }

  /** Resolves once there is a connection, and fails as soon as an attempt to make one has failed.
   *  Until then nothing has been sent, so that any call may still go elsewhere. */
  async connect(timeoutMs: number): Promise<void> {
    if (this.isConnected) return
    this.#connecting ??= this.#waitUntilReady(timeoutMs).finally(() => {
      this.#connecting = undefined
    })
    await this.#connecting
  }

  /** One message there, one back, in a buffer of its own. */
  call(path: string, request: Buffer, options: CallOptions): Promise<Buffer> {
    const { metadata, timeoutMs, signal } = options
    return new Promise((resolve, reject) => {
      if (this.#isClosed || signal?.aborted === true) {
        reject(this.#cancelled())
        return
      }
      const abort = (): void => call.cancel()
      const deadline = Date.now() + timeoutMs
      const call = this.#client.makeUnaryRequest(
        path,
        asIs,
        asIs,
        request,
        metadata,
        { deadline },
        (error, response) => {
          leave()
          signal?.removeEventListener('abort', abort)
          this.isSuspect ||= error?.code === status.DEADLINE_EXCEEDED
          if (response !== undefined) resolve(response)
          else if (this.#isClosed || signal?.aborted === true) reject(this.#cancelled())
          else reject(failureFromStatus(error ?? noAnswer, this.endpoint))
        },
      )
      const leave = this.#calls.add(call)
      signal?.addEventListener('abort', abort, { once: true })
    })
  }

  /** One message there, any number back. Fails when none comes for `timeoutMs` while one is waited
   *  for. */
  async *parts(
    path: string,
    request: Buffer,
    { metadata, timeoutMs, signal }: CallOptions,
  ): AsyncGenerator<Buffer, void, undefined> {
    if (this.#isClosed || isAborted(signal)) throw this.#cancelled()
    const stream = this.#client.makeServerStreamRequest<Buffer, Buffer>(
      path,
      asIs,
      asIs,
      request,
      metadata,
    )
    const leave = this.#calls.add(stream)
    const cancel = (): void => stream.cancel()
    signal?.addEventListener('abort', cancel, { once: true })
    let failure: CacheError | undefined
    const late = (): void => {
      failure = failureFromStatus(tooLate, this.endpoint)
      this.isSuspect = true
      cancel()
    }
    let timer = setTimeout(late, timeoutMs)
    try {
      for await (const message of stream as AsyncIterable<Buffer>) {
        clearTimeout(timer)
        yield message
        timer = setTimeout(late, timeoutMs)
      }
    } catch (error) {
      if (this.#isClosed || isAborted(signal)) failure = this.#cancelled()
      throw failure ?? failureFromStatus(error as ServiceError, this.endpoint)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancel)
      leave()
      cancel()
    }
  }

  /** Opens a stream. Its end is its `status` event, whatever the reason. */
  stream(path: string, metadata: Metadata): MessageStream {
    const stream = this.#client.makeBidiStreamRequest<Buffer, Buffer>(path, asIs, asIs, metadata)
    // The status that follows says the same.
    stream.on('error', () => undefined)
    return stream
  }

  /** True when no call waits for an answer. */
  get isIdle(): boolean {
    return this.#calls.size === 0
  }

  /** Takes no more calls, and closes the connection when the last call and the last stream have
   *  ended. */
  giveUp(): void {
    this.#client.close()
  }

  /** Cancels all calls; streams are for their owners to cancel. */
  close(): void {
    this.#isClosed = true
    for (const call of this.#calls) call.cancel()
    this.#client.close()
  }

  async #waitUntilReady(timeoutMs: number): Promise<void> {
    const deadline = Date.now() + timeoutMs
    for (;;) {
      const state = this.#state()
      switch (state) {
        case connectivityState.READY:
          return
        case connectivityState.SHUTDOWN:
          throw this.#cancelled()
        case connectivityState.TRANSIENT_FAILURE:
          await this.#failWithReason(timeoutMs)
          return
        case connectivityState.IDLE:
        case connectivityState.CONNECTING:
          await this.#stateAfter(state, deadline)
      }
    }
  }

  /** Only a call is told why there is no connection, so one is made that changes nothing, wherever
   *  it gets. Any answer of etcd's proves that there is a connection by now. */
  async #failWithReason(timeoutMs: number): Promise<void> {
    const options = { metadata: new Metadata(), timeoutMs, signal: undefined }
    try {
      await this.call('/etcdserverpb.Maintenance/Status', Buffer.alloc(0), options)
    } catch (error) {
      const failure = CacheError.from(error, 'source_failed')
      if (failure.code === 'source_failed' || failure.code === 'closed') throw failure
    }
  }

  #stateAfter(state: connectivityState, deadline: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#client.getChannel().watchConnectivityState(state, deadline, error => {
        if (error === undefined) resolve()
        else reject(failureFromStatus(notConnected, this.endpoint))
      })
    })
  }

  #state(): connectivityState {
    if (this.#isClosed) return connectivityState.SHUTDOWN
    return this.#client.getChannel().getConnectivityState(true)
  }

  #cancelled(): CacheError {
    return new CacheError('closed', `the call to etcd ${this.endpoint} was cancelled`)
  }
}

const noAnswer = { code: status.UNAVAILABLE, details: 'answered nothing' }
const tooLate = { code: status.DEADLINE_EXCEEDED, details: 'nothing more has come' }
const notConnected = { code: status.UNAVAILABLE, details: 'no connection in time' }

/** Asked again: it may have been aborted meanwhile. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true
}

function asIs(message: Buffer): Buffer {
  return message
}
