/** The token that etcd gives for a user's name and password. It runs out: simple ones five minutes
 *  after their last use, others at a fixed time. The one at hand is used until etcd refuses it. */

import { CacheError } from '@watchglass/base'
import type { Channel } from './channel.ts'
import { isAuthNotEnabled } from './failures.ts'
import { authenticateMethod } from './methods.ts'

export interface User {
  readonly name: string
  readonly password: string
}

/** A token, or `undefined` when etcd does not ask for one. */
export type Token = string | undefined

export class TokenSource {
  readonly #user: User
  readonly #timeoutMs: number
  #atHand: { readonly token: Token } | undefined
  #coming: Promise<Token> | undefined

  constructor(user: User, timeoutMs: number) {
    this.#user = user
    this.#timeoutMs = timeoutMs
  }

  /** The token at hand, or a new one, asked for once for all who wait. */
  async get(channel: Channel): Promise<Token> {
    if (this.#atHand !== undefined) return this.#atHand.token
    this.#coming ??= this.#authenticate(channel).finally(() => {
      this.#coming = undefined
    })
    return this.#coming
  }

  /** The token was refused. One that was renewed meanwhile stays. */
  forget(token: Token): void {
    if (this.#atHand?.token === token) this.#atHand = undefined
  }

  async #authenticate(channel: Channel): Promise<Token> {
    const { path, request, response } = authenticateMethod
    const options = { token: undefined, needsLeader: false, timeoutMs: this.#timeoutMs }
    let token: Token
    try {
      token = response.decode(await channel.call(path, request.encode(this.#user), options)).token
    } catch (error) {
      const failure = CacheError.from(error, 'source_failed')
      if (!isAuthNotEnabled(failure)) throw failure
    }
    this.#atHand = { token }
    return token
  }
}
