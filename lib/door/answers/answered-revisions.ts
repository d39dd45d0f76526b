/** The revisions that this door has answered with, or has learnt from what passed: a member of etcd
 *  never answers with less than it has answered with before, so the door does not either. */

import type { Revision } from '../../base/revision.ts'
import { WireReader } from '../../wire/reader.ts'
import { headerCodec } from '../../etcd/proto/kv-messages.ts'
import type { PartFollower } from './mirrored.ts'
import { prefixBytes } from '../listen/message-reader.ts'

export class AnsweredRevisions implements PartFollower {
  #revision = 0
  #compactRevision = -1

  /** The highest revision in an answer of this epoch. */
  get revision(): Revision {
    return this.#revision as Revision
  }

  /** etcd is known to have compacted up to here; -1 if nothing is known. */
  get compactRevision(): number {
    return this.#compactRevision
  }

  /** An answer of etcd's has passed: these are the first bytes of its messages. */
  passed(bytes: Buffer): void {
    this.told(headerRevision(bytes))
  }

  /** Somebody was told of this revision. */
  told(revision: number): void {
    if (revision > this.#revision && Number.isSafeInteger(revision)) this.#revision = revision
  }

  compacted(revision: number): void {
    if (revision > this.#compactRevision) this.#compactRevision = revision
  }

  epochEnded(): void {
    this.#revision = 0
    this.#compactRevision = -1
  }
}

/** The revision of the header that every answer of etcd's begins with; 0 if there is none. */
function headerRevision(bytes: Buffer): number {
  const reader = new WireReader()
  reader.reset(bytes, prefixBytes, bytes.length)
  if (bytes[0] !== 0 || !reader.nextField() || reader.field !== 1 || reader.wire !== 2) return 0
  if (!reader.readWindow()) return 0
  const { revision } = headerCodec.decode(bytes.subarray(reader.start, reader.at))
  return revision
}
