/** Ranges of a mirrored Kubernetes API: of one resource each.
 *
 *  ```
 *  serializable    the newest contents
 *  linearizable    the API is asked for its revision, and the contents have been proven to have reached it
 *  at a revision   the contents come from the history, which begins when the resource was first mirrored
 *  ```
 *
 *  Nothing passes: what cannot be answered is refused, with the reason. */

import { CacheError, type Clock, type KeyRange, type Revision, singleKey } from '@watchglass/base'
import { EtcdError, type RangeMessage, sortTarget } from '@watchglass/etcd'
import type { KeyValue } from '@watchglass/store'
import { rangeFromWire } from '../engine/kv.ts'
import { unsorted, unstreamable } from '../engine/range-order.ts'
import type { GrpcCall } from '../listen/grpc-call.ts'
import { type RangeBody, sendRange, sendRangeParts } from '../answers/range-body.ts'
import {
  bodyOf,
  contentsAt,
  type FoundContents,
  requestFrom,
  signalOf,
} from '../answers/range-request.ts'
import type { Rights } from '../access/rights.ts'
import type { ApiResources } from './api-resources.ts'
import { type ResourcePart, withoutOrigin } from './resource-part.ts'

export class ResourceRanges {
  readonly #resources: ApiResources
  readonly #clock: Clock

  constructor(resources: ApiResources, clock: Clock) {
    this.#resources = resources
    this.#clock = clock
  }

  /** Answers a range. Fails as etcd does, and with `unsupported`. */
  async answer(call: GrpcCall, bytes: Buffer, rights: Rights | undefined): Promise<void> {
    const body = await this.#bodyOf(call, requested(bytes, rights))
    call.source = 'mirror'
    if (await sendRange(call, body, this.#clock)) return
    throw new CacheError('too_large', 'watchglass: the range does not fit into a message of gRPC')
  }

  /** Answers a range in parts. */
  async answerInParts(call: GrpcCall, bytes: Buffer, rights: Rights | undefined): Promise<void> {
    const request = requested(bytes, rights)
    const refusal = unstreamable(request)
    if (refusal !== undefined) throw new CacheError('unsupported', refusal)
    const body = await this.#bodyOf(call, unsorted(request))
    call.source = 'mirror'
    await sendRangeParts(call, body, this.#clock)
  }

  async #bodyOf(call: GrpcCall, request: RangeMessage): Promise<RangeBody> {
    const range = rangeFromWire(request.key, request.rangeEnd)
    const wanted: KeyRange = range ?? singleKey(request.key)
    let signal: AbortSignal | undefined
    const part = await this.#resources.served(wanted, () => (signal ??= signalOf(call)))
    const found = await this.#found(part, request, () => (signal ??= signalOf(call)))
    const body = bodyOf(request, range, found)
    if (body === undefined) {
      throw new CacheError('unsupported', 'watchglass: the range has too many keys to be sorted')
    }
    return { ...body, entries: () => shown(body.entries()) }
  }

  async #found(
    part: ResourcePart,
    { serializable, revision: asked }: RangeMessage,
    signal: () => AbortSignal,
  ): Promise<FoundContents> {
    const newest = serializable ? part.latest() : await part.read({ type: 'consistent' }, signal)
    const header = this.#resources.header(newest.revision)
    if (asked === 0) return { contents: newest, header }
    const { revision: latest } = newest
    if (asked > latest) throw new EtcdError('futureRevision', { latest })
    if (!part.isServed || asked < part.store.oldest) throw new EtcdError('compacted')
    return { contents: contentsAt(part, asked as Revision), header }
  }
}

/** The request, which may be made, and may be answered. */
function requested(bytes: Buffer, rights: Rights | undefined): RangeMessage {
  const request = requestFrom(bytes)
  if (request === undefined) {
    throw new CacheError('unsupported', 'watchglass: a field of the range is not known')
  }
  if (rights?.mayRange(request) === false) throw new EtcdError('permissionDenied')
  const { minCreateRevision, maxCreateRevision, sortTarget: target } = request
  const isByOrigin = target === sortTarget.create || target === sortTarget.version
  if (isByOrigin || minCreateRevision !== 0 || maxCreateRevision !== 0) {
    throw new CacheError(
      'unsupported',
      'watchglass: a Kubernetes API does not say when an object was created, nor how often it was changed',
    )
  }
  return request
}

function* shown(entries: Iterable<KeyValue>): Iterable<KeyValue> {
  for (const entry of entries) yield withoutOrigin(entry)
}
