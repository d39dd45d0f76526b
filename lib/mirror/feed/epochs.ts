/** An epoch is the time in which one etcd history grows. Restoring a backup starts another one: under another cluster id, or
 *  with the same id and a revision or a raft term that goes back. Nothing of an old epoch is served again, and a revision that
 *  only an old epoch had has expired: it is not one to wait for.
 *
 *  Only linearizable answers are judged for going back, and only against what was known when their request began: a member may
 *  lag, and answers may overtake each other. Before etcd 3.4.42, 3.5.28 and 3.6.9 such an answer can itself be stale, so one
 *  that goes back must be confirmed by another before it counts. */

import { type Revision, revision } from '../../base/revision.ts'
import type { ResponseHeader } from '../../etcd/client.ts'

/** What was known when a request began. */
export interface EpochMark {
  readonly epoch: number
  readonly revision: Revision
  readonly raftTerm: bigint
}

/** What a linearizable answer says of the epoch: as it should be; of an epoch that is over, so that it means nothing; of
 *  another cluster; or behind what was known. */
export type EpochVerdict = 'same' | 'over' | 'another cluster' | 'went back'

export class Epochs {
  #number = 1
  #clusterId: bigint | undefined = undefined
  #raftTerm = 0n
  #witnessed: Revision = revision(0)
  #expiredThrough: Revision = revision(0)

  /** Counts up; whoever began something under another number must not finish it. */
  get number(): number {
    return this.#number
  }

  get clusterId(): bigint | undefined {
    return this.#clusterId
  }

  /** The highest revision that this epoch's etcd is known to have reached. */
  get witnessed(): Revision {
    return this.#witnessed
  }

  /** The highest revision of any epoch that is over; 0 when there is none. */
  get expiredThrough(): Revision {
    return this.#expiredThrough
  }

  /** To be kept beside a request, for `judge`. */
  mark(): EpochMark {
    return { epoch: this.#number, revision: this.#witnessed, raftTerm: this.#raftTerm }
  }

  /** Judges the answer to a linearizable request that began at `mark`. One that is `same` is witnessed. */
  judge(mark: EpochMark, header: ResponseHeader): EpochVerdict {
    if (mark.epoch !== this.#number) return 'over'
    if (this.isOtherCluster(header)) return 'another cluster'
    if (header.revision < mark.revision || header.raftTerm < mark.raftTerm) return 'went back'
    this.witness(header)
    if (header.raftTerm > this.#raftTerm) this.#raftTerm = header.raftTerm
    return 'same'
  }

  isOtherCluster(header: ResponseHeader): boolean {
    return this.#clusterId !== undefined && header.clusterId !== this.#clusterId
  }

  /** Takes note of any header of this epoch's cluster: its member has applied that revision, so the cluster has committed it. Its
   *  term means nothing: a member that is cut off counts it up alone. */
  witness(header: ResponseHeader): void {
    this.#clusterId ??= header.clusterId
    if (header.revision > this.#witnessed) this.#witnessed = header.revision
  }

  /** Begins the epoch of which `header` was the first sign. */
  startNew(header: ResponseHeader): void {
    this.#number++
    this.#expiredThrough = revision(Math.max(this.#expiredThrough, this.#witnessed))
    this.#clusterId = header.clusterId
    this.#witnessed = header.revision
    this.#raftTerm = header.raftTerm
  }
}
