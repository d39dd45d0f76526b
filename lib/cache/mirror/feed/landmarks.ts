/** The newest changes that etcd is known to have made. An etcd that was restored from a backup
 *  behind our back may have passed our revision and our term, with the same cluster id. It has
 *  made other changes at those revisions, or none: asked for them, it gives itself away.
 *
 *  Each is asked for at its own revision, where nothing can have changed since. Where that is
 *  compacted, the newest state of the key still tells: it is the same, or newer (which says
 *  nothing), or could not be.
 *
 *  Contents that were read do not say what was deleted last before. Another history that has it
 *  still, or anything else, has another number of keys at the revision of the read. */

import { type Key, type KeyRange, type Revision, singleKey } from '@watchglass/base'
import type { RangeRequest, RangeResponse, ResponseHeader, RevisionChanges } from '@watchglass/etcd'
import type { KeyValue } from '@watchglass/store'

/** Writers of several keys: two histories that wrote the same bytes to all of them, at the same
 *  revisions, are the same. */
const putsMax = 3
const deletesMax = 2

interface Landmark {
  readonly key: Key
  readonly at: Revision
  /** Entry as etcd sent it; undefined if the key was deleted. */
  readonly entry?: KeyValue | undefined
}

/** Contents that were read whole. */
interface ReadContents {
  readonly range: KeyRange
  readonly at: Revision
  readonly count: number
}

/** Asks etcd; `expired` where it has compacted the revision. */
export type AskLandmark = (request: RangeRequest) => Promise<RangeResponse | 'expired'>

export class Landmarks {
  #puts: Landmark[] = []
  #deletes: Landmark[] = []
  /** By the first key of its range. */
  readonly #reads = new Map<Key, ReadContents>()

  /** Takes the last change of a batch. */
  note({ revision: at, changes }: RevisionChanges): void {
    const last = changes.at(-1)
    if (last === undefined) return
    if (last.type === 'delete') keep(this.#deletes, { key: last.key, at }, deletesMax)
    else keep(this.#puts, { key: last.entry.key, at, entry: last.entry }, putsMax)
  }

  /** Takes what was read, if it is newer than what is known. */
  noteRead(entry: KeyValue): void {
    const { key, modRevision: at } = entry
    const oldest = this.#puts[0]
    if (this.#puts.length === putsMax && oldest !== undefined && at <= oldest.at) return
    if (this.#puts.some(known => known.at === at)) return
    keep(this.#puts, { key, at, entry }, putsMax)
    this.#puts.sort((a, b) => a.at - b.at)
  }

  /** Takes how much a range had at a revision. */
  noteContents(contents: ReadContents): void {
    this.#reads.set(contents.range.start, contents)
  }

  /** Another history has begun. */
  clear(): void {
    this.#puts = []
    this.#deletes = []
    this.#reads.clear()
  }

  /** Header of an answer that shows another history; undefined if none does. */
  async contradiction(ask: AskLandmark): Promise<ResponseHeader | undefined> {
    const all = [...this.#puts, ...this.#deletes]
    const headers = await Promise.all([
      ...all.map(landmark => contradictionOf(landmark, ask)),
      ...[...this.#reads.values()].map(contents => otherContents(contents, ask)),
    ])
    return headers.find(header => header !== undefined)
  }
}

function keep(known: Landmark[], landmark: Landmark, max: number): void {
  known.push(landmark)
  if (known.length > max) known.shift()
}

async function contradictionOf(
  landmark: Landmark,
  ask: AskLandmark,
): Promise<ResponseHeader | undefined> {
  const request = { range: singleKey(landmark.key), limit: 1 }
  const then = await ask({ ...request, revision: landmark.at })
  if (then !== 'expired') return isSame(landmark, then.entries[0]) ? undefined : then.header
  const now = await ask(request)
  if (now === 'expired') return undefined
  return mayBeLater(landmark, now.entries[0]) ? undefined : now.header
}

async function otherContents(
  { range, at, count }: ReadContents,
  ask: AskLandmark,
): Promise<ResponseHeader | undefined> {
  const then = await ask({ range, revision: at, limit: 1 })
  return then === 'expired' || then.count === count ? undefined : then.header
}

function isSame({ entry }: Landmark, found: KeyValue | undefined): boolean {
  if (entry === undefined || found === undefined) return entry === found
  return (
    found.modRevision === entry.modRevision &&
    found.createRevision === entry.createRevision &&
    found.version === entry.version &&
    Buffer.compare(found.value, entry.value) === 0
  )
}

/** Whether the key may have become this after the landmark. */
function mayBeLater(landmark: Landmark, found: KeyValue | undefined): boolean {
  if (found === undefined) return true
  const { at, entry } = landmark
  if (found.modRevision <= at) return isSame(landmark, found)
  return found.createRevision > at || found.createRevision === entry?.createRevision
}
