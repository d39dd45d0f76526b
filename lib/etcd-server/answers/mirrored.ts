/** The mirror as the API of etcd sees it. `lib/etcd-server/view/etcd-view.ts` implements it: this
 *  room does not know mirrors. */

import type { Freshness, KeyRange, Revision } from '@watchglass/base'
import type { Batch, Keyspace, Snapshot } from '@watchglass/store'
import type { HeaderMessage } from '@watchglass/etcd'

/** A range of etcd of which every key is mirrored. */
export interface MirroredPart {
  readonly range: KeyRange
  /** Contents and history up to `proven`; they may be shown only while `isServed`. */
  readonly store: Keyspace
  /** The revision up to which nothing is missing. */
  readonly proven: Revision
  readonly isServed: boolean
  /** etcd's progress marks are true in all of its versions that are in use. */
  readonly isProgressSound: boolean
  /** The mirror has lost etcd: nothing new will come for now. */
  readonly isCutOff: boolean
  /** The newest contents, once they are as fresh as asked for; `undefined` if they must be read
   *  from etcd. Fails as the freshness gate does. */
  read(freshness: Freshness, signal: () => AbortSignal): Promise<Snapshot | undefined>
  /** The newest contents, as they are. */
  latest(): Snapshot
  /** Asks etcd how far it is: `proven` rises soon. */
  refresh(): void
  /** The batch as clients are told of it; as it is, if it is left out. */
  readonly told?: ((batch: Batch) => Batch) | undefined
}

/** Follows what happens to a part. Called synchronously; must not throw. */
export interface PartFollower {
  /** All changes of a revision, in order. */
  applied?(part: MirroredPart, batch: Batch): void
  /** `proven` has risen without a change. */
  progressed?(part: MirroredPart): void
  /** The history has started anew: positions up to the new beginning are lost. */
  reset?(part: MirroredPart): void
  /** Told when etcd is another one, or an old backup: nothing that was said before holds; of this
   *  part alone, if there is one. */
  epochEnded?(part?: MirroredPart): void
  /** `isServed` or `isCutOff` may have changed. */
  stateChanged?(part: MirroredPart): void
}

/** An etcd of which some ranges are mirrored. */
export interface MirroredEtcd {
  /** The part that holds all of a range, if one does. */
  partOf(range: KeyRange): MirroredPart | undefined
  /** The highest revision that etcd is known to have reached. */
  readonly revision: Revision
  /** A header as etcd writes it, with this revision. */
  header(revision: number): HeaderMessage
  /** Asks etcd whether a revision can be read. Fails with `expired` or `future_revision` if it
   *  cannot, and as calls of etcd fail. */
  checkRevision(revision: Revision): Promise<HeaderMessage>
  /** Finds out whether etcd has another leader, or another history. */
  lookAgain(): void
  follow(follower: PartFollower): void
}
