/** The numbers of rows by the texts of some columns. */

import { NotExact, sortedInSteps, type Steps } from '@watchglass/base'
import { goJsonString } from '@watchglass/go'
import type { Event, Snapshot } from '@watchglass/store'
import type { ObjectReaders } from '../cells/cell-reader.ts'
import { textOf } from '../cells/condition-check.ts'
import type { RowSelection } from '../question/parse-view.ts'
import type { ViewColumn } from '../question/view-column.ts'
import { RowChoice } from './row-choice.ts'
import { passRows } from './row-pass.ts'
import type { FoldProblem, RowFold } from './store-follower.ts'

/** Rows whose columns have the same texts. */
export interface RowGroup {
  readonly name: string
  readonly values: readonly string[]
  /** The JSON of the values, which is written again with each new count. */
  readonly valuesJson: string
  readonly count: number
}

/** A live view that shows counts. */
export interface GroupListener {
  /** The number of a group is another one. */
  counted(name: string): void
  /** All are counted anew. */
  recounted(): void
}

/** More groups are no answer for a person, and would be held for as long as they are asked for. */
const groupsMax = 10_000

/** The bytes that a group takes beside its texts, which are kept several times: by name, as values,
 *  as JSON, and in the document that was written last. */
const groupBytes = 230
const groupTexts = 4

export class CountFold implements RowFold {
  readonly #selection: RowSelection
  readonly #countBy: readonly ViewColumn[]
  readonly #readers: ObjectReaders
  readonly #choice: RowChoice
  readonly #groups = new Map<string, RowGroup>()
  /** Told of each group whose number changes. */
  readonly listeners: Set<GroupListener> = new Set()
  #matched = 0
  #bytes = 0
  /** Rises with each change of a count. */
  #version = 0
  /** The groups in their order, as they were when somebody asked last: few have changed since, and
   *  what is nearly in order is sorted soon. */
  #ordered: { readonly version: number; readonly groups: readonly RowGroup[] } = {
    version: -1,
    groups: [],
  }

  constructor(selection: RowSelection, countBy: readonly ViewColumn[], readers: ObjectReaders) {
    this.#selection = selection
    this.#countBy = countBy
    this.#readers = readers
    this.#choice = new RowChoice(selection, readers, countBy)
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Number of rows that are counted. */
  get matched(): number {
    return this.#matched
  }

  /** The groups by their names, in no order. */
  get groups(): ReadonlyMap<string, RowGroup> {
    return this.#groups
  }

  /** The groups as they are now, the largest first: sorted in steps, which may be taken later. */
  inOrder(): readonly RowGroup[] | Steps<readonly RowGroup[]> {
    const version = this.#version
    const known = this.#ordered
    if (known.version === version) return known.groups
    const isKnown = new Set(known.groups.map(({ name }) => name))
    const groups: RowGroup[] = []
    for (const { name } of known.groups) {
      const group = this.#groups.get(name)
      if (group !== undefined) groups.push(group)
    }
    for (const group of this.#groups.values()) if (!isKnown.has(group.name)) groups.push(group)
    return this.#sorted(groups, version)
  }

  *#sorted(groups: readonly RowGroup[], version: number): Steps<readonly RowGroup[]> {
    const sorted = yield* sortedInSteps(groups, compareGroups)
    if (version > this.#ordered.version) this.#ordered = { version, groups: sorted }
    return sorted
  }

  build(snapshot: Snapshot): Steps<FoldProblem | undefined> {
    return this.count(snapshot, 0)
  }

  /** Counts all rows anew, with ages as they are at `wallMs`. */
  *count(snapshot: Snapshot, wallMs: number): Steps<FoldProblem | undefined> {
    this.#groups.clear()
    this.#version++
    this.#matched = 0
    this.#bytes = 0
    for (const listener of this.listeners) listener.recounted()
    const [selection, choice, readers] = [this.#selection, this.#choice, this.#readers]
    return yield* passRows({ selection, choice, readers, snapshot, wallMs }, () =>
      this.#add(this.#values()),
    )
  }

  change({ before, after }: Event): FoldProblem | undefined {
    const old = before === undefined ? undefined : this.#choice.placeOf(before, 0)
    if (old instanceof NotExact) return old
    const from = old === undefined ? undefined : this.#values()
    const place = after === undefined ? undefined : this.#choice.placeOf(after, 0)
    if (place instanceof NotExact) return place
    const to = place === undefined ? undefined : this.#values()
    if (from !== undefined && to?.every((text, i) => text === from[i]) === true) return undefined
    if (from !== undefined) this.#remove(from)
    return to === undefined ? undefined : this.#add(to)
  }

  endBatch(): void {}

  /** The texts of the row that was read last. */
  #values(): string[] {
    return this.#countBy.map(column => textOf(column.kind, this.#choice.cell(column)))
  }

  #add(values: readonly string[]): 'too-many-groups' | undefined {
    const name = groupName(values)
    const group = this.#groups.get(name)
    this.#matched++
    this.#changed(name)
    if (group !== undefined) {
      this.#groups.set(name, { ...group, count: group.count + 1 })
      return undefined
    }
    if (this.#groups.size >= groupsMax) return 'too-many-groups'
    const valuesJson = `[${values.map(goJsonString).join(',')}]`
    this.#groups.set(name, { name, values, valuesJson, count: 1 })
    this.#bytes += groupBytes + groupTexts * name.length
    return undefined
  }

  #remove(values: readonly string[]): void {
    const name = groupName(values)
    const group = this.#groups.get(name)
    if (group === undefined) return
    this.#matched--
    this.#changed(name)
    if (group.count > 1) {
      this.#groups.set(name, { ...group, count: group.count - 1 })
      return
    }
    this.#groups.delete(name)
    this.#bytes -= groupBytes + groupTexts * name.length
  }

  #changed(name: string): void {
    this.#version++
    for (const listener of this.listeners) listener.counted(name)
  }
}

function groupName(values: readonly string[]): string {
  const [only] = values
  return only !== undefined && values.length === 1 ? only : JSON.stringify(values)
}

/** The largest groups first; equal ones by their texts. */
function compareGroups(a: RowGroup, b: RowGroup): number {
  if (a.count !== b.count) return b.count - a.count
  for (let i = 0; i < a.values.length; i++) {
    const [text, other] = [a.values[i] as string, b.values[i] as string]
    if (text !== other) return text < other ? -1 : 1
  }
  return 0
}
