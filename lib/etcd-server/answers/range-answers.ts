/** Answers ranges, and transactions that only read, from a mirror, exactly as etcd would; or finds
 *  that they must pass.
 *
 *  ```
 *  serializable        the newest contents, but not older than what this replica has said
 *  linearizable        through the freshness gate: etcd is asked for its revision, and the contents have reached it
 *  at a revision       etcd is asked whether it can be read; the contents come from the history
 *  ```
 *
 *  Passing are: what no part of the mirror holds whole, everything while the mirror is not ready
 *  or not trusted, revisions before the history, sorts and filters of very many entries, and
 *  options that we do not know. */

import { CacheError, type Clock, type Freshness, type Revision, singleKey } from '@watchglass/base'
import type { Snapshot } from '@watchglass/store'
import { rangeFromWire } from '../engine/kv.ts'
import { unsorted, unstreamable } from '../engine/range-order.ts'
import { EtcdError, type HeaderMessage, type RangeMessage } from '@watchglass/etcd'
import type { GrpcCall } from '../listen/grpc-call.ts'
import type { MirroredEtcd, MirroredPart } from './mirrored.ts'
import { type RangeBody, sendRange, sendRangeParts } from './range-body.ts'
import type { AnsweredRevisions } from './answered-revisions.ts'
import {
  bodyOf,
  contentsAt,
  failureOf,
  type FoundContents,
  requestFrom,
  signalOf,
} from './range-request.ts'
import { SharedChecks } from './shared-checks.ts'

export class RangeAnswers {
  readonly #etcd: MirroredEtcd
  readonly #answered: AnsweredRevisions
  readonly #clock: Clock
  readonly #checks: SharedChecks<Revision, HeaderMessage>

  constructor(etcd: MirroredEtcd, answered: AnsweredRevisions, clock: Clock) {
    this.#etcd = etcd
    this.#answered = answered
    this.#clock = clock
    this.#checks = new SharedChecks(revision => etcd.checkRevision(revision))
  }

  /** Answers a range; `undefined`, with nothing sent, if it must pass. Fails as etcd does. */
  async answer(call: GrpcCall, bytes: Buffer): Promise<'answered' | undefined> {
    const request = requestFrom(bytes)
    const body = request && (await this.#bodyOf(call, request))
    if (body === undefined) return undefined
    call.source = 'mirror'
    return (await sendRange(call, body, this.#clock)) ? 'answered' : undefined
  }

  /** Answers a range in parts; what etcd does not stream passes, and is refused there. */
  async answerInParts(call: GrpcCall, bytes: Buffer): Promise<'answered' | undefined> {
    const request = requestFrom(bytes)
    if (request === undefined || unstreamable(request) !== undefined) return undefined
    const body = await this.#bodyOf(call, unsorted(request))
    if (body === undefined) return undefined
    call.source = 'mirror'
    await sendRangeParts(call, body, this.#clock)
    return 'answered'
  }

  async #bodyOf(call: GrpcCall, request: RangeMessage): Promise<RangeBody | undefined> {
    const range = rangeFromWire(request.key, request.rangeEnd)
    const part = this.#etcd.partOf(range ?? singleKey(request.key))
    if (part?.isServed !== true) return undefined
    const found =
      request.revision > 0
        ? await this.#atRevision(part, request)
        : await this.#newest(part, request.serializable, call)
    return found && bodyOf(request, range, found)
  }

  async #newest(
    part: MirroredPart,
    isSerializable: boolean,
    call: GrpcCall,
  ): Promise<FoundContents | undefined> {
    const { revision } = this.#answered
    if (isSerializable && part.isCutOff && call.metadata('hasleader') === 'true') return undefined
    if (isSerializable && part.proven >= revision) return this.#found(part.latest())
    if (isSerializable && part.isCutOff) return undefined
    const freshness: Freshness = isSerializable
      ? { type: 'not-older-than', revision }
      : { type: 'consistent' }
    const contents = await this.#read(part, freshness, call)
    return contents && this.#found(contents)
  }

  async #atRevision(part: MirroredPart, request: RangeMessage): Promise<FoundContents | undefined> {
    const revision = request.revision as Revision
    const isKept = (): boolean =>
      part.isServed &&
      revision >= part.store.oldest &&
      revision >= this.#answered.compactRevision &&
      revision <= part.proven
    if (!isKept()) return undefined
    if (request.serializable) {
      const newest = await this.#serializableHeader(part)
      if (newest === undefined || !isKept()) return undefined
      return { contents: contentsAt(part, revision), header: newest }
    }
    const header = await this.#check(revision)
    // While etcd was asked, the history has gone on, and the epoch may have ended.
    if (header === undefined || !isKept()) return undefined
    return { contents: contentsAt(part, revision), header }
  }

  async #serializableHeader(part: MirroredPart): Promise<HeaderMessage | undefined> {
    return part.proven >= this.#answered.revision ? this.#etcd.header(part.proven) : undefined
  }

  /** The header of etcd's answer about a revision that it can read; `undefined` if it could not
   *  be asked. */
  async #check(revision: Revision): Promise<HeaderMessage | undefined> {
    try {
      return await this.#checks.ask(revision)
    } catch (error) {
      const { code } = CacheError.from(error, 'source_failed')
      if (code === 'expired') {
        this.#answered.compacted(revision + 1)
        throw new EtcdError('compacted')
      }
      return undefined
    }
  }

  async #read(
    part: MirroredPart,
    freshness: Freshness,
    call: GrpcCall,
  ): Promise<Snapshot | undefined> {
    try {
      return await part.read(freshness, () => signalOf(call))
    } catch (error) {
      throw failureOf(CacheError.from(error, 'source_failed'))
    }
  }

  #found(contents: Snapshot): FoundContents {
    return { contents, header: this.#etcd.header(contents.revision) }
  }
}
