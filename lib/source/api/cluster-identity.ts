/** Which cluster answers: the uid of namespace kube-system, which lasts as long as the cluster. A
 *  restored backup of a cluster has the same one; that shows by revisions. */

import { CacheError, type Clock, memberAt, textOf } from '@watchglass/base'
import type { ApiServer } from './api-server.ts'
import { RefusedResource } from './answers.ts'

/** The uid is asked for again when somebody wants it after this time. */
const knownForMs = 15_000
/** The number of a cluster whose uid we may not read. */
const unnamed = 1n

const path = '/api/v1/namespaces/kube-system'
const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'

export class ClusterIdentity {
  readonly #server: Pick<ApiServer, 'ask'>
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #signal: AbortSignal
  #known: bigint | undefined = undefined
  #askedMs = Number.NEGATIVE_INFINITY
  #asking: Promise<bigint> | undefined = undefined

  constructor(
    server: Pick<ApiServer, 'ask'>,
    clock: Pick<Clock, 'monotonicMs'>,
    signal: AbortSignal,
  ) {
    this.#server = server
    this.#clock = clock
    this.#signal = signal
  }

  /** A number of 63 bits. One that is known is answered at once, and asked for again meanwhile, so
   *  that a new one is known a moment later. Fails as the API does, as long as none is known. */
  async id(): Promise<bigint> {
    const isOld = this.#clock.monotonicMs() - this.#askedMs >= knownForMs
    if (this.#known !== undefined && !isOld) return this.#known
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined))
    if (this.#known === undefined) return this.#asking
    this.#asking.catch(() => {})
    return this.#known
  }

  async #ask(): Promise<bigint> {
    this.#askedMs = this.#clock.monotonicMs()
    this.#known = await this.#uid()
    return this.#known
  }

  async #uid(): Promise<bigint> {
    try {
      const { body } = await this.#server.ask({ path, accept, signal: this.#signal })
      const parsed: unknown = JSON.parse(Buffer.from(body).toString())
      const digits = textOf(memberAt(parsed, ['metadata', 'uid'])).replaceAll('-', '')
      return /^[0-9a-f]{16,32}$/i.test(digits)
        ? BigInt.asUintN(63, BigInt(`0x${digits}`)) || unnamed
        : unnamed
    } catch (error) {
      if (error instanceof RefusedResource) return this.#known ?? unnamed
      throw CacheError.from(error, 'source_failed')
    }
  }
}
