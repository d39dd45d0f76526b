/** The newest changes that etcd is known to have made. An etcd that was restored from a backup
 *  behind our back may have passed our revision and our term, with the same cluster id. It has
 *  made other changes at those revisions, or none: asked for them, it gives itself away.
 *
 *  Each is asked for at its own revision, where nothing can have changed since. Where that is
 *  compacted, the newest state of the key still tells: it is the same, or newer (which says
 *  nothing), or could not be.
 *
 *  Contents that were read do not say what was deleted last before. Another history that has it
 *  still, or anything else, has another number of keys at the revision of the read.
 *
 *  A source that is one resource is told more exactly. A history that has the newest change is the
 *  same up to there, and the watch that begins there brings the rest. Where the newest change is a
 *  deletion, which leaves nothing to ask for, or is none, since the contents were read or the
 *  change has left the window of the watch, all keys are compared with their revisions. */

import { type Key, keyAfter, type KeyRange, type Revision, singleKey } from '@watchglass/base'
import type { RangeRequest, RangeResponse, ResponseHeader, RevisionChanges } from '@watchglass/etcd'
import type { KeyValue } from '@watchglass/store'

/** Writers of several keys: two histories that wrote the same bytes to all of them, at the same
 *  revisions, are the same. */
export const putsMax = 3
const deletesMax = 2
/** Keys of a page that are compared. */
const pageEntries = 5000

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
  /** The contents as they are now, if they have to be vouched for. */
  readonly doubted?: (() => DoubtedContents | undefined) | undefined
}

/** Contents that may be of another history than what the source has now. */
export interface DoubtedContents {
  /** The revision up to which everything is known. */
  readonly at: Revision
  /** The revision after which the watch goes on. Nothing has changed from there up to `at`. */
  readonly changed: Revision
  readonly entries: Iterable<KeyValue>
  /** The source has them. */
  readonly agreed: () => void
  /** The source cannot be asked about this revision any more. */
  readonly expired: () => void
}

/** Findings of a read at a revision. */
export interface ReadEntries {
  readonly entries: readonly KeyValue[]
  readonly revision: Revision
  /** The term in which it was found, where another one would be another history's. */
  readonly raftTerm?: bigint | undefined
  /** All that a range has. */
  readonly counted?: { readonly range: KeyRange; readonly count: number } | undefined
}

/** Asks etcd; `expired` where it has compacted the revision. */
export type AskLandmark = (request: RangeRequest) => Promise<RangeResponse | 'expired'>

export class Landmarks {
  #puts: Landmark[] = []
  #deletes: Landmark[] = []
  /** By the first key and the end of its range. */
  readonly #reads = new Map<string, ReadContents>()

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
  }

  /** Takes how much a range had at a revision. */
  noteContents(contents: ReadContents): void {
    const { start, end } = contents.range
    this.#reads.set(`${start}\0${end}`, contents)
  }

  /** Another history has begun. */
  clear(): void {
    this.#puts = []
    this.#deletes = []
    this.#reads.clear()
  }

  /** Header of an answer that shows another history; undefined if none does. Fails as `ask`
   *  does. */
  async contradiction(ask: AskLandmark): Promise<ResponseHeader | undefined> {
    const puts = [...this.#puts]
    const newest = puts.at(-1)
    const findings = await Promise.all([
      ...[...puts, ...this.#deletes].map(landmark => findingOf(landmark, ask)),
      ...[...this.#reads.values()].map(contents => otherContents(contents, ask)),
    ])
    const found = findings.find(one => one !== undefined && one !== 'same')
    if (found !== undefined) return found
    const vouched = findings[puts.length - 1] === 'same' ? newest?.at : undefined
    for (const { range, doubted } of this.#reads.values()) {
      const contents = doubted?.()
      if (contents === undefined) continue
      if (contents.changed === vouched) contents.agreed()
      else {
        const header = await differingContents(range, contents, ask)
        if (header !== undefined) return header
      }
    }
    return undefined
  }
}

/** Whether etcd has these entries at a revision, and as many keys. Fails as `ask` does. */
export async function hasRead(
  { entries, revision, raftTerm, counted }: ReadEntries,
  ask: AskLandmark,
): Promise<boolean> {
  const isOfTerm = ({ header }: RangeResponse): boolean =>
    raftTerm === undefined || header.raftTerm === raftTerm
  const isFound = async (entry: KeyValue): Promise<boolean> => {
    const { key } = entry
    const then = await ask({ range: singleKey(key), revision, limit: 1 })
    if (then === 'expired' || !isOfTerm(then)) return false
    return isSame({ key, at: revision, entry }, then.entries[0])
  }
  const isCounted = async (): Promise<boolean> => {
    if (counted === undefined) return true
    const then = await ask({ range: counted.range, revision, limit: 1 })
    return then !== 'expired' && isOfTerm(then) && then.count === counted.count
  }
  const all = await Promise.all([...entries.map(isFound), isCounted()])
  return all.every(one => one)
}

/** Keeps the newest, in order: where several ranges are followed, one of them may be behind. */
function keep(known: Landmark[], landmark: Landmark, max: number): void {
  const before = known.findLastIndex(one => one.at <= landmark.at)
  known.splice(before + 1, 0, landmark)
  if (known.length > max) known.shift()
}

/** Header of an answer that contradicts a landmark; undefined if it may be of another history all
 *  the same. */
async function findingOf(
  landmark: Landmark,
  ask: AskLandmark,
): Promise<ResponseHeader | 'same' | undefined> {
  const request = { range: singleKey(landmark.key), limit: 1 }
  const then = await ask({ ...request, revision: landmark.at })
  if (then !== 'expired') return isSame(landmark, then.entries[0]) ? 'same' : then.header
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

/** Header of an answer with other keys, or other revisions of them. */
async function differingContents(
  { start, end }: KeyRange,
  { at, entries, agreed, expired }: DoubtedContents,
  ask: AskLandmark,
): Promise<ResponseHeader | undefined> {
  const mine = entries[Symbol.iterator]()
  for (let from = start; ;) {
    const request = { range: { start: from, end }, revision: at, limit: pageEntries }
    const page = await ask({ ...request, keysOnly: true })
    if (page === 'expired') {
      expired()
      return undefined
    }
    for (const { key, modRevision } of page.entries) {
      const known: KeyValue | undefined = mine.next().value
      if (known?.key !== key || known.modRevision !== modRevision) return page.header
    }
    const last = page.entries.at(-1)
    if (page.more && last !== undefined) from = keyAfter(last.key)
    else if (mine.next().done !== true) return page.header
    else break
  }
  agreed()
  return undefined
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
