/** Makes one page of a list from a snapshot and a plan.
 *
 *  Without a selector a page costs a walk over its leaves and one count of the remaining entries.
 *  With a selector it costs a walk over the entries that an index returns, or over the range. Such
 *  a walk can be long, so it is made in steps, between which the caller may wait. */

import type { ListMeta, Run } from '@watchglass/codec'
import {
  assert,
  type Key,
  keyAfter,
  type KeyRange,
  notedEffort,
  NotExact,
  type Revision,
  type Steps,
} from '@watchglass/base'
import type { KeyValue, Snapshot } from '@watchglass/store'
import { type TokenEncryption, encodeContinuation } from './continuation.ts'
import type { MakeReader } from './selectors/filter.ts'
import { selectedEntries, wholeShard } from './selectors/selected-entries.ts'
import type { ListPlan } from './read-plan.ts'

/** The contents of a page, in the order of keys: whole leaves, or joined runs of a shard, so that
 *  what is kept with them can be used; or selected entries. */
export type PageContent =
  | { readonly type: 'slices'; readonly slices: Iterable<Run> }
  | { readonly type: 'entries'; readonly entries: readonly KeyValue[] }

export interface Page {
  readonly content: PageContent
  readonly revision: Revision
  /** The last key that was examined, if there are more after it. */
  readonly last: Key | undefined
  /** Number of entries that are not on the page, nor before it, where it is shown: also of those
   *  that other shards have. */
  readonly remaining: number | undefined
}

export interface PageOptions {
  readonly plan: ListPlan
  readonly snapshot: Snapshot
  /** Reads what the plan's selectors need. */
  readonly makeReader: MakeReader
}

/** The page of a list that selects nothing, or all of what a shard has; undefined for any other. */
export function wholePage(options: PageOptions): Page | undefined {
  const { plan, snapshot, makeReader } = options
  if (plan.labels.isEmpty && plan.fields.isEmpty && plan.shards === undefined) {
    return unfilteredPage(options)
  }
  const runs = plan.limit === 0 ? wholeShard(snapshot, plan, makeReader) : undefined
  return runs && allOf(runs, snapshot)
}

/** The effort after which a walk gives way, whatever it has examined: about a millisecond. */
const stepEffort = 1_000

/** The page of a list that selects; or why it cannot be made exactly. Yields after so many entries
 *  that it has examined, and sooner where each takes long. */
export function* selectedPage(
  { plan, snapshot, makeReader }: PageOptions,
  stepEntries: number,
): Steps<Page | NotExact> {
  const { range, limit } = plan
  const { entries, filter } = selectedEntries(snapshot, range, plan, makeReader)
  const selected: KeyValue[] = []
  let examined = 0
  let begunAt = notedEffort()
  let last: Key | undefined
  for (const entry of entries) {
    // Undefined where entries were left out.
    const isSelected = entry !== undefined && (filter === undefined || filter(entry))
    if (isSelected instanceof NotExact) return isSelected
    if (isSelected && selected.push(entry) === limit) {
      last = entry.key
      break
    }
    if (++examined % stepEntries !== 0 && notedEffort() - begunAt < stepEffort) continue
    yield
    begunAt = notedEffort()
  }
  assert(limit === 0 || selected.length <= limit, 'a page has no more than was asked for')
  const after = last === undefined ? 0 : countAfter(snapshot, last, range)
  return {
    content: { type: 'entries', entries: selected },
    revision: snapshot.revision,
    last: after > 0 ? last : undefined,
    remaining: after > 0 && plan.isCounted ? snapshot.count(range) - selected.length : undefined,
  }
}

function unfilteredPage({ plan, snapshot }: PageOptions): Page {
  if (plan.limit === 0) {
    // Leaves are looked up while the list is written: looking up many at once would take long.
    return allOf(
      { [Symbol.iterator]: () => snapshot.leaves(plan.range)[Symbol.iterator]() },
      snapshot,
    )
  }
  const slices: Run[] = []
  let room = plan.limit
  let last: Key | undefined
  for (const slice of snapshot.leaves(plan.range)) {
    const to = Math.min(slice.to, slice.from + room)
    slices.push(to === slice.to ? slice : { ...slice, to })
    room -= to - slice.from
    last = slice.entries[to - 1]?.key
    if (room === 0) break
  }
  assert(room >= 0, 'a page has no more than was asked for')
  const remaining = room > 0 || last === undefined ? 0 : countAfter(snapshot, last, plan.range)
  return {
    content: { type: 'slices', slices },
    revision: snapshot.revision,
    last: remaining === 0 ? undefined : last,
    remaining: remaining === 0 ? undefined : remaining,
  }
}

function allOf(slices: Iterable<Run>, { revision }: Snapshot): Page {
  return { content: { type: 'slices', slices }, revision, last: undefined, remaining: undefined }
}

function countAfter(snapshot: Snapshot, last: Key, range: KeyRange): number {
  return snapshot.count({ start: keyAfter(last), end: range.end })
}

/** The entries of a page, one by one. */
export function* pageEntries({ content }: Page): Generator<KeyValue, void, undefined> {
  if (content.type === 'entries') {
    yield* content.entries
    return
  }
  for (const { entries, from, to } of content.slices) {
    for (let i = from; i < to; i++) yield entries[i]!
  }
}

/** The metadata of the list that is made from a page. */
export function listMeta(plan: ListPlan, page: Page, encryption?: TokenEncryption): ListMeta {
  const { last, revision, remaining } = page
  return {
    resourceVersion: String(revision),
    continue:
      last === undefined
        ? undefined
        : encodeContinuation(
            { last, prefix: plan.prefix, revision, hasSlash: plan.isPageFromCache },
            encryption,
          ),
    remainingItemCount: remaining,
    shardSelector: plan.shards?.text,
  }
}
