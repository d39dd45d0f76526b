/** The links by which clients in process reach members. A link is one call or one stream: messages
 *  each way arrive in order, but links know nothing of each other, as with streams of HTTP/2.
 *  `DirectNetwork` delivers everything; faults.ts has one that fails as it is told to. */

import type { CacheError } from '@watchglass/base'
import type { EngineMember } from './member.ts'
import type { Scheduler } from './scheduler.ts'

export interface Network {
  connect(ends: LinkEnds): MemberLink
}

/** The client and the member at the ends of a link, and what each is told when it breaks. */
export interface LinkEnds {
  /** Names the client, for whoever decides about faults. */
  readonly client: string
  readonly member: EngineMember
  readonly kind: 'call' | 'stream'
  /** The link has broken: the client gets nothing more, and cannot know what the member has
   *  done. */
  lostByClient(failure: CacheError): void
  /** The link has broken or was closed: nobody reads what the member sends. Calls need not be
   *  told. */
  readonly lostByMember?: (() => void) | undefined
}

export interface MemberLink {
  toMember(task: () => void): void
  toClient(task: () => void): void
  /** Arrives before what was sent to the client already: see `Lane.postFirst`. */
  toClientFirst(task: () => void): void
  /** The client is done with it: nothing arrives any more at either end. */
  close(): void
}

/** Delivers everything, in order. */
export class DirectNetwork implements Network {
  readonly #scheduler: Scheduler

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler
  }

  connect(ends: LinkEnds): MemberLink {
    const lane = this.#scheduler.createLane()
    return {
      toMember: task => lane.post(task),
      toClient: task => lane.post(task),
      toClientFirst: task => lane.postFirst(task),
      close: () => {
        lane.close()
        ends.lostByMember?.()
      },
    }
  }
}
