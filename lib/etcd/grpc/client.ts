/** The client of a real etcd, or of anything that speaks its gRPC API: several endpoints with
 *  failover, TLS, a user's token.
 *
 *  Reads are tried on every endpoint before they fail. What changes something is sent once: it goes
 *  elsewhere only when no connection could be made, for whoever sends a change twice may overwrite
 *  what came in between. */

import { CacheError, type Revision } from '@watchglass/base'
import type {
  Client,
  Lease,
  MemberStatus,
  RangePart,
  RangeRequest,
  RangeResponse,
  TxnRequest,
  TxnResponse,
  WatchRequest,
  WatchSink,
  WatchStream,
} from '../client.ts'
import { type Endpoint, Endpoints, type Tls } from './endpoints.ts'
import { isTokenRejected, unreadable } from './failures.ts'
import {
  type Method,
  compactMethod,
  createRangeMethod,
  createRangePartsMethod,
  leaseGrantMethod,
  leaseKeepAliveMethod,
  leaseRevokeMethod,
  statusMethod,
  txnMethod,
} from './methods.ts'
import { type Token, TokenSource, type User } from './token.ts'
import { GrpcWatchStream } from './watch.ts'
import type { LeaseResponseMessage } from '../proto/admin-messages.ts'
import {
  headerFromMessage,
  messageFromRange,
  messageFromTxn,
  rangeFromMessage,
  txnFromMessage,
} from '../wire.ts'

export interface GrpcClientOptions {
  /** Such as `https://10.0.0.1:2379`, in order of preference. */
  readonly endpoints: readonly string[]
  readonly tls?: Tls | undefined
  readonly user?: User | undefined
  readonly timeouts?: Partial<Timeouts> | undefined
}

/** The time limits of one endpoint, before the next is tried. */
export interface Timeouts {
  /** To accept a connection. A paused machine accepts none, or one on which nothing happens. */
  readonly connectMs: number
  /** To answer what has a small answer. */
  readonly answerMs: number
  /** To send a page of entries, which may be many megabytes over a slow line. */
  readonly pageMs: number
}

const defaultTimeouts: Timeouts = { connectMs: 3000, answerMs: 5000, pageMs: 60_000 }

/** An answer that took this long to not come is held against its endpoint, even when the caller
 *  gave up first. */
const slowMs = 1000

interface CallOptions {
  /** Repeating it changes nothing. */
  readonly isRead: boolean
  readonly timeoutMs: number
  /** A member without a leader refuses it at once. */
  readonly needsLeader: boolean
  readonly signal: AbortSignal | undefined
  /** Its answer has a few bytes, and somebody waits for it: big reads shall not be before it. */
  readonly isQuick?: boolean
  /** About how many bytes the request has, if they may be many. */
  readonly requestBytes?: number | undefined
}

export class GrpcClient implements Client {
  readonly #endpoints: Endpoints
  readonly #tokens: TokenSource | undefined
  readonly #timeouts: Timeouts
  readonly #rangeMethod = createRangeMethod()
  readonly #rangePartsMethod = createRangePartsMethod()
  readonly #streams = new Set<GrpcWatchStream>()
  #isClosed = false

  /** Connects when it is first used. */
  constructor({ endpoints, tls, user, timeouts }: GrpcClientOptions) {
    this.#timeouts = { ...defaultTimeouts, ...timeouts }
    this.#endpoints = new Endpoints(endpoints, tls)
    this.#tokens = user === undefined ? undefined : new TokenSource(user, this.#timeouts.answerMs)
  }

  get connections(): number {
    return this.#endpoints.connections
  }

  get endpoints(): readonly string[] {
    return this.#endpoints.all.map(({ url }) => url)
  }

  /** Uses other certificates from now on. Streams go on where they are. */
  renew(tls: Tls): void {
    this.#endpoints.renew(tls)
  }

  async range(request: RangeRequest, signal?: AbortSignal): Promise<RangeResponse> {
    const hasSmallAnswer = request.countOnly === true || request.limit === 1
    const message = messageFromRange(request)
    const response = await this.#call(this.#rangeMethod, message, {
      isRead: true,
      timeoutMs: hasSmallAnswer ? this.#timeouts.answerMs : this.#timeouts.pageMs,
      needsLeader: request.serializable !== true,
      isQuick: request.countOnly === true,
      signal,
    })
    return rangeFromMessage(response)
  }

  async *rangeParts(
    request: RangeRequest,
    signal?: AbortSignal,
  ): AsyncGenerator<RangePart, void, undefined> {
    if (this.#isClosed) throw closedFailure()
    const [endpoint] = this.#endpoints.inOrder() as [Endpoint]
    const { path, request: codec } = this.#rangePartsMethod
    let last: RangePart | undefined
    try {
      await this.#connect(endpoint, signal)
      const token = await this.#tokens?.get(endpoint.reads)
      const options = {
        token,
        needsLeader: true,
        timeoutMs: this.#timeouts.pageMs,
        signal,
      }
      const messages = endpoint.reads.parts(path, codec.encode(messageFromRange(request)), options)
      for await (const message of messages) {
        last = this.#partFrom(message, endpoint)
        yield last
      }
    } catch (error) {
      const failure = CacheError.from(error, 'source_failed')
      if (failure.code === 'source_failed') this.#endpoints.failed(endpoint)
      throw failure
    }
    if (last?.header !== undefined) return
    throw new CacheError('source_failed', `etcd ${endpoint.url} has ended a range too early`)
  }

  async txn(request: TxnRequest, signal?: AbortSignal): Promise<TxnResponse> {
    const options = { ...this.#change(signal), requestBytes: bytesOf(request) }
    return txnFromMessage(await this.#call(txnMethod, messageFromTxn(request), options))
  }

  watch(request: WatchRequest, sink: WatchSink): WatchStream {
    const { avoidEndpoint } = request
    for (const endpoint of this.#endpoints.all) {
      if (endpoint.url !== avoidEndpoint) continue
      this.#endpoints.failed(endpoint)
      // It may be the only one.
      endpoint.watches.isSuspect = true
    }
    const [endpoint] = this.#endpoints.inOrder() as [Endpoint]
    const context = {
      endpoint,
      connectTimeoutMs: this.#timeouts.connectMs,
      tokens: this.#tokens,
      finished: (stream: GrpcWatchStream, isFault: boolean): void => {
        this.#streams.delete(stream)
        if (isFault) this.#endpoints.failed(endpoint)
      },
    }
    const stream = new GrpcWatchStream(context, request, sink)
    this.#streams.add(stream)
    stream.open()
    return stream
  }

  async compact(revision: Revision, signal?: AbortSignal): Promise<void> {
    await this.#call(compactMethod, { revision, physical: false }, this.#change(signal))
  }

  async grantLease(ttlSeconds: number, id: bigint, signal?: AbortSignal): Promise<Lease> {
    const message = { ttl: ttlSeconds, id }
    return leaseOf(await this.#call(leaseGrantMethod, message, this.#change(signal)))
  }

  async revokeLease(id: bigint, signal?: AbortSignal): Promise<void> {
    await this.#call(leaseRevokeMethod, { id }, this.#change(signal))
  }

  async keepLeaseAlive(id: bigint, signal?: AbortSignal): Promise<Lease> {
    const options = { ...this.#change(signal), isRead: true }
    const lease = leaseOf(await this.#call(leaseKeepAliveMethod, { id }, options))
    // etcd answers for a lease that it does not have as for one that has no time left.
    if (lease.ttlSeconds > 0) return lease
    throw new CacheError('not_found', `lease ${id.toString(16)} does not exist`)
  }

  async status(signal?: AbortSignal): Promise<readonly MemberStatus[]> {
    return Promise.all(
      this.#endpoints.all.map(endpoint =>
        this.#statusOf(endpoint, signal).catch((error: unknown) => ({
          endpoint: endpoint.url,
          failure: CacheError.from(error, 'source_failed'),
        })),
      ),
    )
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const stream of this.#streams) stream.end(closedFailure())
    this.#endpoints.close()
  }

  async #statusOf(endpoint: Endpoint, signal: AbortSignal | undefined): Promise<MemberStatus> {
    const options = { ...this.#change(signal), needsLeader: false }
    await this.#connect(endpoint, signal)
    const response = await this.#callEndpoint(endpoint, statusMethod, {}, options)
    const { version, leader, databaseBytes } = response
    const header = headerFromMessage(response.header)
    return { endpoint: endpoint.url, header, version, leader, databaseBytes }
  }

  #partFrom(message: Buffer, { url }: Endpoint): RangePart {
    try {
      const { part } = this.#rangePartsMethod.response.decode(message)
      const header = part?.header && headerFromMessage(part.header)
      return { header, entries: part?.entries ?? [] }
    } catch (error) {
      throw unreadable(error, url)
    }
  }

  #change(signal: AbortSignal | undefined): CallOptions {
    return { isRead: false, timeoutMs: this.#timeouts.answerMs, needsLeader: true, signal }
  }

  /** Tries the endpoints one after the other; a single one twice, for the connection may have been
   *  lost since the last call. */
  async #call<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    options: CallOptions,
  ): Promise<Response> {
    const order = this.#endpoints.inOrder()
    const attempts = order.length === 1 ? [...order, ...order] : order
    let failure: CacheError | undefined
    for (const endpoint of attempts) {
      if (this.#isClosed) throw closedFailure()
      let isSent = false
      const startedMs = performance.now()
      try {
        await this.#connect(endpoint, options.signal)
        isSent = true
        return await this.#callEndpoint(endpoint, method, request, options)
      } catch (error) {
        failure = CacheError.from(error, 'source_failed')
        const isSlow = performance.now() - startedMs > slowMs
        const isFault = failure.code === 'source_failed' || (failure.code === 'closed' && isSlow)
        if (isFault) this.#endpoints.failed(endpoint)
        const mayGoOn = failure.code === 'source_failed' && (options.isRead || !isSent)
        if (!mayGoOn) throw failure
      }
    }
    throw failure ?? closedFailure()
  }

  /** Waits for a connection, but not longer than the caller does. */
  async #connect(endpoint: Endpoint, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) throw abortedFailure()
    if (endpoint.reads.isConnected) return
    const connected = endpoint.reads.connect(this.#timeouts.connectMs)
    if (signal === undefined) return connected
    let abort: (() => void) | undefined
    const aborted = new Promise<never>((_resolve, reject) => {
      abort = () => reject(abortedFailure())
      signal.addEventListener('abort', abort, { once: true })
    })
    try {
      await Promise.race([connected, aborted])
    } finally {
      if (abort !== undefined) signal.removeEventListener('abort', abort)
    }
  }

  /** Calls one endpoint; when it refuses the token, once more with a new one. A refused call has
   *  changed nothing. */
  async #callEndpoint<Request, Response>(
    endpoint: Endpoint,
    method: Method<Request, Response>,
    request: Request,
    { timeoutMs, needsLeader, isQuick = false, signal, requestBytes }: CallOptions,
  ): Promise<Response> {
    const tokens = this.#tokens
    const channel = isQuick ? endpoint.questions : endpoint.reads
    const bytes = method.request.encode(request, requestBytes)
    const send = (token: Token): Promise<Buffer> =>
      channel.call(method.path, bytes, { token, needsLeader, timeoutMs, signal })
    const token = tokens === undefined ? undefined : await tokens.get(channel)
    const answer = await send(token).catch(async (error: unknown) => {
      if (tokens === undefined || !isTokenRejected(error)) throw error
      tokens.forget(token)
      return send(await tokens.get(channel))
    })
    try {
      return method.response.decode(answer)
    } catch (error) {
      throw unreadable(error, endpoint.url)
    }
  }
}

/** A transaction may have hundreds of kilobytes; to find room for them bit by bit takes as long as
 *  to write them. */
function bytesOf({ success }: TxnRequest): number {
  let bytes = 64
  for (const operation of success) {
    bytes += operation.type === 'put' ? operation.key.length + operation.value.length + 32 : 128
  }
  return bytes
}

function leaseOf({ id, ttl }: LeaseResponseMessage): Lease {
  return { id, ttlSeconds: ttl }
}

function closedFailure(): CacheError {
  return new CacheError('closed', 'the etcd client is closed')
}

function abortedFailure(): CacheError {
  return new CacheError('closed', 'the call to etcd was cancelled')
}
