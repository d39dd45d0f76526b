/** One pass over the rows of a snapshot, in steps. */

import { isStepDue, type Key, NotExact, sortedInSteps, type Steps } from '@watchglass/base'
import { selectedEntries } from '@watchglass/kube'
import type { Snapshot } from '@watchglass/store'
import type { ObjectReaders } from '../cells/cell-reader.ts'
import type { RowSelection } from '../question/parse-view.ts'
import { PlacedRow } from './placed-row.ts'
import type { RowChoice } from './row-choice.ts'

export interface RowPass {
  readonly selection: RowSelection
  readonly choice: RowChoice
  readonly readers: ObjectReaders
  readonly snapshot: Snapshot
  readonly wallMs: number
  /** Told of each object that is selected, once `choice` has read it. */
  readonly onRead?: ((target: Key) => void) | undefined
}

/** Tells of each row that is chosen, in the order of keys: its place, and the key of its object.
 *  Ends early where an object cannot be read exactly, or `take` says so. */
export function* passRows<Problem>(
  { selection, choice, readers, snapshot, wallMs, onRead }: RowPass,
  take: (place: Key, target: Key) => Problem | undefined,
): Steps<NotExact | Problem | undefined> {
  const { plan } = selection
  const { entries, filter } = selectedEntries(snapshot, plan.range, plan, readers.makeReader)
  const options = { isSelected: true, isOneOfMany: true }
  for (const entry of entries) {
    if (isStepDue()) yield
    // Undefined where entries were left out.
    if (entry === undefined) continue
    const isSelected = filter?.(entry) ?? true
    if (isSelected instanceof NotExact) return isSelected
    if (!isSelected) continue
    const place = choice.placeOf(entry, wallMs, options)
    if (place instanceof NotExact) return place
    onRead?.(entry.key)
    const problem = place === undefined ? undefined : take(place, entry.key)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** The rows that are chosen, in their order. */
export function* sortedRows(pass: RowPass): Steps<PlacedRow[] | NotExact> {
  const rows: PlacedRow[] = []
  const problem = yield* passRows(pass, (place, target): undefined => {
    rows.push(new PlacedRow(place, target))
  })
  if (problem !== undefined) return problem
  return pass.selection.sort.length === 0 ? rows : yield* sortedInSteps(rows, byPlace)
}

function byPlace(a: PlacedRow, b: PlacedRow): number {
  return a.key < b.key ? -1 : 1
}
