/** The promises of a watch, each a check of its own over what one client has seen: what etcd's
 *  robustness tests ask of etcd's watches, and that the selector was kept to. Each throws when its
 *  promise was broken. */

import assert from 'node:assert/strict'
import {
  type ModelChange,
  type ModelSelector,
  selectedAt,
  type ToldChange,
  toldOf,
} from './world.ts'

/** One thing that a stream has told, in the order in which it came. */
export type Told =
  | (ToldChange & { readonly is: 'change' })
  | { readonly is: 'bookmark'; readonly revision: number }

/** One connection of a client. */
export interface Stretch {
  /** The revision that the client had everything up to: it listed, or had a bookmark, or has
   *  watched until there. */
  readonly from: number
  /** The state that it began with, if it did not resume. */
  readonly state: ReadonlyMap<string, number> | undefined
  readonly told: readonly Told[]
}

/** Everything that one client has seen. */
export interface Seen {
  readonly selector: ModelSelector
  readonly stretches: readonly Stretch[]
}

export type Check = (seen: Seen, changes: readonly ModelChange[]) => void

/** Revisions never go back. */
function ordered({ stretches }: Seen): void {
  for (const { from, told } of stretches) {
    let last = from
    for (const { revision } of told) {
      assert.ok(revision >= last, `revision ${revision} after ${last}`)
      last = revision
    }
  }
}

/** No change is told twice. */
function unique({ stretches }: Seen): void {
  for (const { told } of stretches) {
    const names = changesIn(told).map(({ key, revision }) => `${key}@${revision}`)
    assert.equal(new Set(names).size, names.length)
  }
}

/** Checks that all of a revision is told if anything follows it. */
function atomic({ selector, stretches }: Seen, changes: readonly ModelChange[]): void {
  const wanted = countsOf(changes.flatMap(change => toldOf(change, selector) ?? []))
  for (const { told } of stretches) {
    const last = told.at(-1)?.revision
    for (const [revision, count] of countsOf(changesIn(told))) {
      if (revision !== last) assert.equal(count, wanted.get(revision), `of revision ${revision}`)
    }
  }
}

/** From where a stretch begins to where it ends, nothing is left out. */
function reliable({ selector, stretches }: Seen, changes: readonly ModelChange[]): void {
  for (const { from, told } of stretches) {
    const got = new Set(changesIn(told).map(({ key, revision }) => `${key}@${revision}`))
    const last = told.at(-1)?.revision ?? from
    for (const change of changes) {
      if (change.revision <= from || change.revision >= last) continue
      const wanted = toldOf(change, selector)
      if (wanted === undefined) continue
      assert.ok(got.has(`${wanted.key}@${wanted.revision}`), `${wanted.key}@${wanted.revision}`)
    }
  }
}

/** A stretch that resumes tells nothing that the one before it was sure of, and begins where that
 *  ended. */
function resumable({ stretches }: Seen): void {
  stretches.forEach(({ from, told, state }, i) => {
    const before = stretches[i - 1]
    if (before === undefined || state !== undefined) return
    assert.equal(from, positionAfter(before))
    for (const { revision, is } of told) {
      if (is === 'change') assert.ok(revision > from, `${revision} is told again after ${from}`)
    }
  })
}

/** Nothing that a bookmark covers comes after it. That nothing of it is missing is for `reliable`,
 *  which takes it as an end. */
function bookmarkable({ selector, stretches }: Seen, changes: readonly ModelChange[]): void {
  for (const { from, told } of stretches) {
    told.forEach(({ is, revision }, i) => {
      if (is !== 'bookmark') return
      const later = changesIn(told.slice(i + 1))
      assert.ok(
        later.every(change => change.revision > revision),
        `after bookmark ${revision}`,
      )
      const covered = changes.filter(
        change =>
          change.revision > from &&
          change.revision <= revision &&
          toldOf(change, selector) !== undefined,
      )
      assert.equal(changesIn(told.slice(0, i)).length, covered.length, `before ${revision}`)
    })
  }
}

/** Every change is one of what is selected, with its type, and its state; and so is every object of
 *  the states that began. */
function filtered({ selector, stretches }: Seen, changes: readonly ModelChange[]): void {
  const wanted = new Map(
    changes.flatMap(change => {
      const told = toldOf(change, selector)
      return told === undefined ? [] : [[`${told.key}@${told.revision}`, told] as const]
    }),
  )
  for (const { from, state, told } of stretches) {
    for (const { is: _, ...change } of changesIn(told)) {
      assert.deepEqual(change, wanted.get(`${change.key}@${change.revision}`))
    }
    if (state !== undefined) assert.deepEqual(state, selectedAt(changes, from, selector))
  }
}

export const checks: Readonly<Record<string, Check>> = {
  ordered,
  unique,
  atomic,
  reliable,
  resumable,
  bookmarkable,
  filtered,
}

/** Up to where a client can be sure to have seen everything: a revision may have been cut in
 *  two. */
export function positionAfter({ from, told }: Stretch): number {
  const last = told.at(-1)
  if (last === undefined) return from
  return last.is === 'bookmark' ? last.revision : last.revision - 1
}

function changesIn(told: readonly Told[]): (ToldChange & { is: 'change' })[] {
  return told.filter(one => one.is === 'change')
}

function countsOf(told: readonly { readonly revision: number }[]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const { revision } of told) counts.set(revision, (counts.get(revision) ?? 0) + 1)
  return counts
}
