/** The last header that was made: the next one is mostly the same, and what is made of it is kept
 *  with it. */

import type { HeaderMessage, ResponseHeader } from '@watchglass/etcd'

export class LastHeader {
  #last: { readonly base: object; readonly message: HeaderMessage } | undefined = undefined

  at(base: Omit<ResponseHeader, 'revision'>, revision: number): HeaderMessage {
    const last = this.#last
    if (last?.base === base && last.message.revision === revision) return last.message
    const { clusterId, memberId, raftTerm } = base
    const message = { clusterId, memberId, revision, raftTerm }
    this.#last = { base, message }
    return message
  }
}
