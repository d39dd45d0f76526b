/** A view's question: which rows of which columns, in which order, or how many there are of each.
 *  A question is a plain value, and every mistake in it is refused before anything is read. */

import type { ObjectEncoder } from '@watchglass/codec'
import { type Key, keyFromBytes } from '@watchglass/base'
import {
  badRequest,
  type ListPlan,
  parseQuery,
  planRead,
  type Query,
  type ResourceRoute,
} from '@watchglass/kube'
import { columnsOf, type Condition, isTimed, parseCondition } from './condition.ts'
import { ColumnCatalog, columnTexts, type ViewColumn } from './view-column.ts'

/** The part of its object that a row carries. */
export type IncludedPart = 'none' | 'metadata' | 'object'

/** A column that rows are sorted by. */
export interface SortColumn {
  readonly column: ViewColumn
  readonly isDown: boolean
}

/** The rows that are chosen, and their order. */
export interface RowSelection {
  /** Range, freshness, label and field selectors. */
  readonly plan: ListPlan
  readonly where: Condition | undefined
  /** Lower case; empty: all rows. */
  readonly search: string
  /** The columns that are searched beside name and namespace. */
  readonly searched: readonly ViewColumn[]
  readonly sort: readonly SortColumn[]
  /** Equal for questions that choose the same rows of a keyspace in the same order. */
  readonly name: string
  /** The rows change, or their order, when time goes on. */
  readonly isTimed: boolean
  /** The order depends on the durations of what still runs, so it is never kept. */
  readonly isOfMoment: boolean
}

export interface ViewQuestion extends RowSelection {
  readonly isWatch: boolean
  /** Undefined or 0: the server decides. */
  readonly timeoutSeconds: number | undefined
  /** Whole objects are read, whose encoder has to be prepared. */
  readonly readsWhole: boolean
  readonly columns: readonly ViewColumn[]
  readonly include: IncludedPart
  /** Empty: rows are asked for, and no counts. */
  readonly countBy: readonly ViewColumn[]
  readonly pageSize: number
  /** From 1. Undefined where `after` says where the page begins. */
  readonly page: number | undefined
  /** The place behind which the page begins. */
  readonly after: Key | undefined
}

const parameters = [
  'columns',
  'include',
  'where',
  'labelSelector',
  'fieldSelector',
  'search',
  'sort',
  'pageSize',
  'page',
  'after',
  'revision',
  'countBy',
  'watch',
  'timeoutSeconds',
] as const
type Parameter = (typeof parameters)[number]

/** The parameters of pages, which counts have none of. */
const besideCounts: readonly Parameter[] = ['sort', 'page', 'pageSize', 'after', 'include']

/** Bounds of a question; those of its condition are in condition.ts. */
const textMaxLength = 4096
const searchMaxLength = 256
const sortMax = 8
const countByMax = 3
const pageSizeDefault = 50
const pageSizeMax = 1000
const pageMax = 100_000_000
/** The longest token of ours: sort columns with their texts cut, and a key. */
const afterMaxLength = 8192

/** Refuses what is wrong with a StatusError. `route` is that of a list of the resource. */
export function parseView(
  route: ResourceRoute,
  query: Query,
  encoder: Pick<ObjectEncoder, 'columns'>,
): ViewQuestion {
  const texts = textsOf(query)
  const isWatch = query.flag('watch')
  const plan = planOf(route, texts, isWatch)
  const catalog = new ColumnCatalog(encoder.columns, route.resource.isNamespaced)
  const columns = catalog.shown(texts.columns, route.namespace)
  const countBy = texts.countBy === '' ? [] : catalog.named('countBy', texts.countBy)
  if (countBy.length > countByMax) throw badRequest(`countBy: more than ${countByMax} columns`)
  if (countBy.some(({ kind }) => kind === 'duration')) {
    throw badRequest('countBy: a duration that still runs has no group')
  }
  const selection = selectionOf(texts, { plan, catalog, columns })
  if (countBy.length > 0) refuseBeside(texts, 'countBy', besideCounts)
  if (isWatch && selection.isOfMoment) {
    throw badRequest(
      'watch: a live view cannot be sorted or filtered by a duration that still runs',
    )
  }
  if (isWatch && countBy.length > 0 && selection.isTimed) {
    throw badRequest('watch: live counts cannot be filtered by an age')
  }
  const include = includeOf(texts.include)
  const read = [...columns, ...countBy, ...columnsOf(selection.where)]
  return {
    ...selection,
    isWatch,
    timeoutSeconds: texts.timeoutSeconds === '' ? undefined : Number(texts.timeoutSeconds),
    readsWhole: include === 'object' || read.some(({ source }) => source.type === 'path'),
    columns,
    include,
    countBy,
    pageSize: integerOf('pageSize', texts.pageSize, pageSizeMax) ?? pageSizeDefault,
    ...positionOf(texts),
  }
}

type Texts = Readonly<Record<Parameter, string>>

/** Every parameter at most once, and no other one: a misspelt `were` must not show everything. */
function textsOf(query: Query): Texts {
  for (const name of query.names()) {
    if (!parameters.includes(name as Parameter)) {
      throw badRequest(`unknown parameter "${name}": a view has ${parameters.join(', ')}`)
    }
    const given = query.all(name)
    if (given.length > 1) throw badRequest(`parameter "${name}" is given ${given.length} times`)
    if (name !== 'after' && (given[0]?.length ?? 0) > textMaxLength) {
      throw badRequest(`${name}: longer than ${textMaxLength} characters`)
    }
  }
  return Object.fromEntries(parameters.map(name => [name, query.text(name)])) as Texts
}

function refuseBeside(texts: Texts, name: Parameter, others: readonly Parameter[]): void {
  const other = others.find(one => texts[one] !== '')
  if (other !== undefined) throw badRequest(`${name} and ${other} exclude each other`)
}

/** The plan of a list with the same selectors, at the same revision. */
function planOf(route: ResourceRoute, texts: Texts, isWatch: boolean): ListPlan {
  const { revision, labelSelector, fieldSelector, timeoutSeconds } = texts
  if (!/^\d{0,16}$/.test(revision)) {
    throw badRequest(`revision: expected a number, got "${revision}"`)
  }
  const isHeld = revision !== '' && Number(revision) > 0
  if (isHeld && isWatch) refuseBeside(texts, 'watch', ['revision'])
  const options = { labelSelector, fieldSelector, timeoutSeconds, resourceVersion: revision }
  const given = Object.entries(options).filter(([, text]) => text !== '')
  if (isHeld) given.push(['resourceVersionMatch', 'Exact'])
  const list = parseQuery(new URLSearchParams(given).toString())
  const plan = planRead({ ...route, verb: 'list', name: '', subresource: '' }, list)
  if (plan.type !== 'list') throw badRequest('a view is of a list')
  return plan
}

function selectionOf(
  texts: Texts,
  {
    plan,
    catalog,
    columns,
  }: {
    readonly plan: ListPlan
    readonly catalog: ColumnCatalog
    readonly columns: readonly ViewColumn[]
  },
): RowSelection {
  const where = texts.where === '' ? undefined : parseCondition(texts.where, catalog)
  if (texts.search.length > searchMaxLength) {
    throw badRequest(`search: longer than ${searchMaxLength} characters`)
  }
  const sort = texts.sort === '' ? [] : columnTexts(texts.sort).map(text => sortOf(text, catalog))
  if (sort.length > sortMax) throw badRequest(`sort: more than ${sortMax} columns`)
  const search = texts.search.toLowerCase()
  // What a running duration shows changes while nothing does.
  const searched = search === '' ? [] : columns.filter(({ kind }) => kind !== 'duration')
  const read = [...columnsOf(where), ...sort.map(({ column }) => column), ...searched]
  const declared = [...new Set(read.flatMap(declarationOf))]
  const { labelSelector, fieldSelector } = texts
  const ids = searched.map(({ id }) => id)
  return {
    plan,
    where,
    search,
    searched,
    sort,
    isTimed: isTimed(where),
    isOfMoment: read.some(({ kind }) => kind === 'duration'),
    name: JSON.stringify([
      plan.range.start,
      labelSelector,
      fieldSelector,
      texts.where,
      search,
      ids,
      texts.sort,
      declared,
    ]),
  }
}

/** The declaration of a column of the client's own. */
function declarationOf({ id, kind, source }: ViewColumn): string[] {
  return source.type === 'path' ? [`${id} ${kind} ${source.declared.jsonPath}`] : []
}

function sortOf(text: string, catalog: ColumnCatalog): SortColumn {
  const isDown = text.startsWith('-')
  const [column] = catalog.named('sort', isDown ? text.slice(1) : text)
  return { column: column as ViewColumn, isDown }
}

function includeOf(text: string): IncludedPart {
  if (text === '') return 'none'
  if (text === 'none' || text === 'metadata' || text === 'object') return text
  throw badRequest(`include: expected none, metadata or object, got "${text}"`)
}

function positionOf(texts: Texts): Pick<ViewQuestion, 'page' | 'after'> {
  const page = integerOf('page', texts.page, pageMax)
  if (texts.after === '') return { page: page ?? 1, after: undefined }
  refuseBeside(texts, 'after', ['page'])
  if (texts.after.length > afterMaxLength || !/^[\w-]+$/.test(texts.after)) {
    throw badRequest('after: not a token of a row')
  }
  return { page: undefined, after: keyFromBytes(Buffer.from(texts.after, 'base64url')) }
}

function integerOf(name: Parameter, text: string, max: number): number | undefined {
  if (text === '') return undefined
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN
  if (value >= 1 && value <= max) return value
  throw badRequest(`${name}: expected a number from 1 to ${max}, got "${text}"`)
}
