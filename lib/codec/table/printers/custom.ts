/** Tables of custom resources: the columns that a CustomResourceDefinition declares, read from
 *  stored JSON. Most columns are plain paths of names: these are all found in one pass that steps
 *  over everything else. A row takes as long as its object is large, however many columns there
 *  are (row-budget.ts). */

import { KeyTable } from '../../json/key-table.ts'
import { JsonMembers } from '../../json/members.ts'
import {
  goFloat,
  goJsonString,
  goParseInt,
  JsonNumber,
  type JsonValue,
  memberOf,
  millisecondsFromText,
  parseTree,
  textFromTree,
  treeMaxDepth,
  zeroTime,
} from '@watchglass/go'
import { giveUp, GiveUp, NotExact } from '@watchglass/base'
import type { CustomColumn } from '../../output-kind.ts'
import type { StoredValue } from '../../stored-value.ts'
import { since } from '../format.ts'
import { type ParsedJsonPath, parseJsonPath } from '../json-path.ts'
import { evaluateJsonPath, type PathValue } from '../json-path-values.ts'
import type { Cell } from '../printer.ts'
import { RowBudget } from '../row-budget.ts'

/** A column that is shown. */
interface Target {
  readonly type: string
  /** The value that its path leads to along names. */
  readonly place: Place
  /** Actions of the path; of a single one, the steps after the names. Undefined if there are
   *  none. */
  readonly rest: readonly ParsedJsonPath[] | undefined
}

/** A value of an object, found along names: a tree of them. */
interface Place {
  readonly name: string
  readonly around: Place | undefined
  readonly inside: Map<string, Place>
  /** The members by name; undefined if none is looked for. */
  members: KeyTable<Place> | undefined
  /** The columns that begin here. */
  targets: number
  /** The window of the value in the object of this row; 0 if it has none. */
  start: number
  end: number
  /** The value, where several ask for it: it is kept until the row is made. */
  isRead: boolean
  value: JsonValue | undefined
}

/** The most lists and objects that columns look into one by one. Where there are more, all of the
 *  object is read at once: they may lie within each other. */
const placesReadMax = 4

/** Reads the cells of rows. Kept as long as the definition does not change. */
export class CustomPrinter {
  readonly #root = placeOf('', undefined)
  readonly #targets: Target[] = []
  /** The places that have columns. */
  readonly #read: Place[]
  readonly #isReadWhole: boolean
  /** One cursor for each level of names. */
  readonly #cursors: JsonMembers[] = [new JsonMembers()]
  /** The places whose values are kept. */
  readonly #kept: Place[] = []
  /** The columns that are shown: those before the first with a path that upstream cannot read. */
  readonly columns: readonly CustomColumn[]

  constructor(declared: readonly CustomColumn[]) {
    const name = parseJsonPath('{.metadata.name}') as readonly ParsedJsonPath[]
    const paths = declared.map(({ jsonPath }) => parseJsonPath(`{${jsonPath}}`))
    const wrong = paths.findIndex(path => typeof path === 'string')
    this.columns = wrong < 0 ? declared : declared.slice(0, wrong)
    this.#add('string', name)
    for (const [i, { type }] of this.columns.entries()) {
      this.#add(type, paths[i] as readonly ParsedJsonPath[])
    }
    this.#read = [...new Set(this.#targets.map(({ place }) => place))]
    const lookedInto = this.#targets.filter(({ rest }) => rest !== undefined)
    this.#isReadWhole = new Set(lookedInto.map(({ place }) => place)).size > placesReadMax
    compileMembers(this.#root)
  }

  /** The name, and the value of each column. `now` is the wall clock in milliseconds. */
  cells(window: { bytes: Uint8Array; start: number; end: number }, now: number): Cell[] | NotExact {
    const budget = new RowBudget(window.end - window.start)
    try {
      return this.#find(window) ?? this.#cells(window.bytes, now, budget)
    } catch (error) {
      if (error instanceof GiveUp) return new NotExact(error.reason)
      throw error
    } finally {
      budget.note()
      for (const place of this.#kept) {
        place.isRead = false
        place.value = undefined
      }
      this.#kept.length = 0
    }
  }

  /** Finds the values of places: all in one pass that steps over everything else, or all in one
   *  tree. */
  #find({ bytes, start, end }: StoredValue): NotExact | undefined {
    this.#root.start = start
    this.#root.end = end
    if (this.#isReadWhole) {
      const whole = parseTree(bytes, start, end)
      this.#keep(this.#root, whole)
      return whole instanceof Map ? undefined : notJson
    }
    for (const place of this.#read) if (place !== this.#root) place.end = 0
    const [outermost] = this.#cursors as [JsonMembers]
    outermost.reset(bytes, start, end)
    return outermost.isObject && this.#walk(this.#root, 0) ? undefined : notJson
  }

  #cells(bytes: Uint8Array, now: number, budget: RowBudget): Cell[] {
    const cells: Cell[] = []
    for (const target of this.#targets) {
      budget.spend(1)
      const cell = this.#cell(target, { bytes, now, budget })
      if (typeof cell === 'string') budget.spend(cell.length / charactersPerStep)
      cells.push(cell)
    }
    // A name is never null.
    cells[0] ??= ''
    return cells
  }

  #add(type: string, actions: readonly ParsedJsonPath[]): void {
    let place = this.#root
    const [first = []] = actions
    let depth = 0
    for (const step of actions.length === 1 ? first : []) {
      if (step.type !== 'member' || depth === treeMaxDepth) break
      place = insideOf(place, step.name)
      depth++
    }
    place.targets++
    const isNamed = depth > 0 && depth === first.length
    const rest = isNamed ? undefined : [first.slice(depth), ...actions.slice(1)]
    this.#targets.push({ type, place, rest })
  }

  /** Walks what the cursor of this depth stands before. */
  #walk({ members: table }: Place, depth: number): boolean {
    const members = this.#cursors[depth] as JsonMembers
    while (members.nextName()) {
      const place = table?.find(members.input, members.nameStart, members.nameEnd)
      if (!this.#take(place, members, depth + 1)) return false
      if (place === undefined || place.targets === 0) continue
      place.start = members.start
      place.end = members.end
    }
    return !members.isMalformed
  }

  #take(place: Place | undefined, members: JsonMembers, depth: number): boolean {
    if (place?.members === undefined) return members.skip()
    const inner = (this.#cursors[depth] ??= new JsonMembers())
    inner.enter(members)
    return inner.isObject ? this.#walk(place, depth) && members.leave(inner) : members.skip()
  }

  #cell({ type, place, rest }: Target, row: RowOptions): Cell {
    const { bytes, now, budget } = row
    // Only texts show what is in a list or an object.
    const isText = type === 'string' || rest !== undefined
    const value = isText || !isContainer(bytes, place) ? this.#valueOf(place, bytes) : undefined
    if (rest === undefined) return value === undefined ? null : cellFromValue(type, value, now)
    const values = value === undefined ? [] : [value]
    // A text in a path is found where there is nothing, too.
    const [found] = evaluateJsonPath(rest, values, budget) ?? []
    return found === undefined ? null : cellFromValue(type, found, now)
  }

  /** The value at a place, read once a row. */
  #valueOf(place: Place, bytes: Uint8Array): JsonValue | undefined {
    if (place.isRead) return place.value
    let value: JsonValue | undefined
    if (this.#isReadWhole) {
      value = place.around && memberOf(this.#valueOf(place.around, bytes), place.name)
    } else if (place.end > 0) {
      value = parseTree(bytes, place.start, place.end)
      if (value === undefined) giveUp(notJson.reason)
    }
    if (place.targets > 1 || this.#isReadWhole) this.#keep(place, value)
    return value
  }

  #keep(place: Place, value: JsonValue | undefined): void {
    place.isRead = true
    place.value = value
    this.#kept.push(place)
  }
}

interface RowOptions {
  readonly bytes: Uint8Array
  readonly now: number
  readonly budget: RowBudget
}

/** The characters of a cell that are made and written in the time of a step. */
const charactersPerStep = 4

const notJson = new NotExact('value is not JSON, or nested too deep')

function placeOf(name: string, around: Place | undefined): Place {
  return {
    name,
    around,
    inside: new Map(),
    members: undefined,
    targets: 0,
    start: 0,
    end: 0,
    isRead: false,
    value: undefined,
  }
}

function insideOf(place: Place, name: string): Place {
  let inner = place.inside.get(name)
  if (inner === undefined) place.inside.set(name, (inner = placeOf(name, place)))
  return inner
}

/** Names are looked up as they stand in the text. */
function compileMembers(place: Place): void {
  const { inside } = place
  if (inside.size === 0) return
  place.members = new KeyTable(
    [...inside].map(([name, inner]) => [goJsonString(name).slice(1, -1), inner]),
  )
  for (const inner of inside.values()) compileMembers(inner)
}

function isContainer(bytes: Uint8Array, { start, end }: Place): boolean {
  return end > 0 && (bytes[start] === 0x7b || bytes[start] === 0x5b)
}

/** A value in a column of a type: values of other types are shown as nothing, but for text, which
 *  shows all. */
function cellFromValue(type: string, value: PathValue, now: number): Cell {
  if (type === 'string') return printedText(value)
  if (type === ownType) return ownCell(value)
  if (type === 'date') return typeof value === 'string' ? dateCell(value, now) : null
  if (type === 'boolean') return typeof value === 'boolean' ? value : null
  if (!(value instanceof JsonNumber)) return null
  if (type === 'integer') return integerCell(value.source)
  return type === 'number' ? Number(value.source) : null
}

/** The type of columns that nobody has declared: numbers stay what they are. */
export const ownType = 'own'

function ownCell(value: PathValue): Cell {
  if (value === null) return null
  return value instanceof JsonNumber ? Number(value.source) : printedText(value)
}

function printedText(value: PathValue): string {
  if (typeof value === 'string') return value
  if (value === null) return '<no value>'
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (!(value instanceof JsonNumber)) return textFromTree(value)
  const isFloat = goParseInt(value.source).error !== undefined
  return isFloat ? goFloat(Number(value.source)) : value.text
}

/** An integer that is too large is the least one to Go, on the machines that there are. */
function integerCell(text: string): Cell {
  const parsed = goParseInt(text)
  if (parsed.error === undefined) return parsed.value
  const number = Math.trunc(Number(text))
  return Math.abs(number) < 2 ** 63 ? BigInt(number) : -(2n ** 63n)
}

function dateCell(text: string, now: number): Cell {
  if (text === '' || text === 'null') return since(null, now)
  const time = millisecondsFromText(text)
  if (time === undefined) return '<invalid>'
  return since(time === zeroTime ? null : time, now)
}
