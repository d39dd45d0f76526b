/** A resource's Table: its columns, and rows for its objects. */

import { appendJsonString } from '@watchglass/go'
import { type ByteWriter, GiveUp, NotExact } from '@watchglass/base'
import { readEnvelope } from '../transcode/envelope.ts'

import { type ColumnDefinition, type Schema } from '../schema/schema.ts'
import {
  type OutputKind,
  apiVersionOf,
  type LearnedTable,
  type CustomColumn,
} from '../output-kind.ts'
import type { StoredValue } from '../stored-value.ts'
import { kindOfColumn, kindOfType, type TableColumn } from './column-kinds.ts'
import { CustomPrinter } from './printers/custom.ts'
import type { CompiledPattern } from './pattern.ts'
import { pickFromProtobuf } from './pick-source.ts'
import type { Cell, Printer, RowCondition } from './printer.ts'
import { defaultPrinter, printerOf } from './printers.ts'
import { compilePattern } from './compile-pattern.ts'

/** A row: its cells and its condition. */
export interface Row {
  readonly cells: readonly Cell[]
  readonly condition: RowCondition | undefined
}

/** One Table; kept as long as the resource does not change. */
export interface Table {
  /** The JSON list of column definitions. */
  readonly columnsJson: string
  /** The columns, each with its place among the cells. */
  readonly columns: readonly TableColumn[]
  /** The row of an object: protobuf as it is stored, or the JSON of a custom resource as it is
   *  served. `now` is the wall clock in milliseconds. */
  row(object: StoredValue, now: number): Row | NotExact
  /** The row of an object that only has a resourceVersion, which is what bookmarks carry. */
  emptyRow(): Row
  /** By what rows of a list are sorted; undefined leaves them in the order of keys. */
  readonly sortKey: ((object: StoredValue) => number) | undefined
  /** A list of no rows: the converter that shows only name and time of creation makes none. */
  readonly emptyRows: '[]' | 'null'
}

/** The Table of a resource. */
export function tableOf(kind: OutputKind): Table {
  if (kind.learned !== undefined) {
    return learnedTable(kind.schema, kind.learned.table ?? defaultLearnedTable)
  }
  return kind.custom === undefined
    ? new BuiltInTable(kind)
    : customTable(kind.schema, kind.custom.columns ?? [ageColumn(kind.schema)])
}

/** Appends `"cells":[...]`, and the conditions if there are any. */
export function appendRowMembers(out: ByteWriter, { cells, condition }: Row): void {
  out.appendAscii('"cells":[')
  for (let i = 0; i < cells.length; i++) {
    if (i > 0) out.appendByte(0x2c)
    const cell = cells[i] as Cell
    if (typeof cell === 'string') appendJsonString(out, cell)
    else out.appendAscii(String(cell))
  }
  out.appendByte(0x5d)
  if (condition === undefined) return
  out.appendAscii(`,"conditions":[${JSON.stringify(condition)}]`)
}

class BuiltInTable implements Table {
  readonly columnsJson: string
  readonly columns: readonly TableColumn[]
  readonly sortKey: ((object: StoredValue) => number) | undefined
  readonly emptyRows: '[]' | 'null'
  readonly #printer: Printer
  readonly #kind: OutputKind
  /** By stored apiVersion: a cluster that was upgraded holds old versions. */
  readonly #patterns = new Map<string, CompiledPattern>()

  constructor(kind: OutputKind) {
    this.#kind = kind
    const columns = builtInColumns(kind)
    const declared = columns ?? defaultColumns(kind.schema)
    this.columnsJson = goJson(declared)
    this.columns = declared.map(column => ({
      name: column.name,
      priority: column.priority,
      kind: kindOfColumn(kind.resource, column),
    }))
    this.#printer = columns === undefined ? defaultPrinter : printerOf(kind.group, kind.kind)
    this.emptyRows = this.#printer === defaultPrinter ? 'null' : '[]'
    const { sortKey } = this.#printer
    if (sortKey !== undefined) {
      this.sortKey = object => {
        const picked = this.#pick(object)
        return picked instanceof NotExact ? 0 : sortKey(picked)
      }
    }
  }

  row(object: StoredValue, now: number): Row | NotExact {
    const picked = this.#pick(object)
    if (picked instanceof NotExact) return picked
    const { cells, condition } = this.#printer
    try {
      return { cells: cells(picked, now, this.#kind.schema), condition: condition?.(picked) }
    } catch (error) {
      if (error instanceof GiveUp) return new NotExact(error.reason)
      throw error
    }
  }

  emptyRow(): Row {
    const { storage } = this.#kind
    // What is stored as JSON has been converted to what is served.
    const source = storage.encoding === 'json' ? this.#kind : storage
    const pattern = this.#patternOf(apiVersionOf(source), false)
    if (pattern instanceof NotExact) return { cells: [], condition: undefined }
    return { cells: this.#printer.cells(pattern.zero, 0, this.#kind.schema), condition: undefined }
  }

  #pick({ bytes, start, end }: StoredValue): unknown {
    const envelope = readEnvelope(bytes, start, end)
    if (envelope instanceof NotExact) return envelope
    const pattern = this.#patternOf(envelope.apiVersion, true)
    if (pattern instanceof NotExact) return pattern
    return pickFromProtobuf(pattern, bytes, envelope.rawStart, envelope.rawEnd)
  }

  #patternOf(apiVersion: string, hasDefaults: boolean): CompiledPattern | NotExact {
    const name = `${apiVersion} ${hasDefaults}`
    let pattern = this.#patterns.get(name)
    if (pattern === undefined) {
      const root = this.#kind.storage.kind
      const known = this.#kind.schema.findKind(apiVersion, root)
      if (known === undefined) return new NotExact(`no schema of ${apiVersion} ${root}`)
      pattern = compilePattern(this.#printer.fields, known.type, { root, hasDefaults })
      this.#patterns.set(name, pattern)
    }
    return pattern
  }
}

/** The Table of an aggregated server: rows are made of the JSON that it serves. */
function learnedTable(schema: Schema, { columns, columnsJson }: LearnedTable): Table {
  if (columns !== undefined) {
    const table = customTable(schema, columns)
    const isWhole = new CustomPrinter(columns).columns.length === columns.length
    const unread = { row: (): NotExact => new NotExact('a column cannot be read') }
    return { ...table, columnsJson: columnsJson ?? table.columnsJson, ...(isWhole ? {} : unread) }
  }
  const printer = new CustomPrinter([timeOfCreation])
  return {
    columnsJson: columnsJson ?? goJson(defaultColumns(schema)),
    columns: [nameColumn, typedColumn({ ...timeOfCreation, type: 'date' })],
    row(object, now) {
      const cells = printer.cells(object, now)
      return cells instanceof NotExact ? cells : { cells, condition: undefined }
    },
    emptyRow: () => ({ cells: ['', zeroTime], condition: undefined }),
    sortKey: undefined,
    emptyRows: '[]',
  }
}

/** The column of a server that declares none shows the time itself, and no age. */
const timeOfCreation: CustomColumn = {
  name: 'Created At',
  type: 'string',
  format: '',
  description: '',
  priority: 0,
  jsonPath: '.metadata.creationTimestamp',
}
const zeroTime = '0001-01-01T00:00:00Z'
const defaultLearnedTable: LearnedTable = { columns: undefined }

function customTable(schema: Schema, declared: readonly CustomColumn[]): Table {
  const printer = new CustomPrinter(declared)
  const { columns } = printer
  const definitions = columns.map(({ jsonPath, description, ...column }) => ({
    name: column.name,
    type: column.type,
    format: column.format,
    description:
      description === ''
        ? `Custom resource definition column (in JSONPath format): ${jsonPath}`
        : description,
    priority: column.priority,
  }))
  return {
    columnsJson: goJson([defaultColumns(schema)[0], ...definitions]),
    columns: [nameColumn, ...columns.map(typedColumn)],
    row(object, now) {
      const cells = printer.cells(object, now)
      return cells instanceof NotExact ? cells : { cells, condition: undefined }
    },
    emptyRow: () => ({ cells: ['', ...columns.map(emptyCell)], condition: undefined }),
    sortKey: undefined,
    emptyRows: '[]',
  }
}

const nameColumn: TableColumn = { name: 'Name', priority: 0, kind: 'text' }

function typedColumn({ name, type, priority }: CustomColumn): TableColumn {
  return { name, priority, kind: kindOfType(type) }
}

/** Nothing is found in an empty object, not even the time of its creation. */
function emptyCell(): Cell {
  return null
}

/** JSON with what Go escapes for the sake of HTML. */
export function goJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function builtInColumns(kind: OutputKind): readonly ColumnDefinition[] | undefined {
  return columnsOf(kind.schema, kind)
}

function columnsOf(
  schema: Schema,
  { group, version, resource }: Pick<OutputKind, 'group' | 'version' | 'resource'>,
): readonly ColumnDefinition[] | undefined {
  return schema.tables.find(
    table => table.group === group && table.version === version && table.resource === resource,
  )?.columnDefinitions
}

/** Name and time of creation: those of a kind that has no others. */
export function defaultColumns(schema: Schema): readonly ColumnDefinition[] {
  return columnsOf(schema, { group: '', version: 'v1', resource: 'limitranges' }) ?? []
}

/** The column of definitions that declare none. */
function ageColumn(schema: Schema): CustomColumn {
  return {
    name: 'Age',
    type: 'date',
    format: '',
    description: defaultColumns(schema)[1]?.description ?? '',
    priority: 0,
    jsonPath: '.metadata.creationTimestamp',
  }
}
