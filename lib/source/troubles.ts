/** The resources that cannot be followed now: since when, and why. They are told together, since
 *  mostly it is the upstream that is in trouble, and after some seconds, since a watch that is cut
 *  off begins anew in less. */

import {
  type CacheError,
  type CancelTimer,
  type Clock,
  type Logger,
  repeat,
} from '@watchglass/base'
import type { KeyspaceState } from '@watchglass/cache'

export interface FollowedState {
  /** The keyspace. */
  readonly name: string
  /** For people. */
  readonly resource: string
  readonly state: KeyspaceState
}

export interface TroublesOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** Resources that are to be followed. */
  readonly states: () => readonly FollowedState[]
}

interface Trouble {
  readonly resource: string
  readonly sinceMs: number
  readonly since: string
}

const lookEveryMs = 2000
const toldAfterMs = 10_000
const saidAgainMs = 60_000

export class Troubles {
  readonly #options: TroublesOptions
  readonly #troubles = new Map<string, Trouble>()
  readonly #failures = new Map<string, CacheError>()
  #cancel: CancelTimer = () => {}
  #saidMs: number | undefined = undefined
  #beganMs = 0

  constructor(options: TroublesOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancel = repeat(this.#options.clock, lookEveryMs, () => this.#look())
  }

  stop(): void {
    this.#cancel()
  }

  /** The last failure of a resource. */
  failed(name: string, failure: CacheError): void {
    this.#failures.set(name, failure)
  }

  /** In words; undefined while all is well, or it has not lasted yet. */
  get problem(): string | undefined {
    const lasting = this.#lasting()
    const [first] = lasting
    if (first === undefined) return undefined
    const [name, { resource, since }] = first
    const others = lasting.length === 1 ? '' : ` and ${lasting.length - 1} others`
    const { message } = this.#failures.get(name) ?? { message: 'it has not caught up' }
    return `${resource}${others} cannot be followed since ${since}: ${message}`
  }

  /** The first one first. */
  #lasting(): [string, Trouble][] {
    const beforeMs = this.#options.clock.monotonicMs() - toldAfterMs
    return [...this.#troubles]
      .filter(([, { sinceMs }]) => sinceMs <= beforeMs)
      .toSorted(([, a], [, b]) => a.sinceMs - b.sinceMs)
  }

  #look(): void {
    const { clock, logger, states } = this.#options
    const nowMs = clock.monotonicMs()
    const now = new Map(states().map(one => [one.name, one]))
    for (const name of this.#troubles.keys()) {
      const state = now.get(name)?.state
      if (state !== undefined && state !== 'ready') continue
      this.#troubles.delete(name)
      this.#failures.delete(name)
    }
    for (const [name, { resource, state }] of now) {
      if (state === 'ready' || this.#troubles.has(name)) continue
      const since = new Date(clock.wallMs()).toISOString()
      this.#troubles.set(name, { resource, sinceMs: nowMs, since })
    }
    const { problem } = this
    if (problem === undefined && this.#saidMs !== undefined && this.#troubles.size === 0) {
      this.#saidMs = undefined
      const seconds = Math.round((nowMs - this.#beganMs) / 1000)
      logger.info('all resources of the upstream are followed again', { seconds })
    }
    if (problem === undefined || nowMs - (this.#saidMs ?? -Infinity) < saidAgainMs) return
    const [first] = this.#lasting()
    if (this.#saidMs === undefined) this.#beganMs = first?.[1].sinceMs ?? nowMs
    this.#saidMs = nowMs
    logger.warn(
      'resources of the upstream cannot be followed: what is held is served where it may be old, and all else passes',
      { resources: this.#lasting().length, problem },
    )
  }
}
