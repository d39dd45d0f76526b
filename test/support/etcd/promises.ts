/** The promises of etcd that its own robustness tests check, over what clients have seen: nine of
 *  watches, and that reads and writes are linearizable. Each check has etcd's name for it and
 *  throws when the promise was broken. Revisions give a total order, so that each is a walk. */

import assert from 'node:assert/strict'

export interface SeenValue {
  readonly value: string
  readonly createRevision: number
  readonly modRevision: number
  readonly version: number
}

export interface SeenEvent {
  readonly type: 'put' | 'delete'
  readonly key: string
  readonly revision: number
  readonly now: SeenValue | undefined
  readonly before: SeenValue | undefined
}

/** A response of a watch: events, or progress if there are none. */
export interface SeenResponse {
  readonly headerRevision: number
  readonly events: readonly SeenEvent[]
}

/** All that one watcher has been told. */
export interface SeenWatch {
  /** The first revision that it was to be told of. */
  readonly from: number
  readonly selects: (event: SeenEvent) => boolean
  readonly responses: readonly SeenResponse[]
}

/** All events that there were, in order: what a watch of everything on etcd itself has said. */
export type Truth = readonly SeenEvent[]

type WatchCheck = (watch: SeenWatch, truth: Truth) => void

function eventsOf({ responses }: SeenWatch): SeenEvent[] {
  return responses.flatMap(({ events }) => events)
}

const nameOf = ({ key, revision }: SeenEvent): string => `${key}@${revision}`

/** The nine promises of a watch. */
export const watchChecks: Readonly<Record<string, WatchCheck>> = {
  filtered(watch) {
    for (const event of eventsOf(watch)) assert.ok(watch.selects(event), nameOf(event))
  },
  ordered(watch) {
    let last = 0
    for (const { revision } of eventsOf(watch)) {
      assert.ok(revision >= last, `${revision} after ${last}`)
      last = revision
    }
  },
  unique(watch) {
    const names = eventsOf(watch).map(nameOf)
    assert.equal(new Set(names).size, names.length)
  },
  atomic(watch) {
    const responseOf = new Map<number, SeenResponse>()
    for (const response of watch.responses) {
      for (const { revision } of response.events) {
        const before = responseOf.get(revision) ?? response
        assert.equal(before, response, `revision ${revision} in two responses`)
        responseOf.set(revision, response)
      }
    }
  },
  reliable(watch, truth) {
    const told = eventsOf(watch)
    const last = Math.max(0, ...told.map(({ revision }) => revision))
    const wanted = truth.filter(one => one.revision >= watch.from && one.revision <= last)
    assert.deepEqual(told.map(nameOf), wanted.filter(watch.selects).map(nameOf))
  },
  resumable(watch) {
    for (const event of eventsOf(watch)) assert.ok(event.revision >= watch.from, nameOf(event))
  },
  bookmarkable(watch, truth) {
    const told = new Set<string>()
    let bookmark = 0
    for (const { events, headerRevision } of watch.responses) {
      for (const event of events) {
        assert.ok(event.revision > bookmark, `${nameOf(event)} after progress ${bookmark}`)
        told.add(nameOf(event))
      }
      if (events.length > 0) continue
      bookmark = headerRevision
      const covered = truth.filter(one => one.revision >= watch.from && one.revision <= bookmark)
      for (const one of covered.filter(watch.selects)) {
        assert.ok(told.has(nameOf(one)), `${nameOf(one)} is missing at progress ${bookmark}`)
      }
    }
  },
  previous(watch, truth) {
    const known = new Map(truth.map(event => [nameOf(event), event]))
    for (const event of eventsOf(watch)) {
      assert.deepEqual(event.before, known.get(nameOf(event))?.before, nameOf(event))
    }
  },
  created(watch, truth) {
    const known = new Map(truth.map(event => [nameOf(event), event]))
    for (const event of eventsOf(watch)) {
      assert.deepEqual(event.now, known.get(nameOf(event))?.now, nameOf(event))
      const isNew = event.now?.version === 1
      assert.equal(event.now?.createRevision === event.revision, isNew, nameOf(event))
    }
  },
}

/** A call that was answered. */
export interface SeenCall {
  readonly startMs: number
  readonly endMs: number
  /** The header's revision. */
  readonly revision: number
  /** Key and value that it has written; undefined for a read. */
  readonly written: { readonly key: string; readonly value: string } | undefined
  /** The values that it has read, by key; undefined for a write. */
  readonly read: ReadonlyMap<string, string> | undefined
}

/** Each read has the state of its revision, each write is there at its own, and whatever began
 *  after another one had ended is of a later state. */
export function linearizable(calls: readonly SeenCall[], truth: Truth): void {
  const puts = new Map(truth.map(event => [nameOf(event), event.now?.value]))
  const byRevision = calls.toSorted((a, b) => a.revision - b.revision)
  const state = new Map<string, string>()
  let at = 0
  for (const { revision, written, read } of byRevision) {
    for (; at < truth.length && truth[at]!.revision <= revision; at++) {
      const { key, now } = truth[at]!
      if (now === undefined) state.delete(key)
      else state.set(key, now.value)
    }
    if (read !== undefined) assert.deepEqual(read, state, `at ${revision}`)
    if (written !== undefined) assert.equal(puts.get(`${written.key}@${revision}`), written.value)
  }
  const byStart = calls.toSorted((a, b) => a.startMs - b.startMs)
  const byEnd = calls.toSorted((a, b) => a.endMs - b.endMs)
  let [ended, newest] = [0, 0]
  for (const { startMs, revision, written } of byStart) {
    for (; ended < byEnd.length && byEnd[ended]!.endMs < startMs; ended++) {
      newest = Math.max(newest, byEnd[ended]!.revision)
    }
    const isLate = written === undefined ? revision >= newest : revision > newest
    assert.ok(isLate, `revision ${revision} was answered after ${newest} had been`)
  }
}
