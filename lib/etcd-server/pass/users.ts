/** Whether etcd has users. Where it has, it decides for each call whom it answers, so that
 *  nothing is answered here. */

import { CacheError, type CancelTimer, type Clock } from '@watchglass/base'
import { authenticateCodec, isAuthNotEnabled } from '@watchglass/etcd'
import { callEtcd } from './etcd-call.ts'
import type { EtcdSessions } from './etcd-sessions.ts'

/** A change that passes this replica is noticed at once. */
const askEveryMs = 10_000
const askAgainMs = 1000

export class Users {
  readonly #sessions: EtcdSessions
  readonly #clock: Clock
  #state: 'unknown' | 'none' | 'some' = 'unknown'
  #round = 0
  #cancelTimer: CancelTimer = () => {}
  #isStopped = false

  constructor(sessions: EtcdSessions, clock: Clock) {
    this.#sessions = sessions
    this.#clock = clock
  }

  /** etcd is known to answer everybody. */
  get areNone(): boolean {
    return this.#state === 'none'
  }

  /** Asks now, and from time to time until it is stopped. */
  ask(): void {
    this.#round++
    this.#cancelTimer()
    void this.#ask(this.#round)
  }

  /** A change of it passes: nothing is known until etcd has been asked again. */
  changing(): void {
    this.#state = 'unknown'
    this.#round++
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelTimer()
  }

  async #ask(round: number): Promise<void> {
    const state = await this.#stateOfEtcd()
    if (this.#isStopped || round !== this.#round) return
    if (state !== undefined) this.#state = state
    const delayMs = state === undefined ? askAgainMs : askEveryMs
    this.#cancelTimer = this.#clock.setTimer(delayMs, () => this.ask())
  }

  /** `undefined` if etcd has not said. Nobody is asked to log in: where there are no users, etcd
   *  says so first, in every version, and without an entry in its log. */
  async #stateOfEtcd(): Promise<'none' | 'some' | undefined> {
    try {
      await callEtcd(this.#sessions, '/etcdserverpb.Auth/Authenticate', question)
      return 'some'
    } catch (error) {
      if (isAuthNotEnabled(error)) return 'none'
      return CacheError.from(error, 'source_failed').code === 'unauthorized' ? 'some' : undefined
    }
  }
}

const question = authenticateCodec.encode({ name: 'watchglass-asks-for-users', password: '' })
