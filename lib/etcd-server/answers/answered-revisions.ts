/** The revisions that this replica has answered with, or has learnt from what passed: a member
 *  of etcd never answers with less than it has answered with before, so the replica does not
 *  either. */

import { CacheError, type Revision, WireReader } from '@watchglass/base'
import { headerCodec, prefixBytes } from '@watchglass/etcd'
import type { PartFollower } from './mirrored.ts'

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

  /** A part of a range that etcd streams has passed: these are its first bytes. The last part has
   *  the header. */
  passedPart(bytes: Buffer): void {
    this.told(partRevision(bytes))
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

/** The bytes at the start of a message that contain its header, if it begins with one. */
export const messageHeadBytes = 128

/** The revision of the header that every answer of etcd's begins with; 0 if there is none. */
function headerRevision(bytes: Buffer): number {
  const reader = new WireReader()
  reader.reset(bytes, prefixBytes, bytes.length)
  return bytes[0] === 0 ? nextHeader(reader) : 0
}

/** The revision of a part of a streamed range, which has the header within its only field. */
function partRevision(bytes: Buffer): number {
  const reader = new WireReader()
  reader.reset(bytes, prefixBytes, bytes.length)
  if (bytes[0] !== 0 || !reader.nextField() || reader.field !== 1 || reader.wire !== 2) return 0
  // These may be the first bytes of it only.
  reader.readVarint()
  return nextHeader(reader)
}

function nextHeader(reader: WireReader): number {
  if (!reader.nextField() || reader.field !== 1 || reader.wire !== 2) return 0
  if (!reader.readWindow()) return 0
  try {
    return headerCodec.decode(reader.bytes.subarray(reader.start, reader.at)).revision
  } catch (error) {
    // It is passed on as it is, and says nothing that could be noted.
    if (error instanceof CacheError) return 0
    throw error
  }
}
