/** The answers of etcd, or since when it gives none and why: it may refuse calls, or take no
 *  connection, while a watch that is open lives on. */

import { type CacheError, type Clock, type Logger, Outage } from '@watchglass/base'

/** A shorter outage is not told, since a single question is lost now and then. */
const toldAfterMs = 3000

export class EtcdOutage {
  readonly #outage: Outage
  #failure: CacheError | undefined = undefined

  constructor(clock: Clock, logger: Logger) {
    this.#outage = new Outage({
      clock,
      logger,
      begins: 'etcd gives no answer: reads that must be new are refused, or pass to the upstream',
      ends: 'etcd answers again',
      isUrgent: true,
      toldAfterMs,
    })
  }

  /** The last failure; undefined once etcd has answered. */
  get failure(): CacheError | undefined {
    return this.#failure
  }

  /** Its length until now; 0 while etcd answers. */
  get lastsMs(): number {
    return this.#outage.lastsMs
  }

  /** The problem in words; undefined while there is none, or it is only just beginning. */
  get problem(): string | undefined {
    const { words } = this.#outage
    return words === undefined ? undefined : `no answer ${words}`
  }

  answered(): void {
    this.#failure = undefined
    this.#outage.answered()
  }

  failed(failure: CacheError): void {
    this.#failure = failure
    this.#outage.failed(failure.message)
  }
}
