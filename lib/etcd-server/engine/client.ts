/** The engine's client in process: a `Client` without sockets or encoding. What it hands out are
 *  the engine's own entries, so that engine and mirror share every key and value. */

import { CacheError, type Revision } from '@watchglass/base'
import {
  type Client,
  EtcdError,
  headerFromMessage,
  type Lease,
  type LeaseResponseMessage,
  type MemberStatus,
  messageFromRange,
  messageFromTxn,
  type OwnRevision,
  rangeFromMessage,
  type RangeRequest,
  type RangeResponse,
  txnFromMessage,
  type TxnRequest,
  type TxnResponse,
  type WatchRequest,
  type WatchSink,
  type WatchStream,
} from '@watchglass/etcd'
import { Admin } from './admin.ts'
import { EngineWatchStream } from './client-watch.ts'
import type { Engine } from './engine.ts'
import type { EngineMember, MemberReply } from './member.ts'
import type { Network } from './network.ts'
import { checkSize } from './request-size.ts'

export interface EngineClientOptions {
  readonly engine: Engine
  readonly network: Network
  /** Which members it knows, the preferred one first; all by default. */
  readonly members?: readonly EngineMember[] | undefined
  /** Names it, for whoever decides about faults. */
  readonly name?: string | undefined
}

/** One call: what the member is to do. */
type Call<T> = (member: EngineMember, reply: MemberReply<T>) => void

export class EngineClient implements Client {
  readonly #options: EngineClientOptions
  readonly #name: string
  /** The one that failed last is the last. */
  #members: readonly EngineMember[]
  readonly #streams = new Set<EngineWatchStream>()
  readonly #calls = new Set<(failure: CacheError) => void>()
  #isClosed = false

  constructor(options: EngineClientOptions) {
    this.#options = options
    this.#name = options.name ?? 'client'
    this.#members = options.members ?? options.engine.members
  }

  get ownRevision(): OwnRevision | undefined {
    return this.#options.engine.ownRevision
  }

  async range(request: RangeRequest, signal?: AbortSignal): Promise<RangeResponse> {
    const message = messageFromRange(request)
    return rangeFromMessage(
      await this.#read((member, reply) => member.readRange(message, reply), signal),
    )
  }

  async txn(request: TxnRequest, signal?: AbortSignal): Promise<TxnResponse> {
    const message = messageFromTxn(request)
    checkSize(message)
    return txnFromMessage(await this.#call((member, reply) => member.txn(message, reply), signal))
  }

  watch(request: WatchRequest, sink: WatchSink): WatchStream {
    const avoided = this.#members.find(({ endpoint }) => endpoint === request.avoidEndpoint)
    if (avoided !== undefined) this.#failed(avoided)
    const member = this.#preferred
    const stream = new EngineWatchStream(
      {
        client: this.#name,
        member,
        network: this.#options.network,
        finished: (stream, isFault) => {
          this.#streams.delete(stream)
          if (isFault) this.#failed(member)
        },
      },
      sink,
    )
    this.#streams.add(stream)
    if (this.#isClosed) stream.refuse(closedFailure())
    else stream.open(request)
    return stream
  }

  async compact(revision: Revision, signal?: AbortSignal): Promise<void> {
    await this.#call(
      (member, reply) => member.compact({ revision, physical: false }, reply),
      signal,
    )
  }

  async grantLease(ttlSeconds: number, id: bigint, signal?: AbortSignal): Promise<Lease> {
    const call: Call<LeaseResponseMessage> = (member, reply) =>
      this.#admin(member).grantLease({ ttl: ttlSeconds, id }, reply)
    return leaseFrom(await this.#call(call, signal))
  }

  async revokeLease(id: bigint, signal?: AbortSignal): Promise<void> {
    await this.#call((member, reply) => this.#admin(member).revokeLease({ id }, reply), signal)
  }

  async keepLeaseAlive(id: bigint, signal?: AbortSignal): Promise<Lease> {
    const call: Call<LeaseResponseMessage> = (member, reply) =>
      this.#admin(member).keepLeaseAlive({ id }, reply)
    const lease = leaseFrom(await this.#read(call, signal))
    if (lease.ttlSeconds > 0) return lease
    throw new EtcdError('leaseNotFound')
  }

  async status(signal?: AbortSignal): Promise<readonly MemberStatus[]> {
    const members = this.#options.members ?? this.#options.engine.members
    return Promise.all(members.map(member => this.#statusOf(member, signal)))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const stream of this.#streams) stream.refuse(closedFailure())
    for (const fail of this.#calls) fail(closedFailure())
  }

  get #preferred(): EngineMember {
    return this.#members[0] as EngineMember
  }

  #admin(member: EngineMember): Admin {
    return new Admin(this.#options.engine, member)
  }

  async #statusOf(member: EngineMember, signal: AbortSignal | undefined): Promise<MemberStatus> {
    const { endpoint } = member
    try {
      const status = await this.#callMember(
        member,
        (asked, reply: MemberReply<ReturnType<Admin['status']>>) =>
          reply(this.#admin(asked).status()),
        signal,
      )
      const { version, leader, databaseBytes } = status
      return { endpoint, header: headerFromMessage(status.header), version, leader, databaseBytes }
    } catch (error) {
      return { endpoint, failure: CacheError.from(error, 'source_failed') }
    }
  }

  #failed(member: EngineMember): void {
    this.#members = [...this.#members.filter(other => other !== member), member]
  }

  /** Asks one member after the other, until one answers. */
  async #read<T>(call: Call<T>, signal: AbortSignal | undefined): Promise<T> {
    for (let attempts = this.#members.length; ; attempts--) {
      try {
        return await this.#call(call, signal)
      } catch (error) {
        if (!isFault(error) || attempts <= 1) throw error
      }
    }
  }

  /** Asks the preferred member, once: what changes something must not be done twice. */
  async #call<T>(call: Call<T>, signal: AbortSignal | undefined): Promise<T> {
    const member = this.#preferred
    try {
      return await this.#callMember(member, call, signal)
    } catch (error) {
      if (isFault(error)) this.#failed(member)
      throw error
    }
  }

  #callMember<T>(member: EngineMember, call: Call<T>, signal: AbortSignal | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed || signal?.aborted === true) {
        reject(closedFailure())
        return
      }
      const abort = (): void => finish(closedFailure())
      const finish = (outcome: T | CacheError): void => {
        if (!this.#calls.delete(finish)) return
        signal?.removeEventListener('abort', abort)
        link.close()
        if (outcome instanceof CacheError) reject(outcome)
        else resolve(outcome)
      }
      this.#calls.add(finish)
      signal?.addEventListener('abort', abort, { once: true })
      const link = this.#options.network.connect({
        client: this.#name,
        member,
        kind: 'call',
        lostByClient: finish,
      })
      link.toMember(() => call(member, outcome => link.toClient(() => finish(outcome))))
    })
  }
}

function leaseFrom({ id, ttl }: LeaseResponseMessage): Lease {
  return { id, ttlSeconds: ttl }
}

function isFault(error: unknown): boolean {
  return error instanceof CacheError && error.code === 'source_failed'
}

function closedFailure(): CacheError {
  return new CacheError('closed', 'the call to the engine was cancelled')
}
