/** An epoch is the lifetime of one etcd history. Restoring a backup starts a new one: with another
 *  cluster id, or with the same id and a revision or a raft term that goes back. Nothing of an old
 *  epoch is served again. A revision that only an old epoch had has expired: no read waits for it.
 *
 *  Only linearizable answers are judged for going back, and only against what was known when their
 *  request began: a member may lag, and answers may overtake each other. Before etcd 3.4.42, 3.5.28
 *  and 3.6.9 such an answer can itself be stale, so one that goes back must be confirmed by another
 *  before it counts. */

import { revision, type Revision } from '@watchglass/base'
import type { ResponseHeader } from '@watchglass/etcd'

/** The epoch as it was known when a request began. */
export interface EpochMark {
  readonly epoch: number
  readonly revision: Revision
  readonly raftTerm: bigint
}

/** The relation of a linearizable answer to the epoch: it belongs to it; the epoch is over, so the
 *  answer means nothing; it is from another cluster; or its revision is behind what was known. */
export type EpochVerdict = 'same' | 'over' | 'another cluster' | 'went back'

export class Epochs {
  #number = 1
  #clusterId: bigint | undefined = undefined
  /** The member that spoke last. */
  #memberId = 0n
  #raftTerm = 0n
  /** The newest term in which etcd is known to have the history of this epoch. */
  #agreedTerm = 0n
  #header: Omit<ResponseHeader, 'revision'> | undefined = undefined
  #witnessed: Revision = revision(0)
  #expiredThrough: Revision = revision(0)

  /** Rises with each epoch. Work that began under another number must not be finished. */
  get number(): number {
    return this.#number
  }

  get clusterId(): bigint | undefined {
    return this.#clusterId
  }

  /** Header of this epoch's etcd, but for the revision. Its term is one in which etcd has been
   *  found to have this history: whoever compares it with another header must not take a restored
   *  etcd, which has a later term, for the same. */
  get header(): Omit<ResponseHeader, 'revision'> {
    const [clusterId, memberId, raftTerm] = [
      this.#clusterId ?? 0n,
      this.#memberId,
      this.#agreedTerm,
    ]
    const known = this.#header
    const isSame =
      known?.clusterId === clusterId && known.memberId === memberId && known.raftTerm === raftTerm
    // The same object as long as nothing changes: what is made of it is kept with it.
    return isSame ? known : (this.#header = { clusterId, memberId, raftTerm })
  }

  /** The highest revision that this epoch's etcd is known to have reached. */
  get witnessed(): Revision {
    return this.#witnessed
  }

  /** The highest revision of all past epochs; 0 if there is none. */
  get expiredThrough(): Revision {
    return this.#expiredThrough
  }

  /** The present state, to be kept with a request for `judge`. */
  mark(): EpochMark {
    return { epoch: this.#number, revision: this.#witnessed, raftTerm: this.#raftTerm }
  }

  /** Judges the answer to a linearizable request that began at `mark`. One that is `same` is
   *  witnessed. */
  judge(mark: EpochMark, header: ResponseHeader): EpochVerdict {
    if (mark.epoch !== this.#number) return 'over'
    if (this.isOtherCluster(header)) return 'another cluster'
    if (header.revision < mark.revision || header.raftTerm < mark.raftTerm) return 'went back'
    this.witness(header)
    if (header.raftTerm > this.#raftTerm) this.#raftTerm = header.raftTerm
    if (this.#agreedTerm === 0n) this.#agreedTerm = header.raftTerm
    return 'same'
  }

  /** True for a term in which etcd is not known to have this history: a restored etcd may have it,
   *  or a new leader. */
  isNewTerm({ raftTerm }: ResponseHeader): boolean {
    return this.#agreedTerm !== 0n && raftTerm > this.#agreedTerm
  }

  /** Notes that etcd was found to have this history after it had answered `header`, if the epoch is
   *  still that of `mark`. */
  agreed(mark: EpochMark, { raftTerm }: ResponseHeader): void {
    if (mark.epoch === this.#number && raftTerm > this.#agreedTerm) this.#agreedTerm = raftTerm
  }

  isOtherCluster(header: ResponseHeader): boolean {
    return this.#clusterId !== undefined && header.clusterId !== this.#clusterId
  }

  /** Notes any header of this epoch's cluster: its member has applied that revision, so the cluster
   *  has committed it. The term is ignored: a member that is cut off raises it alone. */
  witness(header: ResponseHeader): void {
    this.#clusterId ??= header.clusterId
    this.#memberId = header.memberId
    if (header.revision > this.#witnessed) this.#witnessed = header.revision
  }

  /** Begins the epoch of which `header` was the first sign. */
  startNew(header: ResponseHeader): void {
    this.#number++
    this.#expiredThrough = revision(Math.max(this.#expiredThrough, this.#witnessed))
    this.#clusterId = header.clusterId
    this.#memberId = header.memberId
    this.#witnessed = header.revision
    this.#raftTerm = header.raftTerm
    this.#agreedTerm = header.raftTerm
  }
}
