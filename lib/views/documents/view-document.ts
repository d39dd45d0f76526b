/** The JSON documents of views, in pieces: a page of whole objects may have many megabytes. */

import {
  appendText,
  assert,
  ByteWriter,
  isStepDue,
  type Key,
  NotExact,
  type Revision,
  type Steps,
} from '@watchglass/base'
import { pause } from '@watchglass/codec'
import { goJsonString } from '@watchglass/go'
import type { KeyValue } from '@watchglass/store'
import type { CountFold, RowGroup } from '../order/count-fold.ts'
import type { PageRows } from '../order/page-of.ts'
import type { ViewQuestion } from '../question/parse-view.ts'
import type { RowWriter } from './row-writer.ts'

/** Pieces of a document like those of a list: an empty one is a pause. A `NotExact` ends it where
 *  an object cannot be shown. */
export type ViewPieces = Generator<Uint8Array, NotExact | undefined, undefined>

export interface CountedRows {
  readonly revision: Revision
  readonly total: number
  readonly matched: number
  readonly groups: readonly RowGroup[]
}

/** Counts whose groups may have to be put in order first. */
export interface OrderedCounts extends Omit<CountedRows, 'groups'> {
  readonly groups: ReturnType<CountFold['inOrder']>
}

/** A piece is sent once it has so many bytes. */
const pieceBytes = 64 * 1024

/** A piece of this size is not copied to be sent with what is around it. */
const wholeMinBytes = 4 * 1024

/** Text and bytes that become pieces. */
export class PieceWriter {
  readonly #out = new ByteWriter(4096)

  text(text: string): void {
    appendText(this.#out, text)
  }

  bytes(bytes: Uint8Array): void {
    this.#out.append(bytes)
  }

  /** Adds a piece that is there already: as it is, if it is large. */
  *whole(piece: Uint8Array): Generator<Uint8Array, void, undefined> {
    if (piece.length < wholeMinBytes) {
      this.bytes(piece)
      return
    }
    yield* this.rest()
    yield piece
  }

  /** A piece, if there is enough for one. */
  *full(): Generator<Uint8Array, void, undefined> {
    if (this.#out.length >= pieceBytes) yield this.#take()
    else if (isStepDue()) yield pause
  }

  /** All that is left. */
  *rest(): Generator<Uint8Array, void, undefined> {
    if (this.#out.length > 0) yield this.#take()
  }

  #take(): Uint8Array {
    const piece = this.#out.copy()
    this.#out.clear(pieceBytes)
    return piece
  }
}

/** A page. `opening` is how the document begins. */
export function* pageDocument(
  { opening, question }: { readonly opening: string; readonly question: ViewQuestion },
  page: PageRows,
  writer: RowWriter,
  wallMs: number,
): ViewPieces {
  const out = new PieceWriter()
  const { entries, matched, from, last, total } = page
  const remaining = Math.max(0, matched - from - entries.length)
  out.text(`${opening}${headOf(question, page.revision)}`)
  out.text(`,"total":${total},"matched":${matched},"remaining":${remaining}`)
  if (question.page !== undefined) out.text(`,"page":${question.page}`)
  out.text(`,"pageSize":${question.pageSize}`)
  if (remaining > 0 && last !== undefined) out.text(`,"after":"${tokenOf(last)}"`)
  out.text(',"rows":[')
  let isFirst = true
  for (const entry of entries) {
    const row = writer.row(entry, wallMs)
    if (row instanceof NotExact) return row
    if (!isFirst) out.text(',')
    isFirst = false
    out.bytes(row)
    yield* out.full()
  }
  out.text(']}')
  yield* out.rest()
  return undefined
}

/** A row that entered or changed, and its place on the page now. */
export interface ChangedRow {
  readonly index: number
  readonly entry: KeyValue
}

/** The difference of a live page from what was told before. Rows that did not change keep their
 *  order among themselves, so that whoever removes those that left or changed, and puts the changed
 *  ones in at their places, has the page. */
export interface PageChange extends Omit<PageRows, 'entries'> {
  /** Number of rows on the page. */
  readonly shown: number
  /** The names of rows that left (`RowWriter.nameOf`). */
  readonly left: readonly string[]
  readonly rows: readonly ChangedRow[]
}

/** The change of a live page. */
export function* changeDocument(change: PageChange, writer: RowWriter, wallMs: number): ViewPieces {
  const out = new PieceWriter()
  const { revision, total, matched, from, shown, last, left, rows } = change
  const remaining = Math.max(0, matched - from - shown)
  out.text(`{"type":"CHANGE","revision":"${revision}","total":${total},"matched":${matched}`)
  out.text(`,"remaining":${remaining}`)
  if (remaining > 0 && last !== undefined) out.text(`,"after":"${tokenOf(last)}"`)
  out.text(`,"left":[${left.map(goJsonString).join(',')}],"rows":[`)
  for (const [i, { index, entry }] of rows.entries()) {
    const row = writer.row(entry, wallMs)
    if (row instanceof NotExact) return row
    out.text(`${i === 0 ? '' : ','}{"index":${index},"row":`)
    out.bytes(row)
    out.text('}')
    yield* out.full()
  }
  out.text(']}')
  yield* out.rest()
  return undefined
}

/** The change of live counts: groups whose number is another one now, and those that are gone. */
export function* countsChangeDocument(
  { revision, total, matched, groups }: CountedRows,
  removed: readonly RowGroup[],
): ViewPieces {
  const out = new PieceWriter()
  out.text(`{"type":"CHANGE","revision":"${revision}","total":${total},"matched":${matched}`)
  out.text(',"groups":[')
  for (const [i, group] of groups.entries()) {
    out.text(i === 0 ? groupJson(group) : `,${groupJson(group)}`)
    yield* out.full()
  }
  out.text(`],"removed":[${removed.map(({ valuesJson }) => valuesJson).join(',')}]}`)
  yield* out.rest()
  return undefined
}

/** The first document of a live view that has begun. */
export function firstOf(document: ViewPieces | undefined): ViewPieces {
  assert(document !== undefined, 'a live view is given out once it has begun')
  return document
}

/** Counts, the largest groups first. */
export function* countsDocument(
  { opening, question }: { readonly opening: string; readonly question: ViewQuestion },
  { revision, total, matched, groups }: OrderedCounts,
): ViewPieces {
  const out = new PieceWriter()
  const by = JSON.stringify(question.countBy.map(({ id }) => id))
  out.text(`${opening}${headOf(question, revision)}`)
  out.text(`,"total":${total},"matched":${matched},"by":${by},"groups":[`)
  const ordered = 'next' in groups ? yield* paused(groups) : groups
  for (const piece of written.get(ordered) ?? (yield* writtenGroups(ordered))) {
    yield* out.whole(piece)
  }
  out.text(']}')
  yield* out.rest()
  return undefined
}

/** The JSON of groups that were written last, in pieces. A dashboard asks for the same counts again
 *  and again, and to write three thousand groups takes longer than to send them. It lives as long
 *  as the groups, which count it with their texts. */
const written = new WeakMap<readonly RowGroup[], readonly Uint8Array[]>()

function* writtenGroups(
  groups: readonly RowGroup[],
): Generator<Uint8Array, readonly Uint8Array[], undefined> {
  const out = new PieceWriter()
  const pieces: Uint8Array[] = []
  for (let from = 0; from < groups.length; from += groupsAtOnce) {
    const texts = groups.slice(from, from + groupsAtOnce).map(groupJson)
    out.text(`${from === 0 ? '' : ','}${texts.join(',')}`)
    for (const piece of out.full()) {
      if (piece === pause) yield pause
      else pieces.push(piece)
    }
  }
  pieces.push(...out.rest())
  written.set(groups, pieces)
  return pieces
}

/** Takes steps within a document. */
function* paused<Result>(steps: Steps<Result>): Generator<Uint8Array, Result, undefined> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value
    yield pause
  }
}

/** Groups that are written in one step. */
const groupsAtOnce = 256

function groupJson({ valuesJson, count }: RowGroup): string {
  return `{"values":${valuesJson},"count":${count}}`
}

/** The token of a row, behind which the next page begins. */
export function tokenOf(place: Key): string {
  return Buffer.from(place, 'latin1').toString('base64url')
}

function headOf({ plan, columns }: ViewQuestion, revision: Revision): string {
  const { group, version, resource } = plan.resource
  const names = `"resource":${goJsonString(resource)},"group":${goJsonString(group)},"version":${goJsonString(version)}`
  const shown = columns.map(({ id, title, kind, priority }) =>
    JSON.stringify({ id, title, kind, priority }),
  )
  return `"kind":"View","apiVersion":"views.watchglass.dev/v1","revision":"${revision}",${names},"columns":[${shown.join(',')}]`
}
